"""The paper's theory, computable: how hard a problem is, and what a planner promises on it."""

from platypoos.lab.theory.bounds import Bound, bound
from platypoos.lab.theory.hardness import (
    Hardness,
    constant_for,
    hardness,
    kappa_for,
    known_hardness,
)

__all__ = ["Bound", "Hardness", "bound", "constant_for", "hardness", "kappa_for", "known_hardness"]
