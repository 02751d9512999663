"""Models that keep their state to themselves can only be planned with from the start."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import platypoos as pp

RESET = pp.Access.RESET


def reset_only(env, shows=lambda _: "under way"):
    """A model around an environment that keeps its own state, as in the README."""

    def step(state, action, rng):
        if isinstance(state, str) and state == "start":
            env.reset(seed=0)
        observation, reward, terminated, _, _ = env.step(action)
        return shows(observation), float(reward), terminated

    return pp.FunctionModel(step, actions=2, initial_state="start", access=RESET)


@pytest.mark.filterwarnings("ignore")  # of steps after the end
@pytest.mark.parametrize("shows", [lambda _: "under way", tuple])
def test_control_refuses_what_it_cannot_go_on_from(shows):
    model = reset_only(gymnasium.make("CartPole-v1"), shows)
    assert pp.plan(model, budget=100, discount=0.9, seed=0).calls == 100
    with pytest.raises(pp.errors.DynamicsError, match="keep its state to itself") as caught:
        pp.control(model, budget=100, steps=5, discount=0.9, seed=0)
    assert len(caught.value.episode.actions) == 1
    assert "GymnasiumModel" in str(caught.value)
    assert len(pp.control(model, budget=100, steps=1, discount=0.9, seed=0).actions) == 1


@pytest.mark.filterwarnings("ignore")
def test_an_agent_refuses_it_too():
    model = reset_only(gymnasium.make("CartPole-v1"))
    agent = pp.Agent(model, budget=200, discount=0.9, seed=0)
    agent.act()
    plan = agent.plan
    state = model.step("start", plan.action, np.random.default_rng(0))[0]
    with pytest.raises(pp.errors.DynamicsError, match="from the state 'under way'"):
        agent.act(state)


def test_a_state_that_steps_change():
    def step(state, action, rng):
        state = [0] if state is None else state
        state.append(action)
        return state, float(sum(state)), False

    model = pp.FunctionModel(step, 2, initial_state=None, access=RESET)
    with pytest.raises(pp.errors.DynamicsError, match=r"a step from it changed it to \[0, "):
        pp.control(model, budget=20, steps=3, discount=0.9, seed=0)


def sliding(place, action, rng):
    return place + (2 * action - 1) * int(rng.integers(1, 4)), rng.normal(), False


def slippery(place, action, rng):
    return place + (2 * action - 1) * int(rng.integers(2)), rng.normal(), False


def bumping(place, action, rng):
    """A wall: the state stays the same for ever, and that is true."""
    return "wall", float(rng.normal()), False


@pytest.mark.parametrize("budget", [2, 3, 30])
@pytest.mark.parametrize("step", [sliding, bumping])
def test_the_calls_that_tell_are_a_part_of_the_budget(step, budget):
    calls = []

    def counted(*args):
        calls.append(args)
        return step(*args)

    model = pp.FunctionModel(counted, 2, 0, access=RESET)
    episode = pp.control(model, budget=budget, steps=4, discount=0.9, seed=0)
    assert len(calls) == episode.calls + len(episode.actions)
    assert max(episode.step_calls) <= budget


@pytest.mark.parametrize(
    "model",
    [
        pp.FunctionModel(slippery, 2, 0),
        pp.problems.SwitchChain(),
        pp.GymnasiumModel("FrozenLake8x8-v1"),
        pp.GymnasiumModel("LunarLander-v3"),
    ],
)
def test_others_are_not_tried(model, monkeypatch):
    def never(*_):
        pytest.fail("it was tried")

    monkeypatch.setattr("platypoos.api.check_goes_on", never)
    access = None if isinstance(model, pp.GymnasiumModel) else RESET
    pp.control(model, budget=8, steps=3, discount=0.9, seed=0, access=access)


def test_random_generators_in_states_are_compared_by_their_contents():
    # A copy of a generator is another object, but the same state.
    def step(state, action, rng):
        return (state[0] + action, np.random.default_rng(7)), float(action), False

    def draws(state, action, rng):
        return (state[0] + action, state[1]), float(state[1].normal()), False

    start = (0, np.random.default_rng(7))
    model = pp.FunctionModel(step, 2, start, access=RESET)
    assert len(pp.control(model, budget=20, steps=3, discount=0.9, seed=0).actions) == 3
    with pytest.raises(pp.errors.DynamicsError, match="a step from it changed it"):
        pp.control(
            pp.FunctionModel(draws, 2, start, access=RESET), budget=20, steps=3, discount=0.9
        )


@pytest.mark.filterwarnings("ignore")
def test_check_model_notes_it():
    report = pp.check_model(reset_only(gymnasium.make("CartPole-v1")), steps=20)
    assert report.ok
    assert "keep its state to itself" in report.notes[0]
    assert "  note     planning cannot go on from the state 'under way'" in str(report)
    assert pp.check_model(pp.FunctionModel(slippery, 2, 0, access=RESET)).notes == ()
