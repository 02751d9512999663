"""What a few hundred calls of a model tell about how to plan with it."""
