"""Spaces: lists, boxes, and what else ``actions=`` may be."""

import enum
import pickle
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from platypoos.errors import InvalidArgument
from platypoos.spaces import Box, Discrete, MultiDiscrete, as_space


class Move(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Odd:
    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None


PAYLOADS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=2),
    st.tuples(st.integers(0, 2), st.integers(0, 2)), st.floats(-1, 1),
)  # fmt: skip


def test_a_number_stands_for_the_numbers_below_it():
    space = Discrete(3)
    assert (space.n, space.payloads, space.is_numbered) == (3, (0, 1, 2), True)
    assert [space.index(a) for a in (1, 1.0, True, np.int64(1), np.float32(1), np.array(1))] == [
        1
    ] * 6
    for other in (3, -1, 0.5, "1", None, [1], np.array([1]), float("nan"), float("inf")):
        assert other not in space
        with pytest.raises(InvalidArgument, match=r"is not an action of Discrete\(3\)"):
            space.index(other)


@given(st.lists(PAYLOADS, min_size=1, max_size=6), st.integers(0, 2**32))
def test_payloads_are_found_where_they_are(actions, seed):
    try:
        space = Discrete(actions)
    except InvalidArgument as error:
        if "twice" not in str(error):
            raise
        return
    rng = np.random.default_rng(seed)
    for place, action in enumerate(actions):
        assert space.index(action) == place
        assert isinstance(space.name(action), str)
        other = space.vary(action, rng)
        assert other in space
        assert space.n == 1 or space.index(other) != place
    assert space.draw(rng) in space
    assert pickle.loads(pickle.dumps(space)) == space == Discrete(tuple(actions))


def test_ones_of_all_kinds():
    assert Discrete([1, True]).index(True) == 1
    assert Discrete([1, True]).index(1.0) == 0
    assert Discrete([0, 1]).index(True) == 1
    assert Discrete(["no", 1]).index(True) == 1
    assert Discrete([False, True]).index(1) == 1
    with pytest.raises(InvalidArgument, match=r"has 1\.0 twice"):
        Discrete([1, 1.0])
    with pytest.raises(InvalidArgument, match="twice"):
        Discrete([np.zeros(2), np.zeros(2)])
    assert Discrete([0, 1]) == Discrete(2) != Discrete(3)
    assert Discrete([0, 1]).is_numbered
    assert not Discrete([False, True]).is_numbered
    assert not Discrete([1, 0]).is_numbered
    assert Discrete([0]) != Discrete([False])
    assert Discrete(2) != "2"


def test_arrays_are_found_by_their_contents():
    space = Discrete([np.array([0.0, 1.0]), np.array([1.0, 0.0]), (2, 2), [3, 3], Odd(), None])
    assert space.index(np.array([1, 0])) == 1
    assert space.index([1, 0]) == 1
    assert space.index(np.array([2, 2])) == 2
    assert space.index([3, 3]) == 3
    assert space.index(space.payloads[4]) == 4
    assert space.index(None) == 5
    assert np.array([0.0, 0.5]) not in space
    assert Odd() not in space
    assert space.name(space.payloads[0]) == "[0, 1]"
    assert as_space(np.array([[0, 1], [1, 0]])).payloads[1].tolist() == [1, 0]


def test_names():
    space = as_space(Move)
    assert space.payloads == tuple(Move)
    assert space.names == ("LEFT", "RIGHT")
    assert Discrete([0.5, (1, 2), "up", None, True]).names == (
        "0.5",
        "(1, 2)",
        "up",
        "None",
        "True",
    )
    assert Box(-1, 1).name(0.25) == "0.25"
    assert len(Discrete([np.arange(1000)]).names[0]) < 250
    assert len(repr(Discrete([f"action {i}" for i in range(1000)]))) < 250


@given(st.integers(0, 2**32), st.sampled_from([(), (2,), (2, 3)]))
def test_actions_of_a_box_are_in_it(seed, shape):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=shape)
    space = Box(low, low + rng.uniform(0.1, 5.0, shape))
    for _ in range(5):
        action = space.draw(rng)
        assert np.shape(action) == shape
        assert action in space
        assert space.vary(action, rng) in space


def test_a_varied_action_is_often_at_a_bound():
    rng = np.random.default_rng(0)
    varied = np.array([Box(0, 1).vary(0.5, rng) for _ in range(4000)])
    assert abs((varied == 0).mean() - 0.25) < 0.03
    assert abs((varied == 1).mean() - 0.25) < 0.03


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0, 0, "low must be below high, got 0 and 0"),
        ([0, 1], [1, 1], "low must be below high, got 1 and 1 at coordinate 1"),
        (0, np.inf, "high must be finite numbers, got inf"),
        (np.nan, 1, "low must be finite numbers, got nan"),
        ("a", 1, "low must be finite numbers, got 'a'"),
        ([0, 0], [1, 1, 1], r"the same shape, got \(2,\) and \(3,\)"),
        ([], [], "at least one coordinate"),
        (-1.7e308, 1.7e308, "too wide"),
        ([[0], [0, 1]], 1, "low must be finite numbers"),
    ],
)
def test_bad_boxes(low, high, message):
    with pytest.raises(InvalidArgument, match=message):
        Box(low, high)


