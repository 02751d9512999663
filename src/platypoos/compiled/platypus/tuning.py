"""The constants that shape a plan of the default planner.

What each is worth is in ``docs/default-planner.md``. How long sequences are, and the share of the
sequences of one action (``SEED_SHARE``), are those of ``SequenceSearch``.
"""

from __future__ import annotations

from typing import Final

STAGES: Final = 16
"""Parts of a plan; each one explores, solves and compares."""
LEAST_SHARE: Final = 0.25
"""The tree explorer gets this share of all calls at least, and 1 less this at most; it follows
success. The least is less, in proportion, where a plan has fewer than ``STAGES`` calls for each
action: the few states that could then be opened tell little."""
WIDE_SHARE: Final = 0.5
"""With noise, the tree explorer sees new states with this share, and samples well with the rest."""
HEARING_SHARE: Final = 0.5
"""With noise, a stage is followed by a hearing of this share of its calls."""
JURY_SHARE: Final = 0.25
"""With noise, the last hearings get this share of the budget."""
LOOK_SHARE: Final = 0.06
"""As long as no noise was seen, this share of the calls looks for some."""
CANDIDATES: Final = 3
"""First actions for which the best known policy proposes a sequence, in each stage."""
IDLE: Final = 16
"""The sequence explorer stops after this number of sequences in a row that were known already."""
DEEPER: Final = 4
"""Deepest layer of the tree explorer, as a multiple of the length of sequences."""
GROWTH: Final = 0.25
"""A round that has learned something is followed by one that is larger by this fraction."""
