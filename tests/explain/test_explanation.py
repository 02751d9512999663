"""Explanations say what the plan knows; what they claim is tried by planning again."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import platypoos as pp
from platypoos.explain.flips import bounds
from platypoos.explain.sequences import lines_of, spread_of
from platypoos.explain.summary import summarize
from platypoos.models import NoisyReward
from platypoos.planners import BRUE, OPD, UCT, OneStep, Random, SequOOL, Uniform
from platypoos.results import Lead

NAMES = ("stay", "switch")


class Named(pp.problems.SwitchChain):
    action_names = NAMES


class Counting:
    """A chain that counts its calls."""

    actions = 2
    initial_state = 0

    def __init__(self):
        self.calls = 0

    def step(self, state, action, rng):
        self.calls += 1
        return state + action, float(state * (1 - action)), False


@pytest.fixture(scope="module")
def silent():
    return pp.plan(Named(), budget=500, discount=0.95, seed=0)


@pytest.fixture(scope="module")
def noisy():
    return pp.plan(Named(noise=1.0), budget=1_000, discount=0.95, seed=0)


def test_the_table(silent, noisy):
    text = str(silent)
    assert text.startswith("decision: stay (action 0), ahead of the runner-up by 12.9")
    assert "switch" in text
    assert "runner-up" in text
    assert "500 of 500 calls" in text
    assert "(0, 1)" in text  # a state
    assert "95 %" not in text  # there is no noise
    assert "95 % interval" in str(noisy)
    assert repr(silent).startswith("Plan(action=0, value=")
    assert "\n" not in repr(silent)


def test_a_rival_with_a_higher_value_is_explained(noisy):
    shown = noisy.action_values.copy()
    shown[1 - noisy.action_index] = noisy.value + 1.0
    upside_down = replace(noisy, estimates=shown, heard=None)
    assert upside_down.lead.estimate == pytest.approx(-1.0)
    for text in (str(upside_down).splitlines()[0], upside_down.explain().summary):
        assert "higher value" in text
        assert "ahead of" not in text
        assert "beats" not in text


def test_a_rival_that_was_ahead_on_fresh_samples_is_explained(noisy):
    behind = replace(noisy, heard=Lead(-3.0, -8.0, 2.0))
    words = "was ahead by 3.0 (-2.0 to 8.0 with 95 %) on fresh samples; by all samples it is not"
    for text in (str(behind).splitlines()[0], behind.explain().summary):
        assert words in text
        assert "higher value" not in text


def test_verdicts(silent, noisy):
    for confidence, verdict in [(0.999, "proved"), (0.97, "clear"), (0.62, "62 % sure")]:
        why = replace(silent, confidence=confidence).explain()
        assert why.verdict == verdict
        assert verdict in why.summary.lower()
    assert replace(silent, confidence=None, enough=None).explain().verdict == ""
    tie = pp.plan(pp.FunctionModel(lambda s, a, rng: (s, 1.0, False), 2, 0), budget=50, seed=0)
    assert "worth the same" in tie.explain().summary
    unsure = replace(noisy, heard=Lead(2.0, -90.0, 90.0)).explain()
    assert "Noise may be all of this lead" in unsure.summary
    sure = replace(noisy, heard=Lead(2.0, 0.5, 3.5)).explain()
    assert "Noise may be all of this lead" not in sure.summary
    assert "by 2.00 (0.50 to 3.50 with 95 %)" in sure.summary


def test_steps_at_the_end_that_add_nothing_are_one_bar():
    def early(state, action, rng):
        return state + 1, float(action == 1 and state == 0), state > 5

    found = pp.plan(pp.FunctionModel(early, 2, 0), budget=200, discount=0.9, seed=0)
    labels = [bar.label for bar in found.explain().bars]
    assert labels == ["step 1", "steps 2 to 7"]


def test_numbers_stand_in_for_names():
    found = pp.plan(pp.problems.SwitchChain(), budget=100, seed=0)
    object.__setattr__(found.origin, "model", None)
    assert found.action_names == ("0", "1")
    assert str(found).startswith("decision: action 0,")


def test_sequences_have_the_states_that_the_model_has(silent):
    model = Named()
    rng = np.random.default_rng(0)
    lines = lines_of(silent)
    assert set(lines) == {0, 1}
    for line in lines.values():
        state, total = model.initial_state, 0.0
        for t, step in enumerate(line.steps):
            state, reward, _ = model.step(state, step.action, rng)
            total += 0.95**t * reward
            assert step.state == state
            assert step.reward == pytest.approx(reward)
        follows = 0.95 ** len(line.steps) * silent.reward_floor / (1.0 - 0.95)
        assert line.value == pytest.approx(total + follows)
    assert lines[0].value == silent.value


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_bars_add_up_to_the_lead(noise):
    found = pp.plan(Named(noise=noise), budget=600, discount=0.95, seed=1)
    why = found.explain()
    assert sum(bar.amount for bar in why.bars) == pytest.approx(why.gap)
    difference = found.value - found.action_values[found.rival]
    assert why.gap == pytest.approx(difference)
    first = why.bars[0]
    assert (first.first, first.last) == (0, 0)
    assert first.amount == pytest.approx(why.best.steps[0].reward - why.rival.steps[0].reward)


def test_the_interval_is_the_spread_of_the_samples():
    """400 plans' first rewards: the mean of n samples misses by deviation/√n."""
    found = pp.plan(Named(noise=1.0), budget=2_000, discount=0.95, seed=0)
    assert found.noise.deviation == pytest.approx(1 / math.sqrt(3), rel=0.1)  # uniform in [−1, 1]
    line = lines_of(found)[0]
    by_hand = sum(s.weight**2 / s.samples for s in line.steps)
    assert len({s.source for s in line.steps}) == len(line.steps)  # no state comes twice
    assert line.error == pytest.approx(found.noise.deviation * math.sqrt(by_hand))


