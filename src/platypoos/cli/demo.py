"""The main job on embedded defaults: the paper's problem, and two Gymnasium environments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from platypoos.api import control, plan
from platypoos.errors import PlatypoosError
from platypoos.explain.verdict import lead_of
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.planners import PlaTyPOOS
from platypoos.problems import SwitchChain, simple_regret
from platypoos.results import Episode, Plan
from platypoos.trees.tree import OPENED
from platypoos.version import install

CARTPOLE_STEPS, CARTPOLE_REPEAT, CARTPOLE_BUDGET, CARTPOLE_DISCOUNT = 500, 4, 1_000, 0.9
PENDULUM_STEPS, PENDULUM_BUDGET = 100, 300


def run(out: Path) -> None:
    """Plan on all problems, print the decisions and why, save a picture and films to ``out``."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise PlatypoosError(
            f"the demo needs {error.name}; install it with: {install('demo')}"
        ) from error
    mpl.use("Agg")
    out.mkdir(parents=True, exist_ok=True)

    problem = SwitchChain(noise=10.0)
    print("The paper's problem: stay (reward 0 now, growing) or switch (reward 2 now)?")
    print("Rewards are shifted by 100 and have noise of ±10; the planner knows neither.\n")
    found = plan(problem, planner=PlaTyPOOS(0.95), budget=10_000, seed=0)
    stay, switch = found.action_values
    names = ("stay", "switch")
    print(f"decision: {names[found.action_index]}, after {found.calls} calls")
    print(f"why: the best sequence seen that starts with stay is worth {stay:.0f}, with switch")
    print(f"{switch:.0f}; the search went {found.depth} steps ahead")
    right = int(problem.action_values(problem.initial_state, 0.95).argmax())
    print(f"known answer: {names[right]}; simple regret {simple_regret(problem, found):g}\n")
    why = out / "why.html"
    found.explain(why)

    print(
        f"CartPole-v1: {CARTPOLE_STEPS} steps, in decisions that last {CARTPOLE_REPEAT}; "
        f"{CARTPOLE_BUDGET} calls of the simulator for each."
    )
    model = GymnasiumModel("CartPole-v1", seed=0, repeat=CARTPOLE_REPEAT)
    first = plan(model, budget=CARTPOLE_BUDGET, discount=CARTPOLE_DISCOUNT, seed=0)
    print(
        f"decision at the start: push {('left', 'right')[first.action]}; looking {first.depth} "
        f"decisions ahead, worth {first.value:.2f}, {lead_of(first)}"
    )
    decisions = CARTPOLE_STEPS // CARTPOLE_REPEAT

    film = out / "cartpole.gif"
    episode = control(
        model,
        budget=CARTPOLE_BUDGET,
        steps=decisions,
        discount=CARTPOLE_DISCOUNT,
        seed=0,
        render=film,
        on_step=_progress(decisions),
    )
    kept = int(sum(episode.rewards)) - episode.terminated
    print(f"the pole was up for {kept} of {CARTPOLE_STEPS} steps ({episode.calls} calls)")
    at_random = _random_steps(GymnasiumModel("CartPole-v1", seed=0))
    print(f"with random actions it falls after {at_random}\n")

    swung = _swing_up(out / "pendulum.gif")
    picture = out / "demo.png"
    _draw(found, episode, at_random, picture)
    played = episode.explain(out / "cartpole.html")
    print(f"picture: {picture}\nfilms: {film} and {swung}")
    print(f"why, as pages to open in a browser: {why} and {played}")


def _swing_up(film: Path) -> Path:
    """Plan with a torque that can be any number in a range."""
    print(
        f"Pendulum-v1: any torque from -2 to 2, too weak to lift it. {PENDULUM_BUDGET} calls each."
    )
    model = GymnasiumModel("Pendulum-v1", seed=0)
    print(plan(model, budget=PENDULUM_BUDGET, seed=0), end="\n\n")
    episode = control(
        model,
        budget=PENDULUM_BUDGET,
        steps=PENDULUM_STEPS,
        seed=0,
        render=film,
        on_step=_progress(PENDULUM_STEPS),
    )
    upright = next((t for t, reward in enumerate(episode.rewards) if reward > -0.1), None)
    when = "never" if upright is None else f"after {upright} steps"
    print(f"upright {when}; rewards of {sum(episode.rewards):.0f} in all, 0 at best\n")
    return film


def _progress(decisions: int) -> Callable[[int, Plan, float], None]:
    """Count the decisions, where somebody looks."""

    def show(step: int, _: Plan, __: float) -> None:
        if sys.stderr.isatty():
            end = "\n" if step + 1 == decisions else ""
            print(f"\rdecision {step + 1} of {decisions}", end=end, file=sys.stderr)

    return show


def _random_steps(model: GymnasiumModel) -> int:
    rng = np.random.default_rng(0)
    state, steps, terminated = model.initial_state, 0, False
    while not terminated:
        state, _, terminated = model.step(state, int(rng.integers(2)), rng)
        steps += 1
    return steps


def _draw(found: Plan, episode: Episode, at_random: int, picture: Path) -> None:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    tree, size = found.tree, found.tree.num_nodes
    depth, pulls = tree.depth[1:size], tree.pulls[1:size]
    best = set()
    node = found.node
    while node > 0:
        best.add(node)
        node = int(tree.parent[node])
    on_best = np.isin(np.arange(1, size), list(best))
    opened = tree.flags[1:size] & OPENED != 0
    for mask, color, label in (
        (~on_best & ~opened, "0.75", "evaluated"),
        (~on_best & opened, "tab:blue", "opened"),
        (on_best, "tab:orange", "recommended sequence"),
    ):
        left.scatter(
            depth[mask], tree.reward[1:size][mask], 6 + 6 * np.sqrt(pulls[mask]), color, label=label
        )
    left.set(
        xlabel="depth",
        ylabel="mean reward seen",
        title=f"The paper's problem, noise ±10: {found.calls} calls\n(size: number of evaluations)",
    )
    left.legend(frameon=False, loc="upper left")

    angles = np.degrees([state[2] for state in episode.states])
    right.plot(
        CARTPOLE_REPEAT * np.arange(len(angles)), angles, color="tab:orange", label="Platypus"
    )
    for bound in (-12, 12):
        right.axhline(bound, color="0.6", linestyle="--", linewidth=1)
    right.axvline(at_random, color="tab:blue", linewidth=1, label="random actions fall here")
    right.set(xlabel="step", ylabel="angle of the pole (degrees)", title="CartPole-v1, planned")
    right.set_ylim(-16, 24)
    right.legend(frameon=False, loc="upper right")
    figure.savefig(picture, dpi=150)
    plt.close(figure)
