"""From a search to a plan; the twin of ``decision.py``."""

from __future__ import annotations

from platypoos.compiled.platypus.arrays import NONE, Floats, Places, Search
from platypoos.compiled.platypus.confidence import note_confidence
from platypoos.compiled.platypus.graph import is_noisy
from platypoos.compiled.platypus.jury import fresh_lead
from platypoos.compiled.platypus.parts import part
from platypoos.compiled.platypus.plan import recommend
from platypoos.compiled.platypus.sequences import weigh_candidate
from platypoos.trees.tree import ROOT, TERMINAL, Tree, set_node, set_root


@part
def decide(search: Search) -> int:
    """Choose, say how sure that is, and count the nodes of the sequences to show."""
    at, row = search.at[0], len(search.candidates) - 1
    if not recommend(search):
        first_step(search)
    at.rival = rival_of(search)
    note_lead(search)
    note_confidence(search)
    chosen = search.edges[search.ways[row, 0]].action
    count = 1 + search.candidates[row].steps
    for i in range(at.ranked):
        if search.best[i] != chosen:
            count += search.candidates[search.best[i]].steps
    return count


@part
def first_step(search: Search) -> None:
    """Time was up before a whole sequence was known: take the best first step."""
    edges, row = search.edges, len(search.candidates) - 1
    best = edge = search.states[search.graph[0].root].first
    while edge != NONE:
        if edges[edge].mean > edges[best].mean:
            best = edge
        edge = edges[edge].next
    search.ways[row, 0], search.actions[row, 0] = best, edges[best].action
    search.candidates[row].steps = search.candidates[row].count = 1
    weigh_candidate(search, row)
    search.at[0].decided = 1


@part
def is_heard(search: Search, which: int, row: int) -> bool:
    """Whether one of the last two that were heard has the path of a candidate."""
    if search.steps[which] != search.candidates[row].steps:
        return False
    for t in range(search.steps[which]):  # noqa: SIM110  compiled
        if search.fresh[which, t] != search.ways[row, t]:
            return False
    return True


@part
def rival_of(search: Search) -> int:
    """The first action of what the decision is compared with, or NONE; see the plain planner."""
    at, row = search.at[0], len(search.candidates) - 1
    if at.has_fresh and is_noisy(search):
        one, other = 0, 1
        if is_heard(search, other, row):
            one, other = other, one
        first = search.edges[search.fresh[other, 0]].action
        known = search.candidates[first].steps > 0
        if known and is_heard(search, one, row) and is_heard(search, other, first):
            return first
    chosen = search.edges[search.ways[row, 0]].action
    rival = NONE
    for i in range(at.ranked):
        action = search.best[i]
        if action != chosen and (
            rival == NONE or search.candidates[action].value > search.candidates[rival].value
        ):
            rival = action
    return rival


@part
def note_lead(search: Search) -> None:
    """The lead over the rival by samples that nothing was chosen by."""
    at, row = search.at[0], len(search.candidates) - 1
    at.has_lead = 0
    if not at.has_fresh or at.rival == NONE or not is_noisy(search):
        return
    for which in range(2):
        if is_heard(search, which, row) and is_heard(search, 1 - which, at.rival):
            at.has_lead = 1
    if at.has_lead:
        at.lead, at.lead_error = fresh_lead(search)
        if is_heard(search, 1, row):
            at.lead = -at.lead


@part
def lay_out(
    search: Search, tree: Tree, values: Floats, ends: Places, sources: Places, after: Places
) -> None:
    """Write the sequences to show to a tree.

    Args:
        search: that has decided.
        tree: with room for them.
        values: of their first actions.
        ends: the nodes at their ends.
        sources: for each node the number of its edge; the same ones have the same number.
        after: for each node the state that it leads to.
    """
    graph, row = search.graph[0], len(search.candidates) - 1
    chosen = search.edges[search.ways[row, 0]].action
    set_root(tree)
    sources[ROOT], after[ROOT] = 0, graph.root
    known = 0
    for action in range(graph.num_actions):
        at = row if action == chosen else action
        steps = search.candidates[at].steps
        if steps == 0:
            continue
        values[action] = search.candidates[at].value
        last = ROOT
        for t in range(steps):
            number = search.ways[at, t]
            edge = search.edges[number]
            node = add_node(search, tree, last, t + 1, number)
            if search.noted[number] == 0:
                known += 1
                search.noted[number] = known
            sources[node], after[node] = search.noted[number], edge.after
            last = node
        ends[action] = last
    for action in range(graph.num_actions):
        at = row if action == chosen else action
        for t in range(search.candidates[at].steps):
            search.noted[search.ways[at, t]] = 0


@part
def add_node(search: Search, tree: Tree, parent: int, depth: int, number: int) -> int:
    """Add an edge to a tree; returns its node."""
    edge, node = search.edges[number], tree.size[0]
    tree.size[0] += 1
    set_node(tree, node, parent, edge.action, depth, 0)
    tree.pulls[node] = edge.samples
    tree.reward[node] = edge.mean + search.graph[0].origin
    tree.flags[node] = TERMINAL if edge.after == NONE else 0
    return node


@part
def span(search: Search, root: int, tree: Tree) -> None:
    """Write all known edges from a state on, each state below the first edge that leads to it."""
    graph, found, places = search.graph[0], search.found, search.order[0]
    graph.marks += 1
    set_root(tree)
    found[0], count, i = root, 1, 0
    search.states[root].mark = graph.marks
    places[root] = ROOT
    while i < count:
        parent = places[found[i]]
        edge = search.states[found[i]].first
        while edge != NONE:
            node = add_node(search, tree, parent, tree.depth[parent] + 1, edge)
            after = search.edges[edge].after
            if after != NONE and search.states[after].mark != graph.marks:
                search.states[after].mark = graph.marks
                places[after] = node
                found[count] = after
                count += 1
            edge = search.edges[edge].next
        i += 1
