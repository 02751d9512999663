"""The default planner in machine code: a twin of ``planners/platypus``, file by file."""
