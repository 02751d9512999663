"""The arena: scores, tests of significance, the gate, own problems, the command."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import platypoos as pp
from platypoos.lab.arena import gate
from platypoos.lab.arena.challenge import load_references
from platypoos.lab.arena.entrants import ENTRANTS, arena, can_enter, titles_of
from platypoos.lab.arena.families import CHALLENGES
from platypoos.lab.experiments.spec import Block, Choice, Experiment
from platypoos.lab.experiments.standings import (
    MARGIN,
    Place,
    Standings,
    corrected,
    standings,
    worse_by_chance,
)
from platypoos.lab.experiments.standings_page import SCORE, family_table, markdown
from platypoos.planners import available


def made_up(results, **settings):
    """An experiment, and rows as if it had been run; results: title -> budget -> values."""
    titles = list(results)
    budgets = tuple(next(iter(results.values())))
    seeds = len(next(iter(next(iter(results.values())).values())))
    block = Block(
        title="traps/one",
        problems=(Choice.of("garnet"),),
        planners=tuple(Choice.of(name, name) for name in titles),
        budgets=budgets,
        seeds=seeds,
        family="traps",
        measure="total",
        **settings,
    )
    rows = {}
    for choice in block.planners:
        for budget in budgets:
            for seed, value in enumerate(results[choice.title][budget]):
                key = block.cell(block.problems[0], choice, budget, seed).key
                rows[key] = {"total": value, "status": "done"}
    return Experiment("made up", (block,)), rows


def test_scores_are_between_random_and_the_reference():
    results = {"uniform": {10: [5.0, 7.0], 20: [9.0, 11.0]}, "random": {10: [1.0, 3.0], 20: [2, 2]}}
    experiment, rows = made_up(results, random=2.0, reference=12.0)
    found = standings(experiment, rows)
    assert found.planners == ("uniform", "random")
    assert found.places == (
        Place("traps/one", "traps", 10, 0),
        Place("traps/one", "traps", 20, 1),
    )
    assert found.scores.tolist() == [[[0.3, 0.5], [0.7, 0.9]], [[-0.1, 0.1], [0.0, 0.0]]]
    assert found.means().tolist() == pytest.approx(np.array([[0.4, 0.8], [0.0, 0.0]]))
    assert found.overall(1).tolist() == pytest.approx([0.8, 0.0])
    assert found.profile(np.array([0.5]))[:, 0].tolist() == [0.5, 0.0]
    # Without figures of its own, random actions and the best mean of all planners take their place.
    experiment, rows = made_up(results)
    means = standings(experiment, rows).means()
    assert means[0].tolist() == pytest.approx([(6 - 2) / (10 - 2), 1.0])


def test_regret_counts_the_other_way_round():
    results = {"uniform": {10: [0.1, 0.3]}, "random": {10: [0.4, 0.4]}}
    experiment, rows = made_up(results, random=0.4, reference=0.0)
    block = dataclasses.replace(experiment.blocks[0], measure="regret")
    rows = {key: {"regret": row["total"], "status": "done"} for key, row in rows.items()}
    found = standings(Experiment("regret", (block,)), rows)
    assert found.scores[0, 0].tolist() == pytest.approx([0.75, 0.25])


def test_what_is_missing_is_missing_and_not_zero():
    experiment, rows = made_up({"uniform": {10: [1.0, 2.0]}, "random": {10: [0.0, 0.0]}})
    lost = next(iter(rows))
    del rows[lost]
    scores = standings(experiment, rows).scores
    assert np.isnan(scores[0, 0, 0])
    assert np.isfinite(scores[0, 0, 1])


def test_the_test_of_pairs_is_the_t_test_of_scipy():
    rng = np.random.default_rng(0)
    rows = rng.normal(-0.2, 1.0, (50, 25))
    expected = stats.ttest_1samp(rows, 0.0, axis=1, alternative="less").pvalue
    assert worse_by_chance(rows) == pytest.approx(np.maximum(expected, 0.5**25))
    rows[:, 20:] = np.nan  # missing pairs are left out
    expected = stats.ttest_1samp(rows[:, :20], 0.0, axis=1, alternative="less").pvalue
    assert worse_by_chance(rows) == pytest.approx(np.maximum(expected, 0.5**20))


def test_few_pairs_prove_nothing_however_alike():
    assert worse_by_chance(np.full((1, 4), -1.0)).tolist() == [0.5**4]
    assert worse_by_chance(np.full((1, 4), 1.0)).tolist() == [1.0]
    assert worse_by_chance(np.zeros((1, 4))).tolist() == [0.5]
    assert worse_by_chance(np.array([[-1.0, np.nan]])).tolist() == [1.0]


def test_false_alarms_are_as_rare_as_promised():
    """400 pairs of equal planners, 30 places, 20 seeds: at most 5 % have an entry at all."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        alarms += (corrected(worse_by_chance(rng.normal(size=(30, 20)))) < 0.05).any()
    assert alarms <= stats.binom.ppf(0.999, 400, 0.05)


