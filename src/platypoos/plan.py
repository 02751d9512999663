"""What comes back: a plan, and an episode of plans that were carried out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from platypoos.discounting import spans
from platypoos.errors import InvalidArgument
from platypoos.ledger.tree import OPENED, ROOT, TERMINAL, Tree


@dataclass(frozen=True, eq=False)
class Plan:
    """The best first action a planner found, and why.

    Values are discounted sums of mean rewards along a sequence of actions; what comes after a
    sequence is counted at the reward floor (the smallest mean reward seen, or where episodes end
    the smallest average along a sequence, unless the planner was told another), and at 0 after a
    terminal state. Platypus counts sequences of the same length and nothing after them, unless
    all that can be reached is known; ``reward_floor`` is then what an unseen step is taken to
    bring. Planners that average over walks (such as UCT) count nothing after their horizon.
    """

    action: int
    """The action to take now."""
    value: float
    """Estimated value of the recommended sequence."""
    calls: int
    """Calls of the model that were made, at most ``budget``."""
    budget: int | None
    """None if there was a deadline only."""
    discount: float
    state: Any = field(repr=False)
    """The state that was planned for."""
    num_actions: int = field(repr=False)
    node: int = field(repr=False)
    """The recommended node of ``tree``."""
    tree: Tree = field(repr=False)
    p_index: int = field(default=0, repr=False)
    """Nodes of at least this index are compared for ``action_values``."""
    reward_floor: float = field(default=0.0, repr=False)
    estimates: NDArray[np.float64] | None = field(default=None, repr=False)
    """The planner's own values of the first actions, if it has some."""
    gap_interval: tuple[float, float] | None = field(default=None, repr=False)
    """Where the lead over the best sequence with another first action lies, with 95 % confidence.

    From fresh samples, which nothing was chosen by; None if there are none, or no noise.
    """
    enough: bool | None = None
    """Whether more calls are unlikely to change the action.

    The last three times that it was decided, each with new samples, the action was the same, and
    its lead is more than four standard errors and what states out of sight may change.
    None if the planner cannot tell.
    """
    horizon: int | None = field(default=None, repr=False)
    """Steps to the end of the episode that were planned for; None if there is no end."""
    worth: NDArray[np.float64] | None = field(default=None, repr=False)
    """What the model said that the states of the nodes are worth, if it did."""
    reached: bool | None = None
    """Whether the accuracy that was asked for was reached within the budget; None if none was."""

    @cached_property
    def actions(self) -> tuple[int, ...]:
        """The recommended sequence of actions; its first is ``action``."""
        return self.tree.actions(self.node)

    @cached_property
    def depth(self) -> int:
        """Depth of the deepest node of the tree."""
        return int(self.tree.depth[: self.tree.num_nodes].max())

    @cached_property
    def action_values(self) -> NDArray[np.float64]:
        """Value of each first action.

        The planner's own estimates if it has some. Else of the recommended one, ``value``, and of
        each other one, its best sequence among those that were evaluated at least as carefully.
        NaN if there is none.
        """
        if self.estimates is not None:
            return self.estimates
        tree, size = self.tree, self.tree.num_nodes
        discounted = np.zeros(size)
        first = np.full(size, -1)
        weights = self.discount ** np.arange(self.depth + 1, dtype=np.float64)
        order = np.argsort(tree.depth[1:size], kind="stable") + 1
        layers = np.split(order, np.cumsum(np.bincount(tree.depth[1:size])[1:])[:-1])
        for h, nodes in enumerate(layers):
            parents = tree.parent[nodes]
            rewards = np.where(tree.pulls[nodes] > 0, tree.reward[nodes], np.nan)
            discounted[nodes] = discounted[parents] + weights[h] * (rewards - self.reward_floor)
            first[nodes] = tree.action[nodes] if h == 0 else first[parents]
        rest = self.reward_floor * spans(self.discount, self.horizon, self.depth + 1)
        ends = tree.flags[:size] & TERMINAL != 0
        depths = tree.depth[:size]
        discounted[ends] -= (weights * rest)[depths[ends]]
        least_index = self.p_index
        if self.worth is not None:
            discounted += weights[depths] * self.worth
        if self.worth is not None or self.horizon is not None:
            least_index = 0
            discounted[tree.flags[:size] & OPENED != 0] = np.nan  # what follows was seen
        values = np.full(self.num_actions, np.nan)
        eligible = np.flatnonzero(~np.isnan(discounted) & (tree.p_index[:size] >= least_index))
        eligible = eligible[eligible != ROOT]
        best = np.full(self.num_actions, -np.inf)
        np.maximum.at(best, first[eligible], discounted[eligible])
        values[np.isfinite(best)] = best[np.isfinite(best)] + rest[ROOT]
        values[self.action] = self.value
        return values

    @cached_property
    def gap(self) -> float:
        """How far the recommended action is ahead of the runner-up (NaN with one action).

        Can be negative when rewards are noisy: the recommendation was evaluated more often in
        the end than its rivals, and did not keep all of its lead.
        """
        others = np.delete(self.action_values, self.action)
        others = others[~np.isnan(others)]
        return float(self.value - others.max()) if len(others) else float("nan")


@dataclass(frozen=True, eq=False)
class Episode:
    """What happened: one entry per step that was taken."""

    actions: tuple[int, ...]
    rewards: tuple[float, ...]
    """The rewards received, noise included."""
    states: tuple[Any, ...] = field(repr=False)
    """The states visited, the first and the last included."""
    step_calls: tuple[int, ...] = field(repr=False)
    """Calls that the planning of each step took."""
    terminated: bool
    """Whether the episode ended before its last step."""
    discount: float
    steps_per_call: int = 1
    """Steps of the simulator that a call took at most; more than 1 with repeated actions."""

    @cached_property
    def discounted_return(self) -> float:
        """Σ γ^t reward_t."""
        return float(np.dot(self.discount ** np.arange(len(self.rewards)), self.rewards))

    def as_dict(self) -> dict[str, Any]:
        """The episode as plain data, a row for each step; states are left out."""
        total = 0.0
        rows = []
        for step, (action, reward, calls) in enumerate(
            zip(self.actions, self.rewards, self.step_calls, strict=True)
        ):
            total += reward
            rows.append(
                {"step": step, "action": action, "reward": reward, "total": total, "calls": calls}
            )
        return {
            "discount": self.discount,
            "total_reward": total,
            "discounted_return": self.discounted_return,
            "terminated": self.terminated,
            "calls": self.calls,
            "steps_per_call": self.steps_per_call,
            "simulator_steps_at_most": self.calls * self.steps_per_call,
            "steps": rows,
        }

    def save(self, path: str | Path) -> None:
        """Write the episode as JSON."""
        target = Path(path)
        if not target.parent.is_dir():
            raise InvalidArgument(f"there is no folder {str(target.parent)!r} for {target.name}")
        target.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @property
    def calls(self) -> int:
        """Calls of the model for planning; the steps that were taken are not counted."""
        return sum(self.step_calls)
