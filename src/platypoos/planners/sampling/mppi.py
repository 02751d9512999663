"""Model predictive path integral control."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from platypoos.checks import check_number
from platypoos.planners.sampling.frame import (
    Batch,
    BoxPlanner,
    Estimate,
    Floats,
    Sampler,
    plan_in_box,
    shifted,
)
from platypoos.planners.sampling.noise import coloured
from platypoos.results import Plan
from platypoos.search.base import Task


@dataclass(frozen=True, kw_only=True)
class MPPI(BoxPlanner):
    """Take the mean of noisy sequences, weighted by the exponential of their returns.

    Use it in boxes where smooth actions are wanted and rewards are noisy. It needs to know σ and λ,
    which are free of scales here. From step to step the mean is kept and shifted. It is anytime.

    Reference: G. Williams et al. Information theoretic MPC for model-based reinforcement
    learning. ICRA 2017.

    Symbols: Σ is ``sigma`` squared, λ ``temperature``, K is the budget divided by the length.

    Deviations: λ is a share of the spread of the returns, their largest less their smallest. Noise
    is coloured; ``beta=0`` is the paper's white noise. There is no cost of noise in the returns
    (the paper's γ is 0), and the mean is not smoothed. The value of a plan is an estimate, the
    weighted mean of the returns: the mean itself is not walked.

    Args:
        discount: γ, in [0, 1); 1 with a horizon.
        sigma: σ, the standard deviation of the noise, in half-widths of the box.
        temperature: λ. The smaller, the fewer sequences count.
        beta: the exponent of coloured noise; 0 for white noise.
        length: steps of a sequence; if left out, the number after which rewards are discounted to
            a fifth, at least 12, but at most 4·N^¼ for N calls.

    >>> import platypoos as pp
    >>> model = pp.FunctionModel(lambda x, a, rng: (x + a, -abs(x + a), False), pp.Box(-1, 1), 3.0)
    >>> plan = pp.planners.MPPI(discount=0.9).plan(model, budget=1_000, seed=0)
    >>> plan.calls <= 1_000, plan.action < -0.2
    (True, True)
    """

    sigma: float = 0.6
    temperature: float = 0.1
    beta: float = 2.0

    name: ClassVar[str] = "mppi"
    workers: ClassVar[str] = "many"
    citation: ClassVar[str] = (
        "Williams et al. Information theoretic MPC for model-based reinforcement learning. "
        "ICRA 2017."
    )
    needs: ClassVar[str] = "a box of actions; σ and λ, as shares of the box and of the returns"
    uses: ClassVar[tuple[str, ...]] = ("value",)
    anytime: ClassVar[bool] = True
    lists: ClassVar[bool] = False
    boxes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sigma", "temperature"):
            object.__setattr__(self, name, check_number(name, getattr(self, name), above=0.0))
        object.__setattr__(self, "beta", check_number("beta", self.beta, least=0.0))

    def _plan(self, task: Task) -> Plan:
        return plan_in_box(self, task, partial(PathIntegral, self), task.memory)


class PathIntegral(Sampler):
    """What MPPI draws and learns."""

    def __init__(self, planner: MPPI, *args: Any) -> None:
        super().__init__(*args)
        self.planner = planner
        self.nominal: Floats = np.zeros((self.length, self.coordinates))
        """What noise is added to."""
        self.batches: list[Batch] = []

    def draw(self, number: int) -> Floats:
        """The nominal sequence with noise."""
        noise = coloured(self.rng, number, self.length, self.coordinates, self.planner.beta)
        return self.nominal + self.planner.sigma * noise

    def learn(self, batch: Batch) -> None:
        """Keep what was walked: all sequences of a decision count in the mean."""
        self.batches.append(batch)

    def shift(self, length: int) -> None:
        """Go on with the mean."""
        found = self.estimate()
        self.nominal = shifted(self.nominal if found is None else found.controls, length)
        self.batches = []

    def estimate(self) -> Estimate | None:
        """The weighted mean of all sequences."""
        if not self.batches:
            return None
        controls = np.concatenate([batch.controls for batch in self.batches])
        rewards = np.concatenate([batch.rewards for batch in self.batches])
        values = np.concatenate([batch.values for batch in self.batches])
        weights = path_weights(values, self.planner.temperature)
        return Estimate(
            controls=np.tensordot(weights, controls, 1),
            rewards=weights @ rewards,
            value=float(weights @ values),
            samples=max(1, round(1.0 / float(weights @ weights))),
        )


def path_weights(values: Floats, temperature: float) -> Floats:
    """Weights that sum to 1: the exponential of the values in units of λ times their spread.

    >>> path_weights(np.array([0.0, 0.0]), 0.1).tolist()
    [0.5, 0.5]
    """
    best = values.max()
    spread = best - values.min()
    if spread == 0.0:
        return np.full(len(values), 1.0 / len(values))
    weights = np.exp((values - best) / (temperature * spread))
    return np.asarray(weights / weights.sum())
