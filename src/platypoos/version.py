"""The version of this package, and how to install more of it."""

from pathlib import Path

__version__ = "0.1.0"


def install(extra: str) -> str:
    """The command that installs what an extra needs; from a checkout if this is one.

    >>> install("gym").startswith("pip install ")
    True
    """
    root = Path(__file__).parents[2]
    if (root / "pyproject.toml").is_file() and (root / "src" / "platypoos").is_dir():
        return f"pip install -e '{root}[{extra}]'"
    return f"pip install 'platypoos[{extra}]'"
