"""Names and numbers in pages and pictures: what is written there is shown, never run."""

from __future__ import annotations

import html
import json
from typing import Any


def in_script(data: Any) -> str:
    r"""Data as JavaScript inside of a page; no text in it can end the script.

    >>> in_script(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(data)  # all characters are ASCII
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def in_figure(text: str) -> str:
    """A name in Plotly's figures, where some tags of HTML have a meaning."""
    return html.escape(text, quote=False)


def in_picture(text: str) -> str:
    """A name in Matplotlib's pictures, where formulas stand between dollar signs."""
    return text.replace("$", r"\$")


def in_markdown(text: str) -> str:
    """A name in a table of Markdown."""
    return html.escape(text, quote=False).replace("|", r"\|").replace("\n", " ")
