"""Plan with a simulator and a limited number of calls to it.

>>> import platypoos as pp
>>> model = pp.problems.SwitchChain(noise=1.0)
>>> pp.plan(model, budget=1_000, discount=0.95, seed=0).action
0
"""

from platypoos import problems, schedules
from platypoos.control import Episode, control, plan
from platypoos.errors import (
    BudgetExceeded,
    DynamicsError,
    InvalidArgument,
    ModelError,
    PlatypoosError,
    RewardError,
    TransitionError,
)
from platypoos.models.array import ArrayModel
from platypoos.models.base import Access, Model, Transition
from platypoos.models.check import ModelReport, check_model
from platypoos.models.compiled import CompiledModel
from platypoos.models.function import FunctionModel
from platypoos.plan import Plan
from platypoos.planners.base import Planner
from platypoos.planners.platypoos import PlaTyPOOS
from platypoos.planners.sequool import SequOOL
from platypoos.planners.stroquool import StroquOOL
from platypoos.planners.uniform import Uniform
from platypoos.problems import simple_regret
from platypoos.tree import Tree

__version__ = "0.1.0"

__all__ = [
    "Access",
    "ArrayModel",
    "BudgetExceeded",
    "CompiledModel",
    "DynamicsError",
    "Episode",
    "FunctionModel",
    "InvalidArgument",
    "Model",
    "ModelError",
    "ModelReport",
    "PlaTyPOOS",
    "Plan",
    "Planner",
    "PlatypoosError",
    "RewardError",
    "SequOOL",
    "StroquOOL",
    "Transition",
    "TransitionError",
    "Tree",
    "Uniform",
    "check_model",
    "control",
    "plan",
    "problems",
    "schedules",
    "simple_regret",
]
