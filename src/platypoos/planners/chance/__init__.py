"""Plans that react to chance: what the default planner does when dynamics are random."""
