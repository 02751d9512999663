"""What ``evaluate``, ``play`` and so on mean inside compiled code, where ``sim`` is an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from platypoos.compiled.code import part
from platypoos.compiled.ledger.machine import loops_at, machine_at
from platypoos.trees import meeting, requests


def _means(word: Callable[..., Any], meaning: Callable[..., Any]) -> None:
    """Let a word of planners mean this inside compiled code."""
    overload(word, strict=False)(lambda *_args: meaning)


@part
def loops(sim: int) -> Any:
    """The loops around a model."""
    return loops_at(machine_at(sim).loops)


_means(
    requests.evaluate,
    lambda sim, tree, nodes, repeats: loops(sim).evaluate(sim, tree, nodes, repeats),
)
_means(
    requests.play,
    lambda sim, tree, path, rewards, start=0, roll_out=True: loops(sim).play(
        sim, tree, path, rewards, start, roll_out
    ),
)
_means(
    requests.play_whole,
    lambda sim, tree, path, rewards: loops(sim).play(sim, tree, path, rewards, 0, False),
)
_means(requests.ask_legal, lambda sim, nodes: loops(sim).ask_legal(sim, nodes))
_means(meeting.settle, lambda sim, homes, nodes: loops(sim).settle(sim, homes, nodes))
_means(requests.calls_made, lambda sim: machine_at(sim).ledger[0].calls)
_means(
    requests.is_due,
    lambda sim: machine_at(sim).ledger[0].calls >= machine_at(sim).ledger[0].pause,
)
_means(requests.is_late, lambda sim: False)  # noqa: ARG005
_means(requests.play_ahead, lambda sim, tree, ahead, asked, roll_out: None)  # noqa: ARG005
