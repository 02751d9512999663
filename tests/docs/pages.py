"""The Markdown pages of the project, and the code blocks in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    if "docs/planners/list/" not in path.as_posix()  # these are written when the site is built
)
BLOCK = re.compile(
    r"(?:<!-- skip: (?P<reason>[^>]+?) -->\n)?"
    r"^```(?P<kind>\{code-cell\} python|[a-z]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A block of code in a page."""

    page: str
    line: int
    """Of the first line of code."""
    kind: str
    """python or sh, or another word."""
    code: str
    reason: str | None
    """Why it is not run, if it is not."""


def blocks(page: str, text: str | None = None) -> list[Block]:
    """The blocks of code of a page."""
    if text is None:
        text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        kind = match["kind"].removeprefix("{code-cell} ")
        code = re.sub(r"^:.*\n", "\n", match["code"], flags=re.MULTILINE) if kind else match["code"]
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(page, line, kind, code, match["reason"]))
    return found
