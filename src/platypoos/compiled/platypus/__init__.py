"""The default planner: one knowledge, two explorers, one jury."""
