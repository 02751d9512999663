"""The constants of the default planner: all of them, in one place.

How each was chosen, and the arena's score without it, is in ``docs/default-planner.md``.
"""

from __future__ import annotations

from typing import Final

STAGES: Final = 16
"""A plan explores, solves and compares in so many parts."""
LEAST_SHARE: Final = 0.25
"""Each explorer gets this share of the calls at least; the rest follows success."""
JURY_SHARE: Final = 0.25
"""With noise, the jury gets this share of the calls."""
SEED_SHARE: Final = 0.4
"""Sequences of one action are tried first, within this share of the calls."""
LOOK_SHARE: Final = 0.06
"""As long as no noise was seen, this share of the calls looks for some."""
NEGLIGIBLE: Final = 0.2
"""Sequences are so long that later rewards are discounted to this share…"""
SHORTEST: Final = 12
"""…or this long if that is more…"""
AT_LEAST: Final = 4
"""…but no longer than what allows so many of them within the budget."""
CANDIDATES: Final = 3
"""So many first actions have the policy of what is known proposed for them."""
IDLE: Final = 60
"""After so many sequences in a row that were known already, a piece is over."""
