"""A challenge of the arena: a problem, its budgets, and what is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platypoos.checks import check_count, check_number, nearest
from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.spec import PROBLEMS, Choice
from platypoos.models.base import check_access

MEASURES = ("regret", "total", "expected")
"""What the first action costs; the sum of the rewards received; the discounted sum of the mean
rewards of the actions taken."""
REFERENCES = Path(__file__).with_name("references.json")
"""The file that ``benchmarks/arena_references.py`` writes."""


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """A problem of the arena, and how planners are measured on it.

    Args:
        name: "family/problem", unique.
        family: problems of one family test the same ability; a family counts once in the score.
        problem: its name in ``PROBLEMS``, and its parameters.
        budgets: three budgets, in simulator steps for each decision; the middle one is the quick
            arena's.
        discount: γ; 1 only with a horizon.
        steps: decisions of a run; 1 for a single plan.
        horizon: steps to the end of the episode, where planners are told of one.
        access: "restore" or "reset", as the model allows.
        closed_loop: whether dynamics are random and states can be stored: then planners that do
            not react to chance cannot take part, and the family is not counted in the mean of all.
        measure: one of ``MEASURES``. The regret is better if smaller, the others if larger.
        varies: the problem has a parameter ``seed``, and every run has another instance of it.
        reward_min: no mean reward is smaller. For planners that must be told the range.
        reward_max: no mean reward that matters is larger.
        noise: half-width of the noise, or three standard deviations if it has no bounds.
        frames: simulator steps of one call; a budget of B is B // frames calls.
        quick: whether it is in the quick arena.

    >>> from platypoos.lab.experiments.spec import Choice
    >>> table = Challenge(
    ...     name="tables/tiny",
    ...     family="tables",
    ...     problem=Choice.of("garnet", num_states=5),
    ...     budgets=(10, 100, 1_000),
    ...     discount=0.9,
    ... )
    >>> table.make(seed=3).num_states
    5
    """

    name: str
    family: str
    problem: Choice
    budgets: tuple[int, ...]
    discount: float
    steps: int = 1
    horizon: int | None = None
    access: str = "restore"
    closed_loop: bool = False
    measure: str = "regret"
    varies: bool = True
    reward_min: float = 0.0
    reward_max: float = 1.0
    noise: float = 0.0
    frames: int = 1
    quick: bool = False

    def __post_init__(self) -> None:
        if not self.name.startswith(f"{self.family}/"):
            raise InvalidArgument(f"the name {self.name!r} must start with {self.family + '/'!r}")
        nearest(self.problem.name, PROBLEMS, "problem")
        nearest(self.measure, MEASURES, "measure")
        check_access(self.access)
        for name in ("steps", "frames"):
            check_count(name, getattr(self, name))
        for name in ("reward_min", "reward_max"):
            check_number(name, getattr(self, name))
        check_number("noise", self.noise, least=0.0)
        if self.closed_loop and self.access != "restore":
            raise InvalidArgument(
                f"{self.name}: with access {self.access!r} nobody plans in closed loop; pass "
                "access='restore', or leave closed_loop out"
            )
        if self.reward_min >= self.reward_max:
            raise InvalidArgument(f"{self.name}: reward_min must be below reward_max")
        calls = [budget // self.frames for budget in self.budgets]
        if len(calls) != 3 or sorted(set(calls)) != calls:
            raise InvalidArgument(f"{self.name} must have 3 rising budgets, got {self.budgets}")
        if self.discount == 1.0 and self.horizon is None:
            raise InvalidArgument(f"{self.name}: discount 1 needs a horizon")
        if self.measure == "regret" and self.steps != 1:
            raise InvalidArgument(f"{self.name}: the regret is that of a single plan, steps=1")

    @property
    def sign(self) -> int:
        """1 if more of the measure is better, −1 if less is."""
        return -1 if self.measure == "regret" else 1

    def choice(self, seed: int) -> Choice:
        """The problem of the run with this seed."""
        return self.problem.having(seed=seed) if self.varies else self.problem

    def make(self, seed: int) -> Any:
        """The model of the run with this seed."""
        return self.choice(seed).make(PROBLEMS, "problem")


@dataclass(frozen=True)
class Reference:
    """What a challenge's measure is for random actions, and for the best actions known."""

    random: float
    reference: float
    provenance: str


def load_references(path: Path | str = REFERENCES) -> dict[str, Reference]:
    """The references of all challenges, by name."""
    file = Path(path)
    if not file.is_file():
        return {}
    data = json.loads(file.read_text(encoding="utf-8"))
    return {name: Reference(**entry) for name, entry in data.items()}
