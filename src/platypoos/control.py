"""Plan, act, repeat: receding-horizon control."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from platypoos.agent import Agent, choose_planner
from platypoos.blame import act
from platypoos.checks import check_count, check_horizon
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access
from platypoos.plan import Plan
from platypoos.planners.base import Planner, initial_state
from platypoos.simulator import Seed, make_generator
from platypoos.video import Film


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


def plan(
    model: Any,
    state: Any = None,
    *,
    budget: int | None = None,
    deadline: float | None = None,
    stop: Callable[[int], bool] | None = None,
    discount: float | None = None,
    horizon: int | None = None,
    planner: Planner | None = None,
    seed: Seed = None,
    access: Access | str | None = None,
    executor: Any = None,
    timeout: float | None = None,
) -> Plan:
    """Find the best first action with at most ``budget`` calls of ``model``.

    Args:
        model: a :class:`~platypoos.Model`: wrap a function in ``FunctionModel``, a function over
            arrays in ``ArrayModel``, a compiled step in ``CompiledModel``.
        state: where to plan from; the model's initial state if left out.
        budget: the most calls of the model to make, at least one per action; may be left out if
            there is a deadline or ``stop``.
        deadline: seconds to plan for; a plan may take one request longer. Without a budget,
            Ctrl-C returns the best plan so far.
        stop: called with the calls made so far; planning stops when it returns True.
        discount: γ, in [0, 1): the planner's, or the model's if it is made for one, or 0.95. With
            a horizon it may be 1.
        horizon: steps to the end of the episode, counted from ``state``; nothing is counted after
            it.
        planner: :class:`~platypoos.Platypus` if left out.
        seed: an int, a ``SeedSequence`` or a ``Generator``; the same seed, the same plan.
        access: RESTORE or RESET; what the model declares if left out.
        executor: anything with the interface of ``concurrent.futures.Executor``, to spread the
            calls of a request over its workers; the plan is the same. For slow Python models.
        timeout: the seconds to wait for a worker's answer; for ever if left out.

    >>> import platypoos as pp
    >>> best = pp.plan(pp.problems.SwitchChain(noise=1.0), budget=1_000, discount=0.95, seed=0)
    >>> best.action, best.calls
    (0, 1000)
    """
    return choose_planner(planner, discount, model).plan(
        model,
        state,
        budget=budget,
        deadline=deadline,
        stop=stop,
        horizon=horizon,
        seed=seed,
        access=access,
        executor=executor,
        timeout=timeout,
    )


def control(
    model: Any,
    planner: Planner | None = None,
    *,
    budget: int | None = None,
    deadline: float | None = None,
    steps: int | None = None,
    discount: float | None = None,
    horizon: int | None = None,
    state: Any = None,
    seed: Seed = None,
    access: Access | str | None = None,
    executor: Any = None,
    timeout: float | None = None,
    render: str | Path | None = None,
    on_step: Callable[[int, Plan, float], None] | None = None,
) -> Episode:
    """Plan with ``budget`` calls, take the action, and plan again from where it led.

    Args:
        model: the model; it is planned with, and acted in (in ``model.acting`` if it has that:
            the same states, other ends).
        planner: :class:`~platypoos.Platypus` if left out.
        budget: calls of the model for each step.
        deadline: seconds for each step, instead of a budget or with one; see ``Agent``.
        steps: the most steps to take; fewer if the episode ends. The horizon if left out.
        discount: γ, in [0, 1): the planner's, or the model's if it is made for one, or 0.95. With
            a horizon it may be 1.
        horizon: steps to the end of the episode, counted from the first state. Each plan looks as
            far as is left of it.
        state: where to start; the model's initial state if left out.
        seed: an int, a ``SeedSequence`` or a ``Generator``. The noise of the rewards received
            depends on the seed only, not on the planner.
        access: RESTORE or RESET; what the model declares if left out.
        executor: to spread the calls of slow Python models over workers; see ``plan``.
        timeout: the seconds to wait for a worker's answer; for ever if left out.
        render: a .gif or .mp4 file to film the episode in, if the model has ``render(state)``.
        on_step: called after each step with its number, the plan and the reward received.

    If planning or acting fails, or is interrupted, the exception has an attribute ``episode``
    with the steps that were taken, and the film shows them.

    >>> import platypoos as pp
    >>> episode = pp.control(
    ...     pp.problems.SwitchChain(), pp.PlaTyPOOS(discount=0.95), budget=1_000, steps=20, seed=0
    ... )
    >>> episode.actions == (0,) * 20, episode.calls
    (True, 20000)
    """
    if horizon is not None:
        horizon = check_horizon(horizon)
        steps = horizon if steps is None else min(check_count("steps", steps), horizon)
    if steps is None:
        raise InvalidArgument("steps= or horizon= must say how many steps to take; got neither")
    steps = check_count("steps", steps)
    arena = getattr(model, "acting", model)
    acting, planning = make_generator(seed).spawn(2)
    agent = Agent(
        model,
        budget=budget,
        deadline=deadline,
        discount=discount,
        horizon=horizon,
        planner=planner,
        seed=planning,
        access=access,
        executor=executor,
        timeout=timeout,
    )
    current = initial_state(model) if state is None else state
    actions: list[int] = []
    rewards: list[float] = []
    states: list[Any] = [current]
    calls: list[int] = []
    terminated = False

    def so_far() -> Episode:
        return Episode(
            actions=tuple(actions),
            rewards=tuple(rewards),
            states=tuple(states),
            step_calls=tuple(calls),
            terminated=terminated,
            discount=agent.planner.discount,
        )

    film = _start_film(model, current, render)
    try:
        for step in range(steps):
            found = agent.plan_at(current)
            current, reward, terminated = act(arena, current, found.action, acting)
            agent.observe(reward)
            actions.append(found.action)
            rewards.append(reward)
            states.append(current)
            calls.append(found.calls)
            if film is not None:
                film.add(model.render(current))
            if on_step is not None:
                on_step(step, found, reward)
            if terminated:
                break
    except BaseException as error:
        error.episode = so_far()  # type: ignore[attr-defined]
        raise
    finally:
        if film is not None:
            film.close()
    return so_far()


def _start_film(model: Any, state: Any, path: str | Path | None) -> Film | None:
    if path is None:
        return None
    if not callable(getattr(model, "render", None)):
        raise InvalidArgument(
            f"render needs a model with render(state) that returns an RGB array; "
            f"{type(model).__name__} has none"
        )
    first = model.render(state)
    film = Film(path, getattr(model, "frames_per_second", 20.0))
    film.add(first)
    return film
