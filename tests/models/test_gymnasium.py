"""Gymnasium environments: the same steps as the environment itself, and planning with them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from environments import Levers, Mixed, Walk

import platypoos as pp
from platypoos.cli.main import main

CLASSIC = {
    "CartPole-v1": None,
    "MountainCar-v0": None,
    "Acrobot-v1": None,
    "Pendulum-v1": [[-2.0], [0.0], [2.0]],
    "MountainCarContinuous-v0": [[-1.0], [1.0]],
}
TABLES = ["CliffWalking-v1", "Taxi-v4"]


@pytest.mark.parametrize("name", [*CLASSIC, *TABLES])
def test_the_steps_are_the_environments_own(name):
    actions = CLASSIC.get(name)
    model = pp.GymnasiumModel(name, seed=3, actions=actions)
    rng = np.random.default_rng(0)
    for _ in range(3):
        env = gymnasium.make(name).unwrapped
        env.reset(seed=3)
        state = model.initial_state
        for _ in range(60):
            action = int(rng.integers(model.actions.n))
            _, reward, terminated, _, _ = env.step(model.env_actions[action])
            state, got, ended = model.step(state, model.actions.payloads[action], rng)
            assert got == pytest.approx(float(reward), abs=1e-12)
            assert ended == terminated
            np.testing.assert_array_equal(state, env.state if name in CLASSIC else env.s)
            if terminated:
                break
    assert pp.check_model(model).ok


def test_frozen_lake_with_and_without_slipping():
    firm = pp.GymnasiumModel("FrozenLake-v1", is_slippery=False)
    # The goal is six steps away, and nothing before it gives a hint: all sequences are tried.
    episode = pp.control(firm, planner=pp.planners.Uniform(0.9), budget=6_000, steps=6, seed=0)
    assert episode.terminated
    assert episode.rewards[-1] == 1.0  # the goal, by the shortest way
    slippery = pp.GymnasiumModel("FrozenLake-v1")
    assert (slippery.access, slippery.dynamics) == (pp.Access.RESTORE, "random")
    assert slippery.max_successors == 3
    plan = pp.planners.OPMDP(0.9, reward_max=1.0).plan(slippery, budget=3_000, seed=0)
    # Value iteration: in the first state the best action is 0, left.
    values = np.zeros(16)
    for _ in range(500):
        q = np.array(
            [
                [
                    sum(p * (r + 0.9 * values[s] * (not e)) for p, s, r, e in slippery.env.P[x][a])
                    for a in range(4)
                ]
                for x in range(16)
            ]
        )
        values = q.max(axis=1)
    assert q[0, plan.action] == pytest.approx(values[0], abs=0.01)
    assert plan.value <= values[0]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.GymnasiumModel("CartPol-v1"), "Gymnasium cannot make 'CartPol-v1'"),
        (lambda: pp.GymnasiumModel("Pendulum-v1", actions=[[7.0]]), r"\[7.0\] is not in Box"),
        (lambda: pp.GymnasiumModel(3), "an environment or a function that makes one, got 3"),
        (lambda: pp.GymnasiumModel("CartPole-v1", actions=4), "actions=4 is a number of values"),
        (lambda: pp.GymnasiumModel("CartPole-v1", actions=[]), "must be a list of actions"),
        (lambda: pp.GymnasiumModel("CartPole-v1", actions=[0, 2]), r"2 is not in Discrete\(2\)"),
        (lambda: pp.GymnasiumModel("CartPole-v1", repeat=0), "repeat must be a whole number"),
        (lambda: pp.GymnasiumModel("Pendulum-v1", actions=1), "at least 2 values"),
        (lambda: pp.GymnasiumModel("Humanoid-v5", actions=2), "131072 actions, more than 256"),
        (lambda: pp.GymnasiumModel(Mixed), r"of Mixed are Tuple\(.*pass a list of the ones"),
    ],
)
def test_what_cannot_be_made(make, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        make()


def test_compare_on_an_environment(tmp_path, capsys):
    command = [
        "compare", "--problem", "gymnasium:env=CartPole-v1", "--planner", "platypoos", "random",
        "--budget", "500", "--seeds", "2", "--steps", "30", "--discount", "0.8", "--measure",
        "received", "--out", str(tmp_path), "--quiet",
    ]  # fmt: skip
    assert main(command) == 0
    assert "4 cells done" in capsys.readouterr().out
    assert main([*command[:2], "gymnasium:env=Pendulum-v1", *command[3:]]) == 2
    assert "PlaTyPOOS chooses from a finite list of actions" in capsys.readouterr().err


def test_action_sets():
    grid = pp.GymnasiumModel("Pendulum-v1", actions=5)
    assert [float(action[0]) for action in grid.env_actions] == [-2.0, -1.0, 0.0, 1.0, 2.0]
    both = pp.GymnasiumModel("Swimmer-v5", actions=3)
    assert len({tuple(action.tolist()) for action in both.env_actions}) == 9
    bare = pp.GymnasiumModel("Pendulum-v1", actions=[-2, 0, 2])  # numbers, for a box of one
    assert [action.shape for action in bare.actions.payloads] == [(1,)] * 3
    some = pp.GymnasiumModel("CartPole-v1", actions=[1])
    assert some.actions == pp.Discrete([1])
    levers = pp.GymnasiumModel(Levers)
    assert [action.tolist() for action in levers.env_actions] == [
        [i, j] for i in (0, 1) for j in range(3)
    ]
    assert pp.plan(levers, budget=200, discount=0.9, seed=0).action in (3, 4, 5)


def test_repeated_actions_add_up_and_stop_at_the_end():
    once, thrice = pp.GymnasiumModel(Walk, end=8), pp.GymnasiumModel(Walk, end=8, repeat=3)
    rng = np.random.default_rng(0)
    state, rewards, ended = once.initial_state, [], False
    while not ended:
        state, reward, ended = once.step(state, 1, rng)
        rewards.append(reward)
    state, got, ended = thrice.initial_state, [], False
    while not ended:
        state, reward, ended = thrice.step(state, 1, rng)
        got.append(reward)
    assert got == [sum(rewards[i : i + 3]) for i in range(0, len(rewards), 3)]
    assert len(rewards) % 3  # the last decision was cut short


def test_the_default_planner_reacts_to_slippery_ice():
    reached = 0
    for seed in range(20):
        lake = pp.GymnasiumModel("FrozenLake-v1")
        episode = pp.control(lake, budget=300, steps=100, discount=0.99, seed=seed)
        reached += episode.rewards[-1] == 1.0
    assert reached >= 12  # 18 when it was written; none in open loop


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FrozenLake-v1", {}),
        ("CliffWalking-v1", {"is_slippery": True}),
        ("Taxi-v4", {"is_rainy": True}),
        ("Taxi-v4", {"fickle_passenger": True}),
        ("FrozenLake-v1", {"repeat": 2}),
        ("Blackjack-v1", {}),
    ],
)
def test_random_toy_text_is_planned_in_closed_loop_and_not_foreseen(name, options):
    model = pp.GymnasiumModel(name, **options)
    start = model.initial_state
    actions = np.random.default_rng(0).integers(model.actions.n, size=8).tolist()
    assert (model.access, model.dynamics) == (pp.Access.RESTORE, "random")

    def acted(seed):  # some steps, with a generator of one's own
        rng, state, seen = np.random.default_rng(seed), start, []
        for action in actions:
            state, reward, ended = model.step(state, action, rng)
            seen.append((model.key(state), reward, ended))
            if ended:
                break
        return seen

    before = [acted(seed) for seed in range(30)]
    if "fickle_passenger" not in options:  # few ever get in
        assert len({tuple(seen) for seen in before}) > 1
    for seed in range(2):
        plan = pp.plan(model, budget=60, discount=0.9, seed=seed)
        assert plan.outcomes
        # Planning has moved neither the state nor what chance has in store for it.
        assert [acted(seed) for seed in range(30)] == before
    again = pp.plan(model, budget=60, discount=0.9, seed=1)
    np.testing.assert_array_equal(again.action_values, plan.action_values)  # its seed is all


def test_other_planners_of_slippery_ice_ask_for_open_loop():
    lake = pp.GymnasiumModel("FrozenLake-v1")
    for planner in (pp.planners.SequentialHalving(0.9, horizon=10), pp.PlaTyPOOS(0.9)):
        with pytest.raises(pp.InvalidArgument, match=r'cannot react to chance.*access="reset"'):
            pp.plan(lake, planner=planner, budget=100, seed=0)
        assert pp.plan(lake, planner=planner, budget=100, seed=0, access="reset").calls <= 100
    assert pp.plan(lake, planner=pp.planners.UCT(0.9, horizon=10), budget=100, seed=0).outcomes
    in_open_loop = pp.plan(lake, budget=100, seed=0, access="reset")
    assert not in_open_loop.outcomes
    assert pp.plan(lake, planner=pp.planners.Random(0.9), budget=10, seed=0).calls == 0


def test_wrapped_toy_text_stays_open_loop_if_it_is_random():
    import gymnasium

    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r)
    model = pp.GymnasiumModel(env, seed=0)
    assert (model.access, model.dynamics) == (pp.Access.RESET, "random")
    assert model.key(model.initial_state) is None


@pytest.mark.parametrize(
    ("other", "access"), [("random", "restore"), ("hindsight", "restore"), ("platypoos", "reset")]
)
def test_planners_are_compared_in_closed_loop_if_all_can_react(other, access):
    from platypoos.lab.experiments.own import own_block

    def make():
        return pp.GymnasiumModel("FrozenLake-v1")

    block = own_block("lake", make, ["platypus", other], [10], discount=0.9, seeds=1, steps=1)
    assert block.access == access
