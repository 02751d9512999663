"""The list of the arena's challenges: models, ranges, references."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import platypoos as pp
from platypoos.lab.arena.challenge import Challenge, Reference, load_references
from platypoos.lab.arena.families import CHALLENGES
from platypoos.lab.experiments.spec import PROBLEMS, Choice, canonical
from platypoos.lab.problems import NoisyTable
from platypoos.problems import Problem

ATARI = [challenge.name for challenge in CHALLENGES if challenge.family == "games"]


def made(challenge, seed=0):
    """The model of a challenge, or skip the test if a package for it is missing."""
    parameters = dict(challenge.problem.parameters)
    if challenge.problem.name == "gymnasium":
        pytest.importorskip("gymnasium")
        if "MiniGrid" in parameters["env"]:
            pytest.importorskip("minigrid")
        if "ALE" in parameters["env"]:
            pytest.importorskip("ale_py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what environments warn of when they are made
        return challenge.make(seed)


def test_there_are_enough_challenges():
    names = [challenge.name for challenge in CHALLENGES]
    families = {challenge.family for challenge in CHALLENGES}
    assert len(names) == len(set(names)) >= 70
    assert len(families) >= 14
    assert {challenge.family for challenge in CHALLENGES if challenge.quick} >= families - {
        "games",
        "slippery",
    }


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.name)
def test_a_challenge_makes_a_sound_model(challenge):
    data = json.loads(canonical(challenge.problem.as_data()))
    again = Choice.of(data["name"], **data["parameters"])
    assert again == challenge.problem
    problem = made(challenge)
    model = problem.compiled() if hasattr(problem, "compiled") else problem
    access = getattr(model, "access", pp.Access.RESTORE).value
    random = getattr(model, "dynamics", "deterministic") == "random"
    if random and not challenge.closed_loop:
        access = "reset"  # all planners are compared in open loop
    assert access == challenge.access
    assert random or not challenge.closed_loop
    assert challenge.budgets[0] // challenge.frames >= model.actions.n
    if challenge.measure == "regret":
        assert isinstance(problem, Problem)
    if challenge.measure == "expected":
        assert isinstance(problem, Problem)
        assert challenge.access == "restore"
    if challenge.frames > 1 and challenge.problem.name != "gymnasium":
        assert problem.repeat == challenge.frames
    if challenge.varies and challenge.problem.name != "gymnasium":
        assert len({repr_of(made(challenge, seed)) for seed in range(4)}) > 1
    if challenge.problem.name != "gymnasium":
        report = pp.check_model(model, steps=30)
        assert report.ok, str(report)


def repr_of(problem):
    """What is different between two instances."""
    if isinstance(problem, NoisyTable | pp.problems.Garnet):
        tables = (problem.successor, problem.reward, [problem.initial_state])
        return b"".join(np.asarray(table).tobytes() for table in tables)
    return repr(problem)


RANGED = [one for one in CHALLENGES if one.name not in ATARI]  # a game's largest reward is a guess


@pytest.mark.parametrize("challenge", RANGED, ids=lambda challenge: challenge.name)
def test_rewards_are_within_the_range_told(challenge):
    for seed in range(3):
        problem = made(challenge, seed)
        if isinstance(problem, pp.problems.Tabular):
            width = 1e-9 * max(abs(challenge.reward_min), abs(challenge.reward_max))
            ends = problem.terminal[:, None] & (problem.successor >= 0)
            rewards = problem.reward[~ends]  # nobody acts where the episode has ended
            assert rewards.min() >= challenge.reward_min - width
            assert rewards.max() <= challenge.reward_max + width
            sizes = getattr(problem, "law", "uniform")
            factor = 3.0 if sizes in {"normal", "student"} else 1.0
            assert factor * problem.noise.max() <= challenge.noise * (1 + 1e-9) + 1e-15
            continue
        model = problem.compiled() if hasattr(problem, "compiled") else problem
        legal = pp.models.base.said_of_one(model, "legal")
        rng = np.random.default_rng(seed)
        state = model.initial_state
        for _ in range(50):
            action = int(rng.integers(model.actions.n))
            if legal is not None:
                said = np.asarray(legal(state))
                action = int(rng.choice(np.flatnonzero(said) if said.dtype == bool else said))
            state, reward, ended = model.step(state, action, rng)
            assert challenge.reward_min - challenge.noise <= reward
            assert reward <= challenge.reward_max + challenge.noise
            if ended:
                state = model.initial_state


def test_a_challenge_refuses_nonsense():
    good = {
        "name": "tables/one",
        "family": "tables",
        "problem": Choice.of("garnet"),
        "budgets": (10, 100, 1_000),
        "discount": 0.9,
    }
    assert Challenge(**good).sign == -1
    assert Challenge(**{**good, "measure": "total", "steps": 3}).sign == 1
    for wrong in (
        {"name": "trees/one"},
        {"problem": Choice.of("garnett")},
        {"budgets": (10, 100)},
        {"budgets": (100, 10, 1_000)},
        {"budgets": (10, 11, 1_000), "frames": 2},
        {"measure": "received"},
        {"steps": 2},
        {"discount": 1.0},
        {"reward_min": 1.0},
        {"access": "copy"},
        {"access": "reset", "closed_loop": True},
    ):
        with pytest.raises(pp.InvalidArgument):
            Challenge(**{**good, **wrong})


def test_a_run_has_an_instance_of_its_own():
    named = {challenge.name: challenge for challenge in CHALLENGES}
    challenge = named["tables/20x3-noise-0"]
    assert dict(challenge.choice(7).parameters)["seed"] == 7
    fixed = named["chain/noise-0"]
    assert fixed.choice(7) == fixed.problem
    assert challenge.choice(7).make(PROBLEMS, "problem").num_states == 20


def test_references_are_there_for_every_challenge(tmp_path):
    references = load_references()
    assert set(references) == {challenge.name for challenge in CHALLENGES}
    for challenge in CHALLENGES:
        found = references[challenge.name]
        assert challenge.sign * found.reference >= challenge.sign * found.random
        assert found.provenance
        if challenge.measure == "regret":
            assert found.reference == 0.0
            assert found.random > 0.0
    assert load_references(tmp_path / "nothing.json") == {}
    (tmp_path / "one.json").write_text(
        '{"a/b": {"random": 1.0, "reference": 2.0, "provenance": "known"}}', encoding="utf-8"
    )
    assert load_references(tmp_path / "one.json") == {"a/b": Reference(1.0, 2.0, "known")}


def values_of(problem, discount, sweeps):
    """[states, actions] Q*, by value iteration over the tables, written once more."""
    chances = np.zeros((problem.num_states, problem.actions.n, problem.num_states))
    rewards = np.zeros(problem.successor.shape)
    for state, action in np.ndindex(rewards.shape):
        for taken in range(problem.actions.n):
            chance = problem.slip / problem.actions.n + (1 - problem.slip) * (taken == action)
            chances[state, action, problem.successor[state, taken]] += chance
            rewards[state, action] += chance * problem.reward[state, taken]
    values = np.zeros(rewards.shape)
    for _ in range(sweeps):
        values = rewards + discount * chances @ np.where(problem.terminal, 0.0, values.max(axis=1))
    return values


CLOSED = [challenge for challenge in CHALLENGES if challenge.family == "closed-loop"]


@pytest.mark.parametrize("challenge", CLOSED, ids=lambda challenge: challenge.name)
def test_references_in_closed_loop_against_value_iteration(challenge):
    reference = load_references()[challenge.name]
    if challenge.problem.name == "gymnasium":
        table, steps = made(challenge).env.unwrapped.P, challenge.steps
        future = dict.fromkeys(table, 0.0)
        for _ in range(steps):
            future = {
                state: max(
                    sum(
                        p * (reward + (not ended) * future[after])
                        for p, after, reward, ended in row
                    )
                    for row in actions.values()
                )
                for state, actions in table.items()
            }
        assert reference.reference == pytest.approx(future[0], abs=1e-9)
        return
    assert reference.reference == 0.0  # a regret
    losses = []
    for seed in range(20):
        problem = challenge.make(seed)
        values = values_of(problem, challenge.discount, 600)[problem.initial_state]
        found = problem.action_values(problem.initial_state, challenge.discount)
        np.testing.assert_allclose(found, values, atol=1e-9)
        losses.append((values.max() - values).mean())
    assert reference.random == pytest.approx(np.mean(losses), abs=1e-9)


def test_the_same_problems_are_slippery_in_open_loop():
    by_name = {challenge.name: challenge for challenge in CHALLENGES}
    references = load_references()
    assert len(CLOSED) == sum(challenge.family == "slippery" for challenge in CHALLENGES) == 5
    for closed in CLOSED:
        name = closed.name.replace("closed-loop/", "slippery/")
        assert by_name[name].budgets == closed.budgets
        assert by_name[name].access == "reset"
        assert references[name].random == pytest.approx(references[closed.name].random)
        assert references[name].reference == references[closed.name].reference


def test_the_optimum_of_the_chain_is_the_papers():
    found = load_references()["chain/noise-10"]
    shift = 100 * (1 - 0.95**20) / 0.05
    assert found.reference - shift == pytest.approx(100.4, abs=0.1)
