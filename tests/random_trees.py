"""Models for tests: random trees whose samples depend on the visit only, and models that count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np

import platypoos as pp

Node = tuple[int, ...]
LAYERED = {
    "platypoos": pp.PlaTyPOOS,
    "sequool": pp.planners.SequOOL,
    "stroquool": pp.planners.StroquOOL,
    "uniform": pp.planners.Uniform,
    "uniform-naive": partial(pp.planners.Uniform, share=False),
}
CONTENDERS = {
    "opd": partial(pp.planners.OPD, reward_max=1.0),
    "olop": partial(pp.planners.OLOP, reward_max=1.0, noise=0.1),
    "kl-olop": partial(pp.planners.KLOLOP, reward_max=1.0),
    "uct": partial(pp.planners.UCT, scale=1.0, horizon=20),
    "uct-auto": partial(pp.planners.UCT, scale="auto", horizon=20),
    "polynomial-uct": partial(pp.planners.PolynomialUCT, scale=1.0, horizon=20),
    "brue": partial(pp.planners.BRUE, horizon=20),
    "hoo": partial(pp.planners.HOO, reward_max=1.0),
    "soo": pp.planners.SOO,
    "stosoo": partial(pp.planners.StoSOO, noise=1.0),
    "sequential-halving": partial(pp.planners.SequentialHalving, horizon=20),
    "gumbel-mcts": pp.planners.GumbelMCTS,
    "op-mdp": partial(pp.planners.OPMDP, reward_max=1.0),
    "bai-mcts": partial(pp.planners.BAIMCTS, reward_max=1.0, depth=20),
    "bai-mcts-lucb": partial(pp.planners.BAIMCTS, reward_max=1.0, depth=20, rule="lucb"),
    "trailblazer": partial(pp.planners.TrailBlazer, reward_max=1.0, epsilon=0.5),
    "stop": partial(pp.planners.StOP, reward_max=1.0, epsilon=0.5),
    "sparse-sampling": pp.planners.SparseSampling,
    "hindsight": pp.planners.Hindsight,
    "sequence-search": pp.planners.SequenceSearch,
    "cem": pp.planners.CEM,
    "random-shooting": pp.planners.RandomShooting,
    "iw": pp.planners.IW,
    "rollout-iw": pp.planners.RolloutIW,
    "one-step": pp.planners.OneStep,
    "random": pp.planners.Random,
}
PLANNERS: dict[str, Callable[[float], pp.planners.Planner]] = {
    **LAYERED,
    **CONTENDERS,
    "platypus": pp.Platypus,
}
"""Every planner for lists, made from a discount; the ranges they are told fit rewards in [0, 1]."""
THINKING = {name: make for name, make in PLANNERS.items() if name != "random"}
"""Those that make calls."""
NARROW = {"iw", "rollout-iw"}
"""Those that drop states which show nothing new, and so may never find the best action."""


def can_use(planner: Any, access: pp.Access | str) -> bool:
    """Whether a planner (or its name, or what makes it) can do with an access; others can."""
    made = PLANNERS.get(planner) if isinstance(planner, str) else planner
    kind = made.func if isinstance(made, partial) else made
    allowed: Any = getattr(kind, "access", ())
    restore_only = isinstance(allowed, tuple) and allowed == (pp.Access.RESTORE,)
    return not restore_only or pp.Access(access) is pp.Access.RESTORE


class SequenceTree:
    """Every sequence of actions has its own mean reward; states are the sequences themselves.

    The k-th evaluation of a sequence always gives the same sample, in whatever order sequences
    are evaluated, so two planners that evaluate alike see exactly the same rewards.
    """

    def __init__(self, seed: int, num_actions: int, noise: float, ends: float = 0.0) -> None:
        self.seed, self.actions, self.noise, self.ends = seed, pp.Discrete(num_actions), noise, ends
        self.initial_state: Node = ()
        self.visits: dict[Node, int] = {}

    def _random(self, node: Node, visit: int) -> np.ndarray[Any, Any]:
        return np.random.default_rng([self.seed, visit, *node]).random(3)

    def sample(self, node: Node) -> tuple[float, bool]:
        visit = self.visits.get(node, 0)
        self.visits[node] = visit + 1
        base = self._random(node, 0)
        noise = self.noise * (2 * self._random(node, visit + 1)[0] - 1)
        return float(base[1] + noise), bool(base[2] < self.ends)

    def step(self, state: Node, action: int, rng: np.random.Generator) -> pp.models.Transition:
        node = (*state, int(action))
        reward, terminated = self.sample(node)
        return pp.models.Transition(node, reward, terminated)


class Counted:
    """A tabular problem in one of the three forms, which counts its calls by itself.

    With ``masks``, a boolean for each state and action, it says which are legal, and counts calls
    of others too. ``knows`` names what else it says: a value and a policy, at random.
    """

    def __init__(
        self,
        problem: pp.problems.Tabular,
        kind: str,
        masks: np.ndarray[Any, Any] | None = None,
        knows: tuple[str, ...] = (),
        access: pp.Access = pp.Access.RESTORE,
    ) -> None:
        self.problem = problem
        self.counter = np.zeros(2, np.int64)
        shape = (problem.num_states, problem.actions.n)
        self.masks = np.ones(shape, np.bool_) if masks is None else masks
        rng = np.random.default_rng(problem.num_states)
        self.values, self.weights = rng.normal(size=shape[0]), rng.random(shape)
        self.model: Any
        said: dict[str, Any]
        if kind == "python":
            said = {
                "legal": lambda state: np.flatnonzero(self.masks[state]).tolist(),
                "value": lambda state: self.values[state],
                "policy": lambda state: self.weights[state],
            }
            state = problem.initial_state
            make = partial(pp.FunctionModel, self._step, problem.actions.n, state)
        elif kind == "array":
            said = {
                "legal": lambda states: self.masks[states],
                "value": lambda states: self.values[states],
                "policy": lambda states: self.weights[states],
            }
            state = np.int64(problem.initial_state)
            make = partial(pp.ArrayModel, self._step_batch, problem.actions.n, state)
        else:
            said = {"legal": table_legal, "value": table_value, "policy": table_policy}
            compiled = problem.compiled()
            params = (*compiled.params, self.counter, self.masks, self.values, self.weights)
            state = compiled.initial_state
            make = partial(pp.CompiledModel, counting_kernel, problem.actions.n, state, params)
        names = (*(() if masks is None else ("legal",)), *knows)
        self.model = make(access=access, **{name: said[name] for name in names})

    @property
    def calls(self) -> int:
        return int(self.counter[0])

    @property
    def illegal_calls(self) -> int:
        return int(self.counter[1])

    def _step(self, state: int, action: int, rng: np.random.Generator) -> pp.models.Transition:
        self.counter[0] += 1
        self.counter[1] += not self.masks[state, action]
        return self.problem.step(state, action, rng)

    def _step_batch(self, states: Any, actions: Any, rng: np.random.Generator) -> Any:
        self.counter[0] += len(states)
        self.counter[1] += (~self.masks[states, actions]).sum()
        return self.problem.array().function(states, actions, rng)


@numba.njit
def table_legal(state, params, mask):
    for action in range(len(mask)):
        mask[action] = params[5][state[0], action]


@numba.njit
def table_value(state, params):
    return params[6][state[0]]


@numba.njit
def table_policy(state, params, weights):
    for action in range(len(weights)):
        weights[action] = params[7][state[0], action]


@numba.njit
def counting_kernel(state, action, params, rng, next_state):
    successor, rewards, noises, terminal, counter, masks, _, _ = params
    counter[0] += 1
    counter[1] += not masks[state[0], action]
    after = successor[state[0], action]
    next_state[0] = after
    noise = noises[state[0], action]
    return rewards[state[0], action] + rng.uniform(-noise, noise), terminal[after]
