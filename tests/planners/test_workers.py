"""What planners say of the workers that they keep busy."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import platypoos as pp
from platypoos.checks import required_fields
from platypoos.planners import available

TOLD = {"reward_max": 5.0, "horizon": 6, "noise": 1.0, "epsilon": 1.0, "delta": 0.1, "depth": 4}


class Crowd:
    """How many calls are under way at once, at most."""

    lock = threading.Lock()
    now = most = 0
    wanted = 1
    seen = threading.Event()
    """Set when as many as are wanted were under way at once."""


def step(state, action, rng):
    with Crowd.lock:
        Crowd.now += 1
        Crowd.most = max(Crowd.most, Crowd.now)
        if Crowd.most >= Crowd.wanted:
            Crowd.seen.set()
    Crowd.seen.wait(0.5)  # a busy machine may start the others late
    time.sleep(0.002)  # and so would more than are allowed
    with Crowd.lock:
        Crowd.now -= 1
    number = int(3 * float(action)) if isinstance(action, float) else int(action)
    return (3 * state + number + 1) % 1001, float((7 * state + 1) % 5), False


@pytest.mark.parametrize("name", [name for name in available() if name != "random"])
def test_planners_keep_as_many_workers_busy_as_they_say(name):
    kind = available()[name]
    told = {key: TOLD[key] for key in required_fields(kind) if key != "discount"}
    actions = 3 if kind.lists else pp.Box(-1.0, 1.0)
    model = pp.FunctionModel(step, actions, 0)
    Crowd.most, Crowd.wanted = 0, {"one": 1, "few": 2, "many": 6}[kind.workers]
    Crowd.seen.clear()
    with ThreadPoolExecutor(8) as executor:
        pp.plan(model, planner=kind(0.9, **told), budget=120, seed=0, executor=executor)
    if kind.workers == "one":
        assert Crowd.most == 1
    elif kind.workers == "few":
        assert 1 < Crowd.most <= 5  # three actions, and a walk or two
    else:
        assert Crowd.most > 5


CALLS = Counter()


def noisy(state, action, rng):
    with Crowd.lock:
        CALLS["all"] += 1
    number = int(3 * float(action)) if isinstance(action, float) else int(action)
    rng.integers(10, dtype="u4")  # leaves half of a draw behind
    reward = float((7 * state + number) % 5) + rng.normal()
    return (3 * state + number + 1) % 1001, reward, state % 97 == 96


def odd(state):
    return [0, 2] if state % 2 else [0, 1, 2]


LISTS = [
    pp.planners.CEM(discount=0.9),
    pp.planners.RandomShooting(discount=0.9),
    pp.PlaTyPOOS(0.9),
    pp.planners.SequOOL(0.9),
    pp.planners.StroquOOL(0.9),
    pp.planners.Uniform(0.9),
    pp.planners.Uniform(0.9, share=False),
]
BOXES = [
    pp.planners.CEM(discount=0.9),
    pp.planners.RandomShooting(discount=0.9),
    pp.planners.MPPI(discount=0.9),
    pp.planners.PredictiveSampling(discount=0.9),
]
MODELS = {
    "list": pp.FunctionModel(noisy, 3, 1),
    "masked": pp.FunctionModel(noisy, 3, 1, legal=odd),
    "rule": pp.FunctionModel(noisy, 3, 1, policy=lambda state: [0.5, 0.3, 0.2]),
    "box": pp.FunctionModel(noisy, pp.Box(-1.0, 1.0), 1),
}
CASES = [
    *((planner, kind) for planner in LISTS for kind in ("list", "masked", "rule")),
    *((planner, "box") for planner in BOXES),
]


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize(("planner", "kind"), CASES, ids=lambda case: getattr(case, "name", case))
def test_workers_change_nothing_but_the_time(planner, kind, access):
    plans = []
    for number in (0, 1, 3):
        CALLS.clear()
        with ThreadPoolExecutor(max(1, number)) as pool:
            plan = planner.plan(
                MODELS[kind], budget=400, seed=2, access=access, executor=pool if number else None
            )
        assert plan.calls == CALLS["all"] <= 400
        size = plan.tree.num_nodes
        plans.append((plan.actions, plan.value, plan.calls, plan.tree.reward[1:size].tolist()))
    assert plans[0] == plans[1] == plans[2]


def without_end(state, action, rng):
    return *noisy(state, action, rng)[:2], False


ENDLESS = {
    "list": pp.FunctionModel(without_end, 3, 1),
    "box": pp.FunctionModel(without_end, pp.Box(-1.0, 1.0), 1),
}


def batches(planner, kind, budget=600):
    with ThreadPoolExecutor(3) as pool:
        return planner.plan(ENDLESS[kind], budget=budget, seed=0, executor=pool).workers


@pytest.mark.parametrize("planner", BOXES[1:], ids=lambda planner: planner.name)
def test_samplers_without_iterations_ask_once(planner):
    assert batches(planner, "box").batches == 1


def test_an_iteration_is_a_batch():
    busy = batches(pp.planners.CEM(discount=0.9, iterations=4), "box")
    assert busy.batches == 4
    # In a list, the steps that sequences have in common come first, each of them in a batch.
    busy = batches(pp.planners.CEM(discount=0.9, population=10, elites=3, length=20), "list")
    assert busy.requests > 3 * busy.batches
    assert busy.batches < 600 / 20
    assert (
        batches(pp.planners.RandomShooting(discount=0.9, length=20), "list").batches < 600 / 20 / 2
    )


@pytest.mark.parametrize("planner", LISTS[2:6], ids=lambda planner: planner.name)
def test_a_layer_is_a_batch(planner):
    schedule = planner.schedule(600, 3)
    candidates = schedule.p_max + 1
    compared = 3  # batches that begin with a few calls, whose results are compared
    assert batches(planner, "list").batches <= len(schedule.layers) + candidates + compared


def fails_late(state, action, rng):
    result = noisy(state, action, rng)
    if state == 500:
        raise ValueError("five hundred")
    return result


@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("planner", LISTS[:2], ids=lambda planner: planner.name)
def test_what_was_walked_before_a_failure_is_kept(planner, workers):
    CALLS.clear()
    with (
        ThreadPoolExecutor(3) as pool,
        pytest.raises(pp.ModelError, match="five hundred") as failed,
    ):
        planner.plan(
            pp.FunctionModel(fails_late, 3, 1), budget=20_000, seed=0,
            executor=pool if workers else None,
        )  # fmt: skip
    error = failed.value
    assert error.calls == CALLS["all"]
    samples = int(error.tree.pulls[1 : error.tree.num_nodes].sum())
    assert error.calls - 3 <= samples < error.calls  # others may have failed at the same time


def slowly(state, action, rng):
    time.sleep(0.005)
    return without_end(state, action, rng)


def test_with_a_deadline_a_batch_is_not_larger_than_what_fits():
    model = pp.FunctionModel(slowly, pp.Box(-1.0, 1.0), 1)
    planner = pp.planners.MPPI(discount=0.9, length=29)
    with ThreadPoolExecutor(8) as pool:
        plan = planner.plan(model, budget=None, deadline=0.5, seed=0, executor=pool)
    assert plan.workers.requests <= 12 * plan.workers.batches
