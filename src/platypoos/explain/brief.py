"""A plan made small, to be kept for each step of an episode."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.explain.sequences import ends_by_action
from platypoos.spaces import Tried
from platypoos.trees.tree import ROOT, Tree, make_tree, path_to, set_node, set_root

if TYPE_CHECKING:
    from platypoos.results import Plan

LARGE = 20_000
"""Nodes of a tree in which rivals are not looked for: that would take longer than it is worth."""
SMALL_STATE = 2_000
"""Bytes up to which states are kept along the sequences."""


def brief(plan: Plan) -> dict[str, Any]:
    """The fields of a plan that change when it is made small."""
    if plan.tree.num_nodes <= LARGE:
        ends = ends_by_action(plan)
        values = plan.action_values
    else:
        ends = {plan.action_index: plan.node}
        values = np.full(plan.num_actions, np.nan) if plan.estimates is None else plan.estimates
        values[plan.action_index] = plan.value
    others = [action for action in ends if action != plan.action_index]
    others = [action for action in others if not np.isnan(values[action])]
    kept = [plan.action_index, *sorted(others, key=lambda action: -values[action])[:1]]
    kept_ends = [ends[action] for action in kept if action in ends]
    kept_ends += [] if plan.rule_node is None else [plan.rule_node]
    tree, nodes = extract(plan.tree, kept_ends)
    space = plan.space
    if isinstance(space, Tried):
        space = fewer(space, tree)
    small = is_small(plan.state)
    states = {new: plan.states[old] for new, old in enumerate(nodes) if old in plan.states}
    parts = {new: plan.parts[old] for new, old in enumerate(nodes) if old in plan.parts}
    return {
        "tree": tree,
        "space": space,
        "node": nodes.index(plan.node),
        "rule_node": None if plan.rule_node is None else nodes.index(plan.rule_node),
        "estimates": np.array(values),
        "states": states if small else {},
        "parts": parts,
        "outcomes": plan.outcomes if small else (),
        "sources": np.array(nodes) if plan.sources is None else plan.sources[nodes],
        "worth": None,
        "searched": None,
    }


def fewer(space: Tried, tree: Tree) -> Tried:
    """The actions of a small tree and all first ones; the tree's are numbered anew."""
    size = tree.num_nodes
    later = [a for a in dict.fromkeys(tree.action[1:size].tolist()) if a >= space.firsts]
    kept = [*range(space.firsts), *later]
    place = {old: new for new, old in enumerate(kept)}
    tree.action[1:size] = [place[old] for old in tree.action[1:size].tolist()]
    return Tried(space.of, [space.payloads[old] for old in kept], space.firsts)


def is_small(state: Any) -> bool:
    """Whether a state has at most ``SMALL_STATE`` bytes, roughly; nested as deep as it may be."""
    size, parts = 0, [state]
    while parts and size <= SMALL_STATE:
        part = parts.pop()
        size += part.nbytes if isinstance(part, np.ndarray) else sys.getsizeof(part)
        if isinstance(part, tuple | list):
            parts.extend(part)
    return size <= SMALL_STATE


def extract(tree: Tree, ends: list[int]) -> tuple[Tree, list[int]]:
    """A tree of the sequences that end in these nodes, and the old number of each new node."""
    paths = [path_to(tree, end) for end in ends]
    nodes = [ROOT]
    place = {ROOT: ROOT}
    found = make_tree(1 + sum(len(path) for path in paths))
    set_root(found)
    for path in paths:
        for old in path:
            if old in place:
                continue
            new = place[old] = len(nodes)
            nodes.append(old)
            parent = place[int(tree.parent[old])]
            set_node(found, new, parent, int(tree.action[old]), int(found.depth[parent]) + 1, 0)
            found.pulls[new], found.reward[new] = tree.pulls[old], tree.reward[old]
            found.flags[new], found.value[new] = tree.flags[old], 0.0
            found.size[0] = new + 1
    return found, nodes
