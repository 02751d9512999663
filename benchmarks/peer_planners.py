"""Planners of other projects, each as a function from a state to an action, for peers.py.

Each is made for a task and a seed. It plans with at most ``task.budget`` calls of the model and
adds the calls that it made to ``calls``. The packages are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from peer_tasks import Counted, Task

CELLS = (0.01, 0.1, 0.005, 0.1)
"""Widths of the cells of a cart-pole state that RIW's novelty tells apart: less than a step."""


class Mctx:
    """Gumbel MuZero on the real dynamics, in jax: uniform prior, one call a simulation.

    New states have the value 0, or if ``told`` the usual value of the task.
    """

    def __init__(self, task: Task, seed: int, *, told: bool) -> None:
        import jax

        self.calls = 0
        self._task, self._key, self._jax = task, jax.random.PRNGKey(seed), jax
        self._search = compiled_search(task, told=told, counting=False)

    def plan(self, state: Any) -> int:
        """One search, for a batch of one state."""
        self._key, key = self._jax.random.split(self._key)
        self.calls += self._task.budget
        return int(self._search(key, np.append(np.asarray(state, np.float32), 0.0)[None])[0])


@lru_cache
def compiled_search(task: Task, *, told: bool, counting: bool) -> Callable[[Any, Any], Any]:
    """The search as one compiled function; ``counting`` lets the model add to COUNTED."""
    import jax
    import jax.numpy as jnp
    import mctx

    step = jax.vmap(jax_step(task))
    value = task.usual_value if told else 0.0

    def recurrent(_: Any, key: Any, action: Any, states: Any) -> Any:
        if counting:
            jax.debug.callback(count_one)
        keys = jax.random.split(key, len(states))
        after, reward, ended = step(states[:, :-1], action, keys)
        over = states[:, -1] > 0  # stepping on after an end changes nothing
        after = jnp.concatenate([after, (over | ended)[:, None]], axis=1)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over, 0.0, reward),
            discount=jnp.where(over | ended, 0.0, task.discount),
            prior_logits=jnp.zeros((len(states), 2)),
            value=jnp.where(over | ended, 0.0, value),
        )
        return output, jnp.where(over[:, None], states, after)

    def search(key: Any, states: Any) -> Any:
        root = mctx.RootFnOutput(
            prior_logits=jnp.zeros((len(states), 2)),
            value=jnp.full(len(states), value),
            embedding=jnp.asarray(states, jnp.float32),
        )
        found = mctx.gumbel_muzero_policy(None, key, root, recurrent, task.budget)
        return found.action

    return jax.jit(search)  # type: ignore[no-any-return]


COUNTED = [0]


def count_one() -> None:
    COUNTED[0] += 1


def check_mctx(task: Task, *, told: bool) -> None:
    """Raise unless a search makes exactly N calls, and the jax model is the Python model."""
    import jax

    COUNTED[0] = 0
    state = np.asarray(task.make_model(0).initial_state, np.float32)
    search = compiled_search(task, told=told, counting=True)
    search(jax.random.PRNGKey(0), np.append(state, 0.0)[None])
    jax.effects_barrier()
    assert COUNTED[0] == task.budget, f"{COUNTED[0]} calls, not {task.budget}"
    rng = np.random.default_rng(0)
    quiet = Task(task.problem, task.budget)
    step, model = jax.jit(jax_step(quiet)), quiet.make_model(0)
    for _ in range(20):
        here, ended = model.initial_state, False
        while not ended and rng.random() < 0.97:
            action = int(rng.integers(2))
            ours = step(np.asarray(here, np.float32), action, jax.random.PRNGKey(0))
            here, reward, ended = model.step(here, action, rng)
            assert np.allclose(ours[0], np.asarray(here, np.float64), rtol=1e-4, atol=1e-5)
            assert float(ours[1]) == reward
            assert bool(ours[2]) == ended


def jax_step(task: Task) -> Callable[[Any, Any, Any], tuple[Any, Any, Any]]:
    """The dynamics of a task, for one state."""
    return partial(chain_step, task.noise, task.growth) if task.chain else cart_pole_step


