"""Pure integers: what the layered planners open, how often they evaluate it, what it costs.

A schedule is a function of the budget, the number of actions, the discount and the access only,
never of the rewards, so its exact worst-case cost is known before the first call.

>>> print(platypoos(40, num_actions=2, discount=0.5))
platypoos schedule: 40 calls, 2 actions
discount 0.5, access restore
h_max 3, p_max 1, root opened 3 times
 depth      p  evaluations  nodes    calls
     1      1            1      2        4
     2      1            1      1        2
     2      0            1      1        2
     3      1            1      1        2
     3      0            1      1        2
cross-validation of each of at most 2 candidates: 2 1 1 1
worst case 28 of 40 calls
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_budget, check_discount, check_horizon, check_num_actions
from platypoos.discounting import spans
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, access_of
from platypoos.search.counts import (
    DEPTH,
    FIGURE,
    NODES,
    PLATYPOOS,
    SEQUOOL,
    STROQUOOL,
    UNIFORM,
    WORTH_COMPILING,
    largest_h_max,
    largest_h_max_compiled,
    tabulate,
    tabulate_compiled,
    validation_count,
    validation_norm,
)

BudgetUse = Literal["full", "paper"]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Which nodes a layered planner opens: a table with one row per depth h and index p."""

    name: str
    kind: int
    budget: int
    num_actions: int
    discount: float
    access: Access
    horizon: int | None  # the depth at which episodes are over
    h_max: int
    p_max: int
    root_evaluations: int
    rows: NDArray[np.int64]  # [rows, 5] depth, index p, evaluations c, quota k, nodes o
    layers: NDArray[np.int64]  # [depths + 1] where the rows of each depth start
    calls: int  # worst case, cross-validation included
    validated: bool  # are the candidates cross-validated?
    spend_all: bool  # does what is left go to the cross-validation?
    scratch: list[Any] = field(default_factory=list, repr=False)  # memory of plans, to use again

    @cached_property
    def depth(self) -> int:
        """Depth of the deepest node."""
        return len(self.layers)

    @cached_property
    def num_nodes(self) -> int:
        """Nodes of the tree, the root included."""
        return 1 + self.num_actions * (1 + int(self.rows[:, NODES].sum()))

    @cached_property
    def widest(self) -> int:
        """The most nodes that one layer adds."""
        if not len(self.rows):
            return self.num_actions
        opened = np.add.reduceat(self.rows[:, NODES], self.layers[:-1])
        return self.num_actions * max(1, int(opened.max()))

    @cached_property
    def validation(self) -> NDArray[np.int64]:
        """Evaluations that cross-validation gives step t of a candidate of full depth."""
        depth = self.depth if self.validated else 0
        return np.array(
            [
                validation_count(self.kind, t, depth, self.h_max, self.discount, self.norm)
                for t in range(depth)
            ],
            np.int64,
        )

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """What these counts are proportional to (StroquOOL's are all equal)."""
        t = np.arange(self.depth, dtype=np.float64)
        return (t + 1) * self.discount ** (2 * t)

    @cached_property
    def norm(self) -> float:
        """1/Σ (t+1)·γ^(2t), with which the counts of a candidate add up to h_max."""
        return validation_norm(self.discount, self.horizon)

    @cached_property
    def span(self) -> NDArray[np.float64]:
        """What a reward of 1 at every step from each depth on is worth."""
        return spans(self.discount, self.horizon, self.depth + 1)

    @cached_property
    def power(self) -> NDArray[np.float64]:
        """γ^t."""
        return self.discount ** np.arange(self.depth, dtype=np.float64)

    def __str__(self) -> str:
        lines = [
            f"{self.name} schedule: {self.budget} calls, {self.num_actions} actions",
            f"discount {self.discount}, access {self.access.value}"
            + ("" if self.horizon is None else f", horizon {self.horizon}"),
            f"h_max {self.h_max}, p_max {self.p_max}, root opened {self.root_evaluations} times",
            " depth      p  evaluations  nodes    calls",
        ]
        reset = self.access is Access.RESET
        table = [
            f"{h:6d} {p:6d} {c:12d} {o:6d} {self.num_actions * o * c * (h + 1 if reset else 1):8d}"
            for h, p, c, _, o in self.rows.tolist()
            if o
        ]
        if len(table) > 40:
            table[20:-10] = [f"  ... {len(table) - 30} more rows ..."]
        lines += table
        if self.validated:
            counts = [str(count) for count in self.validation.tolist()]
            if len(counts) > 16:
                counts[12:] = [f"... ({len(counts)} steps)"]
            lines.append(
                f"cross-validation of each of at most {self.p_max + 1} candidates: "
                + " ".join(counts)
            )
        lines.append(f"worst case {self.calls} of {self.budget} calls")
        return "\n".join(lines)


def check_schedule(
    budget: int,
    num_actions: int,
    discount: float,
    access: Access | str,
    use: str,
    horizon: int | None,
) -> tuple[int, int, float, Access]:
    """The arguments of a schedule, checked."""
    num_actions = check_num_actions(num_actions)
    access = access_of(None, access)
    if use not in {"full", "paper"}:
        raise InvalidArgument(f'budget_use must be "full" or "paper", got {use!r}')
    gamma = check_discount(discount, may_be_one=horizon is not None)
    if horizon is not None:
        check_horizon(horizon)
    return check_budget(budget, num_actions), num_actions, gamma, access


