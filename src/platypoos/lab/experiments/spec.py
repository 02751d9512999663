"""An experiment is data: blocks of problems, planners, budgets and seeds, expanded into cells."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from platypoos import problems
from platypoos.checks import (
    check_budget,
    check_count,
    check_discount,
    check_horizon,
    check_number,
    missing_from,
    nearest,
)
from platypoos.errors import InvalidArgument
from platypoos.lab import problems as lab_problems
from platypoos.models.base import Access, access_of, actions_of, check_access
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.named import make
from platypoos.planners import Planner, available

MEASURES = ("received", "expected", "total", "regret", "calls", "seconds")
"""What is measured of a cell: discounted return received, and expected of the actions taken; the
sum of the rewards received; what the first action costs; calls and seconds."""
Makers = Mapping[str, Any]
"""Problems that are not ours: what makes each, by its name."""
PROBLEMS: dict[str, Any] = {
    **problems.available(),
    "made-to-order": lab_problems.MadeToOrder,
    "random-table": lab_problems.RandomTable,
    "random-tree": lab_problems.RandomTree,
    "one-off": lab_problems.OneOff,
    "deceptive-chain": lab_problems.DeceptiveChain,
    "combination-lock": lab_problems.CombinationLock,
    "cliff": lab_problems.Cliff,
    "loops": lab_problems.Loops,
    "maze": lab_problems.Maze,
    "inventory": lab_problems.Inventory,
    "knapsack": lab_problems.Knapsack,
    "travelling-salesman": lab_problems.TravellingSalesman,
    "sliding-tiles": lab_problems.SlidingTiles,
    "pushing-boxes": lab_problems.PushingBoxes,
    "pendulum": lab_problems.Pendulum,
    "cart-pole": lab_problems.CartPole,
    "acrobot": lab_problems.Acrobot,
    "mountain-car": lab_problems.MountainCar,
    "pillars": lab_problems.Pillars,
    "lander": lab_problems.Lander,
    "gymnasium": GymnasiumModel,
}
"""What an experiment can name."""


NO_MAKERS: Makers = MappingProxyType({})


def canonical(data: Any) -> str:
    """One text for the same content, whatever the order of its keys."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Choice:
    """A problem or a planner: its name, its parameters, and what figures call it."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    label: str = field(default="", compare=False)

    @classmethod
    def of(cls, name: str, label: str = "", /, **parameters: Any) -> Choice:
        """A choice from keyword arguments."""
        return cls(name, tuple(sorted(parameters.items())), label)

    @property
    def title(self) -> str:
        """What figures call it."""
        if self.label:
            return self.label
        settings = ", ".join(f"{key}={value}" for key, value in self.parameters)
        return f"{self.name}({settings})" if settings else self.name

    def having(self, **parameters: Any) -> Choice:
        """The same with other parameters."""
        settings = {**dict(self.parameters), **parameters}
        return dataclasses.replace(self, parameters=tuple(sorted(settings.items())))

    def make(self, kinds: Mapping[str, Any], what: str, **fixed: Any) -> Any:
        """The problem or the planner itself; ``kinds`` has what there is."""
        return make(kinds, what, self.name, dict(self.parameters), **fixed)

    def as_data(self) -> dict[str, Any]:
        """What it is, without its label."""
        return {"name": self.name, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Cell:
    """One run: control for some steps, with a budget for each."""

    problem: Choice
    planner: Choice
    budget: int
    seed: int
    steps: int
    discount: float
    access: str
    horizon: int | None = None
    frames: int = 1
    code: str = ""

    def as_data(self) -> dict[str, Any]:
        """All that the result depends on."""
        data: dict[str, Any] = {
            "problem": self.problem.as_data(),
            "planner": self.planner.as_data(),
            "budget": self.budget,
            "seed": self.seed,
            "steps": self.steps,
            "discount": self.discount,
            "access": self.access,
        }
        if self.horizon is not None:
            data["horizon"] = self.horizon
        if self.frames != 1:
            data["frames"] = self.frames
        if self.code:
            data["code"] = self.code
        return data

    @property
    def calls(self) -> int:
        """Calls for each step."""
        return self.budget // self.frames

    @cached_property
    def key(self) -> str:
        """A name for the content: equal cells have equal keys, in every experiment."""
        return hashlib.sha256(canonical(self.as_data()).encode()).hexdigest()[:32]

    def seeds(self) -> np.random.SeedSequence:
        """Random numbers that depend on the problem and the seed, not on planner or budget.

        So all planners act under the same noise, and adding some changes no other result.
        """
        common = [self.problem.as_data(), self.seed, self.steps, self.discount]
        digest = hashlib.sha256(canonical(common).encode()).digest()
        return np.random.SeedSequence(int.from_bytes(digest[:16], "little"))

    def make_problem(self, makers: Makers = NO_MAKERS) -> Any:
        """The problem itself."""
        return self.problem.make({**PROBLEMS, **makers}, "problem")

    def make_planner(self) -> Planner:
        """The planner itself."""
        return self.planner.make(available(), "planner", discount=self.discount)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Block:
    """A grid of cells, and a panel of the report."""

    title: str
    problems: tuple[Choice, ...]
    planners: tuple[Choice, ...]
    budgets: tuple[int, ...]
    seeds: int = 20
    steps: int = 20
    discount: float = 0.95
    access: str = "restore"
    measure: str = "expected"
    """What figures show; the cells have all measures."""
    baseline: float = 0.0
    """What figures subtract from it."""
    horizon: int | None = None
    """The steps to the end of the episode that planners are told, if there is one."""
    frames: int = 1
    """Simulator steps of a call; budgets count simulator steps."""
    varies: bool = False
    """Whether each run has another instance of the problem, by its parameter ``seed``."""
    family: str = ""
    """Which other blocks test the same ability."""
    apart: bool = False
    """Whether the family is shown beside the others, but not counted in the mean of all."""
    random: float | None = None
    """The measure of random actions, for scores; that of the planner ``random`` if left out…"""
    reference: float | None = None
    """…and of the best actions known; the best mean of all planners if left out."""
    provenance: str = ""
    """Where the reference is from."""
    code: str = ""
    """A digest of the code that makes somebody's own problem: other code, other results."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", str(self.title))
        for name in ("problems", "planners"):
            given = getattr(self, name)
            if isinstance(given, str | Choice):
                raise InvalidArgument(f"{name} must be a list, got {given!r}")
            choices = tuple(Choice(item) if isinstance(item, str) else item for item in given)
            object.__setattr__(self, name, choices)

    def cells(self) -> Iterator[Cell]:
        """All runs of the block."""
        for problem in self.problems:
            for planner in self.planners:
                for budget in self.budgets:
                    for seed in range(self.seeds):
                        yield self.cell(problem, planner, budget, seed)

    def cell(self, problem: Choice, planner: Choice, budget: int, seed: int) -> Cell:
        """One of them."""
        if self.varies:
            problem = problem.having(seed=seed)
        return Cell(
            problem,
            planner,
            budget,
            seed,
            self.steps,
            self.discount,
            self.access,
            self.horizon,
            self.frames,
            self.code,
        )

    @property
    def sign(self) -> int:
        """1 if more of the measure is better, −1 if less is."""
        return 1 if self.measure in {"received", "expected", "total"} else -1

    def check(self, makers: Makers = NO_MAKERS) -> None:
        """Raise if any of it cannot be run."""
        check_count("seeds", self.seeds)
        check_count("steps", self.steps)
        check_count("frames", self.frames)
        if self.horizon is not None:
            check_horizon(self.horizon)
        check_discount(self.discount, may_be_one=self.horizon is not None)
        check_access(self.access)
        nearest(self.measure, MEASURES, "measure")
        check_number("baseline", self.baseline)
        for what, several in [("problem", self.problems), ("planner", self.planners),
                              ("budget", self.budgets)]:  # fmt: skip
            if not several:
                raise InvalidArgument(f"the block {self.title!r} has no {what}")
        made_planners = []
        for planner in self.planners:
            made = self.cell(self.problems[0], planner, self.budgets[0], 0).make_planner()
            made_planners.append(made)
            if self.access not in {access.name.lower() for access in made.access}:
                raise InvalidArgument(
                    f"{planner.title} cannot plan with access {self.access}; leave it out"
                )
        for problem in self.problems:
            model = self.cell(problem, self.planners[0], self.budgets[0], 0).make_problem(makers)
            missing = missing_from(model)
            if missing:
                raise InvalidArgument(f"{problem.title}: {missing}")
            if self.measure == "regret" and not isinstance(model, problems.Problem):
                raise InvalidArgument(
                    f"the regret is not known on {problem.title}; show another measure"
                )
            if access_of(model) is Access.RESET and self.access != "reset":
                raise InvalidArgument(
                    f"{problem.title} can only be reset: its dynamics are random; pass access reset"
                )
            for made in made_planners:
                made.check_access(model, Access(self.access))
                made.view_of(model)  # an error if it cannot choose from the model's actions
                least = made.count(actions_of(model))
                for budget in self.budgets:
                    check_budget(check_budget(budget, 1) // self.frames, least)


@dataclass(frozen=True)
class Experiment:
    """Blocks under one name."""

    name: str
    blocks: tuple[Block, ...]

    def cells(self) -> list[Cell]:
        """All runs, each once, whatever blocks share it."""
        return list({cell.key: cell for block in self.blocks for cell in block.cells()}.values())

    def check(self, makers: Makers = NO_MAKERS) -> None:
        """Raise if any of it cannot be run."""
        if not self.blocks:
            raise InvalidArgument(f"the experiment {self.name!r} has no blocks")
        for block in self.blocks:
            block.check(makers)

    def as_json(self) -> str:
        """The whole specification as text."""
        return canonical(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """The experiment that ``as_json`` wrote."""
        return _experiment(json.loads(text))


def _choice(data: Any) -> Choice:
    if isinstance(data, str):
        return Choice(data)
    if not isinstance(data, dict) or "name" not in data:
        raise InvalidArgument(f"a problem or planner is a name, or a table with one, got {data!r}")
    data = dict(data)
    name, label = str(data.pop("name")), str(data.pop("label", ""))
    parameters = data.pop("parameters", {})
    return Choice.of(name, label, **{**dict(parameters), **data})


def _experiment(data: dict[str, Any]) -> Experiment:
    fields = [item.name for item in dataclasses.fields(Block)]
    blocks = []
    for key in data:
        nearest(key, ("name", "blocks"), "entry of an experiment")
    if not isinstance(data.get("blocks", []), list):
        raise InvalidArgument("blocks must be a list: in a TOML file, write [[blocks]]")
    for number, block in enumerate(data.get("blocks", ()), 1):
        for key in block:
            nearest(key, fields, "entry of a block")
        given = {"title": f"block {number}", **block}
        for key in ("problems", "planners", "budgets"):
            given[key] = given.get(key, [])
            if not isinstance(given[key], list | tuple):
                raise InvalidArgument(f"{key} must be a list, got {given[key]!r}")
        for key in ("problems", "planners"):
            given[key] = tuple(_choice(item) for item in given[key])
        given["budgets"] = tuple(given["budgets"])
        blocks.append(Block(**given))
    return Experiment(str(data.get("name", "experiment")), tuple(blocks))


def _check_names(experiment: Experiment) -> None:
    """A file names problems that are known here; it must not name code to be imported."""
    for block in experiment.blocks:
        for problem in block.problems:
            for name, value in problem.parameters:
                if problem.name == "gymnasium" and isinstance(value, str) and ":" in value:
                    raise InvalidArgument(
                        f"{name} = {value!r} would import a module, which a file must not do; "
                        "pass it on the command line: --problem MODULE:FUNCTION"
                    )


def load(path: Path | str) -> Experiment:
    """An experiment from a TOML file.

    A file has a ``name`` and ``[[blocks]]`` with a ``title``, ``problems``, ``planners``,
    ``budgets``, ``seeds``, ``steps``, ``discount``, ``access``. Problems and planners are names,
    or tables of a ``name``, a ``label`` and parameters.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        experiment = _experiment(data)
        _check_names(experiment)
        experiment.check()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise InvalidArgument(f"{path} is not an experiment: {error}") from error
    return experiment
