"""How long calls take."""

from __future__ import annotations


def never() -> bool:
    """No clock."""
    return False


GLANCE = 0.001
"""Seconds of calls after which the clock is looked at."""


class Pace:
    """How long a call takes, lately."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Of a call; 0 as long as none was made."""

    def within(self, seconds: float) -> int:
        """Calls that take so long; one if nothing is known yet."""
        return max(1, int(seconds / self.seconds)) if self.seconds else 1

    def note(self, calls: int, seconds: float) -> None:
        """Learn from calls that were made."""
        if calls:
            now = max(1e-9, seconds / calls)
            self.seconds = now if self.seconds == 0.0 else 0.5 * (self.seconds + now)
