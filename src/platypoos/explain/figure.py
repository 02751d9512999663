"""An episode as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.explain.arrays import coordinates
from platypoos.explain.pictures import landmarks_of, places_of
from platypoos.spaces import Tried
from platypoos.version import install

if TYPE_CHECKING:
    from platypoos.episode import Episode

MOST_NAMES = 20


def episode_figure(episode: Episode) -> Any:
    """Rewards and values over time, and the actions taken, or the path in the plane.

    The figure belongs to no window: show it in a notebook, or save it with ``savefig``.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidArgument(f"a plot needs {error.name}: {install('demo')}") from error
    steps = np.arange(1, len(episode.actions) + 1)
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(steps, episode.rewards, color="#a9c6dc", label="reward received")
    left.set(xlabel="step", ylabel="reward", title=f"total reward {sum(episode.rewards):.6g}")
    handles, labels = left.get_legend_handles_labels()
    if episode.plans:
        values = left.twinx()
        line = values.plot(steps, [p.value for p in episode.plans], color="#0b6e5f")
        values.set_ylabel("value of the plan")
        handles, labels = [*handles, *line], [*labels, "value of the plan"]
    left.legend(handles, labels, frameon=False, loc="best")
    model = None if episode.origin is None else episode.origin.model
    path = places_of(model, list(episode.states))
    if path is None and isinstance(episode.space, Tried):
        rows = coordinates(episode.actions).T[:MOST_NAMES]
        for place, row in enumerate(rows):
            named = episode.coordinate_names
            right.plot(steps, row, label=named[place] if named else f"[{place}]")
        right.legend(frameon=False, loc="best", fontsize=7)
        right.set(xlabel="step", ylabel="coordinates", title="actions taken")
    elif path is None:
        right.step(steps, episode.action_indices, where="mid", color="#b3541e")
        names = episode.action_names
        if len(names) <= MOST_NAMES:
            right.set_yticks(range(len(names)), names)
        right.set(xlabel="step", ylabel="action", title="actions taken")
    else:
        draw_map(right, landmarks_of(model))
        right.plot(*zip(*path, strict=True), color="#1c2733", marker=".", markersize=3)
        right.plot(*path[0], "o", color="#0b6e5f")
        right.set(xlabel="x", ylabel="y", title="the path taken", aspect="equal")
    return figure


def draw_map(axes: Any, marks: list[tuple[float, float, float, str]]) -> None:
    """Draw circles."""
    from matplotlib.patches import Circle

    for x, y, radius, name in marks:
        axes.add_patch(Circle((x, y), radius, color="#c3ccd4"))
        axes.annotate(name, (x, y), ha="center", va="center", fontsize=7, color="#5d6b7a")
