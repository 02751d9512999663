"""The travelling salesman: visit every city once; visited ones are no longer legal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.checks import check_count, check_number, check_seed
from platypoos.errors import InvalidArgument
from platypoos.models.array import ArrayModel
from platypoos.models.base import Transition
from platypoos.problems.base import Problem, value_of_staying
from platypoos.spaces import Discrete

if TYPE_CHECKING:
    from platypoos.compiled.model import CompiledModel

EXACT_CITIES = 12
"""Most cities still to visit for which values are exact: 2^12·12² steps of arithmetic."""
WORD = 63
"""Cities in an int64 of the array and compiled forms; its last bit is the sign."""


@dataclass(frozen=True)
class TravellingSalesman(Problem):
    """Cities in the unit square; an action is the next city, its reward −distance.

    The tour starts in city 0. The episode ends when the last city is reached, with the way back to
    city 0 in its last reward: without a discount the return is −length of the tour. Visited cities
    are illegal; or, to compare masks with penalties, nothing is, and going to a visited city
    changes nothing and costs ``penalty``.

    States are (city, visited), the bits of the second number being the visited cities; in the
    array and compiled forms [city, visited, …], with 63 cities in each number from the second on.

    Args:
        num_cities: how many cities, at least 2; as many actions.
        seed: the same seed, the same cities: ``numpy.random.default_rng(seed).random((n, 2))``.
        penalty: None for masks, or what it costs to go to a visited city.

    >>> import platypoos as pp
    >>> from platypoos import lab
    >>> problem = lab.problems.TravellingSalesman(num_cities=5, seed=0)
    >>> list(problem.legal(problem.initial_state))
    [1, 2, 3, 4]
    >>> round(problem.tour_length((1, 2, 3, 4)), 3), round(problem.optimum(), 3)
    (2.994, 2.702)
    """

    num_cities: int = 30
    seed: int = 0
    penalty: float | None = None

    initial_state = (0, 1)

    def __post_init__(self) -> None:
        if check_count("num_cities", self.num_cities) < 2:
            raise InvalidArgument(f"num_cities must be at least 2, got {self.num_cities!r}")
        check_seed(self.seed)
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0.0)

    @cached_property
    def actions(self) -> Discrete:  # type: ignore[override]
        """An action for each city, also for city 0, which is visited from the start."""
        return Discrete(self.num_cities)

    @cached_property
    def cities(self) -> NDArray[np.float64]:
        """[cities, 2] where they are."""
        places = np.random.default_rng(self.seed).random((self.num_cities, 2))
        places.flags.writeable = False
        return places

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """[cities, cities] how far they are from each other."""
        apart: NDArray[np.float64] = np.linalg.norm(
            self.cities[:, None] - self.cities[None], axis=2
        )
        apart.flags.writeable = False
        return apart

    @cached_property
    def _rows(self) -> list[list[float]]:
        """The distances as lists, which are faster to read one by one."""
        rows: list[list[float]] = self.distances.tolist()
        return rows

    @property
    def _everywhere(self) -> int:
        return (1 << self.num_cities) - 1

    def legal(self, state: Any) -> Sequence[int]:
        """The cities to go to: those not visited, or all if there is a penalty."""
        if self.penalty is not None:
            return range(self.num_cities)
        visited = state[1]
        return [city for city in range(self.num_cities) if not visited >> city & 1]

    def step(self, state: Any, action: int, rng: np.random.Generator) -> Transition:  # noqa: ARG002
        """Go to a city, and home if it is the last."""
        city, visited = state
        if visited >> action & 1:
            return Transition(state, -self._penalty(action), visited == self._everywhere)
        visited |= 1 << action
        distance, done = self._rows[city][action], visited == self._everywhere
        if done:
            distance += self._rows[action][0]
        return Transition((action, visited), -distance, done)

    def _penalty(self, action: int) -> float:
        if self.penalty is None:
            raise InvalidArgument(
                f"city {action} was visited already; legal(state) lists those that were not"
            )
        return self.penalty

    def mean_reward(self, state: Any, action: int) -> float:
        """The reward: there is no noise."""
        return self.step(_read(state), action, np.random.default_rng(0)).reward

    def tour_length(self, actions: Sequence[int]) -> float:
        """The length of the tour through all cities in this order, from city 0 and back to it.

        If there is a penalty, going to a visited city adds nothing to it.
        """
        city, visited, length = 0, 1, 0.0
        for action in self._checked_actions(actions):
            if visited >> action & 1:
                self._penalty(action)
                continue
            length += self._rows[city][action]
            city, visited = action, visited | 1 << action
        missing = [str(i) for i in range(self.num_cities) if not visited >> i & 1]
        if missing:
            raise InvalidArgument(f"no tour: the actions leave out the cities {', '.join(missing)}")
        return length + self._rows[city][0]

    @cached_property
    def reference_tour(self) -> tuple[int, ...]:
        """A good tour, not always the shortest: a sequence of actions.

        From every city, always on to the nearest that was not visited; then pieces of the tour
        are turned round, the one that helps most first, until none does (2-opt). The best of these.
        """
        tours = (
            _two_opt(_nearest(start, self.distances), self.distances)
            for start in range(self.num_cities)
        )
        best = min(tours, key=lambda tour: _length(tour, self.distances))
        home = int(np.flatnonzero(best == 0)[0])
        return tuple(np.roll(best, -home)[1:].tolist())

    @property
    def reference(self) -> float:
        """The length of the reference tour: with 12 cities the shortest for 39 of 40 seeds."""
        return self.tour_length(self.reference_tour)

    def optimum(self) -> float:
        """The length of the shortest tour, by dynamic programming (Held and Karp); 12 cities."""
        return -float(self.action_values(self.initial_state, 1.0).max())

    def action_values(self, state: Any, discount: float) -> NDArray[np.float64]:
        """Q*, exact with at most 12 cities to visit; −inf for illegal actions.

        By dynamic programming over all subsets of the cities that are left. If there is a penalty,
        it can be best to stay and pay it for ever.
        """
        city, visited = _read(state)
        left = np.array([i for i in range(self.num_cities) if not visited >> i & 1], np.int64)
        if len(left) > EXACT_CITIES - 1:
            raise InvalidArgument(
                f"{len(left) + 1} cities are too many for exact values: at most {EXACT_CITIES}, "
                "the one where the tour is and those it has not visited; see reference"
            )
        places = np.append(left, city)
        apart, home = self.distances[np.ix_(places, left)], self.distances[left, 0]
        bits = 1 << np.arange(len(left))
        staying = value_of_staying(self.penalty, discount)
        # best[s, i]: what can be had at places[i] with the set s of cities to visit.
        best = np.zeros((1 << len(left), len(places)))
        going = np.empty((len(places), 0))
        for to_visit in range(1, len(best)):
            to = np.flatnonzero(to_visit & bits)
            going = discount * best[to_visit ^ bits[to], to] - apart[:, to]
            if len(to) == 1:
                going -= home[to]
            best[to_visit] = np.maximum(going.max(axis=1), staying)
        values = np.full(self.num_cities, -np.inf)
        if self.penalty is not None:
            values[:] = discount * best[-1, -1] - self.penalty
        values[left] = going[-1]
        return values

    def array(self) -> ArrayModel:
        """Rows are [city, visited, …]."""
        return ArrayModel(
            self._step_batch,
            actions=self.num_cities,
            initial_state=self._first_row(),
            problem=self,
            legal=self._legal_batch if self.penalty is None else None,
        )

    def _first_row(self) -> NDArray[np.int64]:
        return np.append([0, 1], np.zeros((self.num_cities - 1) // WORD, np.int64))

    def _all_visited(self) -> NDArray[np.int64]:
        counts = np.minimum(WORD, self.num_cities - np.arange(0, self.num_cities, WORD))
        return np.array([(1 << int(count)) - 1 for count in counts], np.int64)

    def _step_batch(
        self, states: NDArray[Any], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        del rng  # there is no noise
        rows, words = np.arange(len(states)), 1 + actions // WORD
        bits = np.int64(1) << actions % WORD
        again = states[rows, words] & bits != 0
        after = states.copy()
        after[rows, 0] = np.where(again, states[:, 0], actions)
        after[rows, words] |= bits
        done = (after[:, 1:] == self._all_visited()).all(axis=1)
        rewards = -self.distances[states[:, 0], actions]
        rewards[done] -= self.distances[actions[done], 0]
        if again.any():
            rewards[again] = -self._penalty(int(actions[again][0]))
        return after, rewards, done

    def _legal_batch(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        cities = np.arange(self.num_cities)
        unvisited: NDArray[np.bool_] = states[:, 1 + cities // WORD] >> cities % WORD & 1 == 0
        return unvisited

    def compiled(self) -> CompiledModel:
        """States are [city, visited, …]; the reward of an illegal action is not a number."""
        from platypoos.compiled.code import kernel
        from platypoos.compiled.model import CompiledModel

        penalty = np.nan if self.penalty is None else float(self.penalty)
        return CompiledModel(
            kernel(tour_kernel),
            actions=self.num_cities,
            initial_state=self._first_row(),
            params=(self.distances, self._all_visited(), penalty),
            problem=self,
            legal=kernel(tour_legal) if self.penalty is None else None,
        )


def tour_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:  # noqa: ARG001
    """Go to a city, and home if it is the last."""
    distances, all_visited, penalty = params
    word, bit = 1 + action // WORD, np.int64(1) << np.int64(action % WORD)
    again = state[word] & bit != 0
    for i in range(len(state)):
        next_state[i] = state[i]
    if not again:
        next_state[0] = action
        next_state[word] |= bit
    done = True
    for i in range(len(all_visited)):
        done = done and next_state[1 + i] == all_visited[i]
    if again:
        return -penalty, done
    reward = -distances[state[0], action]
    if done:
        reward -= distances[action, 0]
    return reward, done


def tour_legal(state: Any, params: Any, mask: Any) -> None:  # noqa: ARG001
    """The cities that were not visited."""
    for city in range(len(mask)):
        mask[city] = (state[1 + city // WORD] >> np.int64(city % WORD)) & 1 == 0


def _read(state: Any) -> tuple[int, int]:
    """The city and the visited ones, from a state of any of the three forms."""
    visited = sum(int(word) << WORD * i for i, word in enumerate(state[1:]))
    return int(state[0]), visited


def _nearest(start: int, distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """From a city always on to the nearest one that was not visited."""
    apart = distances.copy()
    tour = [start]
    while len(tour) < len(apart):
        apart[:, tour[-1]] = np.inf
        tour.append(int(apart[tour[-1]].argmin()))
    return np.array(tour)


def _two_opt(tour: NDArray[np.int64], distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn round the piece of the tour that helps most, until none does."""
    tour = tour.copy()
    while True:
        after = np.roll(tour, -1)
        step = distances[tour, after]
        # Between the i-th city and the next, and the j-th and the next: two other ways instead.
        longer = distances[np.ix_(tour, tour)] + distances[np.ix_(after, after)]
        longer -= step[:, None] + step[None]
        np.fill_diagonal(longer, 0.0)
        i, j = divmod(int(longer.argmin()), len(tour))
        if longer[i, j] > -1e-12:  # rounding
            return tour
        low, high = min(i, j) + 1, max(i, j) + 1
        tour[low:high] = tour[low:high][::-1]


def _length(tour: NDArray[np.int64], distances: NDArray[np.float64]) -> float:
    return float(distances[tour, np.roll(tour, -1)].sum())
