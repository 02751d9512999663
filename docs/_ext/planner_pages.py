"""Write a page for each planner, from ``platypoos.planners.available()`` and its docstring."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from platypoos.planners import Planner, available

FOLDER = "planners/list"


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
    rows = [
        ("It must know", kind.needs),
        ("Access", ", ".join(access.name for access in kind.access)),
        ("What it uses of a model", f"{', '.join(['legal', *kind.uses])}; {horizon}"),
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
    return f"""# {kind.__name__}

| | |
|---|---|
{table}

```{{eval-rst}}
.. currentmodule:: platypoos
.. autoclass:: platypoos.{kind.__name__}
```
"""


def write_pages(app: Any) -> None:
    """Write what has changed, so that unchanged pages are not built again."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    scores = arena_scores(Path(app.srcdir) / "results" / "arena.md")
    pages = {f"{name}.md": page(name, kind, scores) for name, kind in available().items()}
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for file, text in pages.items():
        if not (folder / file).exists() or (folder / file).read_text(encoding="utf-8") != text:
            (folder / file).write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
