"""What comes back: a plan, and an episode of plans that were carried out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from platypoos.discounting import spans
from platypoos.episode import Episode
from platypoos.explain.arrays import coordinate_names
from platypoos.explain.origin import Origin
from platypoos.explain.summary import Summary, summarize
from platypoos.explain.verdict import CLEAR, PROVED, Lead
from platypoos.simulator.pools import Busy
from platypoos.spaces import Discrete, Space, Tried
from platypoos.trees.tree import OPENED, ROOT, TERMINAL, Tree

if TYPE_CHECKING:
    from platypoos.explain import Explanation

__all__ = [
    "CLEAR",
    "PROVED",
    "Episode",
    "Improvement",
    "Lead",
    "Noise",
    "Origin",
    "Outcome",
    "Plan",
]

VERSION = 1
"""Of a plan as data; it changes when a field changes its meaning or goes."""


class Noise(NamedTuple):
    """What a planner saw of the noise in the rewards."""

    deviation: float
    """Standard deviation of a sample; 0 if none was seen."""
    average: float
    """Mean of all rewards: with noise, estimates are drawn to it."""
    spread: float
    """Variance of the mean rewards, noise taken out; 0 if estimates are taken as they are."""


class Improvement(NamedTuple):
    """How much better than the user's rule a plan is, over as many steps."""

    estimate: float
    low: float
    """The interval (95 %) is for noise; without noise it is the estimate."""
    high: float


