"""The default planner."""
