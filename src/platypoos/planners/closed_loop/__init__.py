"""Published planners under random dynamics: plans that react to chance, in plain Python."""
