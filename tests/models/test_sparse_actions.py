"""A few actions of a box with many coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import platypoos as pp

CUBE = Box(-1.0, 1.0, (6,))


def test_one_coordinate_at_a_time_and_corners():
    listed = pp.models.sparse_actions(CUBE)
    assert len(listed) == 25
    assert all(CUBE.contains(action) for action in listed)
    assert len({action.tobytes() for action in listed}) == 25
    moved = [int(np.count_nonzero(action)) for action in listed]
    assert moved == [0] + 12 * [1] + 12 * [6]
    assert {tuple(a) for a in listed[1:13]} == {
        tuple(sign if i == place else 0.0 for i in range(6)) for place in range(6)
        for sign in (-1.0, 1.0)
    }  # fmt: skip


def test_corners_are_seeded():
    one, same, other = (pp.models.sparse_actions(CUBE, 40, seed) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(one) == 40
    assert np.array_equal(one[:25], pp.models.sparse_actions(CUBE))


def test_rest_is_where_zero_is_or_next_to_it():
    car = Box(np.array([-1.0, 0.0, 0.2]), np.array([1.0, 1.0, 1.0]), dtype=np.float64)
    listed = pp.models.sparse_actions(car)
    assert listed[0].tolist() == [0.0, 0.0, 0.2]
    assert len(listed) == 11  # rest is a bound in two of them: 1 + 4, and 6 of 8 corners are new
    assert len({action.tobytes() for action in listed}) == len(listed)


@pytest.mark.parametrize(("size", "number"), [(1, 3), (2, 9), (3, 13), (17, 69), (100, 256)])
def test_how_many(size, number):
    assert len(pp.models.sparse_actions(Box(-1.0, 1.0, (size,)))) == number


@pytest.mark.parametrize(
    ("space", "options", "match"),
    [
        (Discrete(3), {}, r"sparse actions are for a continuous box, but the actions are Discrete"),
        (Box(-np.inf, np.inf, (2,)), {}, "has no bounds"),
        (CUBE, {"number": 12}, "number must be at least 13 for 6 coordinates"),
        (CUBE, {"number": 300}, "more than 256"),
        (CUBE, {"seed": -1}, "seed must be"),
        (Box(-1.0, 1.0, (128,)), {}, "257 actions, more than 256"),
    ],
)
def test_what_cannot_be_listed(space, options, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.models.sparse_actions(space, **options)


def test_a_model_with_sparse_actions():
    model = pp.GymnasiumModel("HalfCheetah-v5", actions="sparse")
    assert model.actions.n == 25
    assert model.action_names[1] == "(-1, 0, 0, 0, 0, 0)"
    assert pp.plan(model, budget=60, discount=0.9, seed=0).calls == 60
    with pytest.raises(pp.InvalidArgument, match=r"15625 actions.*actions='sparse'"):
        pp.GymnasiumModel("HalfCheetah-v5", actions=5)
    with pytest.raises(pp.InvalidArgument, match="a number, 'sparse' or a box, got 'few'"):
        pp.GymnasiumModel("HalfCheetah-v5", actions="few")