def test_steps_that_share_samples_are_not_independent():
    """Going nowhere for ever: all steps are one and the same action in one state."""

    def step(state, action, rng):
        return state, action + rng.normal(), False

    found = pp.plan(pp.FunctionModel(step, 2, 0), budget=400, discount=0.9, seed=0)
    line = lines_of(found)[1]
    assert len({s.source for s in line.steps}) == 1
    weights = sum(s.weight for s in line.steps)
    assert spread_of(line.steps) == pytest.approx(weights / math.sqrt(line.steps[0].samples))


def test_no_call_is_made_for_an_explanation(tmp_path):
    model = Counting()
    found = pp.plan(model, budget=300, seed=0)
    assert model.calls == found.calls <= 300
    found.explain(tmp_path / "why.html")
    str(found)
    found.as_dict()
    assert model.calls == found.calls


def test_as_data(silent, tmp_path):
    why = silent.explain(tmp_path / "why.json")
    data = json.loads((tmp_path / "why.json").read_text())
    assert data == json.loads(json.dumps(why.as_dict()))
    assert data["version"] == 1
    assert data["choices"][1]["name"] == "switch"
    assert sum(map(sum, data["searched"]["counts"])) == silent.calls
    assert "stay" in str(why)
    assert repr(why).startswith("Explanation(\"Take 'stay' now")
    assert why._repr_html_().count("<tr>") == 1 + len(why.bars)


def test_bad_files(silent, tmp_path):
    with pytest.raises(pp.InvalidArgument, match=r"\.html or \.json"):
        silent.explain(tmp_path / "why.pdf")
    with pytest.raises(pp.InvalidArgument, match="no folder"):
        silent.explain(tmp_path / "nowhere" / "why.html")


