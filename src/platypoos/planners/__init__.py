"""The planners, one per file; ``layered.py`` runs every schedule."""
