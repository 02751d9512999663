"""What a few hundred calls of a model tell about how to plan with it."""

from platypoos.advising.recommendation import Recommendation

__all__ = ["Recommendation"]
