"""What all planners share: the contract of ``plan``, and how a plan begins and ends."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from platypoos.checks import (
    LARGEST_REWARD,
    Seed,
    check_budget,
    check_discount,
    check_horizon,
    check_number,
    make_generator,
    missing_from,
)
from platypoos.compiled.code.notice import tell
from platypoos.errors import InvalidArgument, ModelError
from platypoos.models.advice import NO_HORIZON
from platypoos.models.array import ArrayModel
from platypoos.models.base import RANDOM, Access, access_of, actions_of, dynamics_of, is_compiled
from platypoos.models.numbered import numbered, original, rename
from platypoos.models.points import is_pointed, rename_point
from platypoos.results import Origin, Plan
from platypoos.simulator.pools import Pool
from platypoos.spaces import Space
from platypoos.trees.tree import ROOT, Tree, make_tree, path_to

if TYPE_CHECKING:
    from platypoos.trees.protocol import Sampler

PAPER = (
    "Bartlett, Gabillon, Healey, Valko. Scale-free adaptive planning for deterministic "
    "dynamics & discounted rewards. ICML 2019."
)

BOX_PLANNERS = "Platypus, CEM, MPPI, PredictiveSampling or RandomShooting"

REACTING = (
    "Platypus (the default), UCT, PolynomialUCT, BRUE, OPMDP, GumbelMCTS, BAIMCTS, TrailBlazer, "
    "SparseSampling and Hindsight"
)


REGISTERED: dict[str, type[Planner]] = {}
"""The planners that were imported, by their names; ``planners.available`` has all."""


@dataclass(frozen=True)
class Asked:
    """What a planning call is asked for, beside the model and the state; see ``Planner.plan``."""

    budget: int | None = None
    deadline: float | None = None
    stop: Callable[[int], bool] | None = None
    horizon: int | None = None
    access: Access | str | None = None
    executor: Any = None
    timeout: float | None = None


class Task(NamedTuple):
    """One planning call, checked. Actions are numbers here: see ``models/numbered.py``."""

    model: Any
    state: Any
    budget: int
    num_actions: int
    access: Access
    rng: np.random.Generator
    executor: Any = None
    timeout: float | None = None
    deadline: float | None = None
    stop: Any = None
    started: float = 0.0
    open_ended: bool = False
    memory: Any = None
    horizon: int | None = None
    seed: Any = None
    samplers: Any = None
    """A list of the samplers that were made for it."""

    @property
    def has_chance(self) -> bool:
        """Whether the next state is random, and states can be stored: plans react to chance."""
        return self.access is Access.RESTORE and dynamics_of(self.model) == RANDOM

    def within_horizon(self, steps: int) -> int:
        """``steps``, or the steps to the horizon if these are fewer."""
        return steps if self.horizon is None else min(steps, self.horizon)

    def begin(self, capacity: int) -> tuple[Sampler, Tree]:
        """A sampler, and a tree with room for ``capacity`` nodes."""
        tree = make_tree(capacity)
        return self.sampler(tree), tree

    def sampler(self, tree: Tree) -> Sampler:
        """A sampler of the calls that evaluate the nodes of a tree."""
        horizon = NO_HORIZON if self.horizon is None else self.horizon
        args = (self.model, self.state, self.budget, self.rng, self.access, tree, horizon)
        sampler: Sampler
        if is_compiled(self.model):
            from platypoos.compiled.ledger.simulator import CompiledSimulator

            sampler = CompiledSimulator(*args)
        else:
            from platypoos.search.tree_simulator import TreeSimulator

            until = None
            if self.deadline is not None:
                until = time.time() + self.deadline - (time.perf_counter() - self.started)
            sampler = TreeSimulator(
                *args, executor=self.executor, timeout=self.timeout, until=until
            )
        if self.samplers is not None:
            self.samplers.append(sampler)
        return sampler

    def states_to(self, tree: Tree, node: int) -> dict[int, Any]:
        """The states of the nodes from the root to a node; none if they were not kept."""
        if self.access is Access.RESET or not self.samplers or self.samplers[-1].tree is not tree:
            return {}
        path = [ROOT, *(at for at in path_to(tree, node) if tree.pulls[at])]
        return dict(zip(path, self.samplers[-1].states_of(np.array(path)), strict=True))

    def tie_seed(self) -> int:
        """A seed for breaking ties, drawn from the plan's generator."""
        return int(self.rng.bit_generator.random_raw()) >> 1