def test_worse_places_are_found_and_only_those():
    rng = np.random.default_rng(2)
    places = tuple(Place(f"p{i}", "f", 10, 0) for i in range(20))
    one, other = rng.normal(0.5, 0.1, (2, 20, 20))
    one[3] -= 0.3
    other[7] -= 0.3
    found = Standings(("one", "other"), places, np.array([one, other]), ())
    assert [entry.place.problem for entry in found.worse(0, 1)] == ["p3"]
    assert [entry.place.problem for entry in found.worse(1, 0)] == ["p7"]
    entry = found.worse(0, 1)[0]
    assert entry.difference == pytest.approx(float((one[3] - other[3]).mean()))
    assert entry.difference < -MARGIN
    mean, low, high = found.improvement(0, 1)
    assert low <= 0.5 <= high
    assert mean + found.improvement(1, 0)[0] == pytest.approx(1.0)


def test_every_planner_takes_part_and_is_told_what_it_needs():
    of_lists = {name for name, kind in available().items() if kind.lists}
    assert {name for name, _ in ENTRANTS.values()} == of_lists
    experiment = arena(CHALLENGES, load_references(), full=True)
    for block in experiment.blocks:
        titles = [choice.title for choice in block.planners]
        assert len(set(titles)) == len(titles)
        assert "Random" in titles
        assert "Platypus" in titles
        assert ("PlaTγPOOS" in titles) == (not block.apart)
        assert block.random is not None, block.title
        assert block.reference is not None
        assert block.provenance
        for choice in block.planners:
            cell = block.cell(block.problems[0], choice, block.budgets[0], 0)
            assert cell.make_planner().discount == block.discount
    again = Experiment.from_json(experiment.as_json())
    assert [cell.key for cell in again.cells()] == [cell.key for cell in experiment.cells()]


def test_planners_stay_away_from_what_they_cannot_do():
    reset = next(c for c in CHALLENGES if c.access == "reset")
    timed = next(c for c in CHALLENGES if c.horizon is not None)
    assert not can_enter("rollout-iw", reset)
    assert can_enter("uct", reset)
    assert not can_enter("stop", timed)


def test_only_planners_that_react_to_chance_plan_in_closed_loop():
    experiment = arena(CHALLENGES, load_references(), families=["closed-loop"])
    (block,) = experiment.blocks
    assert (block.access, block.apart) == ("restore", True)
    reacting = {title for title, (name, _) in ENTRANTS.items() if available()[name].reacts}
    assert {choice.title for choice in block.planners} == reacting | {"Random"}
    assert {"Platypus", "UCT", "PolynomialUCT", "BRUE"} < reacting < set(ENTRANTS)
    experiment.check()  # each of them can plan there
    for title in ("CEM", "OneStep"):  # and none of the others
        name, told = ENTRANTS[title]
        choice = Choice.of(name, title, **told(next(c for c in CHALLENGES if c.closed_loop)))
        with pytest.raises(pp.InvalidArgument, match="cannot react to chance"):
            dataclasses.replace(block, planners=(choice,)).check()
    open_loop = arena(CHALLENGES, load_references(), families=["slippery"]).blocks[0]
    assert {"CEM", "PlaTγPOOS", "UCT"} < {choice.title for choice in open_loop.planners}
    assert not open_loop.apart


