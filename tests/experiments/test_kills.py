"""A small version of ``benchmarks/kills.py``."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import kills
import pytest


@pytest.mark.slow
def test_killed_and_gone_on_with(tmp_path):
    assert kills.by_kills(kills=3, seeds=20, seed=1, folder=tmp_path) >= 1


def test_tables_that_differ_are_noticed(tmp_path, monkeypatch):
    class Done:
        def wait(self):
            return 0

    def start(arguments, out):
        out.mkdir()
        with closing(sqlite3.connect(out / "results.sqlite")) as db, db:
            db.execute(f"CREATE TABLE cells ({kills.MEASURED})")
            db.execute("INSERT INTO cells VALUES (1, 2, 3, 4, 5, 6, ?)", (len(started),))
        started.append(out)
        return Done()

    started = []
    monkeypatch.setattr(kills, "start", start)
    monkeypatch.setattr(
        kills, "kill_and_go_on", lambda arguments, out, *_: start(arguments, out) and 1
    )
    with pytest.raises(AssertionError, match="the tables differ"):
        kills.by_kills(kills=1, seeds=1, seed=0, folder=tmp_path)
