"""What a problem with a known answer offers beyond being a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition, said_of_one
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel
    from platypoos.results import Plan


class Problem(ABC):
    """A model in three forms, all giving the same results, with exact values.

    A problem is itself a Python model; ``array()`` and ``compiled()`` are the other forms.
    """

    actions: Discrete
    initial_state: Any

    @abstractmethod
    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Take ``action`` in ``state``."""

    @abstractmethod
    def mean_reward(self, state: Any, action: int) -> float:
        """The expected reward of ``action`` in ``state``."""

    @abstractmethod
    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q*(state, ·), exact, −inf for illegal actions; an error if that would take too long."""

    @abstractmethod
    def array(self) -> ArrayModel:
        """The problem as a function over batches of states."""

    @abstractmethod
    def compiled(self) -> CompiledModel:
        """The problem as a compiled step."""

    def _checked_actions(self, actions: Sequence[int]) -> list[int]:
        """The actions as plain numbers, or an error that names the one that there is not."""
        for action in actions:
            if not 0 <= action < self.actions.n:
                raise InvalidArgument(
                    f"there is no action {action!r}: actions are 0 to {self.actions.n - 1}"
                )
        return [int(action) for action in actions]

    def finite_values(self, state: Any, discount: float, horizon: int) -> NDArray[np.float64]:
        """Q*(state, ·) with ``horizon`` steps to go, by backward induction; −inf if not legal.

        It is exact. It visits every state that can be reached in that time.
        """
        state = self._plain(state)
        rng = np.random.default_rng(0)  # the dynamics do not depend on it
        legal = said_of_one(self, "legal")
        layers: list[dict[Any, Any]] = [{state: None}]
        successors: list[dict[tuple[Any, int], tuple[Any, float, bool]]] = []
        for _ in range(horizon):
            steps: dict[tuple[Any, int], tuple[Any, float, bool]] = {}
            after: dict[Any, Any] = {}
            for here in layers[-1]:
                for action in range(self.actions.n) if legal is None else legal(here):
                    there, _, ended = self.step(here, action, rng)
                    steps[here, action] = there, self.mean_reward(here, action), ended
                    if not ended:
                        after[there] = None
            layers.append(after)
            successors.append(steps)
        best = dict.fromkeys(layers[-1], 0.0)
        for states, steps in zip(layers[-2::-1], reversed(successors), strict=True):
            values = {here: np.full(self.actions.n, -np.inf) for here in states}
            for (here, action), (there, reward, ended) in steps.items():
                values[here][action] = reward + (0.0 if ended else discount * best[there])
            best = {here: float(row.max()) for here, row in values.items()}
        return np.asarray(values[state])

    def _plain(self, state: Any) -> Any:
        """A state of the Python form, from one of any form."""
        if not isinstance(state, np.ndarray | np.generic):
            return state
        numbers = [int(x) if float(x).is_integer() else float(x) for x in np.ravel(state)]
        return numbers[0] if np.ndim(self.initial_state) == 0 else tuple(numbers)

    def expected_return(self, actions: tuple[int, ...], discount: float) -> float:
        """Expected discounted sum of rewards of these actions, from the initial state."""
        state, total, weight = self.initial_state, 0.0, 1.0
        rng = np.random.default_rng(0)  # the dynamics do not depend on it
        for action in actions:
            total += weight * self.mean_reward(state, action)
            weight *= discount
            state, _, terminated = self.step(state, action, rng)
            if terminated:
                break
        return total


def value_of_staying(penalty: float | None, discount: float) -> float:
    """What it is worth to stay for ever and pay a penalty for it; −inf if that is not possible.

    >>> value_of_staying(2.0, 0.5), value_of_staying(2.0, 1.0), value_of_staying(None, 0.5)
    (-4.0, -inf, -inf)
    """
    if penalty is None or discount == 1.0:
        return float("-inf")
    return -penalty / (1 - discount)


def simple_regret(model: Any, plan: Plan) -> float:
    """What the plan's first action costs: max Q* − Q*(action), in the state planned for.

    Args:
        model: a problem of ``platypoos.problems``, or its array or compiled form.
        plan: what a planner returned for it.

    >>> import platypoos as pp
    >>> problem = pp.problems.SwitchChain()
    >>> pp.problems.simple_regret(problem, pp.plan(problem, budget=1_000, discount=0.95, seed=0))
    0.0
    """
    problem = getattr(model, "problem", None) or model
    if not isinstance(problem, Problem):
        raise InvalidArgument(
            f"the optimal values of {type(model).__name__} are not known; simple_regret takes "
            "the problems of platypoos.problems and their array() and compiled() forms"
        )
    values = optimal_values(problem, plan)
    return float(values.max() - values[plan.action_index])


def optimal_values(problem: Problem, plan: Plan) -> NDArray[np.float64]:
    """Q* of the state that was planned for, up to the plan's horizon if it has one."""
    if plan.horizon is None:
        return problem.action_values(plan.state, plan.discount)
    return problem.finite_values(plan.state, plan.discount, plan.horizon)
