"""Promised and measured, study by study, and as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import theory_studies
from theory_studies import HORIZON, NOISES, Study, decades

from platypoos.lab.theory import depths as d
from platypoos.lab.theory.bounds import Bound, bound
from platypoos.lab.theory.expected import expected_exponent
from platypoos.lab.theory.hardness import known_hardness
from platypoos.lab.theory.measure import Notebook, Point, slope
from platypoos.search.layered import LayeredPlanner

WITHIN = 0.15
COLUMNS = ("study", "K, κ, ρ, γ, b", "N", "promised", "in N", "schedule", "in h_max", "to promise",
           "R²", "to bound")  # fmt: skip
LARGER = decades(6, 9, 2)
"""Budgets at which we do not run, but look at what the schedule gives."""


@dataclass(frozen=True)
class Row:
    """A study's points beside what was promised."""

    study: Study
    points: list[Point]
    promises: list[Bound]  # with the planner's own h_max

    @property
    def seen(self) -> list[tuple[Point, Bound]]:
        """The points that have some regret left to fit."""
        pairs = zip(self.points, self.promises, strict=True)
        return [(point, promise) for point, promise in pairs if point.regret > 0]

    def scale(self, promise: Bound) -> float:
        """What the regret is to fall with: the budget N, or N/b² if the noise b changes."""
        return promise.budget / promise.noise**2 if self.study.noises else promise.budget

    def exponent(self) -> tuple[float, float, float]:
        """The x of a regret that falls as N^(−x), or (N/b²)^(−x); its standard error; R²."""
        found, error, fit = slope(
            [math.log(self.scale(promise)) for _, promise in self.seen],
            [math.log(point.regret) for point, _ in self.seen],
        )
        return -found, error, fit

    def exponent_by_schedule(self, budgets: Sequence[int] | None = None) -> float | None:
        """What the schedule gives by itself, at the measured budgets or at others."""
        planner = self.study.planner
        if not self.study.in_one_run or not isinstance(planner, LayeredPlanner):
            return None
        budgets = budgets or [point.budget for point, _ in self.seen]
        return expected_exponent(self.study.problem, planner, budgets)

    def exponent_in_theorem(self) -> float:
        """The same against the paper's h_max, which is what the theorems have in place of n."""
        hardness, study = known_hardness(self.study.problem), self.study
        sizes = [
            bound(hardness, study.planner.name, point.budget, study.problem.noise).h_max or 1
            for point, _ in self.seen
        ]
        regrets = [math.log(point.regret) for point, _ in self.seen]
        return -slope([math.log(size) for size in sizes], regrets)[0]

    def share_of_promise(self) -> tuple[float, float, float]:
        """How fast the regret falls over how fast the theorem's νρ^h does; its error; R².

        h is the depth of the theorem, by the Lambert W function: the rate with its logarithms.
        """
        log_rho = math.log(self.study.problem.rho)
        return slope(
            [(promise.depth or 0.0) * log_rho for _, promise in self.seen],
            [math.log(point.regret) for point, _ in self.seen],
        )

    def sharper_depth(self, promise: Bound) -> float:
        """The theorem's depth for high noise if its confidence term g were 1."""
        h = known_hardness(self.study.problem)
        setting = d.Setting(
            h.discount, h.nu, h.rho, h.kappa_u, h.constant_u, promise.h_max or 1, promise.noise, 1.0
        )
        return d.tilde_1(setting) if setting.log_bend > 0 else d.tilde_2(setting)

    def share_of_sharper_promise(self) -> float:
        """As ``share_of_promise``, if g were 1."""
        log_rho = math.log(self.study.problem.rho)
        return slope(
            [self.sharper_depth(promise) * log_rho for _, promise in self.seen],
            [math.log(point.regret) for point, _ in self.seen],
        )[0]

    def largest_share_of_bound(self) -> float:
        """The largest measured regret as a part of the finite-time bound."""
        return max(
            point.regret / promise.bound
            for point, promise in zip(self.points, self.promises, strict=True)
            if promise.bound is not None
        )

    @property
    def along_budgets(self) -> bool:
        """Whether it has a line of its own in the table of larger and larger budgets."""
        return not self.study.noises and not self.study.name.startswith("b = ")

    @property
    def has_bound(self) -> bool:
        """Whether more than a rate is known."""
        return self.promises[0].bound is not None


def rows(notebook: Notebook) -> list[Row]:
    """All studies that have three points or more."""
    found = []
    for study in theory_studies.studies():
        measured = [
            (part, notebook.points[part.key, budget])
            for part in study.parts
            for budget in part.budgets
            if (part.key, budget) in notebook
        ]
        if len(measured) >= 3:
            points = [point for _, point in measured]
            promises = [part.promise(point.budget) for part, point in measured]
            found.append(Row(study, points, promises))
    return found


