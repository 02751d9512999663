"""Why a plan decides as it does: as data, as text, and as a page to show to others."""

from platypoos.explain.explanation import Explanation, explanation_of

__all__ = ["Explanation", "explanation_of"]
