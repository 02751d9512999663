"""What the cross-entropy method draws and learns in a box: iCEM."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.planners.sampling.frame import Batch, Floats, Sampler, shifted
from platypoos.planners.sampling.noise import coloured

MOMENTUM = 0.1
"""α, the weight of the old distribution when a new one is fitted."""
KEPT = 0.3
"""ξ, the share of the elites that stay: in the next iteration, and shifted in the next decision."""
DECAY = 1.25
"""γ, by which the population shrinks from one iteration to the next."""
ITERATIONS, AT_LEAST = 3, 5
"""If the planner has no other number: so many, but fewer if they had fewer sequences than this."""


class Gaussian(Sampler):
    """A Gaussian distribution over sequences, fitted to the elites."""

    def __init__(self, planner: Any, *args: Any) -> None:
        super().__init__(*args)
        self.planner = planner
        self.mean: Floats = np.zeros((self.length, self.coordinates))
        self.deviation = np.full_like(self.mean, planner.sigma)
        self.elites: Floats = np.empty((0, self.length, self.coordinates))
        self.values: Floats = np.empty(0)
        """Of the elites, which are in order, the best one first."""
        self.iteration, self.last = 0, 0

    def sizes(self, number: int) -> list[int]:
        """Populations that shrink from iteration to iteration, ``number`` sequences in all."""
        planner, sizes = self.planner, []
        if planner.population is None:
            usual = max(1, min(ITERATIONS, number // AT_LEAST))
            count = min(planner.iterations or usual, number)
            shares = DECAY ** -np.arange(count)
            bounds = np.round(np.cumsum(shares) * number / shares.sum()).astype(int)
            sizes = np.diff(bounds, prepend=0).tolist()
        else:
            size = float(planner.population)
            least = min(size, 2.0 * planner.elites_in_box)
            while sum(sizes) < number and len(sizes) < (planner.iterations or number):
                sizes.append(min(round(size), number - sum(sizes)))
                size = max(size / DECAY, least)
        self.iteration, self.last = 0, len(sizes) - 1
        return sizes

    def draw(self, number: int) -> Floats:
        """Sequences with coloured noise; shifted elites at first, the mean at last."""
        noise = coloured(self.rng, number, self.length, self.coordinates, self.planner.beta)
        controls = self.mean + self.deviation * noise
        if self.iteration == 0:
            kept = self.elites[: min(self._kept, number - 1)]  # their values are of another state
            controls[: len(kept)] = kept
            self.elites, self.values = self.elites[:0], self.values[:0]
        elif self.iteration == self.last:
            controls[0] = self.mean
        self.iteration += 1
        return controls

    def learn(self, batch: Batch) -> None:
        """Fit the distribution to the elites: the best ones of the batch and of those kept."""
        controls = np.concatenate([self.elites[: self._kept], batch.controls])
        values = np.concatenate([self.values[: self._kept], batch.values])
        number = min(self.planner.elites_in_box, max(2, len(batch.values) // 2))
        best = np.argsort(-values, kind="stable")[:number]
        self.elites, self.values = controls[best], values[best]
        new = 1.0 - MOMENTUM
        self.mean = MOMENTUM * self.mean + new * self.elites.mean(axis=0)
        self.deviation = MOMENTUM * self.deviation + new * self.elites.std(axis=0)

    @property
    def _kept(self) -> int:
        return max(1, round(KEPT * int(self.planner.elites_in_box)))

    def shift(self, length: int) -> None:
        """Go on with the mean and the elites, whose last step is drawn anew; σ is as at first."""
        self.mean = shifted(self.mean, length)
        self.deviation = np.full_like(self.mean, self.planner.sigma)
        self.elites = shifted(self.elites, length)
        noise = self.rng.standard_normal((len(self.elites), self.coordinates))
        self.elites[:, -1] = self.mean[-1] + self.deviation[-1] * noise
