"""An agent: plans in the loop that you write, step after step, and remembers."""

from __future__ import annotations

import dataclasses
import gc
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from platypoos.checks import check_horizon
from platypoos.compiling import WORKSHOP
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access
from platypoos.models.wrappers import WrappedModel
from platypoos.plan import Plan
from platypoos.planners.base import Planner, initial_state
from platypoos.planners.platypus.planner import Platypus
from platypoos.simulator import Seed, make_generator

DEFAULT_DISCOUNT = 0.95
UNKNOWN: Any = object()
"""No state was given: it may be anything, None too."""


class Agent:
    """Plans in your own loop: in real time, and with what it has learned in the steps before.

    Nothing is compiled in your time: until machine code is ready, which other processes and
    threads see to, plans are made without it. ``warm_up`` waits for it.

    Args:
        model: what to plan with. The system that you act in may be another one.
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
    ...     plan = agent.act(state)
    ...     state, reward, ended = chain.step(state, plan.action, rng)
    ...     agent.observe(reward)
    >>> plan.action, plan.calls
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
        initial_state(model)  # is it a model at all?
        self.model = model
        self.planner = with_memory(choose_planner(planner, discount, model), memory)
        self.horizon = None if horizon is None else check_horizon(horizon)
        self._settings = {
            "budget": budget,
            "deadline": deadline,
            "access": access,
            "executor": executor,
            "timeout": timeout,
        }
        self._random = make_generator(seed)
        self.reset()

    def reset(self) -> None:
        """Begin another episode: forget what was learned, and where it was."""
        self._memory = self.planner.remember()
        self._next: Any = UNKNOWN
        self._plan: Plan | None = None
        self.steps = 0
        """Steps since the episode began."""

    def act(self, state: Any = UNKNOWN) -> Plan:
        """Plan for a state; ``plan.action`` is what to do.

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
                    raise InvalidArgument("where is the system? call act(state), or observe before")
                known = initial_state(self.model)
            return self.plan_at(known)

    def plan_at(self, state: Any) -> Plan:
        """As ``act``, where nobody else acts in the model's environment."""
        self._next = UNKNOWN
        self._plan = self._plan_for(state, self._memory, self._random.spawn(1)[0])
        self.steps += 1
        return self._plan

    def _plan_for(self, state: Any, memory: Any, seed: Seed) -> Plan:
        left = None if self.horizon is None else max(1, self.horizon - self.steps)
        settings: dict[str, Any] = self._settings
        return self.planner.plan_from(
            self.model, state, horizon=left, seed=seed, memory=memory, **settings
        )

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
        self, reward: float | None = None, state: Any = UNKNOWN, *, action: int | None = None
    ) -> None:
        """Tell what the last action brought; a reward that contradicts the memory drops it.

        Args:
            reward: what was received.
            state: where it led; the next ``act`` plans from there.
            action: what was done, if not what was planned.
        """
        if self._plan is None:
            raise InvalidArgument("there is nothing to observe before the first act")
        self._next = state
        if self._memory is not None and reward is not None:
            done = self._plan.action if action is None else action
            self._memory.observe(done, float(reward))

    def warm_up(self, *, quiet: bool = True) -> float:
        """Wait until all machine code is there; returns the seconds it took.

        Args:
            quiet: do not show how far it is.
        """
        start = time.perf_counter()
        generator = make_generator(0)
        WORKSHOP.is_eager = True
        with self._left_where_it_is() as here:
            state = initial_state(self.model) if here is UNKNOWN else here
            while True:
                memory = self.planner.remember()
                for _ in range(2):  # the second time with a memory
                    self._plan_for(state, memory, generator.spawn(1)[0])
                if not WORKSHOP.open_orders:
                    break
                _wait(quiet=quiet)
        gc.collect()
        gc.freeze()  # a collection would look at all of the compiler's objects, for 0.2 seconds
        return time.perf_counter() - start


def _wait(*, quiet: bool) -> None:
    """Wait for all that is being compiled, with a line on the standard error stream."""
    total = WORKSHOP.open_orders
    start = time.perf_counter()
    while not WORKSHOP.wait(0.2):
        if not quiet:
            total = max(total, WORKSHOP.open_orders)
            done, seconds = total - WORKSHOP.open_orders, time.perf_counter() - start
            line = f"\rcompiling: {done} of {total} parts, {seconds:.0f} s "
            sys.stderr.write(line)
            sys.stderr.flush()
    if not quiet:
        sys.stderr.write("\n")


def with_memory(planner: Planner, memory: int | None) -> Planner:
    """The planner, with a memory of so many bytes."""
    if memory is None:
        return planner
    if not isinstance(planner, Platypus):
        raise InvalidArgument(
            f"{type(planner).__name__} has no setting for its memory; leave memory= out"
        )
    return dataclasses.replace(planner, memory=memory)


def choose_planner(planner: Planner | None, discount: float | None, model: Any) -> Planner:
    """The planner that is given, or the default one; its discount must be the model's."""
    made_for = getattr(model, "discount", None) if isinstance(model, WrappedModel) else None
    if planner is None:
        usual = DEFAULT_DISCOUNT if made_for is None else made_for
        planner = Platypus(usual if discount is None else discount)
    if not isinstance(planner, Planner):
        raise InvalidArgument(
            f"planner must be a planner such as Platypus(discount=0.95), got {planner!r}"
        )
    if discount is not None and discount != planner.discount:
        raise InvalidArgument(
            f"discount {discount!r} is not the planner's, {planner.discount!r}; pass one of them"
        )
    if made_for is not None and not math.isclose(planner.discount, made_for):
        raise InvalidArgument(
            f"discount {planner.discount!r} is not the model's, {made_for!r}: its rewards are made "
            "for that one; plan with discount=model.discount"
        )
    return planner
