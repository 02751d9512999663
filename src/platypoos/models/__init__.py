"""What a simulator is, and how to get one from what you have."""
