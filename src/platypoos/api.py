"""Plan once, act in a loop of your own, or let ``control`` run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from platypoos.checking.hidden import check_goes_on, may_hide_its_state
from platypoos.checks import (
    Seed,
    check_count,
    check_horizon,
    check_number,
    is_environment,
    make_generator,
)
from platypoos.choosing import choose_planner, with_memory
from platypoos.episode import Record, check_keep
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, access_of, actions_of, is_compiled
from platypoos.models.failures import act
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.jax import JaxModel
from platypoos.models.points import as_point, is_pointed
from platypoos.planners.platypus.planner import Platypus
from platypoos.progress import StepBar
from platypoos.results import Episode, Origin, Plan
from platypoos.search.base import Asked, Planner, initial_state
from platypoos.video import Film, film_of

UNKNOWN: Any = object()
"""No state was given: it may be anything, None too."""
WARMING, WARMING_JAX = 50, 2_000
"""Calls for each action in a plan that only compiles."""


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
            arrays in ``ArrayModel``, a compiled step in ``CompiledModel``. Or a Gymnasium
            environment: it is planned from where it is, and left there.
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
    asked = Asked(budget, deadline, stop, horizon, access, executor, timeout)
    check_state(state)
    made = as_model(model)
    start = initial_state(made) if state is None else state
    try:
        return choose_planner(planner, discount, made).answer(made, start, asked, seed=seed)
    finally:
        if made is not model:
            made.restore(made.initial_state)


def check_state(state: Any) -> None:
    """Raise if a planner was passed in the place of the state."""
    if isinstance(state, Planner):
        raise InvalidArgument(
            f"the second argument is the state to start from, got {state!r}; pass planner="
        )


def as_model(model: Any) -> Any:
    """The model, or one around an environment, or of the environment with this id."""
    return GymnasiumModel(model) if is_environment(model) or isinstance(model, str) else model


class Agent:
    """Plans in your own loop: in real time, and with what it has learned in the steps before.

    With a Python model the default planner needs no machine code. Compiled models and published
    planners do: it is compiled when it is first needed, which takes seconds, once on a machine.
    So with a deadline call ``warm_up`` first.

    Args:
        model: what to plan with, or a Gymnasium environment (or its id); ``agent.model`` is then
            a model of it, and it is left where it is. The system that you act in may be another
            one.
        budget: the most calls of the model for each step.
        deadline: the seconds for each step, if the planner can stop at any time. One of the two,
            or both.
        discount: γ, in [0, 1): the planner's, or the model's if it is made for one, or 0.95.
        horizon: steps to the end of the episode, counted from the first ``act``.
        planner: :class:`~platypoos.Platypus` if left out.
        seed: an int, a ``SeedSequence`` or a ``Generator``.
        access: RESTORE or RESET; what the model declares if left out.
        executor: to spread the calls of slow Python models over workers; see ``plan``.
        timeout: the seconds to wait for a worker's answer; for ever if left out.
        memory: bytes to keep from step to step, 0 for none; the planner's setting if left out.

    >>> import numpy as np
    >>> import platypoos as pp
    >>> rng = np.random.default_rng(0)
    >>> chain = pp.problems.SwitchChain(noise=1.0)
    >>> agent = pp.Agent(chain, budget=300, seed=0)
    >>> state = chain.initial_state
    >>> for _ in range(3):
    ...     action = agent.act(state)
    ...     state, reward, ended = chain.step(state, action, rng)
    ...     agent.observe(reward)
    >>> action, agent.plan.calls
    (0, 300)
    """

    def __init__(
        self,
        model: Any,
        *,
        budget: int | None = None,
        deadline: float | None = None,
        discount: float | None = None,
        horizon: int | None = None,
        planner: Planner | None = None,
        seed: Seed = None,
        access: Access | str | None = None,
        executor: Any = None,
        timeout: float | None = None,
        memory: int | None = None,
    ) -> None:
        self.model = as_model(model)
        initial_state(self.model)  # is it a model at all?
        self.planner = with_memory(choose_planner(planner, discount, self.model), memory)
        # The same view in each step: what is remembered is of it.
        self._view = self.planner.view_of(self.model)
        self.horizon = None if horizon is None else check_horizon(horizon)
        if budget is None and deadline is None:
            raise InvalidArgument("pass budget= (calls for each step) or deadline= (seconds)")
        self._asked = Asked(budget, deadline, None, None, access, executor, timeout)
        self._random = make_generator(seed)
        self.reset()

    def reset(self) -> None:
        """Begin another episode: forget what was learned, and where it was."""
        self._memory = self.planner.remember()
        self._next: Any = UNKNOWN
        self._plan: Plan | None = None
        self.steps = 0
        """Steps since the episode began."""

    @property
    def plan(self) -> Plan:
        """The plan of the last ``act``: why that action."""
        if self._plan is None:
            raise InvalidArgument("there is no plan before the first act")
        return self._plan

    def act(self, state: Any = UNKNOWN) -> Any:
        """Plan for a state, and return the action to take; ``agent.plan`` says why.

        Args:
            state: where the system is. Left out, what ``observe`` was told; else where the
                environment is that a ``GymnasiumModel`` was made around; else, in the first step,
                the model's initial state.
        """
        with self._left_where_it_is() as here:
            for known in (state, self._next, here):
                if known is not UNKNOWN:
                    break
            else:
                if self.steps:
                    raise InvalidArgument(
                        "the current state is unknown: call act(state), or observe(state=…) before"
                    )
                known = initial_state(self.model)
            return self.plan_at(known).action

    def plan_at(self, state: Any) -> Plan:
        """As ``act``, where nobody else acts in the model's environment; returns the plan."""
        asked, checked = self._asked, 0
        if self.steps == 1 and may_hide_its_state(self.model):
            checked = self._check_goes_on(state)
            if asked.budget is not None:
                asked = replace(asked, budget=asked.budget - checked)
        self._next = UNKNOWN
        if self._plan is not None:
            self._plan.release(summarized=False)  # only the last plan holds on to its search
        found = self._plan_for(state, asked, self._memory, self._random.spawn(1)[0])
        if checked:
            found = replace(found, calls=found.calls + checked, budget=self._asked.budget)
        self._plan = found
        self.steps += 1
        return found

    def _check_goes_on(self, state: Any) -> int:
        """Some models that can only be reset keep their state to themselves: two calls tell.

        They are a part of the plan's budget: at most a fifth of it, and a call for each action
        is kept.
        """
        budget, count = self._asked.budget, self.planner.count(actions_of(self._view))
        most = 100 if budget is None else min(budget // 5, budget - count)
        return check_goes_on(self.model, state, most)

    def _plan_for(self, state: Any, asked: Asked, memory: Any, seed: Seed) -> Plan:
        if self.horizon is not None:
            asked = replace(asked, horizon=max(1, self.horizon - self.steps))
        return self.planner.answer(self._view, state, asked, seed=seed, memory=memory)

    @contextmanager
    def _left_where_it_is(self) -> Iterator[Any]:
        """Yield the state of the caller's environment, which planning moves; and put it back."""
        if not getattr(self.model, "is_yours", False):
            yield UNKNOWN
            return
        here = self.model.save()
        try:
            yield here
        finally:
            self.model.restore(here)

    def observe(
        self, reward: float | None = None, state: Any = UNKNOWN, *, action: Any = UNKNOWN
    ) -> None:
        """Tell what the last action brought.

        After a surprise the next plan asks the model again, and starts anew if it has changed.

        Args:
            reward: what was received.
            state: where it led; the next ``act`` plans from there.
            action: what was done, if not what was planned.
        """
        if self._plan is None:
            raise InvalidArgument("there is nothing to observe before the first act")
        self._next = state
        if reward is not None:
            received = check_number("reward", reward)
            if self._memory is not None:
                space, taken = actions_of(self.model), self._plan.action
                if action is not UNKNOWN and (action is not None or None in self._plan.space):
                    taken = action
                points = is_pointed(self._view)
                number = as_point(space, taken) if points else space.index(taken)
                self._memory.observe(number, received)

    def warm_up(self) -> float:
        """Compile or load all machine code that plans need; returns the seconds it took.

        Not needed for Python models with the default planner, which uses none. What a ``JaxModel``
        needs is compiled too, for the sizes of batches that come up.
        """
        compiles = is_compiled(self._view) or isinstance(self.model, JaxModel)
        if isinstance(self.planner, Platypus) and not compiles:
            return 0.0
        start = time.perf_counter()
        generator = make_generator(0)
        asked = self._asked
        if asked.budget is None:  # a deadline would end the plan before all code was needed
            calls = WARMING * self.planner.count(actions_of(self._view))
            if isinstance(self.model, JaxModel):
                calls = max(calls, WARMING_JAX)
            asked = replace(asked, budget=calls, deadline=None)
        with self._left_where_it_is() as here:
            state = initial_state(self.model) if here is UNKNOWN else here
            memory = self.planner.remember()
            for _ in range(2):  # the second time with a memory
                self._plan_for(state, asked, memory, generator.spawn(1)[0])
        return time.perf_counter() - start


def control(
    model: Any,
    state: Any = None,
    *,
    budget: int | None = None,
    deadline: float | None = None,
    steps: int | None = None,
    discount: float | None = None,
    horizon: int | None = None,
    planner: Planner | None = None,
    seed: Seed = None,
    access: Access | str | None = None,
    executor: Any = None,
    timeout: float | None = None,
    render: str | Path | None = None,
    on_step: Callable[[int, Plan, float], None] | None = None,
    keep: str = "summaries",
    progress: bool = False,
) -> Episode:
    """Plan with ``budget`` calls, take the action, and plan again from where it led.

    Args:
        model: is planned with, and acted in (in ``model.acting``, if it has other ends there). Or
            a Gymnasium environment, which is played from where it is, or the id of one.
        state: where to start; the model's initial state if left out.
        budget: calls for each step.
        deadline: seconds for each step; see ``Agent``.
        steps: the most to take; the horizon if left out.
        discount: as for ``plan``.
        horizon: steps to the end of the episode, from the first state.
        planner: :class:`~platypoos.Platypus` if left out.
        seed: an int, a ``SeedSequence`` or a ``Generator``; the noise received depends on it only.
        access: as for ``plan``.
        executor: as for ``plan``.
        timeout: as for ``plan``.
        render: a .gif or .mp4 file to film the episode in, if the model has ``render(state)``.
        on_step: called with the number of a step, its plan and the reward received.
        keep: what ``episode.plans`` has: "summaries" (the recommended sequence, its rival, all
            values), "plans" (all of it, and where the calls went), or "nothing".
        progress: show a progress bar in a terminal or a notebook; nothing is shown anywhere else.

    If planning or acting fails, or is interrupted, the steps that were taken are the exception's
    ``episode``, and the film shows them.

    >>> import platypoos as pp
    >>> episode = pp.control(pp.problems.SwitchChain(), budget=1_000, steps=20, seed=0)
    >>> episode.actions == (0,) * 20, episode.calls
    (True, 20000)
    """
    steps = _steps_to_take(steps, horizon)
    check_state(state)
    model = as_model(model)
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
    if deadline is not None and (is_compiled(model) or isinstance(model, JaxModel)):
        agent.warm_up()  # before the first clock starts
    start = initial_state(model) if state is None else state
    film = None if render is None else film_of(model, start, render)
    clock = None if deadline is None else float(deadline)
    origin = Origin(model, agent.planner, seed, access_of(model, access).value, clock)
    space = actions_of(model)
    record = Record(start, agent.planner.discount, check_keep(keep), origin, space)
    record.steps_per_call = getattr(model, "steps_per_call", 1)
    _carry_out(agent, record, acting, film, on_step, StepBar(steps, shown=progress))
    return record.episode()


def _carry_out(
    agent: Agent,
    record: Record,
    acting: Any,
    film: Film | None,
    on_step: Callable[[int, Plan, float], None] | None,
    bar: StepBar,
) -> None:
    """Plan and act until the last step, or the end of the episode."""
    model = agent.model
    try:
        for step in range(bar.total):
            found = agent.plan_at(record.states[-1])
            after = act(getattr(model, "acting", model), record.states[-1], found.action, acting)
            agent.observe(after.reward)
            record.add(found, after)
            if film is not None:
                film.add(model.render(after.state))
            if on_step is not None:
                on_step(step, found, after.reward)
            bar.step(f"reward {record.total:.6g}")
            if after.terminated:
                break
    except BaseException as error:
        error.episode = record.episode()  # type: ignore[attr-defined]
        raise
    finally:
        bar.close()
        if film is not None:
            film.close()


def _steps_to_take(steps: int | None, horizon: int | None) -> int:
    """The steps that ``control`` takes at most."""
    if horizon is not None:
        horizon = check_horizon(horizon)
        return horizon if steps is None else min(check_count("steps", steps), horizon)
    if steps is None:
        raise InvalidArgument("steps= or horizon= must say how many steps to take; got neither")
    return check_count("steps", steps)
