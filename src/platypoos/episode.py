"""What happened: an episode of plans that were carried out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.explain.arrays import coordinate_names
from platypoos.explain.origin import Origin
from platypoos.markup import Table, notebook, number, plain, show_state
from platypoos.models.points import as_point
from platypoos.spaces import Space, Tried

if TYPE_CHECKING:
    from platypoos.models.base import Transition
    from platypoos.results import Plan

VERSION = 1
"""Of an episode as data; it changes when a field changes its meaning or goes."""
KIND = "platypoos episode"
MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Episode:
    """What happened: one entry per step that was taken."""

    actions: tuple[Any, ...]
    """The actions taken: what the model's ``step`` takes."""
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
    plans: tuple[Plan, ...] = field(default=(), repr=False)
    """The plan of each step. Unless ``control(keep="plans")`` was asked for, small ones: the
    recommended sequence, its rival, and the values of all first actions."""
    origin: Origin | None = field(default=None, repr=False)
    """The model, the planner, the seed."""
    space: Space | None = field(default=None, repr=False)
    """The model's actions; None if they are only numbers."""

    @cached_property
    def action_indices(self) -> tuple[int, ...]:
        """The places of ``actions`` in the list of actions."""
        if self.space is None:
            return self.actions
        return tuple(self.space.index(action) for action in self.actions)

    @cached_property
    def discounted_return(self) -> float:
        """Σ γ^t reward_t."""
        return float(np.dot(self.discount ** np.arange(len(self.rewards)), self.rewards))

    @property
    def calls(self) -> int:
        """Calls of the model for planning; the steps that were taken are not counted."""
        return sum(self.step_calls)

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """What the model calls its actions, or else they as text."""
        if isinstance(self.space, Tried):
            return self.space.names
        if self.plans:
            return self.plans[0].action_names
        if self.origin is not None and self.origin.action_names:
            return self.origin.action_names
        if self.space is not None:
            return self.space.names
        return tuple(str(action) for action in range(max(self.actions, default=-1) + 1))

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """What the model calls the coordinates of its arrays; none if it does not tell."""
        if self.space is None or self.origin is None:
            return ()
        return coordinate_names(self.space, self.origin.action_names)

    def as_dict(self) -> dict[str, Any]:
        """The episode as plain data, a row for each step; see ``from_dict``.

        States are left as they are if they are small and made of numbers and text, and are
        written as text otherwise. Of each plan there are the values of the first actions; where
        actions are arrays, these first actions too.
        """
        from platypoos.explain.storing import stored_payloads, stored_space

        total = 0.0
        rows = []
        for step, (action, reward, calls) in enumerate(
            zip(self.action_indices, self.rewards, self.step_calls, strict=True)
        ):
            total += reward
            row: dict[str, Any] = {
                "step": step,
                "action": action,
                "reward": reward,
                "total": total,
                "calls": calls,
            }
            if self.plans:
                found = self.plans[step]
                row["value"] = plain(found.value)
                row["values"] = plain(found.action_values.tolist())
                row["depth"] = found.depth
                if isinstance(found.space, Tried):
                    row["first_actions"] = [
                        plain(a) for a in found.space.payloads[: len(found.action_values)]
                    ]
            row["state"] = plain(self.states[step])
            rows.append(row)
        return {
            "kind": KIND,
            "version": VERSION,
            "discount": self.discount,
            "total_reward": total,
            "discounted_return": self.discounted_return,
            "terminated": self.terminated,
            "calls": self.calls,
            "steps_per_call": self.steps_per_call,
            "simulator_steps_at_most": self.calls * self.steps_per_call,
            "action_names": list(self.action_names),
            "coordinate_names": list(self.coordinate_names),
            "payloads": None if self.space is None else stored_payloads(self.space),
            "space": None if self.space is None else stored_space(self.space),
            "steps": rows,
            "last_state": plain(self.states[-1]),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Episode:
        """An episode from what ``as_dict`` returned; its plans are not in there."""
        from platypoos.explain.storing import check_kind, restored_space

        check_kind(data, KIND, VERSION)
        steps = data["steps"]
        number = max(1, len(data["action_names"]))
        space = restored_space(data.get("payloads"), number, data.get("space"))
        made = cls(
            actions=tuple(space.payloads[row["action"]] for row in steps),
            rewards=tuple(row["reward"] for row in steps),
            states=(*(row["state"] for row in steps), data["last_state"]),
            step_calls=tuple(row["calls"] for row in steps),
            terminated=data["terminated"],
            discount=data["discount"],
            steps_per_call=data.get("steps_per_call", 1),
            space=space,
        )
        vars(made)["action_names"] = tuple(data["action_names"])
        vars(made)["coordinate_names"] = tuple(data.get("coordinate_names", ()))
        return made

    def save(self, path: str | Path) -> None:
        """Write the episode as JSON, states and values included."""
        target = Path(path)
        if not target.parent.is_dir():
            raise InvalidArgument(f"there is no folder {str(target.parent)!r} for {target.name}")
        target.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    def explain(self, path: str | Path, *, command: str | None = None) -> Path:
        """Write a page with a slider over the steps, to be opened in any browser.

        Args:
            path: the page, such as "episode.html".
            command: the command that made the episode, to be shown there.
        """
        from platypoos.explain.episode_page import write_episode

        return write_episode(self, path, command)

    def plot(self) -> Any:
        """A matplotlib figure: rewards, values, and the path or the actions taken."""
        from platypoos.explain.figure import episode_figure

        return episode_figure(self)

    def film(self, path: str | Path, *, frames_per_second: float = 10.0) -> Path:
        """Film the episode with each plan's look-ahead drawn in, as a .gif or .mp4 file.

        Args:
            path: the film.
            frames_per_second: how fast it runs.

        It is for problems in the plane: the model says where a state is, by
        ``position(state) -> (x, y)``. It may also list circles to be drawn, by
        ``landmarks() -> [(x, y, radius, name), …]``.
        """
        from platypoos.explain.film import write_film

        return write_film(self, path, frames_per_second)

    def __str__(self) -> str:
        end = ", then the episode ended" if self.terminated else ""
        return (
            f"{len(self.actions)} steps{end}; total reward {number(sum(self.rewards))}, "
            f"discounted {number(self.discounted_return)}, {self.calls:,} calls"
        )

    def _repr_html_(self) -> str:
        head = ["step", "action", "reward", "value", "calls", "state before it"]
        rows = []
        for t, action in enumerate(self.action_indices[:MOST_ROWS]):
            value = number(self.plans[t].value) if self.plans else "–"
            name = self.action_names[action]
            reward = number(self.rewards[t])
            rows.append(
                [t + 1, name, reward, value, self.step_calls[t], show_state(self.states[t])]
            )
        left = len(self.actions) - MOST_ROWS
        return notebook(str(self), Table(head, rows), *[f"… {left} more steps"] * (left > 0))

    def __getstate__(self) -> dict[str, Any]:
        _ = self.action_names, self.coordinate_names
        return {**vars(self), "version": VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.pop("version", None)
        vars(self).update(state)


def check_keep(keep: object) -> str:
    """What to keep of the plans of an episode, or an error that names it."""
    if keep not in {"summaries", "plans", "nothing"}:
        raise InvalidArgument(f'keep must be "summaries", "plans" or "nothing", got {keep!r}')
    return str(keep)


class Record:
    """The steps that were taken so far."""

    def __init__(
        self, start: Any, discount: float, keep: str, origin: Origin, space: Space
    ) -> None:
        self.states: list[Any] = [start]
        self.total = 0.0
        self.steps_per_call = 1
        self._keep, self._origin, self._space = keep, origin, space
        self._plans: list[Plan] = []
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._calls: list[int] = []
        self._terminated = self._in_a_box = False
        self._discount = discount

    def add(self, plan: Plan, after: Transition) -> None:
        """Add a step: its plan, and what acting brought."""
        self.states.append(after.state)
        self.total += after.reward
        if self._keep == "plans":
            plan.release()
            self._plans.append(plan)
        elif self._keep == "summaries":
            self._plans.append(plan.brief())
        self._in_a_box = isinstance(plan.space, Tried)
        self._actions.append(plan.action)
        self._rewards.append(after.reward)
        self._calls.append(plan.calls)
        self._terminated = after.terminated

    def _taken(self) -> Space:
        """The actions of an episode, of a space that is not listed."""
        different = {as_point(self._space, action): action for action in self._actions}
        return Tried(self._space, list(different.values()), len(different))

    def episode(self) -> Episode:
        """The episode so far."""
        return Episode(
            actions=tuple(self._actions),
            rewards=tuple(self._rewards),
            states=tuple(self.states),
            step_calls=tuple(self._calls),
            terminated=self._terminated,
            discount=self._discount,
            steps_per_call=self.steps_per_call,
            plans=tuple(self._plans),
            origin=self._origin,
            space=self._taken() if self._in_a_box or not self._space.is_finite else self._space,
        )
