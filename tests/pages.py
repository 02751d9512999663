"""The Markdown pages of the project, and the code blocks in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
WRITTEN = ("docs/planners/list/", "docs/reference/command-line.md")
"""Pages that are written when the site is built."""
PAGES = tuple(
    page
    for page in sorted(
        path.relative_to(ROOT).as_posix()
        for path in (
            ROOT / "README.md",
            ROOT / "CONTRIBUTING.md",
            ROOT / "CHANGELOG.md",
            *(ROOT / "docs").rglob("*.md"),
        )
    )
    if not page.startswith(WRITTEN)
)
BLOCK = re.compile(
    r"(?:^<!-- skip: (?P<reason>[^>]+?) -->\n)?"
    r"^```(?P<kind>\{code-cell\} python|[a-z]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A block of code in a page."""

    page: str
    line: int
    """The line where its code begins."""
    kind: str
    """python, sh, or another word."""
    code: str
    reason: str | None
    """Why it is not run, if it is not."""


def blocks(page: str, text: str | None = None) -> list[Block]:
    """The blocks of code of a page."""
    if text is None:
        text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        kind, code = match["kind"], match["code"]
        if kind.startswith("{"):  # a cell of a notebook, with options such as :tags: above it
            kind = "python"
            code = re.sub(r"^:\w+:.*$", "", code, flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(page, line, kind, code, match["reason"]))
    return found
