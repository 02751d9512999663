"""A gate: the quick arena against a baseline; it fails if a planner has become worse.

Runs come in rounds of a few seeds. A planner whose runs are all as they were is done after the
first round. After each round the others are tested, over all problems and in each family, by runs
with the same seeds; the chance of a false alarm is shared among the rounds and tests.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.spec import Block, Experiment
from platypoos.lab.experiments.standings import LOWEST, corrected, worse_by_chance

ROUND = 4
"""Seeds of a round."""
FALSE_ALARM = 0.01
"""Chance that the gate fails though nothing has become worse."""
LEAST_LOSS = 0.005
"""Smaller losses of the mean score pass."""
HEAD = ("problem", "planner", "budget", "seed", "result")

Key = tuple[str, str, int, int]
Results = dict[Key, float]


@dataclass(frozen=True)
class Finding:
    """A planner against itself as it was, over all problems or in one family."""

    planner: str
    family: str
    pairs: int
    before: float
    after: float
    p: float
    """Probability of such a loss by chance, corrected for all tests of a round."""

    @property
    def is_loss(self) -> bool:
        """Whether the gate fails for it."""
        return self.p < FALSE_ALARM and self.before - self.after > LEAST_LOSS

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.planner}, {self.family}: {self.before:.3f} -> {self.after:.3f} "
            f"({self.pairs} pairs, p = {self.p:.1g})"
        )


@dataclass(frozen=True)
class Verdict:
    """What the gate found."""

    findings: tuple[Finding, ...]
    """Of those planners that are not as they were."""
    unchanged: tuple[str, ...]
    new: tuple[str, ...]
    """Planners, and problems, that the baseline does not have."""
    pairs: int
    """Runs that were compared with the baseline."""
    seeds: int
    changes: tuple[tuple[str, str, float], ...]
    """Planner, problem, change of the mean score; the largest losses first."""

    @property
    def losses(self) -> list[Finding]:
        """Why the gate fails."""
        return [finding for finding in self.findings if finding.is_loss]

    def lines(self) -> list[str]:
        """What to print."""
        changed = dict.fromkeys(finding.planner for finding in self.findings)
        counts = f"{len(self.unchanged)} planners as before, {len(changed)} changed."
        text = [f"{self.pairs} runs compared: {counts}"]
        if self.new:
            text.append(f"not in the baseline: {', '.join(self.new)}")
        text += [str(f) for f in self.findings if f.family == "all problems" and not f.is_loss]
        for finding in self.losses:
            text.append(f"LOSS  {finding}")
            text += [
                f"      {problem}: {change:+.3f}"
                for planner, problem, change in self.changes
                if planner == finding.planner and change < 0
            ][:5]
        if self.pairs == 0:
            text.append("nothing was compared: the baseline has none of these runs")
        else:
            text.append("the gate is closed" if self.losses else "the gate is open")
        return text


def results_of(experiment: Experiment, rows: dict[str, Row]) -> Results:
    """The measure of every run that there is."""
    found: Results = {}
    for block in experiment.blocks:
        for planner in block.planners:
            for budget in block.budgets:
                for seed in range(block.seeds):
                    row = rows.get(block.cell(block.problems[0], planner, budget, seed).key)
                    if row is not None and row[block.measure] is not None:
                        found[block.title, planner.title, budget, seed] = row[block.measure]
    return found


def write_baseline(path: Path, results: Results) -> None:
    """Write results to compare with later."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows([*key, repr(value)] for key, value in sorted(results.items()))


def read_baseline(path: Path) -> Results:
    """The results that were written."""
    if not path.is_file():
        raise InvalidArgument(
            f"there is no baseline {path}; write one with 'platypoos arena --quick "
            "--write-baseline FILE'"
        )
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows or tuple(rows[0]) != HEAD:
        raise InvalidArgument(f"{path} is not a baseline: its first line must be {','.join(HEAD)}")
    try:
        found = {(r[0], r[1], int(r[2]), int(r[3])): float(r[4]) for r in rows[1:]}
    except (ValueError, IndexError) as error:
        raise InvalidArgument(f"{path} is not a baseline: {error}") from error
    if not np.isfinite(list(found.values())).all():
        raise InvalidArgument(f"{path} is not a baseline: a result is not a finite number")
    return found


