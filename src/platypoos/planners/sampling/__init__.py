"""Planners that draw whole sequences of actions in a box, walk them, and draw better ones."""
