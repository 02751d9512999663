"""Write pages that come from the code: one for each planner, and one for the command line."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

import platypoos
import platypoos as pp
from platypoos.cli.main import _parser
from platypoos.planners import Planner, available

FOLDER = "planners/list"
COMMANDS = "reference/command-line.md"


def arena_scores(results: Path) -> dict[str, tuple[float, int, int]]:
    """Score, rank and number of planners, by the name in the results of the arena."""
    table = results.read_text(encoding="utf-8").split("## Scores, all problems")[1]
    rows = re.findall(r"^\| ([^|]+) \| (-?\d\.\d+) \|", table.split("\n## ")[0], re.MULTILINE)
    ranked = sorted(rows, key=lambda row: -float(row[1]))
    scores = [float(score) for _, score in ranked]
    return {
        name.replace("γ", "y").replace("-", "").lower(): (score, 1 + scores.index(score), len(rows))
        for (name, _), score in zip(ranked, scores, strict=True)
    }


def page(name: str, kind: type[Planner], scores: dict[str, tuple[float, int, int]]) -> str:
    """The page of one planner."""
    horizon = "it takes a horizon" if kind.finite else "it takes no horizon"
    chance = "it reacts to chance" if kind.reacts else "open loop only, by RESET"
    uses = ["legal", *kind.uses] if kind.lists else kind.uses
    rows = [
        ("It must know", kind.needs),
        ("Access", ", ".join(access.name for access in kind.access)),
        ("[Random dynamics](../../concepts/access.md#random-dynamics)", chance),
        ("What it uses of a model", f"{', '.join(uses)}; {horizon}"),
        ("On the command line", f"`platypoos plan --planner {name}`"),
    ]
    if (entry := scores.get(kind.__name__.lower())) is not None:
        score, rank, number = entry
        rows.append(
            (
                "[Quick arena](../../results/arena.md)",
                f"{score:.2f}, rank {rank} of {number} (0 is random, 1 is the best known)",
            )
        )
    if kind.citation != "none":
        rows.append(("Reference", kind.citation))
    table = "\n".join(f"| {left} | {right} |" for left, right in rows)
    place = "platypoos" if kind.__name__ in platypoos.__all__ else "platypoos.planners"
    return f"""# {kind.__name__}

| | |
|---|---|
{table}

```{{eval-rst}}
.. currentmodule:: platypoos
.. autoclass:: {place}.{kind.__name__}
```
"""


def command_line() -> str:
    """The help of each command."""
    os.environ["COLUMNS"] = "88"
    commands = next(
        action
        for action in _parser()._actions  # noqa: SLF001  argparse has no public way
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    )
    text = ["# Command line", "What `platypoos COMMAND --help` prints."]
    for name, parser in commands.choices.items():
        text += [f"## {name}", f"```text\n{parser.format_help().strip()}\n```"]
    return "\n\n".join(text) + "\n"


def write_pages(app: Any) -> None:
    """Write what has changed, so that unchanged pages are not built again."""
    source = Path(app.srcdir)
    scores = arena_scores(source / "results" / "arena.md")
    pages = {source / COMMANDS: command_line()} | {
        source / FOLDER / f"{name}.md": page(name, kind, scores)
        for name, kind in available().items()
    }
    (source / FOLDER).mkdir(parents=True, exist_ok=True)
    for old in (source / FOLDER).glob("*.md"):
        if old not in pages:
            old.unlink()
    for file, text in pages.items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def escape_bars(_: Any, __: str, ___: str, ____: Any, _____: Any, lines: list[str]) -> None:
    """Write |x| in docstrings as it is: reStructuredText would look for a substitution x."""
    lines[:] = [re.sub(r"(?<!`)\|(\w+)\|(?!`)", r"\\|\1\\|", line) for line in lines]


def write_explanation(app: Any, exception: Exception | None) -> None:
    """The page that a tutorial shows: it is what ``plan.explain`` writes."""
    if exception is None and app.builder.format == "html":
        battery = pp.problems.Battery(noise=5.0)
        plan = pp.plan(battery, state=3, budget=1_000, discount=0.98, seed=0)
        plan.explain(Path(app.outdir) / "why.html")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", write_explanation)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
