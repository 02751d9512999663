"""Nothing in the package runs what a file says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import platypoos

PACKAGE = Path(platypoos.__file__).parent
FORBIDDEN = {
    "eval", "exec", "compile", "os.system", "os.popen", "pickle.load", "pickle.Unpickler",
    "cloudpickle.load", "marshal.load", "marshal.loads", "shelve.open", "np.load", "numpy.load",
    "yaml.load", "torch.load", "joblib.load", "runpy.run_path",
}  # fmt: skip
OWN_BYTES = {
    "simulator/workers.py", "checking/watch.py", "models/gymnasium/model.py",
    "lab/experiments/cells.py",
}  # fmt: skip
"""Files with ``pickle.loads`` of bytes that this process or its parent has made."""


def calls_in(text):
    """What is called in some code, by name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield ast.unparse(node.func)


def test_no_code_is_read_from_files():
    unpickle = set()
    for file in PACKAGE.rglob("*.py"):
        called = set(calls_in(file.read_text(encoding="utf-8")))
        assert not called & FORBIDDEN, file
        if "pickle.loads" in called:
            unpickle.add(file.relative_to(PACKAGE).as_posix())
    assert unpickle <= OWN_BYTES


@pytest.mark.parametrize("text", ["eval('1')", "pickle.load(file)", "np.load(path)"])
def test_calls_are_found(text):
    assert set(calls_in(f"def f():\n    return {text}")) & FORBIDDEN