def report(found: list[Row]) -> str:
    """The page of results, in Markdown."""
    by_name = {row.study.name: row for row in found}
    lines = [
        "# The theory, promised and measured",
        "",
        "Made by `benchmarks/theory_results.py`. Every measured regret is the largest mean simple",
        "regret over all depths of the secret of `lab.problems.MadeToOrder`, from 1 on (seeds from",
        "0). On one problem the simple regret is soon 0; a sharp rate is about all problems of a",
        "kind. *One problem* is the hardest for the smallest budget: there the regret has to fall",
        "at least as fast as promised, and falls faster. Without noise and for κ > 1 the mean is",
        "over all secrets of a depth, by one run: a planner does the same wherever the secret is,",
        "until it sees it. The points",
        "are in [points.jsonl](points.jsonl), what the words mean in",
        "[docs/theory.md](../../theory.md).",
        "",
        "- *published*: h_max as in the paper's figures (`budget_use='paper'`), ⌊n/log n⌋ for",
        "  SequOOL and ⌊n/(2(log2 n+1)²)⌋ for PlaTγPOOS. The others have the largest h_max that",
        "  the budget allows. The problems without noise to 10^8 calls were chosen by what the",
        "  schedules predict, before they were measured. With noise all problems that were tried",
        "  are here (those with κ = 1.3 and with κ = 1.5 were chosen among 14 by a quick",
        "  imitation of the planner), but these: κ = 1.5, ρ = 0.7, γ = 0.95, b = 0.5 has half of",
        "  the promised exponent between 10^4 and 10^7 calls; of two with κ = K, γ = 0.9 between",
        "  10^5 and 3·10^7, κ = 3, ρ = 0.8, b = 0.1 has 0.94 of it, κ = 4, ρ = 0.5, b = 0.05 has",
        "  0.82, and from 10^6 on 0.73 and 0.78. At smaller budgets the exponents of others are",
        "  smaller: from 10^5 calls on 0.85 of the promised one for κ = 1, and 0.70 for κ = 2,",
        "  ρ = γ.",
        "- *exponent*: x of a regret that falls as n^(−x); promised without logarithms, measured",
        "  against the number of calls N, and against the paper's h_max, which the theorems have",
        "  in place of n.",
        "- *schedule*: the exponent in N that the schedule gives by itself, logarithms included:",
        "  how many good sequences it opens at each depth, with no run at all.",
        "- *to promise*: how fast the logarithm of the regret falls, over how fast that of the",
        "  theorem's νρ^h does, with the depth h by the Lambert W function for the planner's own",
        "  h_max: the promise with its logarithms. 1 is as promised, more is faster.",
        "- *g*: the proof's term for the confidence of all estimates at once; it is large, so with",
        "  noise the promise is weak at these budgets. With g = 1 it would be much stronger.",
        "- *to bound*: the largest measured regret as a part of the finite-time bound.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    lines += [_line(row) for row in found if row.along_budgets]
    lines += ["", *_verdicts(by_name), ""]
    if any(row.study.noises for row in found):
        lines += ["## Against n/b²", "", *_table_by_b(found), ""]
    if any(name.startswith("b = ") for name in by_name):
        lines += ["## Less and less noise", "", *_noise_table(by_name), ""]
    lines += [
        "![Without noise](noiseless.png)",
        "![Free and reset](reset.png)",
        "![Without noise, large budgets](noiseless-large.png)",
        "![High noise](high-noise.png)",
        "![High noise, large budgets](high-noise-large.png)",
        "![High noise against n/b²](high-noise-by-b.png)",
        "![Less and less noise](less-noise.png)",
        "",
    ]
    return "\n".join(lines)


def _line(row: Row) -> str:
    p, promise = row.study.problem, row.promises[-1]
    share, error, fit = row.share_of_promise()
    measured = in_h_max = by_schedule = "–"
    if promise.exponent is not None:
        x, x_error, _ = row.exponent()
        measured, in_h_max = f"{x:.3f} ± {x_error:.3f}", f"{row.exponent_in_theorem():.3f}"
        expected = row.exponent_by_schedule()
        by_schedule = "–" if expected is None else f"{expected:.3f}"
    promised = promise.rate if promise.exponent is None else f"{promise.exponent:.3f}"
    budgets = f"{row.points[0].budget:,} – {row.points[-1].budget:,}"
    return (
        f"| {row.study.name} | {p.num_actions}, {p.kappa:g}, {p.rho:g}, {p.discount:g}, "
        f"{p.noise:g} | {budgets} | {promised} | {measured} | {by_schedule} | {in_h_max} | "
        f"{share:.2f} ± {error:.2f} | {fit:.3f} | {row.largest_share_of_bound():.2f} |"
    )


def _verdicts(by_name: dict[str, Row]) -> list[str]:
    """Which promises are kept, and beside them the exponents without logarithms."""
    largest = max(
        (row.largest_share_of_bound() for row in by_name.values() if row.has_bound), default=0.0
    )
    kept = (
        "No measured regret exceeds its bound" if largest <= 1 else "**A regret exceeds its bound**"
    )
    enough = 100 * (1 - WITHIN)
    bare = [
        row.exponent()[0] / row.promises[-1].exponent
        for row in by_name.values()
        if row.along_budgets and row.promises[-1].exponent is not None
    ]
    short = sum(share < 1 - WITHIN for share in bare)
    columns = ("study", "to promise", "kept", "exponent in N", "in h_max", "if g were 1")
    return [
        "## Is it kept?",
        "",
        f"{kept}: the largest is {largest:.2f} of it.",
        "",
        "A promise is the theorem with its logarithms, νρ^h with the depth h by the Lambert W",
        f"function. It is kept if the regret falls at least {enough:.0f} % as fast, or for κ = 1",
        "without noise, where the regret falls exponentially, if its logarithm is linear in that",
        "depth, R² ≥ 0.95. Beside it are the bare exponents, as parts of those of Table 1, which",
        "has no logarithms (in brackets what the schedule gives without a run). They are not",
        "judged: the logarithms that they leave out are not small at any of these budgets.",
        f"In {short} of {len(bare)} studies the bare exponent in N is below {enough:.0f} % of",
        "Table 1's.",
        "With noise, the last column is *to promise* if the confidence term g were 1: a stricter",
        "promise than the theorem's.",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
        *(f"| {name} | {_verdict(row)} |" for name, row in by_name.items() if row.along_budgets),
    ]


def _verdict(row: Row) -> str:
    """Of one study: how fast, whether that is kept, and the exponents without logarithms."""
    share, _, fit = row.share_of_promise()
    promised = row.promises[-1].exponent
    if promised is None:
        return f"R² = {fit:.3f} | {_yes(fit >= 0.95)} | – | – | –"
    ratio = row.exponent()[0] / promised
    in_n = f"{ratio:.2f}"
    here = row.exponent_by_schedule()
    if here is not None:
        larger = row.exponent_by_schedule(LARGER) if ratio < 1 - WITHIN else None
        in_n += f" ({here / promised:.2f}"
        in_n += f"; to {LARGER[-1]:,} {larger / promised:.2f})" if larger else ")"
    in_h_max = f"{row.exponent_in_theorem() / promised:.2f}"
    sharper = f"{row.share_of_sharper_promise():.2f}" if row.study.problem.noise else "–"
    return f"{share:.2f} | {_yes(share >= 1 - WITHIN)} | {in_n} | {in_h_max} | {sharper}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _table_by_b(found: Sequence[Row]) -> list[str]:
    """The exponent in n/b² at one budget, by less and less noise."""
    columns = ("γ²κ", "K, κ, ρ, γ", "b", "promised", "in n/b²", "part of it", "to promise", "R²",
               "to bound", "kept")  # fmt: skip
    lines = [
        "High noise with 10^7 calls and the published h_max. The noise b, which PlaTγPOOS is not",
        "told, goes down from 1, a quarter of a decade at a time, as long as Table 1 calls it",
        "high: the promise is a power of n/b². This is its weaker half. SequOOL, which evaluates",
        "each node once, has much the same exponents in b (seen on four problems), with a larger",
        f"regret that more calls hardly make smaller. Trees end after {HORIZON} steps, where",
        "nothing is left that these regrets could show.",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    for row in found:
        if not row.study.noises:
            continue
        p, promised = row.study.problem, row.promises[-1].exponent or math.nan
        x, error, fit = row.exponent()
        noises = [promise.noise for promise in row.promises]
        share = row.share_of_promise()[0]
        lines.append(
            f"| {p.discount**2 * p.kappa:.2f} | {p.num_actions}, {p.kappa:g}, {p.rho:g}, "
            f"{p.discount:g} | {max(noises):.2g} – {min(noises):.2g} | {promised:.3f} | "
            f"{x:.3f} ± {error:.3f} | {x / promised:.2f} | {share:.2f} | "
            f"{fit:.3f} | {row.largest_share_of_bound():.2f} | "
            f"{_yes(share >= 1 - WITHIN)} |"
        )
    return lines


def _noise_table(by_name: dict[str, Row]) -> list[str]:
    """PlaTγPOOS and OLOP on the same problem with less and less noise."""
    lines = [
        "κ = 1, ρ = γ = 0.8, where the promise is n^(−1/2) for high noise and ρ^n without. OLOP is",
        f"told the true largest reward, and a noise of {NOISES[0]:g} whatever it is.",
        "",
    ]
    budgets: list[int] = []
    for noise in NOISES:
        for name in ("PlaTγPOOS", "OLOP"):
            row = by_name.get(f"b = {noise:g}, {name}")
            if row is None:
                continue
            if not budgets:
                budgets = [point.budget for point in row.points]
                lines.append(
                    "| planner, noise | regime | " + " | ".join(f"{n:,}" for n in budgets) + " |"
                )
                lines.append("|---|---|" + "---|" * len(budgets))
            shown = " | ".join(f"{point.regret:.2g}" for point in row.points)
            lines.append(f"| {name}, b = {noise:g} | {row.promises[-1].regime} | {shown} |")
    return lines
