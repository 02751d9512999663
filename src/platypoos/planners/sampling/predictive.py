"""Predictive sampling: the best of some noisy splines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from platypoos.checks import check_count, check_number
from platypoos.planners.sampling.frame import Batch, BoxPlanner, Floats, Sampler, plan_in_box
from platypoos.results import Plan
from platypoos.search.base import Task


@dataclass(frozen=True, kw_only=True)
class PredictiveSampling(BoxPlanner):
    """Add noise to the knots of a spline, and keep the best spline that was walked.

    Use it in boxes as the simplest sampler with a memory. It needs to know σ and the number of
    knots. The nominal spline is walked without noise too, so it is kept if nothing is better. From
    step to step it is kept and shifted. It is anytime.

    Reference: T. Howell et al. Predictive sampling: real-time behaviour synthesis with MuJoCo.
    arXiv:2212.00541, 2022.

    Symbols: σ is ``sigma``, P ``knots``, N the budget divided by the length.

    Deviations: splines are linear. σ and P, which MuJoCo MPC sets for each task, are the same for
    all.

    Args:
        discount: γ, in [0, 1); 1 with a horizon.
        sigma: σ, the standard deviation of the noise, in half-widths of the box.
        knots: of the spline, evenly spaced in time.
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, but at most 4·N^¼ for N calls.

    >>> import platypoos as pp
    >>> model = pp.FunctionModel(lambda x, a, rng: (x + a, -abs(x + a), False), pp.Box(-1, 1), 3.0)
    >>> plan = pp.planners.PredictiveSampling(discount=0.9).plan(model, budget=1_000, seed=0)
    >>> plan.calls <= 1_000, plan.action < -0.2
    (True, True)
    """

    sigma: float = 0.6
    knots: int = 5

    name: ClassVar[str] = "predictive-sampling"
    workers: ClassVar[str] = "many"
    citation: ClassVar[str] = (
        "Howell et al. Predictive sampling: real-time behaviour synthesis with MuJoCo. "
        "arXiv:2212.00541, 2022."
    )
    needs: ClassVar[str] = "a box of actions; σ, as a share of the box, and the number of knots"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    anytime: ClassVar[bool] = True
    lists: ClassVar[bool] = False
    boxes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", check_number("sigma", self.sigma, above=0.0))
        object.__setattr__(self, "knots", check_count("knots", self.knots))

    def _plan(self, task: Task) -> Plan:
        return plan_in_box(self, task, partial(NoisySpline, self), task.memory)


class NoisySpline(Sampler):
    """What predictive sampling draws and learns."""

    def __init__(self, planner: PredictiveSampling, *args: Any) -> None:
        super().__init__(*args)
        self.planner = planner
        self.nominal: Floats = np.zeros((planner.knots, self.coordinates))
        """The knots of the best spline."""
        self.value = -np.inf
        self.drawn: Floats = self.nominal[None]
        self.has_nominal = False  # whether the nominal spline was walked in this decision

    def draw(self, number: int) -> Floats:
        """Splines with noise at their knots; the first one without."""
        noise = self.rng.standard_normal((number, *self.nominal.shape))
        if not self.has_nominal:
            noise[0] = 0.0
            self.has_nominal = True
        self.drawn = np.clip(self.nominal + self.planner.sigma * noise, -1.0, 1.0)
        return between_knots(self.planner.knots, np.arange(self.length), self.length) @ self.drawn

    def learn(self, batch: Batch) -> None:
        """Keep the best spline."""
        best = int(np.argmax(batch.values))
        if batch.values[best] > self.value:
            self.value = float(batch.values[best])
            self.nominal = self.drawn[batch.places[best]]

    def shift(self, length: int) -> None:
        """Go on with the same spline, one step later; its end is held."""
        last = self.length - 1
        times = 1.0 + np.linspace(0.0, max(length - 1, 0), self.planner.knots)
        self.nominal = (
            between_knots(self.planner.knots, np.minimum(times, last), self.length) @ self.nominal
        )
        self.value, self.has_nominal = -np.inf, False


def between_knots(knots: int, times: Floats | Any, length: int) -> Floats:
    """The share of each knot in a linear spline at some times, [times, knots].

    Knots are evenly spaced from the first step, time 0, to the last one, ``length`` − 1.

    >>> between_knots(3, np.arange(5), 5).tolist()[:3]
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    """
    at = np.linspace(0.0, 1.0, knots)
    places = np.asarray(times, np.float64) / max(length - 1, 1)
    return np.stack([np.interp(places, at, row) for row in np.eye(knots)], axis=1)
