"""A film of an episode in the plane, with what each plan looked ahead to."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platypoos.errors import InvalidArgument
from platypoos.explain.figure import draw_map
from platypoos.explain.pictures import landmarks_of, places_of
from platypoos.explain.sequences import lines_of
from platypoos.version import install
from platypoos.video import Film

if TYPE_CHECKING:
    from platypoos.episode import Episode

BEST, RIVAL, WAY = "#0b6e5f", "#b3541e", "#1c2733"


def write_film(episode: Episode, path: str | Path, frames_per_second: float) -> Path:
    """See ``Episode.film``."""
    model = None if episode.origin is None else episode.origin.model
    way = places_of(model, list(episode.states))
    if way is None or not episode.plans:
        raise InvalidArgument(
            "a film of what was looked ahead to needs a model with position(state) -> (x, y) and "
            "an episode with its plans; control(render=...) films models that have render(state)"
        )
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidArgument(f"it needs {error.name}: {install('demo')}") from error
    ahead = [_look_ahead(model, plan) for plan in episode.plans]
    marks = landmarks_of(model)
    everywhere = [*way]
    everywhere += [(x + s * r, y + s * r) for x, y, r, _ in marks for s in (-1, 1)]
    low, high = np.min(everywhere, axis=0), np.max(everywhere, axis=0)
    pad = 0.12 * float((high - low).max()) or 1.0
    figure = Figure(figsize=(5, 5), dpi=80)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.07, 0.06, 0.9, 0.88))
    axes.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), aspect="equal")
    draw_map(axes, marks)
    rival, best, gone = (
        axes.plot([], [], style, color=color, linewidth=width)[0]
        for style, color, width in (("--", RIVAL, 1.2), ("--", BEST, 1.8), ("-", WAY, 2.0))
    )
    (here,) = axes.plot([], [], "o", color=WAY, markersize=7)
    film = Film(path, frames_per_second)
    try:
        for t in range(len(way)):
            shown = [*(ahead[t] if t < len(ahead) else []), [], []]
            for line, places in zip((best, rival), shown, strict=False):
                line.set_data([x for x, _ in places], [y for _, y in places])
            gone.set_data([x for x, _ in way[: t + 1]], [y for _, y in way[: t + 1]])
            here.set_data([way[t][0]], [way[t][1]])
            axes.set_title(f"step {t} of {len(way) - 1}", fontsize=10)
            canvas.draw()
            film.add(np.asarray(canvas.buffer_rgba())[:, :, :3])
    finally:
        film.close()
    return Path(path)


def _look_ahead(model: Any, plan: Any) -> list[list[tuple[float, float]]]:
    """The places of the recommended sequence and of its rival, as far as states were kept."""
    lines = lines_of(plan)
    others = [
        line for a, line in lines.items() if a != plan.action_index and not math.isnan(line.value)
    ]
    shown = [lines[plan.action_index], *sorted(others, key=lambda line: -line.value)[:1]]
    places = [
        places_of(model, [line.start, *(step.state for step in line.steps)]) for line in shown
    ]
    return [line for line in places if line]
