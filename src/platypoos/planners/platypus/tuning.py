"""The constants that shape a plan of the default planner.

What each is worth is in ``docs/default-planner.md``. How long sequences are, and the share of the
sequences of one action (``SEED_SHARE``), are those of ``SequenceSearch``.
"""

from __future__ import annotations

from typing import Final

STAGES: Final = 16
"""A plan explores, solves and compares in so many parts."""
LEAST_SHARE: Final = 0.25
"""The tree explorer gets this share of all calls at least, and 1 less this at most; it follows
success."""
WIDE_SHARE: Final = 0.5
"""With noise, the tree explorer sees new states with this share, and samples well with the rest."""
HEARING_SHARE: Final = 0.5
"""With noise, a stage is followed by a hearing of this share of its calls."""
JURY_SHARE: Final = 0.25
"""With noise, the last hearings get this share of the budget."""
LOOK_SHARE: Final = 0.06
"""As long as no noise was seen, this share of the calls looks for some."""
CANDIDATES: Final = 3
"""For so many first actions the best policy in what is known proposes a sequence."""
IDLE: Final = 16
"""After so many sequences in a row that were known already there is nothing new to find."""
DEEPER: Final = 4
"""Rounds of the tree explorer look at most so many times as far ahead as sequences are long."""
GROWTH: Final = 0.25
"""A round that has learned something is followed by one that is larger by this."""
