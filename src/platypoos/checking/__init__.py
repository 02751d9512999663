"""Is this model safe to plan with? Checks before a plan, and what plans watch for.

``model.py`` has ``check_model``, for any model; ``simulator.py`` has ``check_simulator``, for
Gymnasium environments; ``watch.py`` looks at the calls of a plan; ``hidden.py`` at the second plan
of an episode.
"""
