"""Everything that needs Numba: its use, the model, how planners reach it, a planner."""
