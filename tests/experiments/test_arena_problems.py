"""The problems of the arena: are their answers right, and do their forms agree?"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

import platypoos as pp
from platypoos.lab.problems import (
    Acrobot,
    CartPole,
    Cliff,
    CombinationLock,
    DeceptiveChain,
    Inventory,
    Knapsack,
    Lander,
    Loops,
    Maze,
    MountainCar,
    NoisyTable,
    OneOff,
    Pendulum,
    Pillars,
    PushingBoxes,
    RandomTable,
    RandomTree,
    SlidingTiles,
)

TABLES = [
    NoisyTable([[0, 1], [1, 0]], [[1.0, 0.0], [3.0, -1.0]], noise=0.5, scale=3.0, offset=7.0),
    RandomTable(8, 3, seed=1, noise=0.5, num_terminal=3, end_low=-5.0, end_high=5.0),
    RandomTable(8, 3, seed=2, noise=0.5, uneven=True, law="normal"),
    RandomTable(8, 3, seed=3, noise=0.5, law="student", scale=1e-6, offset=1e6),
    RandomTable(8, 3, seed=4, low=0.1, high=0.4, noise=1.0, law="bernoulli", offset=2.0),
    RandomTable(8, 3, seed=5, noise=0.5, slip=0.3),
    RandomTable(8, 3, seed=5, noise=0.5, slip=0.3, access="restore"),
    RandomTable(8, 3, seed=6, num_terminal=2, noise=0.5, law="normal", slip=0.2),
    RandomTree(4, 3, decay=0.7, noise=0.5),
    RandomTree(5, 2, similar=0.8, noise=0.5),
    OneOff(depth=4, noise=0.5),
    OneOff(depth=4, branches=False, seed=1, noise=0.5),
    DeceptiveChain(4, 3, noise=0.5),
    CombinationLock(3, 3, noise=0.5),
    CombinationLock(3, 3, forgets=False, noise=0.5),
    Cliff(5, 3, noise=0.5),
    Loops(3, 2, noise=0.5),
    Maze(4, noise=0.5),
    Inventory(4, 8, noise=0.5),
]
MOTIONS = [
    Pendulum(),
    CartPole(),
    Acrobot(repeat=5),
    MountainCar(dt=0.5, repeat=3),
    Pillars(seed=1),
    Lander(),
]
PUZZLES = [Knapsack(12), SlidingTiles(), PushingBoxes(0), PushingBoxes(1), PushingBoxes(2)]


def titled(problem):
    return type(problem).__name__


every_table = pytest.mark.parametrize("problem", TABLES, ids=titled)
every_other = pytest.mark.parametrize("problem", [*MOTIONS, *PUZZLES], ids=titled)


def outcomes(problem, state, action):
    """(probability, next state, mean reward) of all that may happen, from the tables."""
    for taken in range(problem.actions.n):
        chance = problem.slip / problem.actions.n + (1 - problem.slip) * (taken == action)
        yield chance, int(problem.successor[state, taken]), float(problem.reward[state, taken])


def brute_force(problem, state, discount, depth):
    """The best expected return of so many steps, by recursion over all that may happen."""
    if depth == 0:
        return np.zeros(problem.actions.n)
    future = {
        int(after): 0.0
        if problem.terminal[after]
        else brute_force(problem, after, discount, depth - 1).max()
        for after in np.unique(problem.successor[state])
    }
    return np.array(
        [
            sum(p * (reward + discount * future[s]) for p, s, reward in outcomes(problem, state, a))
            for a in range(problem.actions.n)
        ]
    )


@every_table
def test_values_of_tables_against_brute_force(problem):
    start = problem.initial_state
    exact = brute_force(problem, start, 0.9, 4)
    np.testing.assert_allclose(problem.finite_values(start, 0.9, 4), exact, rtol=1e-12, atol=1e-12)
    # With γ = 0.05, what comes after 4 steps is below 0.05^4/0.95·(largest reward).
    cut = 0.05**4 / 0.95 * np.abs(problem.reward).max()
    values = problem.action_values(start, 0.05)
    np.testing.assert_allclose(
        values, brute_force(problem, start, 0.05, 4), atol=1.01 * cut + 1e-12
    )


@every_table
def test_expected_return_of_tables_by_all_paths(problem):
    actions = tuple(np.random.default_rng(0).integers(problem.actions.n, size=4).tolist())

    def by_paths(state, step):
        if step == len(actions):
            return 0.0
        return sum(
            p * (reward + (0.0 if problem.terminal[s] else 0.9 * by_paths(s, step + 1)))
            for p, s, reward in outcomes(problem, state, actions[step])
            if p > 0
        )

    expected = by_paths(problem.initial_state, 0)
    assert problem.expected_return(actions, 0.9) == pytest.approx(expected, rel=1e-12)


@every_table
def test_the_three_forms_of_tables_step_alike(problem):
    array, compiled = problem.array(), problem.compiled()
    rng = np.random.default_rng(5)
    streams = [np.random.default_rng(9) for _ in range(3)]
    state = problem.initial_state
    for _ in range(200):
        action = int(rng.integers(problem.actions.n))
        a = problem.step(state, action, streams[0])
        b = array.step(np.int64(state), action, streams[1])
        c = compiled.step([state], action, streams[2])
        assert a.reward == pytest.approx(b.reward, rel=1e-12, abs=1e-12)
        assert a.reward == pytest.approx(c.reward, rel=1e-12, abs=1e-12)
        assert a.state == int(b.state) == int(c.state[0])
        assert a.terminated == bool(b.terminated) == bool(c.terminated)
        state = problem.initial_state if a.terminated else a.state


@every_table
def test_rewards_of_tables_have_the_mean_they_say(problem):
    rng, draws = np.random.default_rng(0), 3_000
    state, action = problem.initial_state, problem.actions.n - 1
    got = np.array([problem.step(state, action, rng).reward for _ in range(draws)])
    error = (got.mean() - problem.mean_reward(state, action)) * math.sqrt(draws)
    assert abs(error) <= 4.5 * got.std() + 1e-9 * abs(got.mean())


def test_noise_is_as_large_as_it_says():
    rng = np.random.default_rng(0)
    for law, spread in (("uniform", 2 / math.sqrt(3)), ("normal", 2.0), ("bernoulli", 2 * 0.4)):
        table = NoisyTable([[0]], [[0.4]], noise=2.0, law=law)
        got = np.array([table.step(0, 0, rng).reward for _ in range(20_000)])
        assert got.std() == pytest.approx(spread, rel=0.05)
    # Student's variance converges slowly: its quartiles, 0.7649 times the scale, do not.
    table = NoisyTable([[0]], [[0.0]], noise=2.0, law="student")
    got = np.array([table.step(0, 0, rng).reward for _ in range(20_000)])
    quartile = 2.0 / math.sqrt(5) * 0.7744
    assert np.quantile(np.abs(got), 0.5) == pytest.approx(quartile, rel=0.05)
    assert np.abs(got).max() > 20  # ten standard deviations: heavy tails


def test_tables_that_slip_can_be_planned_for_in_closed_loop():
    for access, expected in ((None, pp.Access.RESET), ("restore", pp.Access.RESTORE)):
        table = RandomTable(8, 3, seed=5, slip=0.3, access=access)
        for form in (table, table.array(), table.compiled()):
            assert (form.access, form.dynamics) == (expected, "random")
    reset = NoisyTable([[0]], [[1.0]], access=pp.Access.RESET)
    assert (reset.access, reset.dynamics) == (pp.Access.RESET, "deterministic")
    # What is good depends on where one is: a sequence cannot do it, a plan that reacts can.
    table = NoisyTable(
        [[1, 2], [3, 3], [3, 3], [3, 3]],
        [[0.0, 0.0], [1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]],
        slip=0.5,
        access="restore",
    )
    plan = pp.plan(table, budget=2_000, discount=0.9, seed=0)
    assert {one.state: one.action for one in plan.outcomes} == {1: 0, 2: 1}


def test_an_offset_does_not_drown_the_values():
    plain = RandomTable(20, 3, seed=0)
    moved = RandomTable(20, 3, seed=0, scale=1e-6, offset=1e6)
    gaps = [p.action_values(0, 0.9).max() - p.action_values(0, 0.9) for p in (plain, moved)]
    np.testing.assert_allclose(1e6 * gaps[1], gaps[0], atol=0.02)


@pytest.mark.parametrize(
    "wrong",
    [
        {"law": "cauchy"},
        {"slip": 1.0},
        {"scale": 0.0},
        {"access": "copy"},
        {"offset": math.inf},
        {"law": "bernoulli", "noise": 0.5},
    ],
)
def test_tables_refuse_nonsense(wrong):
    with pytest.raises(pp.InvalidArgument):
        NoisyTable([[0]], [[1.0]], **wrong)


def test_traps_are_what_they_say():
    for seed in range(4):
        chain = DeceptiveChain(6, 3, bait=0.2, seed=seed)
        state, steps = 0, 0
        while state != 6:
            action = int(chain.action_values(state, 0.95).argmax())
            assert chain.mean_reward(state, action) == 0.0
            state, steps = chain.step(state, action, None).state, steps + 1
        assert steps == 6
        needle = CombinationLock(4, 2, forgets=False, seed=seed)
        assert (needle.reward > 0).sum() == 1
        one_off = OneOff(depth=5, seed=seed)
        values = one_off.action_values(0, 0.95)
        assert values.argmax() == seed % 2
        assert values.max() - values.min() == pytest.approx(0.95 * 0.05 / 0.05)
        maze = Maze(5, seed=seed)
        assert (maze.solve(0.9).max(axis=1)[:-1] > 0).all()  # the goal can be reached from all


def test_actions_are_not_always_in_the_same_order():
    for make_one in (DeceptiveChain, CombinationLock, partial(OneOff, depth=3)):
        best = {int(make_one(seed=seed).action_values(0, 0.95).argmax()) for seed in range(12)}
        assert len(best) > 1


@pytest.mark.parametrize("problem", PUZZLES, ids=titled)
def test_puzzles_in_both_forms(problem):
    compiled = problem.compiled()
    rng = np.random.default_rng(0)
    state = problem.initial_state
    for _ in range(300):
        legal = list(problem.legal(state))
        mask = compiled.single_legal()(state)
        assert legal == np.flatnonzero(mask).tolist()
        illegal = set(range(problem.actions.n)) - set(legal)
        if illegal:
            with pytest.raises(pp.InvalidArgument, match="not allowed"):
                problem.step(state, min(illegal), rng)
        action = int(rng.choice(legal))
        a, b = problem.step(state, action, rng), compiled.step(state, action, rng)
        assert list(a.state) == b.state.tolist()
        assert (a.reward, a.terminated) == (b.reward, b.terminated)
        state = problem.initial_state if a.terminated else a.state


@pytest.mark.parametrize("problem", MOTIONS, ids=titled)
def test_motions_in_both_forms(problem):
    compiled = problem.compiled()
    rng = np.random.default_rng(0)
    state = problem.initial_state
    for _ in range(300):
        action = int(rng.integers(problem.actions.n))
        a, b = problem.step(state, action, rng), compiled.step(state, action, rng)
        np.testing.assert_allclose(a.state, b.state, rtol=1e-9, atol=1e-9)
        assert a.reward == pytest.approx(b.reward, rel=1e-9, abs=1e-9)
        assert a.terminated == b.terminated
        state = problem.initial_state if a.terminated else a.state


@pytest.mark.parametrize(
    ("problem", "name", "reach"),
    [
        (CartPole(), "CartPole-v1", (2.5, 2.0, 0.25, 2.0)),
        (Acrobot(), "Acrobot-v1", (3.0, 3.0, 8.0, 8.0)),
        (MountainCar(), "MountainCar-v0", (1.2, 0.07)),
        (Pendulum(), "Pendulum-v1", (9.0, 8.0)),
    ],
)
def test_physics_is_gymnasiums(problem, name, reach):
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(300):
        state = rng.uniform(-np.array(reach), reach)
        if name == "MountainCar-v0":
            state[0] = min(state[0], 0.6)
        action = int(rng.integers(problem.actions.n))
        env.state, env.steps_beyond_terminated = state.copy(), None
        torque = np.array([action - 2.0])
        _, reward, ended, _, _ = env.step(torque if name == "Pendulum-v1" else action)
        got = problem.step(tuple(state.tolist()), action, rng)
        np.testing.assert_allclose(got.state, env.state, rtol=0, atol=1e-9)
        assert got.reward == pytest.approx(float(reward), abs=1e-9)
        assert got.terminated == ended
        ends += ended
    assert ends > 0 or name == "Pendulum-v1"


def test_finer_time_steps_lead_to_the_same_place():
    """The same actions for the same time: nearly the same rewards and states."""
    for kind, seconds in ((Pendulum, 0.5), (CartPole, 0.2), (Acrobot, 1.0), (Pillars, 1.0)):
        usual = kind().usual_dt
        ends = []
        for parts in (8, 16):
            problem = kind(dt=usual / parts)
            state, total = problem.initial_state, 0.0
            for _ in range(round(seconds / usual) * parts):
                state, reward, _ = problem.step(state, 1, None)
                total += reward
            ends.append([*state, total])
        np.testing.assert_allclose(ends[0], ends[1], rtol=0.03, atol=0.05)


def test_a_repeated_action_is_as_many_steps():
    once, five = MountainCar(), MountainCar(repeat=5)
    state, total = once.initial_state, 0.0
    for _ in range(5):
        state, reward, _ = once.step(state, 2, None)
        total += reward
    after = five.step(five.initial_state, 2, None)
    assert after.state == state
    assert after.reward == total


def test_the_lander_lands_or_crashes():
    lander = Lander()
    soft = lander.step((0.0, 0.02, 0.0, -0.5), 3, None)
    assert soft.terminated
    assert soft.reward == pytest.approx(10 - 0.2 * 0.2)
    assert lander.step((0.0, 0.05, 0.0, -5.0), 0, None)[1:] == (-20.0, True)
    assert lander.step((3.0, 0.05, 0.0, -0.5), 0, None)[1:] == (-20.0, True)
    assert not lander.step((3.0, 5.0, 0.0, -0.5), 0, None).terminated


def test_pillars_are_the_field_of_the_seed():
    problem = Pillars(seed=3)
    x, y = problem.field[0]
    hit = problem.step((x, y, 0.0, 0.0), 4, None)
    assert hit.terminated
    assert hit.reward == pytest.approx(-100 - 0.1 * math.hypot(x - 8, y - 8))
    assert Pillars(seed=4).field.tolist() != problem.field.tolist()


def test_knapsack_optimum_by_brute_force():
    for seed in range(3):
        knapsack = Knapsack(10, seed=seed)
        best = 0
        for count in range(11):
            for items in itertools.combinations(range(10), count):
                if sum(knapsack.weights[i] for i in items) <= knapsack.room:
                    best = max(best, sum(knapsack.values[i] for i in items))
        assert knapsack.optimum() == best


def test_tiles_slide_and_merge():
    tiles = SlidingTiles()
    row = (1, 1, 1, 1, *([0] * 12))  # 2 2 2 2
    after, reward, _ = tiles.step(row, 3, None)  # to the left: 4 4 and a new tile
    assert reward == 8.0
    assert after[:2] == (2, 2)
    assert sum(place > 0 for place in after) == 3
    column = (2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)  # 4 2 2 from above
    after, reward, _ = tiles.step(column, 2, None)  # down: 4 4, merged once only
    assert (after[8], after[12], reward) == (2, 2, 4.0)
    assert list(tiles.legal((1, 2, 1, 2) * 4)) == [0, 2]  # nothing moves sideways
    stuck = (1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 1)
    assert list(tiles.legal(stuck)) == []
    assert tiles.step(row, 3, None) == tiles.step(row, 3, None)


def test_boxes_are_pushed_not_pulled():
    boxes = PushingBoxes(0)
    player, left, right = boxes.initial_state
    width = 7
    after = boxes.step((left + width, left, right), 0, None)  # up, with the box before him
    assert after.state == (left, left - width, right)
    assert after.reward == 0.0
    at_wall = (after.state[0], after.state[1], right)
    assert 0 not in boxes.legal(at_wall)
    target = boxes.step((left - width + 1, left - width, right), 3, None)  # to the left
    assert target.reward == 1.0
    assert not target.terminated
    assert player == 3 * width + 3
    assert 1 not in boxes.legal((15, 16, 17))  # two boxes in a row do not give way


# The list of challenges.
