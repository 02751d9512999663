"""The random generator of a plan."""

from __future__ import annotations

import numpy as np

from platypoos.errors import InvalidArgument

Seed = int | np.random.SeedSequence | np.random.Generator | None


def make_generator(seed: Seed) -> np.random.Generator:
    """The random generator of a plan; a ``Generator`` is used as it is, and moves on."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"seed must be an int of at least 0, a SeedSequence or a Generator, got {seed!r}"
        ) from error
