"""Models from Gymnasium environments that can be put into any state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.models.base import Access, Transition


class GymnasiumModel:
    """A Gymnasium environment as a model: classic control and toy text.

    Classic control (CartPole, MountainCar, Acrobot, Pendulum, …) is put into a state and stepped.
    Toy text (FrozenLake, Taxi, CliffWalking) is its own table of transitions: where that is
    random (slippery ice), access is RESET, and ``successors`` lists what may happen, for OPMDP.
    Time limits are left out: they are no terminal states. Other environments are refused; wrap
    them in a :class:`~platypoos.FunctionModel`.

    Args:
        env: the environment's id, or an environment.
        seed: for its first state.
        actions: the actions to choose from, if they are not a discrete set already.
        **options: passed on to ``gymnasium.make``.

    >>> import platypoos as pp
    >>> model = pp.GymnasiumModel("CartPole-v1")
    >>> pp.control(model, budget=2_000, steps=5, discount=0.8, seed=0).rewards
    (1.0, 1.0, 1.0, 1.0, 1.0)
    """

    def __init__(
        self,
        env: Any,
        seed: int = 0,
        actions: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        try:
            import gymnasium
        except ImportError as error:
            raise InvalidArgument(
                "GymnasiumModel needs Gymnasium: pip install 'platypoos[demo]'"
            ) from error
        if not isinstance(env, str | gymnasium.Env):
            raise InvalidArgument(f"env must be an id such as 'CartPole-v1', got {env!r}")
        if isinstance(env, str):
            try:
                env = gymnasium.make(env, **options)
            except gymnasium.error.Error as error:
                raise InvalidArgument(f"Gymnasium cannot make {env!r}: {error}") from error
        self.env = env.unwrapped
        self.env.reset(seed=seed)
        self.access = Access.RESTORE
        if hasattr(self.env, "P") and hasattr(self.env, "s"):
            self._set_up_table()
        elif isinstance(getattr(self.env, "state", None), np.ndarray | tuple):
            self.initial_state: Any = np.array(self.env.state)
        else:
            name = type(self.env).__name__
            raise InvalidArgument(
                f"{name} is not known to be restored to a state; wrap its step in a FunctionModel "
                "that sets the state it is given (README, 'Your own simulator')"
            )
        self.actions = self._actions(actions, gymnasium)
        self.num_actions = len(self.actions)

    def _actions(self, actions: Sequence[Any] | None, gymnasium: Any) -> list[Any]:
        space = self.env.action_space
        if actions is None:
            if not isinstance(space, gymnasium.spaces.Discrete):
                raise InvalidArgument(
                    f"the actions of {type(self.env).__name__} are {space}; pass the ones to "
                    "choose from, such as actions=[[-2.0], [0.0], [2.0]]"
                )
            return list(range(int(space.start), int(space.start) + int(space.n)))
        chosen = [np.asarray(action, space.dtype) for action in actions]
        for action in chosen:
            if not space.contains(action):
                raise InvalidArgument(f"the action {action} is not in {space}")
        return chosen

    def _set_up_table(self) -> None:
        """Toy text: transitions by a table."""
        self.initial_state = int(self.env.s)
        self._table = self.env.P
        rows = [row for by_action in self._table.values() for row in by_action.values()]
        self.max_successors = max(len(row) for row in rows)
        if self.max_successors > 1:
            self.access = Access.RESET
        self.step = self._step_in_table  # type: ignore[method-assign]
        self.successors = self._successors

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        """Put the environment into ``state`` and take an action."""
        del rng  # these environments have no randomness
        env = self.env
        env.state = state.copy()
        env.steps_beyond_terminated = None
        _, reward, terminated, _, _ = env.step(self.actions[action])
        return Transition(np.array(env.state), float(reward), bool(terminated))

    def _step_in_table(self, state: Any, action: int, rng: np.random.Generator) -> Transition:
        listed = self._table[state][action]
        chosen = 0
        if len(listed) > 1:
            chosen = int(rng.choice(len(listed), p=[entry[0] for entry in listed]))
        _, after, reward, terminated = listed[chosen]
        return Transition(int(after), float(reward), bool(terminated))

    def _successors(self, state: Any, action: int) -> list[tuple[float, Any, float, bool]]:
        """(probability, state, reward, terminated) of all that may happen."""
        return [(float(p), int(s), float(r), bool(e)) for p, s, r, e in self._table[state][action]]
