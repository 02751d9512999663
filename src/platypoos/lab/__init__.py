"""The laboratory: what compares planners and checks the theory. Planning itself needs none of it.

>>> from platypoos import lab
>>> lab.problems.Cliff().actions
Discrete(4)
"""

from typing import TYPE_CHECKING

__all__ = ["arena", "experiments", "problems", "theory"]

if TYPE_CHECKING:
    from platypoos.lab import arena, experiments, problems, theory
else:  # with the first use of a name: most need packages of the extra "experiments"
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, {}, [f"{__name__}.{name}" for name in __all__])
