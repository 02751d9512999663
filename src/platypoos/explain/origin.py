"""How to make a plan or an episode again."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from platypoos.results import Plan

OURS = ("platypoos.planners", "platypoos.problems", "platypoos.lab.problems")
"""Packages whose objects are shown as the code that makes them."""
AT_THE_TOP = ("PlaTyPOOS", "Platypus")
"""Planners that are also in ``platypoos`` itself."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Who made a plan, and from what. The model is left out when it is pickled."""

    model: Any
    planner: Any
    seed: Any
    access: str
    deadline: float | None = None
    model_text: str | None = None

    @property
    def model_name(self) -> str:
        """What to call the model."""
        name = getattr(self.model, "name", None)
        if isinstance(name, str) and name:
            return name
        function = getattr(getattr(self.model, "step", None), "__name__", "step")
        if type(self.model).__name__ == "FunctionModel" and function not in {"step", "<lambda>"}:
            return str(function)
        return self.model_code.split("(", 1)[0].removeprefix("pp.").removeprefix("problems.")

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the model calls its actions, or the problem that it is a form of; else nothing."""
        for owner in (self.model, getattr(self.model, "problem", None)):
            names = getattr(owner, "action_names", None)
            if names is not None:
                return tuple(str(name) for name in names)
        return ()

    @property
    def planner_name(self) -> str:
        """The planner's class."""
        return self.planner if isinstance(self.planner, str) else type(self.planner).__name__

    @property
    def model_code(self) -> str:
        """Python code that makes the model, or the name of its class if there is none."""
        if self.model_text is not None:
            return self.model_text
        return code_for(self.model)

    def without_model(self) -> Origin:
        """The same, to be stored."""
        return Origin(None, self.planner, self.seed, self.access, self.deadline, self.model_code)

    def __getstate__(self) -> dict[str, Any]:
        seed = self.seed if isinstance(self.seed, int | None) else str(type(self.seed).__name__)
        return vars(self) | {"model": None, "model_text": self.model_code, "seed": seed}


def code_for(thing: Any) -> str:
    """Code that makes a model or a planner, if its ``repr`` is code; else the name of its class."""
    kind = type(thing)
    inner = getattr(thing, "problem", None)
    if inner is not None and kind.__name__ in {"CompiledModel", "ArrayModel"}:
        return f"{code_for(inner)}.{'compiled' if kind.__name__ == 'CompiledModel' else 'array'}()"
    ours = kind.__module__.startswith(OURS)
    if is_dataclass(thing) and ours:
        shown = [
            f"{f.name}={getattr(thing, f.name)!r}"
            for f in fields(thing)
            if f.init and not _is_default(f, getattr(thing, f.name))
        ]
        return f"{public_name(kind)}({', '.join(shown)})"
    text = repr(thing)
    if ours and text.startswith(f"{kind.__name__}("):
        return text.replace(kind.__name__, public_name(kind), 1)
    if kind.__name__ == "GymnasiumModel":
        return _gymnasium_code(thing)
    return kind.__name__


def public_name(kind: type[Any]) -> str:
    """What to write for a planner or a problem after ``import platypoos as pp``."""
    room = next((room for room in OURS if kind.__module__.startswith(room)), "platypoos")
    if kind.__name__ in AT_THE_TOP:
        room = "platypoos"
    return f"{room.replace('platypoos', 'pp', 1)}.{kind.__name__}"


def _is_default(entry: Any, value: Any) -> bool:
    try:
        return entry.name != "discount" and bool(entry.default == value)
    except ValueError:  # arrays
        return False


def _gymnasium_code(model: Any) -> str:
    """What a Gymnasium model was made with, as far as it can be told."""
    settings = []
    seed = getattr(model, "seed", 0)
    if seed:
        settings.append(f"seed={seed}")
    actions = getattr(model, "asked_actions", None)
    if isinstance(actions, int | str):
        settings.append(f"actions={actions!r}")
    elif actions is not None:
        settings.append("actions=...")
    repeat = getattr(model, "repeat", 1)
    if repeat != 1:
        settings.append(f"repeat={repeat}")
    recipe = getattr(model, "_recipe", None)
    if isinstance(recipe, tuple) and len(recipe) == 2 and isinstance(recipe[1], dict):
        settings += [f"{key}={value!r}" for key, value in recipe[1].items()]
    return f"pp.GymnasiumModel({', '.join([repr(model.name), *settings])})"


def seed_code(seed: Any) -> tuple[str, str]:
    """The seed as an argument, and a remark if it cannot be repeated."""
    if seed is None:
        return "None", "  # made without a seed: another run may differ"
    if isinstance(seed, int | np.integer):
        return str(int(seed)), ""
    return "...", "  # the seed was a generator: pass the same one, in the same state"


def barred_in(plan: Plan) -> set[int]:
    """First actions that the model does not allow; none if that is not known any more."""
    from platypoos.models.advice import Advisor

    model = None if plan.origin is None else plan.origin.model
    if model is None or getattr(model, "is_yours", False):  # to ask could move the environment
        return set()
    try:
        advisor = Advisor(model)
        mask = advisor.mask(plan.state) if advisor.masked else np.ones(plan.num_actions, bool)
    except Exception:  # noqa: BLE001  what a page leaves out is no reason for an error
        return set()
    return set(np.flatnonzero(~np.asarray(mask, bool)).tolist())


def code_of(plan: Plan) -> str:
    """Python code that makes a plan again."""
    origin = plan.origin
    if origin is None:
        return "# nothing is known of how this plan was made"
    model = origin.model_code
    lines = ["import platypoos as pp", ""]
    if "(" in model:
        lines.append(f"model = {model}")
    else:
        lines.append(f"model = ...  # your {model}")
    seed, remark = seed_code(origin.seed)
    arguments = ["model"]
    if origin.model is None or not _at_start(origin.model, plan.state):
        arguments.append("state")
        lines.append("state = ...  # the state that was planned for")
    if plan.budget is not None:
        arguments.append(f"budget={plan.budget}")
    if origin.deadline is not None:
        arguments.append(f"deadline={origin.deadline!r}")
    if plan.horizon is not None:
        arguments.append(f"horizon={plan.horizon}")
    if origin.access == "reset":
        arguments.append("access='reset'")
    arguments += [f"planner={code_for(origin.planner)}", f"seed={seed}"]
    lines.append(f"plan = pp.plan({', '.join(arguments)}){remark}")
    lines.append('plan.explain("why.html")')
    return "\n".join(lines)


def _at_start(model: Any, state: Any) -> bool:
    """Whether a state is where the model starts."""
    from platypoos.checks import same

    try:
        return state is model.initial_state or bool(same(state, model.initial_state))
    except Exception:  # noqa: BLE001  states may be anything
        return False
