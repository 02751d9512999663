"""What Python calls of the twin."""

from __future__ import annotations

from platypoos.compiled.platypus import decision, graph
from platypoos.compiled.platypus.arrays import NONE, Bits, Floats, Places, Search
from platypoos.compiled.platypus.draws import OF_GRAPH, OF_SEARCH, bits_64, seed
from platypoos.compiled.platypus.parts import entry
from platypoos.compiled.platypus.plan import is_sure, plan
from platypoos.trees.tree import Tree

_decide, _lay_out, _span = decision.decide, decision.lay_out, decision.span
_state_of, _look_up, _fill_table = graph.state_of, graph.look_up, graph.fill_table
_find_edge, _count_options = graph.find_edge, graph.count_options
_take_moments, _reachable, _copy_kept = graph.take_moments, graph.reachable, graph.copy_kept


@entry
def begin(search: Search, number: Bits) -> None:
    """Seed the random numbers; the root is in the first row."""
    seed(search, OF_GRAPH, number)
    _state_of(search, 0)
    seed(search, OF_SEARCH, bits_64(search, OF_GRAPH))


@entry
def make_plan(search: Search, budget: int) -> None:
    """Spend a budget."""
    plan(search, budget)


@entry
def ask_if_sure(search: Search) -> bool:
    """Whether more calls are unlikely to change the decision."""
    return is_sure(search)


@entry
def decide(search: Search) -> int:
    """Choose; returns the nodes of the sequences to show."""
    return _decide(search)


@entry
def lay_out(
    search: Search, tree: Tree, values: Floats, ends: Places, sources: Places, after: Places
) -> None:
    """Write these sequences to a tree."""
    _lay_out(search, tree, values, ends, sources, after)


@entry
def span(search: Search, root: int, tree: Tree) -> None:
    """Write all that is known to a tree."""
    _span(search, root, tree)


@entry
def enter_all(search: Search) -> None:
    """Enter all states in the table."""
    _fill_table(search)


@entry
def find(search: Search, row: int, time: int) -> int:
    """The state that has the contents of a row, or NONE."""
    return search.table[_look_up(search, row, time)] - 1


@entry
def edge_of(search: Search, state: int, action: int) -> int:
    """The edge of an action, or NONE."""
    return _find_edge(search, state, action)


@entry
def options_of(search: Search, state: int) -> int:
    """How many actions are allowed in a state."""
    return _count_options(search, state)


@entry
def moments(search: Search) -> None:
    """Bring the moments of rewards up to date."""
    _take_moments(search)


@entry
def list_reachable(search: Search) -> int:
    """List what can be reached; returns how many states that are."""
    return _reachable(search)


@entry
def keep(search: Search, target: Search, count: int) -> None:
    """Copy the first states of the list to other arrays."""
    _copy_kept(search, target, count)


__all__ = ["NONE"]