def compare(
    experiment: Experiment,
    baseline: Results,
    run: Callable[[Experiment], dict[str, Row]],
) -> Verdict:
    """Run rounds of the experiment until it is known who has become worse.

    ``run`` runs an experiment and returns its rows.
    """
    seeds = max(block.seeds for block in experiment.blocks)
    titles = dict.fromkeys(c.title for block in experiment.blocks for c in block.planners)
    new = tuple(title for title in titles if all(key[1] != title for key in baseline))
    problems = tuple(
        block.title for block in experiment.blocks if all(k[0] != block.title for k in baseline)
    )
    going = [title for title in titles if title not in new]
    rounds = -(-seeds // ROUND)
    now: Results = {}
    findings: tuple[Finding, ...] = ()
    unchanged: list[str] = []
    done = 0
    while going and done < seeds:
        done = min(done + ROUND, seeds)
        part = narrowed(experiment, going, done)
        now |= results_of(part, run(part))
        same = [title for title in going if is_same(title, now, baseline)]
        unchanged += same
        going = [title for title in going if title not in same]
        findings = tuple(findings_of(experiment.blocks, going, now, baseline, rounds))
        if any(finding.is_loss for finding in findings):
            break
    changes = changes_of(experiment.blocks, going, now, baseline)
    pairs = sum(key in baseline for key in now)
    return Verdict(findings, tuple(unchanged), new + problems, pairs, done, tuple(changes))


def narrowed(experiment: Experiment, titles: Iterable[str], seeds: int) -> Experiment:
    """The same with these planners and this number of seeds."""
    wanted = set(titles)
    blocks = []
    for block in experiment.blocks:
        planners = tuple(choice for choice in block.planners if choice.title in wanted)
        if planners:
            blocks.append(replace(block, planners=planners, seeds=min(seeds, block.seeds)))
    return replace(experiment, blocks=tuple(blocks))


def is_same(title: str, now: Results, baseline: Results) -> bool:
    """Whether all runs of a planner are as they were."""
    mine = {key: value for key, value in now.items() if key[1] == title and key in baseline}
    return bool(mine) and all(
        np.isclose(value, baseline[key], rtol=1e-9, atol=1e-12) for key, value in mine.items()
    )


def _scores(block: Block, baseline: Results, results: Results, keys: list[Key]) -> list[float]:
    """The scores of some runs.

    Without references, a problem's results are scaled by their mean and spread in the baseline.
    """
    zero, one = block.random, block.reference
    if zero is None or one is None or zero == one:
        known = [value for key, value in baseline.items() if key[0] == block.title]
        zero = float(np.mean(known))
        one = zero + block.sign * (float(np.std(known)) or 1.0)
        return [(results[key] - zero) / (one - zero) for key in keys]
    return [max(LOWEST, (results[key] - zero) / (one - zero)) for key in keys]


def _pairs(
    block: Block, title: str, now: Results, baseline: Results
) -> tuple[list[float], list[float]]:
    """The scores of a planner on a problem, as it was and as it is, seed by seed."""
    keys = [key for key in now if key[:2] == (block.title, title) and key in baseline]
    if not keys:
        return [], []
    return _scores(block, baseline, baseline, keys), _scores(block, baseline, now, keys)


def findings_of(
    blocks: Iterable[Block], titles: list[str], now: Results, baseline: Results, rounds: int
) -> list[Finding]:
    """Test planners over all problems and in each family."""
    blocks = list(blocks)
    families = ["all problems", *dict.fromkeys(block.family for block in blocks)]
    groups: list[tuple[str, str, list[float], list[float]]] = []
    for title in titles:
        for family in families:
            before: list[float] = []
            after: list[float] = []
            for block in blocks:
                if family in ("all problems", block.family):
                    old, new = _pairs(block, title, now, baseline)
                    before += old
                    after += new
            if before:
                groups.append((title, family, before, after))
    if not groups:
        return []
    widest = max(len(before) for _, _, before, _ in groups)
    differences = np.full((len(groups), widest), np.nan)
    for i, (_, _, before, after) in enumerate(groups):
        differences[i, : len(before)] = np.subtract(after, before)
    p = np.minimum(1.0, rounds * corrected(worse_by_chance(differences)))
    return [
        Finding(title, family, len(old), float(np.mean(old)), float(np.mean(new)), float(chance))
        for (title, family, old, new), chance in zip(groups, p, strict=True)
    ]


def changes_of(
    blocks: Iterable[Block], titles: list[str], now: Results, baseline: Results
) -> list[tuple[str, str, float]]:
    """How the mean score of each problem has changed, the largest losses first."""
    found = []
    for block in blocks:
        for title in titles:
            old, new = _pairs(block, title, now, baseline)
            if old:
                found.append((title, block.title, float(np.mean(new) - np.mean(old))))
    return sorted(found, key=lambda change: change[2])
