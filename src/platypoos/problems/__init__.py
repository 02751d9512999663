"""Small models to learn with; most have a known answer. Further ones are in ``lab.problems``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from platypoos.lazy import lazy_names

__all__ = [
    "Battery",
    "Garnet",
    "Grid",
    "JobShop",
    "Problem",
    "SwitchChain",
    "Tabular",
    "available",
    "simple_regret",
]

if TYPE_CHECKING:
    from platypoos.problems.base import Problem, simple_regret
    from platypoos.problems.finite import Battery, Garnet, Grid
    from platypoos.problems.job_shop import JobShop
    from platypoos.problems.switch_chain import SwitchChain
    from platypoos.problems.tabular import Tabular
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.problems.base": "Problem simple_regret",
            "platypoos.problems.finite": "Battery Garnet Grid",
            "platypoos.problems.job_shop": "JobShop",
            "platypoos.problems.switch_chain": "SwitchChain",
            "platypoos.problems.tabular": "Tabular",
        },
    )


def available() -> dict[str, type[Any]]:
    """The problems by their names on the command line.

    >>> list(available())
    ['switch-chain', 'garnet', 'grid', 'battery', 'job-shop']
    """
    here = sys.modules[__name__]
    names = {
        "switch-chain": "SwitchChain",
        "garnet": "Garnet",
        "grid": "Grid",
        "battery": "Battery",
        "job-shop": "JobShop",
    }
    return {name: getattr(here, kind) for name, kind in names.items()}