def chain_step(
    noise: float, growth: float, state: Any, action: Any, key: Any
) -> tuple[Any, Any, Any]:
    """SwitchChain in jax, or its reverse."""
    import jax
    import jax.numpy as jnp

    stay = state[0] == action
    reward = jnp.where(stay, growth * state[1], 2.0) + 100.0
    reward += jax.random.uniform(key, minval=-noise, maxval=noise) if noise else 0.0
    return jnp.stack([1.0 * action, jnp.where(stay, state[1] + 1, 0.0)]), reward, stay & False


def cart_pole_step(state: Any, action: Any, _: Any) -> tuple[Any, Any, Any]:
    """CartPole-v1 in jax: masses 1 and 0.1, half-length 0.5, force 10, Euler steps of 0.02 s."""
    import jax.numpy as jnp

    x, speed, angle, turning = state
    force = jnp.where(action == 1, 10.0, -10.0)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    push = (force + 0.05 * turning**2 * sin) / 1.1
    angle_change = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    speed_change = push - 0.05 * angle_change * cos / 1.1
    after = jnp.stack([
        x + 0.02 * speed, speed + 0.02 * speed_change,
        angle + 0.02 * turning, turning + 0.02 * angle_change,
    ])  # fmt: skip
    limit = 12 * 2 * np.pi / 360
    return after, jnp.float32(1.0), (jnp.abs(after[0]) > 2.4) | (jnp.abs(after[2]) > limit)


class OutOfCalls(Exception):
    """No calls are left for another simulation."""


class OpenSpiel:
    """OpenSpiel's MCTSBot with random rollouts, on a game of ``horizon`` steps for one player."""

    def __init__(self, task: Task, seed: int, horizon: int) -> None:
        self._task, self._horizon = task, horizon
        self._model = Counted(task.make_model(seed))
        self._random = np.random.RandomState(seed)  # what OpenSpiel takes
        self._rng = np.random.default_rng(seed)

    @property
    def calls(self) -> int:
        return self._model.calls

    def plan(self, state: Any) -> int:
        """Search a new game that starts at ``state``, by simulations that fit into the budget."""
        from open_spiel.python.algorithms import mcts

        kinds = game_classes()
        task, model, horizon = self._task, self._model, self._horizon
        lengths = (1 - task.discount**horizon) / (1 - task.discount)
        low, high = (bound * lengths for bound in task.reward_range)
        game = kinds[0](state, model, self._rng, task.discount, horizon, low, high)
        last = self.calls + task.budget - horizon

        class Bot(mcts.MCTSBot):  # type: ignore[misc]
            """Stops when another simulation could be one call too many."""

            def _apply_tree_policy(self, root: Any, start: Any) -> Any:
                self.root = root
                if model.calls > last:
                    raise OutOfCalls
                return super()._apply_tree_policy(root, start)

            def mcts_search(self, start: Any) -> Any:
                try:
                    return super().mcts_search(start)
                except OutOfCalls:
                    return self.root

        bot = Bot(
            game,
            uct_c=2 * task.scale / (high - low),  # the scale, in units of utility
            max_simulations=task.budget,
            evaluator=mcts.RandomRolloutEvaluator(1, self._random),
            solve=False,
            random_state=self._random,
        )
        return int(bot.step(game.new_initial_state()))


@lru_cache
def game_classes() -> tuple[Any, Any]:
    """A game for one player around a model, and its states; pyspiel's classes are their bases."""
    import pyspiel

    kind = pyspiel.GameType(
        short_name="python_planning",
        long_name="Planning with a simulator",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=1,
        min_num_players=1,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
        parameter_specification={},
    )

    class PlanningState(pyspiel.State):  # type: ignore[misc]
        """The state of the model, and what was received on the way to it."""

        def __init__(self, game: Any, start: Any, settings: tuple[Any, ...]) -> None:
            super().__init__(game)
            self.here, self.settings = start, settings
            self.taken, self.total, self.ended = 0, 0.0, False

        def current_player(self) -> Any:
            return pyspiel.PlayerId.TERMINAL if self.is_terminal() else 0

        def _legal_actions(self, _: int) -> list[int]:
            return [0, 1]

        def _apply_action(self, action: int) -> None:
            model, rng, discount, *_ = self.settings
            self.here, reward, self.ended = model.step(self.here, int(action), rng)
            self.total += discount**self.taken * reward
            self.taken += 1

        def is_terminal(self) -> bool:
            return bool(self.ended or self.taken >= self.settings[3])

        def returns(self) -> list[float]:
            """Mapped to [−1, 1], as in OpenSpiel's games: MCTSBot takes 0 for a draw."""
            low, high = self.settings[4:]
            return [2 * (self.total - low) / (high - low) - 1]

        def _action_to_string(self, _: int, action: int) -> str:
            return str(action)

        def __str__(self) -> str:
            return f"{self.here} after {self.taken}"

    class PlanningGame(pyspiel.Game):  # type: ignore[misc]
        """Starts at a given state of the model."""

        def __init__(self, start: Any, model: Any, rng: Any, *settings: Any) -> None:
            info = pyspiel.GameInfo(
                num_distinct_actions=2, max_chance_outcomes=0, num_players=1,
                min_utility=-1.0, max_utility=1.0, utility_sum=0.0, max_game_length=settings[1],
            )  # fmt: skip
            super().__init__(kind, info, {})
            self.start, self.settings = start, (model, Shared(rng), *settings)

        def new_initial_state(self, _: Any = None) -> Any:
            return PlanningState(self, self.start, self.settings)

    return PlanningGame, PlanningState


