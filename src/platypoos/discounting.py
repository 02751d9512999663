"""What steps that were not seen are worth: sums of the discount, with and without a horizon."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def span(gamma: float, steps: int | None) -> float:
    """Worth of a reward of 1 at each of ``steps`` steps: Σ γ^t; without end if it is None.

    >>> span(0.5, None), span(0.5, 2), span(1.0, 7)
    (2.0, 1.5, 7.0)
    """
    if steps is None:
        return 1.0 / (1.0 - gamma)
    if gamma == 1.0:
        return float(max(steps, 0))
    return float(spans(gamma, steps, 1)[0])


def spans(gamma: float, horizon: int | None, size: int) -> Floats:
    """Worth of a reward of 1 at every step from depth 0, 1, … on, in units of that depth.

    It is 1/(1−γ) everywhere if there is no horizon, and 0 from the horizon on if there is one.

    >>> spans(1.0, 3, 5).tolist()
    [3.0, 2.0, 1.0, 0.0, 0.0]
    """
    if horizon is None:
        return np.full(size, 1.0 / (1.0 - gamma))
    steps = np.maximum(horizon - np.arange(size, dtype=np.float64), 0.0)
    if gamma == 1.0:
        return steps
    if gamma == 0.0:
        return np.minimum(steps, 1.0)
    return -np.expm1(steps * math.log(gamma)) / (1.0 - gamma)
