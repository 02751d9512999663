"""Is this model safe to plan with? Checks before a plan, and what plans watch for.

``model.py`` has ``check_model``, for any model; ``simulator.py`` has ``check_simulator``, for
Gymnasium environments; ``watch.py`` looks at the calls of a plan; ``hidden.py`` at the second plan
of an episode.
"""

from typing import TYPE_CHECKING

__all__ = ["ModelReport", "SimulatorReport", "check_model", "check_simulator"]

if TYPE_CHECKING:
    from platypoos.checking.model import check_model
    from platypoos.checking.report import ModelReport, SimulatorReport
    from platypoos.checking.simulator import check_simulator
else:
    from platypoos.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "platypoos.checking.model": "check_model",
            "platypoos.checking.report": "ModelReport SimulatorReport",
            "platypoos.checking.simulator": "check_simulator",
        },
    )
