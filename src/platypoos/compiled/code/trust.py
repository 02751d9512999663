"""Machine code on disk is run only if nobody else can have written it.

Numba's caches are pickles and machine code: whoever writes them decides what we run. They are
trusted in a folder of ours, of root, or of the owner of this package, who could change the
package itself; and only if not everybody may write to it. Other folders are not read, and not
written: code is then compiled in each process. Members of the folder's group are trusted.
"""

from __future__ import annotations

import os
import stat
import warnings
from functools import cache
from pathlib import Path

CODE = (".nbi", ".nbc")
"""How the names of Numba's files end."""


@cache
def is_trusted(folder: str) -> bool:
    """Whether machine code may be read from a folder; if not, a warning says why."""
    reason = distrust(Path(folder))
    if reason:
        warnings.warn(
            f"machine code is not kept on disk, and compiled in each process: {reason}. Remove "
            "the folder, or let NUMBA_CACHE_DIR name one of your own",
            RuntimeWarning,
            stacklevel=2,
        )
    return not reason


def trusted_owners() -> set[int]:
    """Root, we, and who could change this package anyway."""
    return {0, os.geteuid(), Path(__file__).stat().st_uid}


def distrust(folder: Path) -> str:
    """Why the machine code in a folder must not be run; empty if it may be."""
    if os.name != "posix" or not folder.exists():
        return ""
    owners = trusted_owners()
    with os.scandir(folder) as entries:
        files = [Path(entry.path) for entry in entries if entry.name.endswith(CODE)]
    for path in (folder, *files):
        found = path.stat() if path == folder else path.lstat()
        if found.st_uid not in owners:
            return f"{path} belongs to another user (number {found.st_uid})"
        if found.st_mode & stat.S_IWOTH and not stat.S_ISLNK(found.st_mode):
            return f"everybody may write to {path}"
    return ""
