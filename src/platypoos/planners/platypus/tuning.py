"""The constants of the default planner: all of them, in one place.

How each was chosen, and the arena's score with half and with double of it, is in
``docs/default-planner.md``.
"""

from __future__ import annotations

from typing import Final

STAGES: Final = 16
"""A plan explores, solves and compares in so many parts."""
LEAST_SHARE: Final = 0.125
"""The tree explorer gets this share of all calls at least, and the sequence explorer of what a
stage has for both; the rest follows success."""
WIDE_SHARE: Final = 0.5
"""With noise, the tree explorer sees new states with this share, and samples well with the rest."""
HEARING_SHARE: Final = 0.5
"""With noise, a stage is followed by a hearing of this share of its calls."""
JURY_SHARE: Final = 0.25
"""With noise, the last hearings get this share of the budget."""
LOOK_SHARE: Final = 0.06
"""As long as no noise was seen, this share of the calls looks for some."""
SEED_SHARE: Final = 0.4
"""Sequences of one action are tried first, within this share of the budget."""
NEGLIGIBLE: Final = 0.2
"""Sequences are so long that later rewards are discounted to this share, at least 12 steps…"""
AT_LEAST: Final = 4
"""…but no longer than what allows so many of them within the budget."""
CANDIDATES: Final = 3
"""For so many first actions the best policy in what is known proposes a sequence."""
