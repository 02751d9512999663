"""What every sampler can do: the one way in which planners reach a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from platypoos.errors import InvalidArgument
from platypoos.models.advice import Advice
from platypoos.models.base import Access
from platypoos.simulator.pace import Pace
from platypoos.trees.meeting import Homes
from platypoos.trees.tree import Tree

if TYPE_CHECKING:
    from platypoos.compiled.ledger.drivers import Driver

Nodes = NDArray[np.int64]
Floats = NDArray[np.float64]


class Sampler(ABC):
    """The only caller of a model in one plan: it counts calls, and keeps states and samples."""

    model: Any
    access: Access
    tree: Tree
    due: Callable[[], bool]
    """Whether time is up."""
    pace: Pace
    workers: int
    """Calls that are made at the same time."""
    calls: int
    """Calls of the model so far."""
    steps_in_python: bool = True
    """Whether walks take their steps in Python, by ``steps_from``."""
    advice: Advice
    """What the model said of the states: legal actions, values, policies."""

    @abstractmethod
    def allow(self, calls: int) -> None:
        """Let there be more calls than before."""

    @abstractmethod
    def evaluate(self, tree: Tree, nodes: Nodes, repeats: Nodes) -> None:
        """Sample nodes, each as often as it says."""

    @abstractmethod
    def play(self, tree: Tree, path: Nodes, rewards: Floats, start: int, roll_out: bool) -> int:
        """Walk along a path of nodes."""

    def play_ahead(self, tree: Tree, ahead: Any, asked: int, roll_out: bool) -> None:
        """Make walks that ``play`` takes later."""
        raise NotImplementedError

    @abstractmethod
    def ask_legal(self, nodes: Nodes) -> None:
        """Ask the model for the legal actions in the states of nodes."""

    @abstractmethod
    def drive(self, driver: Driver, args: tuple[Any, ...]) -> Any:
        """Run a planner's main function, as fast as this kind of model allows."""

    @abstractmethod
    def is_ready(self, driver: Driver) -> bool:
        """Whether the machine code that ``drive`` needs is there."""

    def insist_on_machine_code(self, driver: Driver, deadline: float | None) -> None:
        """With a deadline there is no time for the compiler."""
        if deadline is not None and not self.is_ready(driver):
            raise InvalidArgument(
                "with a deadline, machine code must be there beforehand, and in this process "
                "there is none for this planner and model yet: call warm_up() of an Agent with "
                "both first, or make one plan with a budget"
            )

    def pause_after(self, calls: int) -> None:
        """Let ``drive`` return after ``calls``, if it runs in machine code."""
        del calls

    # States that are kept, and told apart.

    @abstractmethod
    def put(self, node: int, state: Any) -> None:
        """Keep the state of a node."""

    @abstractmethod
    def keep(self, nodes: Nodes, tree: Tree) -> None:
        """Keep the states of these nodes only, in this order; the tree is another one from now."""

    @abstractmethod
    def adopt(self, other: Any, nodes: Nodes) -> None:
        """Take over the states of nodes of another sampler of this kind."""

    @abstractmethod
    def states_of(self, nodes: Nodes) -> Any:
        """The states of nodes."""

    @property
    @abstractmethod
    def state_bytes(self) -> int:
        """Bytes of a state, where they can be told."""

    @abstractmethod
    def tell_apart(self, state: Any) -> None:
        """Share states that sequences meet in, from now on; ``state`` is an example."""

    @abstractmethod
    def make_homes(self, capacity: int, depth: NDArray[np.int32] | None) -> Homes:
        """Homes for all nodes. With ``depth``, states are the same at the same depth only."""

    @abstractmethod
    def settle(self, homes: Homes, nodes: Nodes) -> None:
        """Find the homes of nodes that have just been sampled for the first time."""

    @abstractmethod
    def settle_again(self, homes: Homes, before: Nodes, own: Nodes) -> None:
        """After ``keep``: ``homes.home`` is known, ``before`` are the old names of these homes.

        ``own`` are the nodes that are homes themselves, and go on.
        """

    @abstractmethod
    def home_of(self, homes: Homes, state: Any) -> int:
        """The home of a state, or −1 if it was never seen."""
