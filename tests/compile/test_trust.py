"""Machine code on disk that somebody else can have written is not run."""

from __future__ import annotations

import pickle
from pathlib import Path

import numba
import pytest

import platypoos as pp
from platypoos.compiled.code import cache, jit, trust


def double(number):
    return 2 * number


class Poison:
    """Touches a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def poisoned(tmp_path, monkeypatch):
    """A cache whose index was replaced; gives the index, and the file that shows that it ran."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    trust.is_trusted.cache_clear()
    assert jit(double)(3) == 6
    (index,) = tmp_path.rglob("*double*.nbi")
    index.write_bytes(pickle.dumps(Poison(tmp_path / "was run")))
    yield index, tmp_path / "was run"
    trust.is_trusted.cache_clear()


def test_a_cache_of_ours_is_read(poisoned):
    # What the other tests prevent.
    trust.is_trusted.cache_clear()
    jit(double)(3)
    assert poisoned[1].exists()


@pytest.mark.parametrize("part", ["folder", "file"])
def test_a_cache_that_everybody_may_write_to(poisoned, part):
    index, was_run = poisoned
    (index.parent if part == "folder" else index).chmod(0o777)
    trust.is_trusted.cache_clear()
    with pytest.warns(RuntimeWarning, match="everybody may write to"):
        function = jit(double)
    assert function(3) == 6
    assert not was_run.exists()


def test_a_cache_of_another_user(poisoned, monkeypatch):
    index, was_run = poisoned
    stranger = index.stat().st_uid + 1
    monkeypatch.setattr(trust, "trusted_owners", lambda: {stranger})
    trust.is_trusted.cache_clear()
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        function = jit(double)
    assert function(3) == 6
    assert not was_run.exists()


def test_the_owner_of_the_package_is_trusted():
    assert Path(trust.__file__).stat().st_uid in trust.trusted_owners()


def test_a_stamp_covers_what_code_comes_from():
    # What a file imports is in its stamp, what it does not import is not.
    package = Path(pp.__file__).parent
    uct, brue = package / "planners" / "uct.py", package / "planners" / "brue.py"
    sources = cache._sources()

    def stamp(module, changed):
        known = {f: (text + b"#" * (f == changed), more) for f, (text, more) in sources.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "_sources", lambda: known)
            return cache._stamp.__wrapped__(module)

    before = stamp(uct, None)
    everybody = ["checks.py", "trees/tree.py", "compiled/ledger/machine.py", "models/advice.py"]
    for name in ["planners/uct.py", "search/growth.py", *everybody]:
        assert stamp(uct, package / name) != before, name
    assert stamp(uct, brue) == before
    assert package / "planners" / "platypus" / "plan.py" not in sources