PLANNERS = [
    pp.PlaTyPOOS(0.9), SequOOL(0.9), UCT(0.9, horizon=8), OPD(0.9, reward_max=2.0),
    BRUE(0.9, horizon=8), Random(0.9), OneStep(0.9), Uniform(0.9),
]  # fmt: skip


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda p: p.name)
def test_other_planners(planner, tmp_path):
    model = pp.problems.Garnet(12, 3, seed=1)
    found = pp.plan(model, budget=200, planner=planner, seed=0)
    why = found.explain(tmp_path / "why.html")
    assert why.best.steps[0].action == found.action
    assert [step.action for step in why.best.steps] == list(found.actions)
    state, rng = model.initial_state, np.random.default_rng(0)
    for step in why.best.steps:
        state = model.step(state, step.action, rng).state
        assert step.state == (state if step.samples else None)
    assert str(found).startswith("decision:")
    if why.rival is not None:
        assert sum(bar.amount for bar in why.bars) == pytest.approx(why.gap)
    small = found.brief()
    assert small.actions == found.actions
    np.testing.assert_array_equal(small.action_values, found.action_values)
    assert small.tree.num_nodes <= 1 + 2 * (1 + found.depth)
    assert small.summary is None


def test_by_reset_there_are_no_states(tmp_path):
    found = pp.plan(Named(), budget=300, access="reset", seed=0)
    assert found.states == {}
    assert found.explain(tmp_path / "why.html").best.steps[0].state is None


# What would flip the decision: each claim is tried.


def later_and_else(model, amount, when, which):
    """The model with time in its states; one reward is changed at one time."""

    def step(state, action, rng):
        time, inner = state
        after, reward, ended = model.step(inner, action, rng)
        changed = reward + amount * (time == when and action == which)
        return (time + 1, after), changed, ended

    return pp.FunctionModel(step, model.actions.n, (0, model.initial_state))


@pytest.mark.parametrize(
    "problem", [Named(), pp.problems.Garnet(10, 3, seed=3)], ids=["chain", "garnet"]
)
def test_the_next_reward_flips_the_decision(problem):
    found = pp.plan(problem, budget=600, discount=0.9, seed=0)
    claims = [f for f in found.explain().flips if f.kind == "reward" and f.exact]
    assert len(claims) == 2
    noisy = pp.plan(NoisyReward(problem, 0.5), budget=600, discount=0.9, seed=0)
    assert not any(f.exact for f in noisy.explain().flips)
    for claim in claims:
        for share, flips in ((0.95, False), (1.05, True)):
            model = later_and_else(problem, share * claim.amount, 0, claim.action)
            again = pp.plan(model, budget=600, discount=0.9, seed=0)
            assert (again.action != found.action) == flips, (claim.text, share)


def test_less_than_the_least_change_flips_nothing(silent):
    claims = [f for f in silent.explain().flips if f.kind == "reward" and not f.exact]
    assert claims
    for claim in claims:
        step = silent.explain().best.steps[claim.step]
        before = silent.explain().best.steps[claim.step - 1].state
        chain = Named()

        def changed(state, action, rng, *, chain=chain, before=before, step=step, claim=claim):
            after, reward, ended = chain.step(state, action, rng)
            at_it = state == before and action == step.action
            return after, reward + 0.95 * claim.amount * at_it, ended

        model = pp.FunctionModel(changed, 2, chain.initial_state)
        assert pp.plan(model, budget=500, discount=0.95, seed=0).action == silent.action


def test_noise_that_can_be_borne(silent):
    """20 seeds: at most one in twenty is expected to flip; 4 or more have a chance of 1.6 %."""
    (claim,) = (f for f in silent.explain().flips if f.kind == "noise")
    model = NoisyReward(Named(), claim.amount * math.sqrt(3.0))
    flipped = sum(
        pp.plan(model, budget=500, discount=0.95, seed=seed).action != silent.action
        for seed in range(20)
    )
    assert flipped <= 3


def test_calls_that_narrow_the_margin():
    """With as many calls as it says, the margin is about as small as the lead was.

    Noise 8, twenty seeds, a margin of 15 % for "about".
    """
    model = pp.problems.SwitchChain(noise=8.0)
    tried = 0
    for seed in range(20):
        found = pp.plan(model, budget=200, discount=0.95, seed=seed)
        (claim,) = (f for f in found.explain().flips if f.kind == "calls")
        if not claim.amount or claim.amount > 10_000:
            continue
        assert claim.amount > 200
        again = pp.plan(model, budget=int(claim.amount), discount=0.95, seed=seed)
        best, rival = again.explain().best, again.explain().rival
        margin = 1.96 * again.noise.deviation * spread_of(best.steps, rival.steps)
        assert margin < 1.15 * found.lead.estimate, seed
        tried += 1
    assert tried >= 3


