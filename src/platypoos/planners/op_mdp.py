"""OP-MDP: optimistic planning for Markov decision processes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from platypoos.checks import check_count
from platypoos.errors import InvalidArgument
from platypoos.models.base import Access
from platypoos.planners.closed_loop.op_mdp import Search, listed
from platypoos.planners.closed_loop.tree import ChanceTree
from platypoos.planners.opd import OPD
from platypoos.results import Plan
from platypoos.search.base import RangePlanner, Task


@dataclass(frozen=True, kw_only=True)
class OPMDP(RangePlanner):
    """Optimistic planning where the next state is random.

    Use it when the model can list its successors: ``successors(state, action)`` returns
    (probability, state, reward) triples, or with a fourth entry for whether the episode ends;
    ``max_successors`` says how many there are at most. Each counts as one call. States are only
    handed back to ``successors``: any access will do. It needs to know the range of the rewards,
    which may be too wide.

    Where a model with random dynamics lists nothing, probabilities are the frequencies in
    ``samples`` calls of each action. Then there is no guarantee: the bounds are those of a model
    that was made of a few samples. A model with deterministic dynamics that lists nothing is
    planned for by OPD, which does the same there.

    Reference: L. Buşoniu, R. Munos. Optimistic planning for Markov decision processes. AISTATS
    2012.

    Symbols: the bounds of a leaf's value are reward_min/(1−γ) and reward_max/(1−γ); both are
    backed up through expectations and maxima. Of the leaves of the optimistic subtree (follow
    the actions with the largest upper bound) the one with the largest P·γ^d is expanded.

    Deviations: from memory of the literature. It recommends the action with the largest lower
    bound, and stops early when the optimistic subtree has no leaf left to expand. A node is a
    history, as published. In the paper all probabilities are known.

    Args:
        discount: γ, in [0, 1).
        reward_max: the largest reward.
        reward_min: the smallest one.
        samples: calls of each action of a leaf, where nothing is listed; fewer if the budget does
            not allow so many for the first leaf. (8 was the best of 2, 3, 4, 6 and 8 on the
            problems of ``benchmarks/chance.py``, on average over 100, 300 and 1,000 calls.)

    >>> import platypoos as pp
    >>> planner = pp.planners.OPMDP(discount=0.95, reward_max=130.0)
    >>> planner.plan(pp.problems.SwitchChain(), budget=10_000, seed=0).action
    0
    """

    samples: int = 8

    name: ClassVar[str] = "op-mdp"
    workers: ClassVar[str] = "few"
    guarantee: ClassVar[str] = "regret bound with successors"
    citation: ClassVar[str] = (
        "Buşoniu, Munos. Optimistic planning for Markov decision processes. AISTATS 2012."
    )
    needs: ClassVar[str] = "reward range (may be too wide), transition probabilities, no noise"
    reacts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "samples", check_count("samples", self.samples))

    def check_access(self, model: Any, access: Access) -> Access:
        """How to use a model; what its successors list does not depend on it."""
        return access if hasattr(model, "successors") else super().check_access(model, access)

    def _plan(self, task: Task) -> Plan:
        if hasattr(task.model, "successors"):
            most = check_count("max_successors", getattr(task.model, "max_successors", None))
            widest = task.num_actions * most
            if task.budget < widest:
                raise InvalidArgument(
                    f"budget {task.budget} is below the {widest} successors of one state; pass a "
                    f"budget of at least {widest}"
                )
            tree = ChanceTree(task, by_state=False)
            search = Search(self, tree, partial(listed, tree, most), widest)
            note = ""
        elif task.has_chance:
            samples = min(self.samples, task.budget // task.num_actions)
            tree = ChanceTree(task, by_state=False)
            search = Search(
                self, tree, partial(tree.sample, times=samples), samples * task.num_actions
            )
            note = f"probabilities are frequencies in {samples} samples: bounds may be wrong"
        else:
            known = OPD(self.discount, reward_max=self.reward_max, reward_min=self.reward_min)
            return known._plan(task)  # noqa: SLF001  a planner like this one
        return tree.run(
            search.spend, lambda: tree.build(self, reward_floor=self.reward_min, note=note)
        )
