"""Plan with a simulator and a limited number of calls to it.

>>> import platypoos as pp
>>> model = pp.problems.SwitchChain(noise=1.0)
>>> pp.plan(model, budget=1_000, discount=0.95, seed=0).action
0
"""

from typing import TYPE_CHECKING

from platypoos.version import __version__ as __version__

__all__ = [
    "Access",
    "Agent",
    "ArrayModel",
    "Box",
    "CompiledModel",
    "Discrete",
    "Episode",
    "FunctionModel",
    "GymnasiumModel",
    "InvalidArgument",
    "JaxModel",
    "Model",
    "ModelError",
    "MultiDiscrete",
    "PlaTyPOOS",
    "Plan",
    "PlatypoosError",
    "Platypus",
    "Reward",
    "advise",
    "check_model",
    "check_simulator",
    "control",
    "errors",
    "models",
    "plan",
    "planners",
    "problems",
]

if TYPE_CHECKING:
    from platypoos import advising as advising
    from platypoos import checking as checking
    from platypoos import errors, models, planners, problems
    from platypoos import explain as explain
    from platypoos import lab as lab
    from platypoos.advising.advise import advise
    from platypoos.api import Agent, control, plan
    from platypoos.checking.model import check_model
    from platypoos.checking.simulator import check_simulator
    from platypoos.compiled.model import CompiledModel
    from platypoos.episode import Episode
    from platypoos.errors import InvalidArgument, ModelError, PlatypoosError
    from platypoos.models.array import ArrayModel
    from platypoos.models.base import Access, Model, Reward
    from platypoos.models.function import FunctionModel
    from platypoos.models.gymnasium.model import GymnasiumModel
    from platypoos.models.jax import JaxModel
    from platypoos.planners.platypoos import PlaTyPOOS
    from platypoos.planners.platypus.planner import Platypus
    from platypoos.results import Plan
    from platypoos.spaces import Box, Discrete, MultiDiscrete
else:  # with the first use of a name: nothing is imported that is not used
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.advising.advise": "advise",
            "platypoos.api": "Agent control plan",
            "platypoos.checking.model": "check_model",
            "platypoos.checking.simulator": "check_simulator",
            "platypoos.compiled.model": "CompiledModel",
            "platypoos.episode": "Episode",
            "platypoos.errors": "InvalidArgument ModelError PlatypoosError",
            "platypoos.models.array": "ArrayModel",
            "platypoos.models.base": "Access Model Reward",
            "platypoos.models.function": "FunctionModel",
            "platypoos.models.gymnasium.model": "GymnasiumModel",
            "platypoos.models.jax": "JaxModel",
            "platypoos.planners.platypoos": "PlaTyPOOS",
            "platypoos.planners.platypus.planner": "Platypus",
            "platypoos.results": "Plan",
            "platypoos.spaces": "Box Discrete MultiDiscrete",
        },
        modules=[
            "platypoos.advising",
            "platypoos.checking",
            "platypoos.errors",
            "platypoos.explain",
            "platypoos.lab",
            "platypoos.models",
            "platypoos.planners",
            "platypoos.problems",
        ],
    )