def test_what_no_number_of_calls_can_flip():
    def step(state, action, rng):
        return state + 1, 1.0 - action, False

    model = pp.FunctionModel(step, 2, 0)
    found = pp.plan(model, budget=60, discount=0.5, seed=0)
    (claim,) = (f for f in found.explain().flips if f.kind == "calls")
    assert claim.exact
    assert "No number of calls" in claim.text
    for seed in range(3):
        assert pp.plan(model, budget=2_000, discount=0.5, seed=seed).action == found.action


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold(seed):
    """Against value iteration, once all rewards were seen."""
    problem = pp.problems.Garnet(8, 3, seed=seed, num_terminal=seed % 2)
    optimal = problem.action_values(problem.initial_state, 0.8)
    for planner in (None, OPD(0.8, reward_max=1.0)):
        found = pp.plan(problem, budget=400, discount=0.8, planner=planner, seed=seed)
        worst, hopes, _, _ = bounds(found)
        assert worst <= optimal[found.action] + 1e-9
        for action, hope in hopes.items():
            assert hope >= optimal[action] - 1e-9


# Where the calls went.


def test_the_summary_of_a_tree(silent):
    tree = silent.searched_tree()
    summary = silent.summary
    assert summary.nodes == tree.num_nodes
    counts = {}
    for node in range(1, tree.num_nodes):
        path = tree.actions(node)
        counts[len(path), path[0]] = counts.get((len(path), path[0]), 0) + int(tree.pulls[node])
    for (depth, action), count in counts.items():
        assert summary.counts[depth - 1][action] == count
    assert sum(map(sum, summary.counts)) == silent.calls == summary.samples
    assert summary.below[0] == silent.calls


def test_a_large_tree_is_pruned():
    model, planner = pp.problems.Garnet(12, 3, seed=1), OPD(0.9, reward_max=2.0)
    found = pp.plan(model, budget=2_000, planner=planner, seed=0)
    whole = summarize(found.tree, 3, found.actions, most=10**6)
    pruned = summarize(found.tree, 3, found.actions, most=100)
    assert len(whole.parent) == found.tree.num_nodes > 1_000
    assert len(pruned.parent) == 100
    assert pruned.counts == whole.counts
    for i in range(1, 100):
        assert 0 <= pruned.parent[i] < i
        assert pruned.below[i] <= pruned.below[pruned.parent[i]]
    assert min(pruned.below) >= sorted(whole.below)[-100]


def test_memory_is_given_back():
    found = pp.plan(Named(), budget=200, seed=0)
    found.release()
    assert found.searched is None
    assert found.summary.samples == 200
    agent = pp.Agent(Named(), budget=200, seed=0)
    agent.act()
    first = agent.plan
    assert first.searched is not None
    agent.act(first.state)
    assert first.searched is None
    assert first.summary is None
    assert first.explain().searched is None


@pytest.mark.parametrize("kind", ["a box", "by reset", "another planner"])
def test_it_is_said_if_nobody_knows_how_sure_it_is(kind, tmp_path):
    model, more = Named(), {}
    if kind == "a box":
        model = pp.FunctionModel(lambda s, a, rng: (s, float(a[0]), False), pp.Box([0.0], [1.0]), 0)
    elif kind == "by reset":
        more = {"access": "reset"}
    else:
        more = {"planner": UCT(0.95, horizon=5)}
    plan = pp.plan(model, budget=60, seed=0, **more)
    assert plan.confidence is None
    why = plan.explain(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "How sure this decision is cannot be told. That was measured for" in page
    for text in (str(plan), plan._repr_html_(), why.summary.lower()):
        assert "how sure it is cannot be told" in text
