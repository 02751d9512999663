"""Only the description that a package index shows: pyproject.toml has all the rest.

Links to files of the repository lead nowhere on an index. If ``[project.urls]`` names a Repository,
they lead there; else they become text, and pictures are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)]+)\)")


def for_an_index(text: str, repository: str | None) -> str:
    """README.md without links to files that an index does not have."""

    def replaced(found: re.Match[str]) -> str:
        picture, words, path = found.groups()
        if repository is not None:
            kind = "raw" if picture else "blob"
            return f"{picture}[{words}]({repository.rstrip('/')}/{kind}/main/{path})"
        return "" if picture else f"{words} ({path})"

    return LINK.sub(replaced, text)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = Path("README.md").read_text(encoding="utf-8")
    setup(
        long_description=for_an_index(readme, project.get("urls", {}).get("Repository")),
        long_description_content_type="text/markdown",
    )