def test_a_family_apart_is_shown_but_not_counted():
    one, rows = made_up({"uniform": {10: [5.0, 7.0]}, "uct": {10: [3.0, 3.0]}}, reference=12.0,
                        random=2.0)  # fmt: skip
    other, more = made_up({"uct": {10: [12.0, 12.0]}}, reference=12.0, random=2.0)
    closed = dataclasses.replace(
        other.blocks[0], title="closed/one", family="closed", apart=True, steps=7
    )
    cells = zip(closed.cells(), more.values(), strict=True)
    rows |= {cell.key: row for cell, row in cells}
    both = Experiment("both", (*one.blocks, closed))
    found = standings(both, rows)
    assert found.by_family(0)["closed"].tolist() == pytest.approx([math.nan, 1.0], nan_ok=True)
    assert found.overall(0).tolist() == standings(one, rows).overall(0).tolist()
    assert found.overall(0).tolist() == pytest.approx([0.4, 0.1])
    head, table = family_table(found, 0)
    assert head == ["planner", "all", "traps", "closed"]
    assert table == [["uniform", "0.40", "0.40", "–"], ["uct", "0.10", "0.10", "1.00"]]
    assert "not counted in the mean of all: closed." in markdown(both, found, "uct")[0]
    assert markdown(one, standings(one, rows), "uct")[0] == SCORE
    alone = standings(Experiment("alone", (closed,)), rows)
    assert alone.overall(0).tolist() == [1.0]  # nothing else to show
    assert Experiment.from_json(both.as_json()) == both


def test_the_gate_stays_open_for_a_family_that_the_baseline_does_not_have():
    one, rows = made_up({"uniform": {10: [5.0, 7.0]}, "uct": {10: [3.0, 3.0]}}, reference=12.0,
                        random=2.0)  # fmt: skip
    baseline = gate.results_of(one, rows)
    closed = dataclasses.replace(
        one.blocks[0],
        title="closed/one",
        family="closed",
        apart=True,
        steps=7,
        planners=one.blocks[0].planners[1:],
    )
    rows |= {cell.key: {"total": -50.0, "status": "done"} for cell in closed.cells()}
    both = Experiment("both", (*one.blocks, closed))
    verdict = gate.compare(both, baseline, lambda _: rows)
    assert (verdict.pairs, verdict.new) == (4, ("closed/one",))
    assert verdict.unchanged == ("uniform", "uct")
    assert verdict.lines()[1:] == ["not in the baseline: closed/one", "the gate is open"]


def test_names_and_titles_of_entrants():
    assert titles_of(["uct"]) == ["UCT", "UCT(auto)"]
    assert titles_of(["UCT(auto)", "cem"]) == ["UCT(auto)", "CEM"]
    assert titles_of([]) == list(ENTRANTS)
    with pytest.raises(pp.InvalidArgument, match="did you mean 'sequool'"):
        titles_of(["sequol"])
    with pytest.raises(pp.InvalidArgument, match="did you mean 'traps'"):
        arena(CHALLENGES, {}, families=["trap"])


# The gate