@dataclass(frozen=True)
class Planner(ABC):
    """A planner is its parameters; ``plan`` does the work and changes nothing of it."""

    discount: float

    name: ClassVar[str]
    """What the command line calls it."""
    citation: ClassVar[str]
    """The paper to cite."""
    needs: ClassVar[str] = "nothing"
    """What must be known of the problem beforehand, and what happens if it is wrong."""
    access: ClassVar[tuple[Access, ...]] = (Access.RESTORE, Access.RESET)
    """How it can use a simulator."""

    anytime: ClassVar[bool] = False
    """Whether it can stop at any time. Without a budget, others plan with growing budgets: see
    ``search/repeating.py``."""
    reacts: ClassVar[bool] = False
    """Whether it reacts to chance where dynamics are random and states can be stored: then it
    plans in closed loop."""
    why_not: ClassVar[str] = ""
    """The reason, if it does not react though its paper is about random dynamics."""
    lists: ClassVar[bool] = True
    """Whether it can choose from a finite list of actions."""
    workers: ClassVar[str] = "one"
    """How many workers of an executor it keeps busy: "many", "few" (about as many as there are
    actions), or "one"."""
    boxes: ClassVar[bool] = False
    """Whether it can choose from a box of actions, as it is."""
    guarantee: ClassVar[str] = ""
    """What is proved of it, if something is: a bound of its regret, or an accuracy."""
    finite: ClassVar[bool] = True
    """Whether it can plan for a horizon, and then without a discount."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Which of the model's ``value``, ``policy`` and ``features`` it uses; with lists, all use
    ``legal``."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in vars(cls):
            REGISTERED[cls.name] = cls

    def __post_init__(self) -> None:
        if not self.finite and self.discount == 1.0:
            raise InvalidArgument(
                f"discount must be in [0, 1), got {self.discount!r}: {type(self).__name__} plans "
                "for rewards without end"
            )
        object.__setattr__(self, "discount", check_discount(self.discount, may_be_one=self.finite))

    def remember(self) -> Any:
        """Something to pass to ``answer`` step after step of an episode; None if it forgets."""
        return None

    def plan(
        self,
        model: Any,
        state: Any = None,
        *,
        budget: int | None,
        deadline: float | None = None,
        stop: Callable[[int], bool] | None = None,
        horizon: int | None = None,
        seed: Seed = None,
        access: Access | str | None = None,
        executor: Any = None,
        timeout: float | None = None,
    ) -> Plan:
        """Find the best first action from ``state`` with at most ``budget`` calls of ``model``.

        Args:
            model: a :class:`~platypoos.Model`.
            state: where to plan from; the model's initial state if left out.
            budget: the most calls of the model to make, at least one per action; or None, with a
                deadline or ``stop``.
            deadline: seconds to plan for. It is looked at between requests, so a plan may take
                one request longer. Planners that are not ``anytime`` make plans with growing
                budgets, of which the last counts. With it, Ctrl-C returns the best plan so far if
                there is no budget; if there is, the ``KeyboardInterrupt`` has it as its ``plan``.
            stop: called with the calls made so far; planning stops when it returns True.
            horizon: steps to the end of the episode, counted from ``state``; nothing is counted
                after it. Needed if the discount is 1.
            seed: an int, a ``SeedSequence`` or a ``Generator``; the same seed, the same plan.
            access: RESTORE or RESET; what the model declares if left out.
            executor: with the interface of ``concurrent.futures.Executor``, to spread the calls
                of a request over its workers; the plan is the same. For slow Python models.
            timeout: the seconds to wait for a worker's answer; for ever if left out.
        """
        start = initial_state(model) if state is None else state
        asked = Asked(budget, deadline, stop, horizon, access, executor, timeout)
        return self.answer(model, start, asked, seed=seed)

    def answer(
        self, model: Any, state: Any, asked: Asked, *, seed: Seed = None, memory: Any = None
    ) -> Plan:
        """As ``plan``, but any state is taken as it is, ``None`` included.

        Args:
            model: as for ``plan``.
            state: as for ``plan``.
            asked: budget, deadline and so on.
            seed: as for ``plan``.
            memory: what ``remember`` made, at each step of an episode.
        """
        started = time.perf_counter()
        initial_state(model)  # is it a model at all?
        view = self.view_of(model)
        num_actions = self.count(actions_of(view))
        self._check_clock(asked)
        self._check_horizon(asked.horizon)
        timeout = asked.timeout
        task = Task(
            model=view,
            state=state,
            budget=0 if asked.budget is None else check_budget(asked.budget, num_actions),
            num_actions=num_actions,
            access=self.check_access(model, access_of(model, asked.access)),
            rng=make_generator(seed),
            executor=check_executor(asked.executor, model),
            timeout=None if timeout is None else check_number("timeout", timeout, above=0.0),
            deadline=asked.deadline,
            stop=asked.stop,
            started=started,
            open_ended=asked.budget is None,
            memory=memory,
            horizon=None if asked.horizon is None else int(asked.horizon),
            seed=seed,
            samplers=[],
        )
        self._insist_on_machine_code(task)
        usage = None if task.executor is None else Pool.of(task.executor).usage
        mark = None if usage is None else usage.mark()
        try:
            plan = self._plan_within(task)
        except ModelError as error:
            if is_pointed(view):
                rename_point(error, actions_of(view))
            else:
                rename(error, actions_of(original(view)))
            raise
        finally:
            tell(type(self).__name__)
        if usage is None or mark is None:
            return plan
        return replace(plan, workers=usage.since(mark))

    def _plan_within(self, task: Task) -> Plan:
        """Plan; if there is a clock that the planner cannot follow, several times."""
        if self.anytime or (task.deadline is None and task.stop is None):
            found = self._plan(task)
        else:
            from platypoos.search.repeating import plan_repeatedly

            found = plan_repeatedly(self, task)
        if is_compiled(task.model):
            task.model.planned.add((type(self), task.access))
        return found

    def _insist_on_machine_code(self, task: Task) -> None:
        """With a deadline there is no time for the compiler."""
        timed = task.deadline is not None and is_compiled(task.model)
        if timed and (type(self), task.access) not in task.model.planned:
            raise InvalidArgument(
                f"with a deadline, machine code of {type(self).__name__} for this model must be "
                "there beforehand, and in this process there is none yet: call warm_up() of an "
                "Agent with both first, or make one plan with a budget"
            )

    def view_of(self, model: Any) -> Any:
        """The model with numbers for actions; an error if they cannot be numbered."""
        actions = actions_of(model)
        if not actions.is_finite:
            raise InvalidArgument(
                f"{type(self).__name__} chooses from a finite list of actions, but this model's "
                f"actions are {actions}: pass actions=[…], such as a grid of them, or take a "
                f"planner for boxes: {BOX_PLANNERS}"
            )
        return numbered(model)

    def count(self, actions: Space) -> int:
        """How many actions there are to begin with."""
        return actions.n

    def check_access(self, model: Any, access: Access) -> Access:
        """The access, if it can plan with the model in this way; else an error."""
        if access not in self.access:
            raise InvalidArgument(
                f"{type(self).__name__} goes on from stored states (Access.RESTORE), but this is "
                "Access.RESET; others walk from the root, such as PlaTyPOOS and UCT"
            )
        if access is Access.RESTORE and dynamics_of(model) == RANDOM and not self.reacts:
            raise InvalidArgument(
                f"{type(self).__name__} cannot react to chance{self.why_not}, but this model's "
                f"dynamics are random; for a finite list of actions {REACTING} can; "
                'or pass access="reset" for open-loop plans, which choose one sequence of actions '
                "for all outcomes"
            )
        return access

    def _check_horizon(self, horizon: int | None) -> None:
        if horizon is None:
            if self.discount == 1.0:
                raise InvalidArgument(
                    "discount 1.0 needs horizon=, the number of steps to the end of the episode: "
                    "without either, sums of rewards have no end"
                )
            return
        check_horizon(horizon)
        if not self.finite:
            raise InvalidArgument(
                f"{type(self).__name__} plans for rewards without end, so it takes no horizon; "
                "others do, such as Platypus and UCT"
            )

    def _check_clock(self, asked: Asked) -> None:
        deadline, stop = asked.deadline, asked.stop
        if asked.budget is None and deadline is None and stop is None:
            raise InvalidArgument(
                "budget must be a whole number of at least the number of actions, got None; pass "
                "it by its name, budget=1000, or deadline=, in seconds, or stop= instead"
            )
        if deadline is not None:
            check_number("deadline", deadline, above=0.0)
        if stop is not None and not callable(stop):
            raise InvalidArgument(f"stop must be a function of the calls made, got {stop!r}")

    @abstractmethod
    def _plan(self, task: Task) -> Plan:
        """Plan; the task has been checked."""

    def recommend(
        self,
        task: Task,
        tree: Tree,
        node: int,
        *,
        value: float,
        calls: int,
        action: int | None = None,
        **more: Any,
    ) -> Plan:
        """The plan that recommends the first action of the sequence that ends in a node.

        Args:
            task: what was asked for.
            tree: what was searched.
            node: the end of the recommended sequence.
            value: of that sequence.
            calls: of the model.
            action: the number of its first action, if that is known already.
            more: further fields of ``Plan``.
        """
        if "states" not in more:
            more["states"] = task.states_to(tree, int(node))
        number = int(tree.actions(int(node))[0] if action is None else action)
        model = original(task.model)
        space = more.pop("space", None) or actions_of(model)
        return Plan(
            action=space.payloads[number],
            value=value,
            calls=calls,
            budget=None if task.open_ended else task.budget,
            discount=self.discount,
            state=task.state,
            action_index=number,
            space=space,
            node=int(node),
            tree=tree,
            horizon=task.horizon,
            origin=Origin(model, self, task.seed, task.access.value, task.deadline),
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class RangePlanner(Planner):
    """A planner that must be told the range of the rewards; a wrong one is taken as it is."""

    reward_max: float
    reward_min: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        low = check_number("reward_min", self.reward_min)
        high = check_number("reward_max", self.reward_max)
        if high <= low:
            raise InvalidArgument(
                f"reward_max must be above reward_min, got {high:g} and {low:g}; for negative "
                "rewards lower reward_min"
            )
        if high - low > LARGEST_REWARD or abs(high) > LARGEST_REWARD:
            raise InvalidArgument(f"the range of rewards {low:g} to {high:g} is beyond all measure")
        object.__setattr__(self, "reward_min", low)
        object.__setattr__(self, "reward_max", high)


@dataclass(frozen=True, kw_only=True)
class ConfidencePlanner(RangePlanner):
    """A planner that is asked for an accuracy ε and a confidence 1 − δ; the budget is a cap."""

    epsilon: float
    delta: float = 0.1

    needs: ClassVar[str] = "reward range, noise included (may be wrong); ε, δ"

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 1e-12 * (self.reward_max - self.reward_min)
        object.__setattr__(self, "epsilon", check_number("epsilon", self.epsilon, above=least))
        object.__setattr__(self, "delta", check_number("delta", self.delta, above=1e-12, below=1))


def check_executor(executor: Any, model: Any) -> Any:
    """An executor that can be used with the model, or None."""
    if executor is None:
        return None
    if not callable(getattr(executor, "submit", None)):
        raise InvalidArgument(
            f"executor must have submit(), as concurrent.futures.ProcessPoolExecutor(2) has, got "
            f"{executor!r}"
        )
    if is_compiled(model) or isinstance(model, ArrayModel):
        raise InvalidArgument(
            f"a {type(model).__name__} is planned with in whole batches, without an executor; "
            "leave it out, or wrap the model's step in a FunctionModel"
        )
    return executor


def initial_state(model: Any) -> Any:
    """Where a model starts; an error if it is not a model."""
    missing = missing_from(model)
    if missing:
        raise InvalidArgument(missing)
    return model.initial_state
