"""The arena: every planner on many families of problems, none of which it was tuned for."""
