"""Results in a SQLite database: a row a cell, written as they come, never twice."""

from __future__ import annotations

import csv
import os
import platform
import shlex
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from platypoos.errors import InvalidArgument, PlatypoosError
from platypoos.lab.experiments.cells import Row
from platypoos.lab.experiments.spec import MEASURES, Cell, Experiment, canonical
from platypoos.version import install

FILE = "results.sqlite"
SCHEMA = 2
COLUMNS = (
    "key", "problem", "problem_parameters", "planner", "planner_parameters", "budget", "seed",
    "steps", "discount", "access", "horizon", "frames", "status", *MEASURES, "error", "version",
    "finished",
)  # fmt: skip


class StoreError(PlatypoosError):
    """The database cannot be read or written; what it holds is left as it is."""


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" in str(error):
            raise StoreError(
                f"the disk is full: {path} holds all results so far; free some space and run "
                "the same command again"
            ) from error
        raise StoreError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is not a results database, or is damaged ({error}); it was left as it is. "
            "Move it away, or use another directory"
        ) from error


class Store:
    """The database of one directory."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.path = folder / FILE
        if not create and not (self.path.exists() and self.path.stat().st_size):
            raise InvalidArgument(
                f"there are no results in {folder}: {FILE} is missing. Run 'platypoos paper' or "
                "'platypoos compare' with --out first"
            )
        with _told(self.path):
            self.db = self._connect(folder, create)
            try:
                self._check(create)
            except BaseException:
                self.db.close()
                raise

    def _connect(self, folder: Path, create: bool) -> sqlite3.Connection:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
            return sqlite3.connect(self.path, timeout=60, isolation_level=None)
        mode = "ro" if os.access(folder, os.W_OK) else "ro&immutable=1"
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(address, timeout=60, isolation_level=None, uri=True)

    def _check(self, create: bool) -> None:
        """Is it ours? If it is new, make it so."""
        self.db.execute("PRAGMA trusted_schema = OFF")  # it may be from somebody else
        entries = self.db.execute("SELECT name, type FROM sqlite_master").fetchall()
        if any(kind in {"trigger", "view"} for _, kind in entries):
            raise StoreError(
                f"{self.path} has triggers or views, which are none of ours and would be run; "
                "it was left as it is"
            )
        tables = {name for name, _ in entries}
        if not tables and create:
            self._set_up()
        elif not {"facts", "cells"} <= tables:
            raise StoreError(f"{self.path} is another kind of database; it was left as it is")
        found = self.fact("schema")
        if found != str(SCHEMA):
            raise StoreError(
                f"{self.path} was written by another version (its schema is {found}, this "
                f"one's {SCHEMA}); it was left as it is. Use another directory, or that version"
            )
        if create:
            self.db.execute("PRAGMA synchronous = NORMAL")

    def _set_up(self) -> None:
        self.db.execute("PRAGMA journal_mode = WAL")
        measures = ", ".join(f"{name} REAL" for name in MEASURES)
        with self.transaction():
            self.db.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self.db.execute(
                "CREATE TABLE cells (key TEXT PRIMARY KEY, problem TEXT, problem_parameters "
                "TEXT, planner TEXT, planner_parameters TEXT, budget INTEGER, seed INTEGER, "
                "steps INTEGER, discount REAL, access TEXT, horizon INTEGER, frames INTEGER, "
                "status TEXT NOT NULL, "
                f"{measures}, error TEXT, version TEXT, finished REAL) WITHOUT ROWID"
            )
            self.set_fact("schema", str(SCHEMA))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def close(self) -> None:
        """Write everything to the one file."""
        self.db.close()

    def fact(self, name: str) -> str | None:
        """A fact about the whole experiment."""
        found = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def set_fact(self, name: str, value: str) -> None:
        """Write a fact."""
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def facts(self) -> dict[str, str]:
        """All facts but the specification."""
        rows = self.db.execute("SELECT name, value FROM facts WHERE name != 'specification'")
        return dict(rows.fetchall())

    def accept(self, experiment: Experiment, *, extend: bool) -> None:
        """Take note of the specification; it may grow, but not silently become another one."""
        with _told(self.path):
            before = self.fact("specification")
            wanted = {cell.key for cell in experiment.cells()}
            if before is not None and not extend:
                old = Experiment.from_json(before)
                lost = sum(cell.key not in wanted for cell in old.cells())
                if lost:
                    raise InvalidArgument(
                        f"{self.path.parent} holds another experiment, {old.name!r}: {lost} of its "
                        f"{len(old.cells())} cells are not in this one, {experiment.name!r}. Use "
                        "another directory, or --extend to go on with this one and keep all rows"
                    )
            with self.transaction():
                self.set_fact("specification", experiment.as_json())
                for name, value in surroundings().items():
                    self.set_fact(name, value)

    @property
    def experiment(self) -> Experiment:
        """The specification."""
        text = self.fact("specification")
        if text is None:
            raise InvalidArgument(f"{self.path} has no specification: nothing was run yet")
        return Experiment.from_json(text)

    def keys(self, *statuses: str) -> set[str]:
        """The cells that have a row with one of these statuses."""
        with _told(self.path):
            marks = ",".join("?" * len(statuses))
            found = self.db.execute(f"SELECT key FROM cells WHERE status IN ({marks})", statuses)  # noqa: S608
            return {key for (key,) in found}

    def add(self, cells: Iterable[Cell], rows: Iterable[Row]) -> None:
        """Write the rows of some cells, all or none."""
        from platypoos.version import __version__

        now = time.time()
        records = []
        for cell, row in zip(cells, rows, strict=True):
            record = {
                **cell.as_data(),
                "horizon": cell.horizon,
                "frames": cell.frames,
                "problem": cell.problem.name,
                "problem_parameters": canonical(dict(cell.problem.parameters)),
                "planner": cell.planner.name,
                "planner_parameters": canonical(dict(cell.planner.parameters)),
                "version": __version__,
                "finished": now,
                **row,
            }
            records.append([record.get(column) for column in COLUMNS])
        marks = ",".join("?" * len(COLUMNS))
        with _told(self.path), self.transaction():
            self.db.executemany(f"INSERT OR REPLACE INTO cells VALUES ({marks})", records)  # noqa: S608

    def rows(self) -> dict[str, Row]:
        """All rows, by key."""
        with _told(self.path), closing(self.db.cursor()) as cursor:
            cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM cells ORDER BY key")  # noqa: S608
            return {values[0]: dict(zip(COLUMNS, values, strict=True)) for values in cursor}

    def export(self, path: Path) -> int:
        """Write all rows to a .csv or .parquet file; returns how many."""
        rows = list(self.rows().values())
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
        elif path.suffix == ".parquet":
            try:
                import pyarrow as pa
                from pyarrow import parquet
            except ImportError as error:
                raise InvalidArgument(f"Parquet needs pyarrow: {install('experiments')}") from error
            parquet.write_table(pa.Table.from_pylist(rows), path)
        else:
            raise InvalidArgument(f"export to a .csv or a .parquet file, not {path}")
        return len(rows)


def surroundings() -> dict[str, str]:
    """Versions and the command, for the record."""
    from importlib.metadata import version

    import numpy as np

    from platypoos.version import __version__

    return {
        "platypoos": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "machine": f"{platform.system()} {platform.machine()}",
        "command": shlex.join(["platypoos", *sys.argv[1:]]),
    }