@lru_cache(maxsize=64)
def layered(
    kind: int,
    budget: int,
    num_actions: int,
    gamma: float,
    access: Access,
    use: BudgetUse,
    horizon: int | None = None,
) -> Schedule:
    """The schedule of a kind for arguments that have been checked."""
    reset = access is Access.RESET
    search, fill = largest_h_max, tabulate
    if budget > WORTH_COMPILING:
        search, fill = largest_h_max_compiled, tabulate_compiled
    norm = validation_norm(gamma, horizon)
    deepest = budget if horizon is None else horizon - 1
    h_max = int(search(kind, num_actions, gamma, norm, deepest, reset, budget))
    if use == "paper":
        h_max = min(h_max, _paper_h_max(kind, budget // num_actions))
    name = {
        PLATYPOOS: "platypoos",
        FIGURE: "platypoos, Figure 3",
        STROQUOOL: "stroquool",
        SEQUOOL: "sequool",
    }[kind]
    p_max = 0 if kind == SEQUOOL or h_max < 1 else h_max.bit_length() - 1
    if h_max == 0:  # too small for anything but the root
        root = 1 if kind == SEQUOOL else budget // num_actions
        rows = np.empty((0, 5), np.int64)
        calls = root * num_actions
    else:
        root = 1 if kind == SEQUOOL else h_max
        none = np.empty((0, 5), np.int64)
        count = fill(kind, h_max, num_actions, gamma, norm, deepest, reset, none)[0]
        rows = np.empty((count, 5), np.int64)
        calls = fill(kind, h_max, num_actions, gamma, norm, deepest, reset, rows)[1]
    return Schedule(
        name=name,
        kind=kind,
        budget=budget,
        num_actions=num_actions,
        discount=gamma,
        access=access,
        horizon=horizon,
        h_max=h_max,
        p_max=p_max,
        root_evaluations=root,
        rows=rows,
        layers=_layer_starts(rows),
        calls=int(calls),
        validated=kind != SEQUOOL and h_max > 0,
        spend_all=use == "full",
    )


def _paper_h_max(kind: int, n: int) -> int:
    if kind == SEQUOOL:
        return max(1, math.floor(n / sum(1 / i for i in range(1, n + 1))))  # Figure 1
    return max(1, math.floor(n / (2 * (math.log2(n) + 1) ** 2)))  # Figure 3


def _layer_starts(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    depths = rows[:, DEPTH]
    starts = np.flatnonzero(np.diff(depths, prepend=0))
    return np.append(starts, len(rows)).astype(np.int64)


def published(
    kind: int,
    budget: int,
    num_actions: int,
    discount: float,
    access: Access | str = Access.RESTORE,
    budget_use: BudgetUse = "full",
    horizon: int | None = None,
) -> Schedule:
    """The schedule of PLATYPOOS, STROQUOOL or SEQUOOL."""
    checked = check_schedule(budget, num_actions, discount, access, budget_use, horizon)
    return layered(kind, *checked, budget_use, horizon)


platypoos = partial(published, PLATYPOOS)
"""PlaTγPOOS (Figure 3): log2 many SequOOLs at once, with 2^p evaluations each."""
stroquool = partial(published, STROQUOOL)
"""StroquOOL applied to planning: as PlaTγPOOS, without the discount in the counts."""
sequool = partial(published, SEQUOOL)
"""SequOOL (Figures 1 and 2): ⌊h_max/h⌋ nodes at depth h, each evaluated once."""


def uniform_depth(budget: int, num_actions: int, horizon: int | None = None) -> int:
    """The largest H for which all K^H sequences of H steps can be played once."""
    depth, deepest = 1, budget if horizon is None else horizon
    while depth < deepest and (depth + 1) * num_actions ** (depth + 1) <= budget:
        depth += 1
    return depth


def uniform(
    budget: int,
    num_actions: int,
    discount: float,
    access: Access | str = Access.RESTORE,
    horizon: int | None = None,
) -> Schedule:
    """Good uniform planning: the full tree of depth H, an equal share of the calls per depth."""
    budget, num_actions, gamma, access = check_schedule(
        budget, num_actions, discount, access, "full", horizon
    )
    depth = uniform_depth(budget, num_actions, horizon)
    # All sequences are played N/(H·K^H) times. With RESTORE the same samples are asked for node
    # by node; with RESET a walk to a leaf evaluates the whole sequence.
    counts = [budget // (depth * num_actions ** (h + 1)) for h in range(depth)]
    if access is Access.RESET:
        counts[:-1] = [0] * (depth - 1)
    rows = np.array(
        [[h, 0, counts[h], num_actions**h, num_actions**h] for h in range(1, depth)], np.int64
    ).reshape(-1, 5)
    price = depth if access is Access.RESET else 1
    return Schedule(
        name="uniform",
        kind=UNIFORM,
        budget=budget,
        num_actions=num_actions,
        discount=gamma,
        access=access,
        horizon=horizon,
        h_max=depth,
        p_max=0,
        root_evaluations=counts[0],
        rows=rows,
        layers=_layer_starts(rows),
        calls=price * sum(count * num_actions ** (h + 1) for h, count in enumerate(counts)),
        validated=False,
        spend_all=False,
    )