def gated(change, planners=("uniform", "one-step"), problems=6, seeds=12):
    """A gate over made-up results; change(planner, problem, seed) is added to the new ones."""
    blocks = tuple(
        Block(
            title=f"f{i % 2}/p{i}",
            problems=(Choice.of("garnet", seed=i),),
            planners=tuple(Choice.of(name, name) for name in planners),
            budgets=(10,),
            seeds=seeds,
            family=f"f{i % 2}",
            measure="total",
            random=0.0,
            reference=1.0,
        )
        for i in range(problems)
    )
    experiment = Experiment("quick", blocks)
    rng = np.random.default_rng(0)
    baseline, rows = {}, {}
    for i, block in enumerate(blocks):
        for choice in block.planners:
            for seed in range(seeds):
                value = float(rng.normal(0.5, 0.2))
                baseline[block.title, choice.title, 10, seed] = value
                cell = block.cell(block.problems[0], choice, 10, seed)
                rows[cell.key] = {"total": value + change(choice.title, i, seed)}
    asked = []

    def run(part):
        asked.append({(c.planner.name, c.seed) for c in part.cells()})
        return rows

    return gate.compare(experiment, baseline, run), asked


def test_the_gate_stops_after_a_round_if_nothing_has_changed():
    verdict, asked = gated(lambda *_: 0.0)
    assert not verdict.losses
    assert verdict.unchanged == ("uniform", "one-step")
    assert verdict.seeds == gate.ROUND
    assert len(asked) == 1
    assert verdict.lines()[-1] == "the gate is open"


def test_the_gate_closes_on_a_loss_and_says_where():
    verdict, asked = gated(lambda planner, i, _: -0.2 if planner == "uniform" and i < 4 else 0.0)
    assert {finding.planner for finding in verdict.losses} == {"uniform"}
    assert verdict.unchanged == ("one-step",)
    text = "\n".join(verdict.lines())
    assert "LOSS  uniform, all problems: " in text
    assert "f0/p0: -0.200" in text
    assert text.endswith("the gate is closed")
    assert all(name == "uniform" for name, _ in asked[-1]) or len(asked) == 1


def test_a_loss_in_one_family_is_found_though_others_gain():
    noise = np.random.default_rng(5).normal(0, 0.02, (6, 12))

    def change(planner, i, seed):
        return (noise[i, seed] + (-0.3 if i % 2 else 0.3)) if planner == "uniform" else 0.0

    verdict, _ = gated(change)
    assert {(finding.planner, finding.family) for finding in verdict.losses} == {("uniform", "f1")}


def test_chance_does_not_close_the_gate():
    """300 gates over changes of mean zero: at most 1 % fail, by chance (0.999 quantile)."""
    closed = 0
    for seed in range(300):
        noise = np.random.default_rng(seed).normal(0, 0.3, (2, 6, 12))
        verdict, _ = gated(lambda name, i, s, n=noise: n[int(name == "uniform"), i, s])
        closed += bool(verdict.losses)
    assert closed <= stats.binom.ppf(0.999, 300, gate.FALSE_ALARM)


def test_gains_and_new_planners_pass():
    verdict, asked = gated(lambda *_: 0.2)
    assert not verdict.losses
    assert verdict.seeds == 12
    assert len(asked) == 3
    experiment, rows = made_up({"uniform": {10: [1.0, 2.0]}, "random": {10: [0.0, 0.0]}})
    verdict = gate.compare(experiment, {("traps/one", "random", 10, 0): 0.0}, lambda _: rows)
    assert verdict.new == ("uniform",)


def test_a_baseline_is_written_and_read(tmp_path):
    results = {("a/b", "UCT(auto)", 10, 0): 1 / 3, ("a/b", "PlaTγPOOS", 10, 1): -math.pi}
    gate.write_baseline(tmp_path / "base.csv", results)
    assert gate.read_baseline(tmp_path / "base.csv") == results
    with pytest.raises(pp.InvalidArgument, match=r"no baseline .*--write-baseline"):
        gate.read_baseline(tmp_path / "none.csv")
    gate.write_baseline(tmp_path / "nan.csv", {("a", "b", 1, 0): math.nan})
    with pytest.raises(pp.InvalidArgument, match="not a finite number"):
        gate.read_baseline(tmp_path / "nan.csv")
    (tmp_path / "wrong.csv").write_text("a,b\n")
    with pytest.raises(pp.InvalidArgument, match="is not a baseline"):
        gate.read_baseline(tmp_path / "wrong.csv")