class Outcome(NamedTuple):
    """Where the recommended action may lead under random dynamics, and what to do there."""

    probability: float
    """The share of the samples that led there."""
    state: Any
    """None if the episode ends."""
    ends: bool
    """Whether the episode ends."""
    action: Any
    """The action to take next; None after an end, or if nothing is known there yet."""
    action_index: int | None
    """The place of ``action`` in the list of actions."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The best first action a planner found, and why.

    Values are discounted sums of mean rewards along a sequence of actions; what comes after a
    sequence is counted at the reward floor (the smallest mean reward seen, or where episodes end
    the smallest average along a sequence, unless the planner was told another), and at 0 after a
    terminal state. With Platypus all sequences have the same length, and ``reward_floor`` is what
    going on brings on average at each later step; where nothing is unknown, values are exact.
    Planners that average over walks (such as UCT) count nothing after their horizon.
    """

    action: Any
    """The action to take now: what the model's ``step`` takes."""
    value: float
    """Estimated value of the recommended sequence."""
    calls: int
    """Calls of the model that were made, at most ``budget``."""
    budget: int | None
    """None if there was a deadline only."""
    discount: float
    state: Any = field(repr=False)
    """The state that was planned for."""
    action_index: int = field(repr=False)
    """The place of ``action`` in the list of actions, and in ``action_values``."""
    space: Space = field(repr=False)
    """The model's actions; where they cannot be listed, those of the sequences that are shown."""
    node: int = field(repr=False)
    """The recommended node of ``tree``."""
    tree: Tree = field(repr=False)
    p_index: int = field(default=0, repr=False)
    """Nodes of at least this index are compared for ``action_values``."""
    reward_floor: float = field(default=0.0, repr=False)
    estimates: NDArray[np.float64] | None = field(default=None, repr=False)
    """The planner's own values of the first actions, if it has some."""
    rival_index: int | None = field(default=None, repr=False)
    """The place of the first action of the plan that ``lead`` compares with, if the planner says
    so; else it is the one with the best value."""
    heard: Lead | None = field(default=None, repr=False)
    """The lead by fresh samples, which nothing was chosen by; None if there are none."""
    confidence: float | None = None
    """The probability that no other first action is better than the recommended one by more than a
    twentieth of the spread of the action values, as far as was seen. It is calibrated on problems
    with exact values ([how](docs/results/calibration.md)). At least 0.999: proved, all that can be
    reached is known and no noise was seen. None if the planner cannot tell:
    by RESET, in a box, and for other planners than the default one."""
    signs: tuple[float, ...] = field(default=(), repr=False)
    """What ``confidence`` follows from, for those who fit it again."""
    enough: bool | None = None
    """Whether more calls are unlikely to change the action: ``confidence`` is at least 0.95.
    None if the planner cannot tell:
    by RESET, in a box, and for other planners than the default one."""
    improvement: Improvement | None = None
    """The gain over the user's rule (``model.policy``): the recommended sequence against what the
    rule does, in discounted reward over the same number of steps. 0 if nothing better than the rule
    was found, and the rule's action is recommended. Under random dynamics a fifth of the calls goes
    to pairs of fresh roll-outs, which nothing was chosen by: of what was learned, and of the rule,
    with the same random numbers. None if that would be fewer than four pairs, or with a clock.
    None without a rule, in a box under random dynamics, or if the planner does not use it."""
    rule_node: int | None = field(default=None, repr=False)
    """The node of ``tree`` at the end of what the user's rule does; None if that is not known."""
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)
    """Under random dynamics: where ``action`` may lead, the likeliest first, and the next action in
    each case. Then ``actions`` is only the likeliest line. Empty if dynamics are deterministic, or
    if the plan is open loop."""
    horizon: int | None = field(default=None, repr=False)
    """Steps to the end of the episode that were planned for; None if there is no end."""
    worth: NDArray[np.float64] | None = field(default=None, repr=False)
    """What the model said that the states of the nodes are worth, if it did."""
    reached: bool | None = None
    """Whether the accuracy that was asked for was reached within the budget; None if none was."""
    note: str = ""
    """What else must be known of the plan, in a few words; mostly nothing."""
    states: dict[int, Any] = field(default_factory=dict, repr=False)
    """The states of nodes of ``tree``: of the recommended sequence, and with the default planner of
    the best one for each first action. None by RESET."""
    parts: dict[int, dict[str, float]] = field(default_factory=dict, repr=False)
    """What the rewards of nodes of ``tree`` consist of, where the model says so (``pp.Reward``)."""
    sources: NDArray[np.int64] | None = field(default=None, repr=False)
    """Nodes of ``tree`` with the same number share their samples: they are the same state and
    action. None if no two do."""
    noise: Noise | None = field(default=None, repr=False)
    """None if the planner does not look for noise."""
    workers: Busy | None = field(default=None, repr=False)
    """With an executor: how many workers it has, the share of their time that they worked, and how
    many batches of requests there were."""
    searched: Any = field(default=None, repr=False)
    """All that was searched, if ``tree`` is only a part of it. See ``release``."""
    origin: Origin | None = field(default=None, repr=False)
    """The model, the planner, the seed: what is needed to make the plan again."""

    @property
    def num_actions(self) -> int:
        """How many there are; where they cannot be listed, how many first ones are shown."""
        return self.space.firsts if isinstance(self.space, Tried) else self.space.n

    @cached_property
    def actions(self) -> tuple[Any, ...]:
        """The recommended sequence of actions; its first is ``action``."""
        return tuple(self.space.payloads[index] for index in self.action_indices)

    @cached_property
    def action_indices(self) -> tuple[int, ...]:
        """The places of ``actions`` in the list of actions."""
        return self.tree.actions(self.node)

    @property
    def is_open_loop(self) -> bool:
        """Whether dynamics are random and the plan does not react to them.

        False if the model is not there any more.
        """
        origin = self.origin
        if self.outcomes or origin is None:
            return False
        if getattr(origin.model, "dynamics", None) != "random":
            return False
        return origin.access == "reset" or isinstance(self.space, Tried)

    @cached_property
    def depth(self) -> int:
        """Depth of the deepest node of the tree."""
        return int(self.tree.depth[: self.tree.num_nodes].max())

    @cached_property
    def action_values(self) -> NDArray[np.float64]:
        """Value of each first action, in the order of the list of actions.

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
        values[self.action_index] = self.value
        return values

    @cached_property
    def rival(self) -> int | None:
        """The place of the runner-up in the list of actions; None if nothing else was tried."""
        if self.rival_index is not None:
            return self.rival_index
        others = self.action_values.copy()
        others[self.action_index] = np.nan
        return None if np.isnan(others).all() else int(np.nanargmax(others))

    @cached_property
    def lead(self) -> Lead | None:
        """By how much this plan beats the best plan found with another first action.

        None if no other first action was evaluated. Without samples that nothing was chosen by, it
        is the difference of the two values.
        """
        if self.heard is not None:
            return self.heard
        rival = self.rival
        if rival is None:
            return None
        estimate = float(self.value - self.action_values[rival])
        exact = self.noise is not None and self.noise.deviation == 0.0
        return Lead(estimate, estimate, estimate) if exact else Lead(estimate, None, None)

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """What the model calls its actions (``model.action_names``), or else they as text."""
        names = () if self.origin is None else self.origin.action_names
        named = len(names) == self.space.n and not isinstance(self.space, Tried)
        return names if named else self.space.names

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """What the model calls the coordinates of its arrays; none if it does not tell."""
        return coordinate_names(self.space, () if self.origin is None else self.origin.action_names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the actions as sentences use them: a number alone says too little."""
        if isinstance(self.space, Tried):
            return self.action_names
        return tuple(
            f"action {name}" if name.isdigit() else repr(name) for name in self.action_names
        )

    @cached_property
    def summary(self) -> Summary | None:
        """Where the calls went, by depth and first action; and the largest part of the tree.

        None if what was searched was not kept; see ``release``.
        """
        if not self.is_whole:
            return None
        return summarize(self.searched_tree(), self.num_actions, self.action_indices)

    def searched_tree(self) -> Tree:
        """All that was searched, as a tree; ``tree`` if the rest was not kept."""
        searched = self.searched
        if searched is None:
            return self.tree
        return searched if isinstance(searched, Tree) else searched.tree()

    @property
    def is_whole(self) -> bool:
        """Whether all that was searched is still there."""
        return self.searched is not None or self.sources is None

    def release(self, *, summarized: bool = True) -> None:
        """Free the memory of what was searched; what ``tree`` and ``summary`` have stays.

        Args:
            summarized: make ``summary`` before. Else there will be none.
        """
        if self.searched is not None:
            if summarized:
                _ = self.summary
            object.__setattr__(self, "searched", None)

    def brief(self) -> Plan:
        """A small copy: the recommended sequence, its rival and the values of all first actions."""
        from platypoos.explain.brief import brief

        small = replace(self, **brief(self))
        vars(small).update(depth=self.depth, coordinate_names=self.coordinate_names)
        if small.space is self.space:
            vars(small)["action_names"] = self.action_names
        return small

    def explain(self, path: str | Path | None = None, *, command: str | None = None) -> Explanation:
        """Why this action and not another one; the model is not called.

        Args:
            path: a file to write a page to that can be opened in any browser, such as "why.html",
                or data, "why.json". Only an explanation is returned if left out.
            command: the command that made the plan, to be shown there.

        >>> import platypoos as pp
        >>> plan = pp.plan(pp.problems.SwitchChain(), budget=500, discount=0.95, seed=0)
        >>> plan.explain().summary.split(". Its")[0]
        "Take 'bin 0' now"
        """
        from platypoos.explain.explanation import explanation_of
        from platypoos.explain.page import write_plan

        why = explanation_of(self, command)
        if path is not None:
            write_plan(why, self, path)
        return why

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data, with the best sequence for each first action; see ``from_dict``.

        States are left as they are if they are small and made of numbers and text, and are
        written as text otherwise.
        """
        from platypoos.explain.storing import plan_as_dict

        return plan_as_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        """A plan from what ``as_dict`` returned, of this version or an earlier one."""
        from platypoos.explain.storing import plan_fields

        fields = plan_fields(data)
        told = {name: fields.pop(name) for name in ("action_names", "coordinate_names", "depth")}
        noise, gain = fields.pop("noise"), fields.pop("improvement")
        fields["improvement"] = None if gain is None else Improvement(*gain)
        fields["outcomes"] = tuple(Outcome(*found) for found in fields["outcomes"])
        made = cls(**fields, noise=None if noise is None else Noise(*noise))
        vars(made).update(told)
        return made

    def __str__(self) -> str:
        from platypoos.explain.table import table

        return table(self)

    def _repr_html_(self) -> str:
        from platypoos.explain.table import notebook

        return notebook(self)

    def __getstate__(self) -> dict[str, Any]:
        # They come from the model and the whole tree.
        _ = self.action_names, self.coordinate_names, self.depth
        self_contained = {**vars(self), "tree": self.tree.copy(), "searched": None}
        self_contained["summary"] = self.summary
        return {**self_contained, "version": VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.pop("version", None)
        if "num_actions" in state:  # stored when actions were numbers only
            number = state.pop("num_actions")
            state |= {"space": Discrete(number), "action_index": state["action"]}
        vars(self).update(state)
