"""Features of states, and the table of novelty."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import platypoos as pp
from platypoos.search.novelty import FeatureReader, NoveltyTable


def test_the_table_is_a_dictionary_of_smallest_depths():
    rng = np.random.default_rng(0)
    for width in (1, 2):
        table, smallest = NoveltyTable(width), {}
        for _ in range(600):
            atoms = np.array([8 * i + rng.integers(8) for i in range(12)])
            depth = int(rng.integers(20))
            parts = [frozenset(t) for k in range(1, width + 1) for t in combinations(atoms, k)]
            firsts = [smallest.get(part, depth) >= depth for part in parts]
            assert table.is_first(atoms, depth) == any(firsts)
            improved = [part for part in parts if smallest.get(part, 99) > depth]
            assert table.record(atoms, depth) == bool(improved)
            smallest.update(dict.fromkeys(improved, depth))
        assert len(smallest) > (2_000 if width == 2 else 90)  # the table has grown on the way


@pytest.mark.parametrize(
    ("state", "entries"),
    [
        (7, 1),
        ("here", 1),
        (frozenset({1, 2}), 1),
        (None, 1),
        ((1, "a", (2, np.array([3, 4]))), 5),
        ([1, 2], 2),
        (np.float64(1.5), 1),
        (np.zeros((2, 3)), 6),
        (np.zeros(5, np.uint8), 5),
    ],
)
def test_the_entries_of_a_state_are_its_features(state, entries):
    reader = FeatureReader(pp.FunctionModel(lambda s, a, r: (s, 0.0, False), 2, state), 1)
    atoms = reader.read(state)
    assert len(set(atoms.tolist())) == len(atoms) == entries
    assert (reader.read(state) == atoms).all()


def test_equal_values_of_different_features_are_different():
    reader = FeatureReader(pp.FunctionModel(lambda s, a, r: (s, 0.0, False), 2, 0), 1)
    one, other = reader.read((5, 6)), reader.read((6, 5))
    assert not set(one.tolist()) & set(other.tolist())
    assert reader.read(np.array([5, 5]))[0] == one[0]


def test_features_that_cannot_be_had_are_explained():
    def stay(state, action, rng):
        return state, 0.0, False

    for kind in (pp.planners.IW, pp.planners.RolloutIW):
        with pytest.raises(pp.InvalidArgument, match=r"type dict has no features .* features="):
            kind(0.9).plan(pp.FunctionModel(stay, 2, {}), budget=10)
        unhashable = pp.FunctionModel(stay, 2, 0, features=lambda state: [{}])
        with pytest.raises(pp.InvalidArgument, match="values of features must be hashable"):
            kind(0.9).plan(unhashable, budget=10)
        with pytest.raises(pp.ModelError, match="must return a tuple, a list or an array"):
            kind(0.9).plan(pp.FunctionModel(stay, 2, 0, features=lambda state: 3), budget=10)
        with pytest.raises(pp.ModelError, match=r"features raised ZeroDivisionError.*state 0"):
            kind(0.9).plan(pp.FunctionModel(stay, 2, 0, features=lambda s: 1 / s), budget=10)
        many = pp.FunctionModel(stay, 2, np.zeros(2_001))
        assert kind(0.9).plan(many, budget=10, seed=0).calls == 2
        with pytest.raises(pp.InvalidArgument, match=r"at most 2,000 of them.* have 2,001"):
            kind(0.9, width=2).plan(many, budget=10)
        for width in (0, 3, 1.5, True, "1"):
            with pytest.raises(pp.InvalidArgument, match=r"width must be 1 .* or 2"):
                kind(0.9, width=width)
    with pytest.raises(pp.InvalidArgument, match="features must be a function"):
        pp.FunctionModel(stay, 2, 0, features=3)


def test_wrappers_keep_features():
    model = pp.FunctionModel(lambda s, a, r: (s, 0.0, False), 2, {}, features=lambda s: (1, 2))
    assert pp.models.NoisyReward(model, 0.1).features({}) == (1, 2)
    array = pp.ArrayModel(
        lambda s, a, r: (s, 0.0 * s, False), 2, 1.0, features=lambda s: s[:, None]
    )
    assert pp.models.ScaledReward(array, 2.0).features(3.0).tolist() == [3.0]
    plain = pp.ArrayModel(lambda s, a, r: (s, 0.0 * s, False), 2, 1.0)
    assert pp.models.ScaledReward(plain, 2.0).features is None


def test_features_of_gymnasium_environments():
    cart = pp.GymnasiumModel("CartPole-v1")
    assert len(cart.features(cart.initial_state)) == 4
    cells = pp.GymnasiumModel("MountainCar-v0", resolution=(0.1, 0.01))
    assert cells.features(cells.initial_state) == cells.key(cells.initial_state)
    cliff = pp.GymnasiumModel("CliffWalking-v1")
    assert cliff.features(cliff.initial_state) == (cliff.initial_state,)
    own = pp.GymnasiumModel("CartPole-v1", features=lambda state: [round(x, 1) for x in state])
    assert own.features((0.11, 0.0, 0.19, 0.0)) == [0.1, 0.0, 0.2, 0.0]
    copied = pp.GymnasiumModel("CartPole-v1", method="deepcopy")
    with pytest.raises(pp.InvalidArgument, match="show no features; pass features="):
        pp.planners.IW(0.9).plan(copied, budget=10)
    assert pp.planners.RolloutIW(0.9).plan(cart, budget=50, seed=0).calls == 50


def test_the_memory_of_atari_games_is_their_features():
    pytest.importorskip("ale_py")
    model = pp.GymnasiumModel("ALE/Breakout-v5", frameskip=8, repeat_action_probability=0.0)
    rng = np.random.default_rng(0)
    states = [model.initial_state]
    for action in (1, 2, 3, 2):
        states.append(model.step(states[-1], action, rng)[0])
    seen = [model.features(state) for state in states]
    assert len({memory.tobytes() for memory in seen}) == 5
    for state, memory in zip(states, seen, strict=True):
        model.restore(state)
        assert (model.env.unwrapped.ale.getRAM() == memory).all()
    plan = pp.planners.RolloutIW(0.99).plan(model, budget=20, seed=0)
    assert plan.calls <= 20
    assert plan.depth > 2