class Shared:
    """A generator that copies of a state share: else each copy would draw the same noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.uniform, self.random = rng.uniform, rng.random

    def __deepcopy__(self, memo: Any) -> Shared:
        return self


class ScikitDecide:
    """scikit-decide's RIW (rollout iterated width) on a simulation domain."""

    def __init__(self, task: Task, seed: int, horizon: int) -> None:
        self._task, self._horizon = task, horizon
        self._model = Counted(task.make_model(seed))
        self._rng = np.random.default_rng(seed)

    @property
    def calls(self) -> int:
        return self._model.calls

    def plan(self, state: Any) -> int:
        """Rollouts from ``state`` until one more could be too many."""
        from skdecide.hub.solver.riw import RIW

        root = (0, *(float(x) for x in state))
        domain = domain_class()(root, self._model, self._rng)
        last = self.calls + self._task.budget - self._horizon
        widths = (1.0, 1.0) if self._task.chain else CELLS

        def cells(_: Any, here: Any) -> tuple[int, ...]:
            return tuple(int(x // width) for x, width in zip(here[1:], widths, strict=True))

        with RIW(
            domain_factory=lambda: domain,
            state_features=cells,
            use_simulation_domain=True,
            rollout_budget=self._task.budget,
            max_depth=self._horizon,
            discount=self._task.discount,
            callback=lambda _, __=None: self.calls > last,
        ) as solver:
            solver.solve_from(root)
            known = solver.get_policy()
        return int(known[root][0]) if root in known else int(self._rng.integers(2))


@lru_cache
def domain_class() -> Any:
    """A domain around a model; states carry the number of steps, so that there are no loops."""
    from skdecide import Domain, TransitionOutcome, Value
    from skdecide.builders import domain as parts
    from skdecide.core import EnumerableSpace, ImplicitSpace, SamplableSpace

    class TwoActions(EnumerableSpace, SamplableSpace):  # type: ignore[misc]
        """Actions 0 and 1; the spaces in skdecide.hub need Gymnasium before 1.0."""

        def get_elements(self) -> list[int]:
            return [0, 1]

        def sample(self) -> int:
            return 0

    bases: tuple[Any, ...] = (
        Domain, parts.SingleAgent, parts.Sequential, parts.Simulation, parts.Actions,
        parts.DeterministicInitialized, parts.Markovian, parts.FullyObservable, parts.Rewards,
    )  # fmt: skip

    class Planning(*bases):  # type: ignore[misc]
        T_state, T_observation, T_event, T_value = tuple, tuple, int, float
        T_predicate, T_info = bool, None

        def __init__(self, root: Any, model: Counted, rng: Any) -> None:
            self.root, self.model, self.rng = root, model, rng

        def _state_sample(self, memory: Any, action: int) -> Any:
            here, reward, ended = self.model.step(memory[1:], action, self.rng)
            after = (memory[0] + 1, *(float(x) for x in here))
            return TransitionOutcome(after, Value(reward=float(reward)), bool(ended), None)

        def _get_initial_state_(self) -> Any:
            return self.root

        def _get_observation_space_(self) -> Any:
            return ImplicitSpace(lambda _: True)

        def _get_action_space_(self) -> Any:
            return TwoActions()

        def _get_applicable_actions_from(self, _: Any) -> Any:
            return TwoActions()

    return Planning
