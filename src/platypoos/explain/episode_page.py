"""An episode as one page with a slider over its steps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platypoos.explain.arrays import contents
from platypoos.explain.origin import code_for, seed_code
from platypoos.explain.page import checked_target
from platypoos.explain.pictures import Painter, landmarks_of, places_of
from platypoos.explain.sequences import Line, lines_of
from platypoos.explain.verdict import lead_of
from platypoos.markup import number, render, show_state
from platypoos.spaces import Tried

if TYPE_CHECKING:
    from platypoos.episode import Episode
    from platypoos.results import Plan

MOST_PICTURES, PICTURE_BYTES, PICTURE_WIDTH = 500, 3_000_000, 320
"""Pictures of a page, and what they may take together; with more steps some share a picture."""
AHEAD = 8
"""Steps of each plan's sequences that are shown; a map shows up to PATH."""
PATH = 80


def write_episode(episode: Episode, path: str | Path, command: str | None = None) -> Path:
    """Write the page."""
    target = checked_target(path, (".html",))
    target.write_text(episode_page(episode, command), encoding="utf-8")
    return target


def episode_page(episode: Episode, command: str | None = None) -> str:
    """The page as text."""
    origin = episode.origin
    model = None if origin is None else origin.model
    name = "An episode" if origin is None else origin.model_name
    facts = [
        "" if origin is None else origin.planner_name,
        f"{len(episode.actions)} steps",
        f"total reward {number(sum(episode.rewards))}",
        f"{episode.calls:,} calls of the model",
        f"discount {episode.discount:g}",
    ]
    if episode.coordinate_names:
        facts.append(contents(episode.coordinate_names))
    data = episode_data(episode, model)
    end = "The episode ended by itself."
    if not episode.terminated:
        end = "The episode could have gone on."
    text = (
        f"{len(episode.actions)} steps were taken, each one planned anew, for a total reward of "
        f"{number(sum(episode.rewards))}. {end} Move the slider to see each decision and what "
        "it was weighed against."
    )
    return render(
        "episode.html",
        name=name,
        text=text,
        facts_shown=facts,
        made_by=command or episode_code(episode),
        data=data,
    )


def episode_data(episode: Episode, model: Any) -> dict[str, Any]:
    """What the page's script draws."""
    steps = [
        _step(episode, t, episode.plans[t] if episode.plans else None)
        for t in range(len(episode.actions))
    ]
    pictures, frames = _pictures(episode, model)
    path = places_of(model, list(episode.states))
    data: dict[str, Any] = {
        "names": list(episode.action_names),
        "steps": steps,
        "pictures": pictures,
        "frames": frames,
    }
    if path is not None:
        data["path"] = [_rounded(place) for place in path]
        data["marks"] = landmarks_of(model)
        for row, found in zip(steps, episode.plans, strict=False):
            row["paths"] = [
                [
                    _rounded(place)
                    for place in places_of(
                        model, [line.start, *(step.state for step in line.steps[:PATH])]
                    )
                    or ()
                ]
                for line in _best_and_rival(found)
            ]
    return data


def _rounded(place: tuple[float, float]) -> list[float]:
    return [float(f"{x:.5g}") for x in place]


def _finite(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _best_and_rival(plan: Plan) -> list[Line]:
    lines = lines_of(plan)
    others = [
        line for a, line in lines.items() if a != plan.action_index and not math.isnan(line.value)
    ]
    return [lines[plan.action_index], *sorted(others, key=lambda line: -line.value)[:1]]


def _step(episode: Episode, t: int, plan: Plan | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "action": episode.action_indices[t],
        "reward": _finite(episode.rewards[t]),
        "calls": episode.step_calls[t],
        "state": show_state(episode.states[t]),
    }
    if plan is not None:
        if isinstance(plan.space, Tried):  # each plan has its own list of actions
            row["action"], row["names"] = plan.action_index, list(plan.action_names)
        row["value"] = _finite(plan.value)
        row["values"] = [_finite(value) for value in plan.action_values.tolist()]
        row["confidence"] = plan.confidence
        row["depth"] = plan.depth
        row["lead"] = lead_of(plan)
        row["ahead"] = [
            [
                [step.action, _finite(step.reward), show_state(step.state, 60)]
                if step.state is not None
                else [step.action, _finite(step.reward), ""]
                for step in line.steps[:AHEAD]
            ]
            for line in _best_and_rival(plan)
        ]
    return row


def _pictures(episode: Episode, model: Any) -> tuple[list[str], list[int]]:
    """Pictures of the states, and which one each step has; none if the model does not render."""
    painter = Painter(model)
    states = episode.states
    stride = -(-len(states) // MOST_PICTURES)
    pictures: list[str] = []
    with painter.at_work():
        first = painter(states[0], PICTURE_WIDTH)
        if first is None:
            return [], []
        stride = max(stride, -(-len(states) * len(first) // PICTURE_BYTES))
        for t in range(0, len(states), stride):
            drawn = painter(states[t], PICTURE_WIDTH)
            if drawn is None:
                break
            pictures.append(drawn)
    last = len(pictures) - 1
    return pictures, [min(t // stride, last) for t in range(len(states))]


def episode_code(episode: Episode) -> str:
    """Python code that makes an episode again."""
    origin = episode.origin
    if origin is None:
        return "# nothing is known of how this episode was made"
    code = origin.model_code
    model = code if "(" in code else f"...  # your {code}"
    seed, remark = seed_code(origin.seed)
    budgets = {plan.budget for plan in episode.plans}
    budget = budgets.pop() if len(budgets) == 1 else None
    arguments = ["model", code_for(origin.planner)]
    arguments += [] if budget is None else [f"budget={budget}"]
    arguments += [] if origin.deadline is None else [f"deadline={origin.deadline!r}"]
    arguments += [f"steps={len(episode.actions)}", f"seed={seed}"]
    return (
        f"import platypoos as pp\n\nmodel = {model}\n"
        f'episode = pp.control({", ".join(arguments)}){remark}\nepisode.explain("episode.html")'
    )
