"""What a simulator is, and how to get one from what you have."""

from typing import TYPE_CHECKING

__all__ = [
    "Access",
    "ArrayModel",
    "FunctionModel",
    "GymnasiumModel",
    "JaxModel",
    "Model",
    "NoisyReward",
    "RepeatedAction",
    "Reward",
    "ScaledReward",
    "ShapedReward",
    "Transition",
    "register_family",
    "sparse_actions",
]

if TYPE_CHECKING:
    from platypoos.models.array import ArrayModel
    from platypoos.models.base import Access, Model, Reward, Transition
    from platypoos.models.function import FunctionModel
    from platypoos.models.gymnasium.actions import sparse_actions
    from platypoos.models.gymnasium.model import GymnasiumModel
    from platypoos.models.gymnasium.registry import register_family
    from platypoos.models.jax import JaxModel
    from platypoos.models.wrappers import NoisyReward, RepeatedAction, ScaledReward, ShapedReward
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.models.array": "ArrayModel",
            "platypoos.models.base": "Access Model Reward Transition",
            "platypoos.models.function": "FunctionModel",
            "platypoos.models.gymnasium.actions": "sparse_actions",
            "platypoos.models.gymnasium.model": "GymnasiumModel",
            "platypoos.models.gymnasium.registry": "register_family",
            "platypoos.models.jax": "JaxModel",
            "platypoos.models.wrappers": "NoisyReward RepeatedAction ScaledReward ShapedReward",
        },
    )
