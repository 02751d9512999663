"""Numbers, states and tables as text, as HTML and as plain data."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.version import __version__

MOST_NUMBERS = 6
"""Numbers of a state that are shown; the others are counted."""
MOST_DATA = 64
"""Entries of a state that are written as data; larger states are written as text."""


def number(value: float | None, digits: int = 6) -> str:
    """A number as people write it; a dash if there is none.

    >>> number(0.1 + 0.2), number(1e-9), number(float("nan")), number(-0.0), number(12345678.0)
    ('0.3', '1e-09', '–', '0', '1.23457e+07')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value + 0.0:.{digits}g}" if value else "0"


def rounded(value: float, error: float) -> str:
    """A number with the digits that its error leaves: one of the error, or two if it begins with 1.

    >>> rounded(-4.9354, 0.313), rounded(0.313, 0.313), rounded(1234.5, 170.0), rounded(2.5, 0.0)
    ('-4.9', '0.3', '1230', '2.5')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0.0):
        return number(value, 5)
    places = -math.floor(math.log10(error))
    places += error * 10.0**places < 2.0
    text = f"{round(value, places) + 0.0:.{max(places, 0)}f}"
    return text if float(text) else text.removeprefix("-")


def signed(value: float, digits: int = 4) -> str:
    """A difference, with its sign.

    >>> signed(2.0), signed(-0.5), signed(0.0)
    ('+2', '−0.5', '0')
    """
    if math.isnan(value):
        return "–"
    shown = number(abs(value), digits)
    if shown == "0":
        return "0"
    return f"+{shown}" if value > 0 else f"−{shown}"


def fields_of(state: Any) -> dict[str, Any]:
    """The named fields of a state: of a named tuple, a dataclass or a dictionary; else none.

    >>> fields_of({"hour": 7, "room": 20.5}), fields_of((7, 20.5))
    ({'hour': 7, 'room': 20.5}, {})
    """
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return dict(zip(state._fields, state, strict=True))
    if is_dataclass(state) and not isinstance(state, type):
        return {field.name: getattr(state, field.name) for field in fields(state)}
    if isinstance(state, Mapping) and all(isinstance(name, str) for name in state):
        return dict(state)
    return {}


def show_state(state: Any, width: int = 48) -> str:
    """A state in a few words; fields with their names.

    >>> show_state((1, 2.123456)), show_state(np.zeros(10)), show_state("home")
    ('(1, 2.123)', '[0, 0, 0, 0, 0, 0, … 10 numbers]', 'home')
    >>> show_state((np.array([1.0, 2.5]), {"target": 3}))
    '[1, 2.5]'
    """
    if isinstance(state, np.ndarray | np.generic) and np.ndim(state) == 0:
        state = state.item()
    if isinstance(state, bool | str):
        text = str(state)
    elif isinstance(state, int):
        text = f"{state}"
    elif isinstance(state, float):
        text = number(state, 4)
    elif isinstance(state, bytes | bytearray):
        text = f"{len(state):,} bytes"
    elif isinstance(state, np.ndarray) and state.ndim == 1 and state.dtype.kind in "biuf":
        text = _numbers(state.tolist(), "[]")
    elif fields_of(state):
        named = fields_of(state).items()
        text = ", ".join(f"{name}={show_state(value, width)}" for name, value in named)
    elif isinstance(state, tuple) and state and isinstance(state[0], np.ndarray):
        text = show_state(state[0], width)  # of dm_control: the rest does not change much
    elif isinstance(state, np.ndarray):
        text = f"array of {' × '.join(str(n) for n in state.shape)}"
    elif isinstance(state, tuple | list) and all(isinstance(x, int | float) for x in state):
        text = _numbers(list(state), "()" if isinstance(state, tuple) else "[]")
    else:
        text = " ".join(repr(state).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _numbers(values: list[Any], brackets: str) -> str:
    shown = [str(x) if isinstance(x, bool) else number(x, 4) for x in values[:MOST_NUMBERS]]
    if len(values) > MOST_NUMBERS:
        shown.append(f"… {len(values)} numbers")
    return brackets[0] + ", ".join(shown) + brackets[1]


def plain(value: Any) -> Any:
    """Anything as data that JSON can hold; what it cannot hold is written as text.

    >>> plain({"x": np.float64(1.5), 2: (np.inf, None)}), plain(np.arange(3))
    ({'x': 1.5, '2': [None, None]}, [0, 1, 2])
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        if value.size > MOST_DATA or value.dtype.kind not in "biufU":
            return show_state(value, 200)
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return show_state(value, 200)


class Table(NamedTuple):
    """A table for a notebook."""

    head: Sequence[object]
    rows: Sequence[Sequence[object]]
    bold: int = -1
    """The row that stands out; none if it is −1."""


def render(template: str, **values: Any) -> str:
    """A page or a part of one from the folder ``templates``; all values are escaped."""
    text: str = _templates().get_template(template).render(values)
    return text.strip() + "\n"


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("platypoos", "templates")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    made.globals["version"] = __version__
    # Our own styles and scripts, as they are.
    made.globals["source"] = lambda name: Markup(loader.get_source(made, name)[0])  # noqa: S704
    return made


def notebook(*parts: str | Table | Sequence[str]) -> str:
    """What a notebook shows: lines of text, of which the first stands out, tables and lists.

    >>> notebook("a < b", ["one item"]).split()[:4]
    ['<div>', '<p><b>a', '&lt;', 'b</b></p>']
    """
    return render("notebook.html", parts=parts)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table in fixed-width text; the first ``left`` columns are flush left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]


def html_report(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """What was checked, for a notebook."""
    colors = {"ok": "#0b6e5f", "problem": "#b3261e", "do": "#8a5a00"}
    return render("report.html", title=title, rows=rows, colors=colors)


def check_version(data: Mapping[str, Any], newest: int) -> None:
    """Raise if stored data is newer than this version of platypoos."""
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise InvalidArgument(
            f"this data has version {version!r}; this platypoos reads 1 to {newest}: install a "
            "newer one"
        )


def stored_fields(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass in stored data; what older data has not is left out."""
    return {
        entry.name: tuple(data[entry.name])
        if isinstance(data[entry.name], list)
        else data[entry.name]
        for entry in fields(kind)
        if entry.name in data
    }
