"""The doctor finds what would mislead a planner; models fall back to what works."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from environments import (
    AskedFickleGates,
    AskedGates,
    ClairvoyantWalk,
    DeadEnd,
    FickleGates,
    ForgetfulGates,
    Gates,
    GlobalWalk,
    GustyWalk,
    LeakyWalk,
    LyingGates,
    NoisyWalk,
    RememberingWalk,
    SharedWalk,
    SilentGates,
    UncopiedWalk,
    Walk,
)
from gymnasium import wrappers

import platypoos as pp
from platypoos.models.gymnasium import registry


@pytest.fixture(autouse=True)
def _families(monkeypatch):
    monkeypatch.setattr(registry, "_FAMILIES", list(registry._FAMILIES))


@pytest.mark.parametrize(
    ("env", "method", "access", "verdict", "finding"),
    [
        (Walk, "deepcopy", "restore", "safe", ""),
        (NoisyWalk, "deepcopy", "restore", "safe", "the rewards are noisy"),
        (GustyWalk, "deepcopy", "reset", "safe with RESET access", "open loop"),
        (ClairvoyantWalk, "deepcopy", "restore", "not safe", "a planner would foresee it"),
        (LeakyWalk, "deepcopy", "restore", "not safe", r"env.weather['wind']"),
        (GlobalWalk, "deepcopy", "restore", "not safe", "global generator"),
        (SharedWalk, "replay", "reset", "safe with RESET access", "since the reset again"),
        (UncopiedWalk, "replay", "reset", "safe with RESET access", "since the reset again"),
        (RememberingWalk, "replay", "reset", "not safe", "randomness or memory"),
    ],
)
def test_verdicts(env, method, access, verdict, finding):
    report = pp.check_simulator(env)
    assert (report.method, report.access.value, report.verdict) == (method, access, verdict), report
    assert finding in str(report)
    assert report.ok == (verdict != "not safe")
    assert report.as_dict()["ok"] == report.ok


def test_states_shared_between_copies():
    report = pp.check_simulator(SharedWalk, method="deepcopy")
    assert report.verdict == "not safe"
    assert "went another way" in str(report) or "share state" in str(report)


@pytest.mark.parametrize("env", [Gates, AskedGates, "Taxi-v4"])
def test_masks_that_can_be_trusted(env):
    report = pp.check_simulator(env)
    assert report.ok, report
    assert "of the actions were legal in 100 states, and all of these could" in str(report)


@pytest.mark.parametrize(
    ("env", "finding"),
    [
        (DeadEnd, "no action is legal in a state that is no end"),
        (LyingGates, "is legal by the mask, but taking it failed with ValueError: "),
        (FickleGates, "the mask of a state changed when it was restored: the legal actions were"),
        (AskedFickleGates, "the mask of a state changed when it was restored: the legal actions"),
        (SilentGates, "has no 'action_mask', though others had"),
    ],
)
def test_masks_that_would_mislead(env, finding):
    report = pp.check_simulator(env, steps=40)
    assert report.verdict == "not safe"
    assert finding in str(report)
    assert "do       fix the mask" in str(report)


def test_masks_that_forget():
    assert pp.check_simulator(ForgetfulGates).ok
    pp.models.register_family(
        "place", lambda env: isinstance(env, Walk), lambda env: env.place[0], _put
    )
    report = pp.check_simulator(ForgetfulGates)
    assert "the mask of a state changed when it was restored" in str(report)


def test_how_far_from_deterministic_cells_are():
    def said(*args, **options):
        report = pp.check_simulator(*args, **options)
        assert report.ok, report  # it is told, and no failure
        (line,) = [line for line in report.passed if line.startswith("cells: ")]
        parts = line.replace("%", "").split()
        return [int(word) for word in parts if word.isdigit()], str(report)

    exact, _ = said(Walk, resolution=1.0)
    assert exact[0] == 0
    assert exact[2] == 0
    # Of two places 2k and 2k + 1, one goes out to the left and the other to the right.
    halves, _ = said(Walk, resolution=2.0)
    assert 35 < halves[0] < 65
    coarse, text = said("MountainCar-v0", resolution=(1 / 20, 1 / 200))
    assert coarse[2] > 50
    assert "do       make resolution smaller or repeat larger" in text
    long, text = said("MountainCar-v0", resolution=(1 / 20, 1 / 200), repeat=8)
    assert long[2] < 50
    assert "make resolution smaller" not in text
    fine = pp.check_simulator("MountainCar-v0", resolution=1e-12)
    assert "no two of the states visited were in the same cell" in str(fine)


def test_a_family_of_ones_own():
    rightly = {"save": lambda env: env.place[0], "restore": _put}
    pp.models.register_family("walk", lambda env: isinstance(env, Walk), **rightly)
    report = pp.check_simulator(UncopiedWalk)
    assert (report.family, report.method, report.verdict) == ("walk", "native", "safe")
    # The list itself is no snapshot: steps change it.
    pp.models.register_family(
        "shared", lambda env: isinstance(env, Walk), lambda env: env.place,
        lambda env, place: setattr(env, "place", place),
    )  # fmt: skip
    report = pp.check_simulator(UncopiedWalk)
    assert (report.family, report.verdict) == ("shared", "not safe")
    assert "method='deepcopy' or method='replay'" in str(report)
    with pytest.raises(pp.InvalidArgument, match="must be functions, got 3"):
        pp.models.register_family("x", lambda _: True, 3, 4)


def _put(env, place):
    env.place = [place]


def test_what_shares_only_after_a_first_restore():
    """Restoring hands out the saved list itself: the first restore is right, the second wrong."""
    pp.models.register_family(
        "lent", lambda env: isinstance(env, Walk), lambda env: list(env.place),
        lambda env, place: setattr(env, "place", place),
    )  # fmt: skip
    report = pp.check_simulator(Walk)
    assert "copies share state with the original" in str(report)


def test_planning_by_replay_counts_what_it_replays():
    model = pp.GymnasiumModel(UncopiedWalk)
    assert (model.method, model.access, model.replayed) == ("replay", pp.Access.RESET, 0)
    episode = pp.control(model, budget=300, steps=4, discount=0.9, seed=0)
    assert episode.actions == (1, 1, 1, 1)
    assert model.replayed > 0
    assert episode.calls <= 4 * 300
    # Replaying to the third step takes three steps; a walk that follows on takes none.
    before = model.replayed
    state = model.initial_state
    for action in (1, 0, 1):
        state = model.step(state, action, np.random.default_rng(0)).state
    assert model.replayed == before
    model.step(model.initial_state, 0, np.random.default_rng(0))
    model.step(state, 1, np.random.default_rng(0))
    assert model.replayed == before + 3


def test_replay_repeats_the_randomness_of_the_past_only():
    class Windy(GustyWalk):
        __deepcopy__ = UncopiedWalk.__deepcopy__

    model = pp.GymnasiumModel(Windy)
    state = model.initial_state
    places = []
    for seed in range(6):
        state = model.step(state, 1, np.random.default_rng(seed)).state
        places.append(model.keeper.core.place[0])
    model.step(model.initial_state, 0, np.random.default_rng(9))
    model.restore(state)
    assert model.keeper.core.place[0] == places[-1]
    ends = {model.step(state, 1, np.random.default_rng(s)) and model.keeper.core.place[0]
            for s in range(20)}  # fmt: skip
    assert len(ends) == 3


def test_a_time_limit_is_no_end():
    model = pp.GymnasiumModel("CartPole-v1", max_episode_steps=3)
    episode = pp.control(model, budget=500, steps=12, discount=0.8, seed=0)
    assert not episode.terminated
    assert len(episode.rewards) == 12
    inside = pp.GymnasiumModel(
        wrappers.TransformReward(
            gymnasium.make("CartPole-v1", max_episode_steps=3), lambda r: 2 * r
        )
    )
    episode = pp.control(inside, budget=500, steps=12, discount=0.8, seed=0)
    assert episode.rewards == (2.0,) * 12


def test_wrappers_that_keep_state_are_saved_with_it():
    env = wrappers.FrameStackObservation(
        wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1")), 3
    )
    model = pp.GymnasiumModel(env, seed=0)
    report = pp.check_simulator(model)  # it compares the stacked observations
    assert report.ok, report
    assert report.method == "native"
    keeper = model.keeper  # the doctor sees it if the frame stack is forgotten
    keeper.wrappers = [w for w in keeper.wrappers if "FrameStack" not in type(w).__name__]
    assert not pp.check_simulator(model).ok


def test_an_environment_is_planned_from_where_it_is():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=5)
    for _ in range(7):
        env.step(0)
    here = np.array(env.unwrapped.state)
    model = pp.GymnasiumModel(env)
    np.testing.assert_array_equal(model.initial_state, here)
    plan = pp.plan(model, model.save(), budget=500, discount=0.9, seed=0)
    model.restore(model.initial_state)
    np.testing.assert_array_equal(env.unwrapped.state, here)
    env.step(plan.action)
    lander = gymnasium.make("LunarLander-v3")
    lander.reset(seed=0)
    before = lander.unwrapped.lander.position.x
    walk = Walk()  # restored by copies: it is left alone
    walk.reset(seed=0)
    for place in (3, 7):
        walk.place = [place]
        model = pp.GymnasiumModel(walk)
        plan = pp.plan(model, model.save(), budget=100, discount=0.9, seed=0)
        assert walk.place == [place]
        first = (plan.tree.depth == 1) & (plan.tree.action == plan.action)
        assert plan.tree.reward[first] == place + 1
    walk.place = [11]
    assert pp.plan(model, model.save(), budget=100, discount=0.9, seed=0).value > 100
    with pytest.raises(pp.InvalidArgument, match="cannot start where it is; pass seed="):
        pp.GymnasiumModel(lander)
    assert lander.unwrapped.lander.position.x == before
    model = pp.GymnasiumModel(lander, seed=0)
    with pytest.raises(pp.InvalidArgument, match="does not know of steps taken outside"):
        model.save()
    unknown = Walk()
    unknown.reset()
    unknown.place, unknown._np_random = [5], None  # as if its reset drew nothing
    with pytest.raises(pp.InvalidArgument, match=r"cannot tell whether this .* was reset"):
        pp.GymnasiumModel(wrappers.TimeLimit(unknown, 100))
    assert unknown.place == [5]
    assert pp.GymnasiumModel(unknown, seed=0).method == "deepcopy"


def test_an_environment_gets_its_own_generator_back():
    env = wrappers.StickyAction(gymnasium.make("CartPole-v1"), 0.25)
    env.reset(seed=1)
    own = env.unwrapped.np_random
    position = own.bit_generator.state
    model = pp.GymnasiumModel(env)
    state = model.save()
    pp.plan(model, state, budget=100, discount=0.9, seed=0)
    assert env.unwrapped.np_random is not own
    model.restore(state)
    assert env.unwrapped.np_random is own
    assert own.bit_generator.state == position


@pytest.mark.parametrize("chance", [0.05, 0.25, 0.5])
def test_steps_that_draw_are_planned_open_loop(chance):
    """Sticky actions change nothing while actions are alike: better cautious than clairvoyant."""
    env = wrappers.StickyAction(gymnasium.make("CartPole-v1"), chance)
    assert pp.GymnasiumModel(env, seed=0).access is pp.Access.RESET
    firm = gymnasium.make("FrozenLake-v1", is_slippery=False)
    assert pp.GymnasiumModel(firm, repeat=2, seed=0).access is pp.Access.RESTORE


def test_replayed_is_not_random():
    report = pp.check_simulator(UncopiedWalk)
    assert "the dynamics were deterministic" in report.passed
    assert report.access is pp.Access.RESET


class Broken(Walk):
    def step(self, action):
        return super().step(action)[:4]


class Infinite(Walk):
    def _reward(self):
        return float("nan")


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (Broken, "fix its step"),
        (Infinite, "a reward is NaN or infinite"),
        (
            lambda: wrappers.NormalizeReward(gymnasium.make("CartPole-v1")),
            "leave out the wrapper NormalizeReward",
        ),
    ],
)
def test_what_to_do(make, finding):
    report = pp.check_simulator(make)
    assert not report.ok
    assert finding in str(report)


def test_the_doctor_does_not_close_what_it_is_given():
    class Closing(Walk):
        closed = False

        def close(self):
            self.closed = True

    env = Closing()
    env.reset(seed=0)
    assert pp.check_simulator(lambda: env).ok
    assert not env.closed


def test_attributes_with_names_of_rendering_are_state_if_they_are_numbers():
    class Clocked(gymnasium.Wrapper):
        clock = 0

        def reset(self, **options):
            self.clock = 0
            return super().reset(**options)

        def step(self, action):
            self.clock += 1
            observation, _, *rest = super().step(action)
            return observation, float(self.clock), *rest

    assert pp.check_simulator(lambda: Clocked(gymnasium.make("CartPole-v1"))).ok


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: pp.GymnasiumModel(Walk, method="copy"), "native, deepcopy or replay, got 'copy'"),
        (lambda: pp.GymnasiumModel(Walk, method="native"), "register_family"),
        (lambda: pp.GymnasiumModel(UncopiedWalk, method="deepcopy"), "cannot be copied: cannot co"),
        (lambda: pp.GymnasiumModel(Walk(), end=3), "end: options are for environments made from"),
        (lambda: pp.GymnasiumModel(lambda: 3), "must return an environment, got 3"),
        (lambda: pp.check_simulator(3), "takes Gymnasium environments, got 3; check_model"),
        (
            lambda: pp.check_simulator(pp.GymnasiumModel(Walk), method="replay"),
            "belong to the model",
        ),
        (lambda: pp.check_simulator("CartPole-v1", steps=0), "steps must be a whole number"),
        (lambda: pp.check_simulator("CartPole-v1", seed=-1), "seed must be .*, got -1"),
        (lambda: pp.GymnasiumModel("CartPole-v1", seed=-1), "seed must be .*, got -1"),
        (
            lambda: pp.GymnasiumModel(wrappers.Autoreset(gymnasium.make("CartPole-v1"))),
            "Autoreset starts new episodes",
        ),
        (
            lambda: pp.GymnasiumModel(
                wrappers.TransformReward(gymnasium.make("ALE/Pong-v5"), lambda r: r)
            ),
            "pass repeat_action_probability=0.0",
        ),
    ],
)
def test_bad_input(make, match):
    import ale_py

    gymnasium.register_envs(ale_py)
    with pytest.raises(pp.InvalidArgument, match=match):
        make()
