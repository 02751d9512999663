"""The rules of the puzzles: one compiled step for all of them, so it is compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np

from platypoos.compiled.code.marks import jitable

KNAPSACK, TILES, PUSHING = range(3)
"""The first of the parameters."""
SIDE = 4
"""Tiles in a row."""


@jitable
def fits(state: Any, item: Any, params: Any) -> Any:
    """Whether an item is not packed yet and there is room for it.

    States are [room, packed], the bits of the second being the packed items; parameters are
    [kind, number of items, weights, values].
    """
    return (state[1] >> item) & 1 == 0 and params[2 + item] <= state[0]


@jitable
def pack(state: Any, item: Any, params: Any, after: Any) -> Any:
    """Pack an item; it ends when no other fits."""
    after[0] = state[0] - params[2 + item]
    after[1] = state[1] | (1 << item)
    full = True
    for other in range(params[1]):
        full = full and not fits(after, other, params)
    return float(params[2 + params[1] + item]), full


@jitable
def tile_place(action: Any, line: Any, i: Any) -> Any:
    """The i-th place of a line, from the side that tiles slide to: up, right, down, left."""
    if action == 0:
        return SIDE * i + line
    if action == 1:
        return SIDE * line + SIDE - 1 - i
    if action == 2:
        return SIDE * (SIDE - 1 - i) + line
    return SIDE * line + i


@jitable
def slide(state: Any, action: Any, after: Any) -> Any:
    """Slide all tiles to a side, and merge equal ones; the sum of the merged tiles.

    States are 16 exponents, 0 for a free place.
    """
    total = 0
    for line in range(SIDE):
        count, last = 0, 0  # tiles in their new place, and the one that may still be merged
        for i in range(SIDE):
            tile = state[tile_place(action, line, i)]
            if tile == 0:
                continue
            if tile == last:
                after[tile_place(action, line, count - 1)] = tile + 1
                total += 1 << (tile + 1)
                last = 0
            else:
                after[tile_place(action, line, count)] = tile
                count += 1
                last = tile
        for i in range(count, SIDE):
            after[tile_place(action, line, i)] = 0
    return total


@jitable
def slides(state: Any, action: Any) -> Any:
    """Whether a slide changes anything: a tile moves, or two are merged."""
    for line in range(SIDE):
        free, last = False, 0
        for i in range(SIDE):
            tile = state[tile_place(action, line, i)]
            if tile == 0:
                free = True
            elif free or tile == last:
                return True
            last = tile
    return False


@jitable
def add_tile(board: Any, salt: Any) -> None:
    """A new tile in a free place: a 2, or one time in ten a 4. The board decides which and where.

    A hash of the board instead of a random number: the same board, the same new tile.
    """
    mixed, free = salt + 1, 0
    for i in range(SIDE * SIDE):
        mixed = (mixed * 31 + board[i] + 7) % 2_147_483_647
        mixed = (mixed ^ (mixed >> 11)) * 48_271 % 2_147_483_647
        free += board[i] == 0
    at, tile = mixed % free, 2 if (mixed // 1_000) % 10 == 0 else 1
    for i in range(SIDE * SIDE):
        if board[i] == 0:
            if at == 0:
                board[i] = tile
                return
            at -= 1


@jitable
def slide_tiles(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Slide, and add a tile; it ends when no slide changes anything. Parameters: [kind, salt]."""
    total = slide(state, action, after)
    add_tile(after, params[1])
    stuck = True
    for other in range(4):
        stuck = stuck and not slides(after, other)
    return float(total), stuck


@jitable
def way(action: Any, width: Any) -> Any:
    """By how much a place changes: up, right, down, left."""
    if action == 0:
        return -width
    if action == 1:
        return 1
    if action == 2:
        return width
    return -1


@jitable
def box_at(state: Any, place: Any) -> Any:
    """The number of the box in a place, or 0. States are [player, box, box, …]."""
    for i in range(1, len(state)):
        if state[i] == place:
            return i
    return 0


@jitable
def can_push(state: Any, action: Any, params: Any) -> Any:
    """Whether the player can go there, perhaps with a box before him.

    Parameters are [kind, width, …]: for each place 0 free, 1 wall, 2 target. Walls surround all.
    """
    there = state[0] + way(action, params[1])
    if params[2 + there] == 1:
        return False
    if box_at(state, there) == 0:
        return True
    beyond = there + way(action, params[1])
    return params[2 + beyond] != 1 and box_at(state, beyond) == 0


@jitable
def push(state: Any, action: Any, params: Any, after: Any) -> Any:
    """Go, and push: 1 for a box on a target, −1 if it leaves one, 10 and the end for the last."""
    for i in range(len(state)):
        after[i] = state[i]
    there = state[0] + way(action, params[1])
    box = box_at(state, there)
    after[0] = there
    if box == 0:
        return 0.0, False
    beyond = there + way(action, params[1])
    after[box] = beyond
    reward = 1.0 * (params[2 + beyond] == 2) - 1.0 * (params[2 + there] == 2)
    solved = True
    for i in range(1, len(after)):
        solved = solved and params[2 + after[i]] == 2
    # Boxes are alike: in order, two states with the same places taken are the same.
    for i in range(2, len(after)):
        for j in range(i, 1, -1):
            if after[j] < after[j - 1]:
                swap = after[j]
                after[j] = after[j - 1]
                after[j - 1] = swap
    return (reward + 10.0 if solved else reward), solved


@jitable
def allowed(state: Any, action: Any, params: Any) -> Any:
    """Whether an action is legal."""
    if params[0] == KNAPSACK:
        return fits(state, action, params)
    if params[0] == TILES:
        return slides(state, action)
    return can_push(state, action, params)


def moves_kernel(state: Any, action: Any, params: Any, rng: Any, next_state: Any) -> Any:  # noqa: ARG001
    """One move; the reward of an illegal one is not a number, and the state stays."""
    act = np.int64(action)
    if not allowed(state, act, params):
        for i in range(len(state)):
            next_state[i] = state[i]
        return np.nan, False
    if params[0] == KNAPSACK:
        return pack(state, act, params, next_state)
    if params[0] == TILES:
        return slide_tiles(state, act, params, next_state)
    return push(state, act, params, next_state)


def moves_legal(state: Any, params: Any, mask: Any) -> None:
    """The moves that are allowed."""
    for action in range(len(mask)):
        mask[action] = allowed(state, action, params)
