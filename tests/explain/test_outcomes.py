"""What chance may do to a plan: the fan of a page, and the distribution of returns."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import platypoos as pp
from platypoos.explain.outcomes import ROLL_OUTS, SHARES, fan_note, fan_svg, fans_of

GAMMA = 0.9


def gamble(state, action, rng):
    """Take 1 each time, or a coin: 3 or nothing; after three steps the episode ends."""
    reward = 1.0 if action == 0 else 3.0 * (rng.random() < 0.5)
    won = reward > 2.0
    return (state[0] + 1, won), float(won * 3.0 if action == 1 else 1.0), state[0] == 2


def planned(**more):
    model = pp.FunctionModel(gamble, 2, (0, False), dynamics="random")
    return pp.plan(model, budget=2_000, discount=GAMMA, seed=0, **more)


def test_the_distribution_is_that_of_the_policy():
    plan = planned()
    assert plan.action == 1  # 1.5 a step beats 1
    best, rival = fans_of(plan)
    assert (best.label, rival.label) == ("action 1", "action 0")
    assert len(best.percentiles) == len(rival.percentiles)
    assert best.seen == 1.0  # all that may happen is known
    # Three coins, each worth 3, discounted.
    worth = 1.5 * (1 + GAMMA + GAMMA**2)
    assert np.mean(best.returns) == pytest.approx(worth, rel=0.1)
    assert np.mean(rival.returns) == pytest.approx(1 + 1.5 * (GAMMA + GAMMA**2), rel=0.1)
    sums = [3 * (a + GAMMA * b + GAMMA**2 * c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert {round(total, 6) for total in best.returns} == {round(total, 6) for total in sums}
    assert np.std(best.returns) == pytest.approx(np.std(sums), rel=0.15)
    assert len(best.returns) == ROLL_OUTS
    assert list(best.returns) == sorted(best.returns)
    for row in best.percentiles:
        assert list(row) == sorted(row)
        assert len(row) == len(SHARES)
    assert fans_of(plan) == (best, rival)  # the same picture each time


def test_a_lottery_is_seen():
    """10 one time in five, or nothing; or 1 for sure."""

    def play(state, action, rng):
        if state == "won":
            return state, 10.0, True
        if state == "lost":
            return state, 0.0, True
        if action == 0:
            return state, 1.0, True
        return ("won" if rng.random() < 0.2 else "lost"), 0.0, False

    model = pp.FunctionModel(play, 2, "start", dynamics="random")
    plan = pp.plan(model, budget=1_000, discount=GAMMA, seed=0)
    fans = {fan.label: fan for fan in fans_of(plan)}
    lottery, sure = fans["action 1"], fans["action 0"]
    assert set(np.round(sure.returns, 9)) == {1.0}
    assert set(np.round(lottery.returns, 9)) == {0.0, 9.0}
    assert np.mean(np.array(lottery.returns) > 0) == pytest.approx(0.2, abs=0.08)


def test_horizons_and_unknown_states():
    plan = planned(horizon=2)
    (best, _) = fans_of(plan)
    assert len(best.percentiles) == 2
    assert max(best.returns) <= 3 + 3 * GAMMA + 1e-9

    def far(state, action, rng):
        return float(rng.random()), 1.0, False  # no two states meet

    wide = pp.plan(
        pp.FunctionModel(far, 2, 0.0, dynamics="random"), budget=60, discount=GAMMA, seed=0
    )
    (lost, _) = fans_of(wide)
    assert lost.seen < 0.5
    assert np.mean(lost.returns) == pytest.approx(10.0, rel=0.05)  # 1 a step, as is usual
    assert "where nothing is known" in fan_note((lost,))


def test_pictures_and_pages(tmp_path):
    plan = planned()
    fans = fans_of(plan)
    picture = ET.fromstring(fan_svg(fans))  # noqa: S314  our own
    assert len(picture.findall("polygon")) == 2
    assert len(picture.findall("polyline")) == 1
    assert len(picture.findall("rect")) > 6
    page = plan.explain(tmp_path / "why.html")
    text = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "What it may bring" in text
    assert '<svg id="fan"' in text
    plan.explain(tmp_path / "why.json")
    data = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
    assert data["fans"][0]["label"] == "action 1"
    assert len(data["fans"][0]["returns"]) == ROLL_OUTS
    assert page.fans == fans


def test_where_there_is_no_chance_or_no_knowledge_there_is_no_fan():
    certain = pp.plan(pp.problems.SwitchChain(), budget=100, discount=0.9, seed=0)
    assert fans_of(certain) == ()
    released = planned()
    released.release()
    assert fans_of(released) == ()
    assert fans_of(planned().brief()) == ()


def test_other_planners_keep_means_only():
    model = pp.FunctionModel(gamble, 2, (0, False), dynamics="random")
    assert fans_of(pp.planners.UCT(GAMMA, horizon=3).plan(model, budget=500, seed=0)) == ()