def test_a_box_cannot_be_listed():
    space = Box([-1, -1], 1)
    assert (space.is_finite, space.shape, repr(space)) == (False, (2,), "Box([-1, -1], [1, 1])")
    for listing in (lambda: space.payloads, lambda: space.n, lambda: space.index([0, 0])):
        with pytest.raises(InvalidArgument, match=r"Box\(\[-1, -1\], \[1, 1\]\) cannot be listed"):
            listing()
    for wrong, message in (([0, 2], "out of bounds"), ([0], "its shape"), ("ab", "numbers"),
                           ([0, np.nan], "out of bounds"), ([[1], [1, 2]], "numbers")):  # fmt: skip
        with pytest.raises(InvalidArgument, match=message):
            space.check(wrong)
    assert space == Box([-1, -1], [1, 1]) != Box(-1, 1)
    assert (
        Box(np.zeros(2, np.float32), np.ones(2, np.float32)).draw(np.random.default_rng(0)).dtype
        == np.float32
    )
    assert isinstance(Box(0, 1).draw(np.random.default_rng(0)), float)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 2**32))
def test_many_entries(sizes, seed):
    space = MultiDiscrete(sizes)
    assert space.n == len(space.payloads) == np.prod(sizes)
    rng = np.random.default_rng(seed)
    for place, action in enumerate(space.payloads):
        assert space.index(action) == place
    action = space.draw(rng)
    other = space.vary(action, rng)
    assert other in space
    assert (np.asarray(other) != action).sum() == (1 if space.n > 1 else 0)


def test_too_many_entries():
    space = MultiDiscrete([10] * 5)
    assert not space.is_finite
    assert MultiDiscrete([10] * 4).is_finite
    assert space.draw(np.random.default_rng(0)) in space
    for listing in (lambda: space.payloads, lambda: space.n, lambda: space.index([0] * 5)):
        with pytest.raises(InvalidArgument, match="cannot be listed"):
            listing()
    for wrong in ([0, 0], [0.5] * 5, [10] * 5, [-1] * 5, "ab", None):
        with pytest.raises(InvalidArgument, match="is not an action of"):
            space.check(wrong)
    space.check((1, 2.0, 3, 4, 5))
    for sizes in (3, [], [0, 1], [1.5], "ab", [[1], [1, 2]]):
        with pytest.raises(InvalidArgument, match="sizes must be"):
            MultiDiscrete(sizes)
    assert space == MultiDiscrete((10,) * 5) != MultiDiscrete([10] * 4)


def test_gymnasium_spaces():
    spaces = gymnasium.spaces
    assert as_space(spaces.Discrete(3)) == Discrete(3)
    assert as_space(spaces.Discrete(3, start=-1)).payloads == (-1, 0, 1)
    assert as_space(spaces.Box(-1.0, 1.0, (2,))) == Box([-1, -1], [1, 1])
    assert as_space(spaces.MultiDiscrete([2, 3])) == MultiDiscrete([2, 3])
    assert as_space(spaces.MultiBinary(3)) == MultiDiscrete([2, 2, 2])
    moved = as_space(spaces.MultiDiscrete([2, 2], start=[1, 5]))
    assert moved.payloads[0].tolist() == [1, 5]
    with pytest.raises(InvalidArgument, match="high must be finite"):
        as_space(spaces.Box(0.0, np.inf, (2,)))
    with pytest.raises(InvalidArgument, match="box of whole numbers"):
        as_space(spaces.Box(0, 255, (2,), np.uint8))
    with pytest.raises(InvalidArgument, match="too many to be listed"):
        as_space(spaces.MultiDiscrete([10] * 5, start=[1] * 5))
    for other in (spaces.Text(3), spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))):
        with pytest.raises(InvalidArgument, match="is a space of another kind"):
            as_space(other)


def test_many_numbers_take_no_room():
    space = Discrete(10**12)
    assert space.n == 10**12
    assert space.index(10**11) == 10**11
    assert repr(space) == "Discrete(1000000000000)"


@pytest.mark.parametrize(
    "actions",
    [0, -1, 2.5, "2", True, None, [], {0, 1}, {"a": 1}, int, SimpleNamespace(), np.array(2.0)],
)
def test_no_space(actions):
    with pytest.raises(InvalidArgument, match="actions must"):
        as_space(actions)
