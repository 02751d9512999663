"""Slow simulators over an executor: the same plan, nothing lost, nothing counted twice."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import platypoos as pp
from platypoos.errors import WorkerError
from platypoos.models import NoisyReward
from platypoos.planners import (
    CEM,
    OLOP,
    OPD,
    SOO,
    UCT,
    Hindsight,
    OneStep,
    RandomShooting,
    SequOOL,
    SparseSampling,
    StroquOOL,
    Uniform,
)
from platypoos.simulator.pools import Pool

CALLS = Counter()
LOCK = threading.Lock()
FREE = threading.Event()


def noisy(state, action, rng):
    with LOCK:
        CALLS["all"] += 1
    reward = float((state * 7 + action) % 13) + rng.normal()
    rng.integers(10, dtype=np.uint32)  # leaves half of a draw behind
    return (state * 2 + action) % 1009, reward, state % 89 == 88


def raises(state, action, rng):
    result = noisy(state, action, rng)
    if state % 101 == 7 and action == 1:
        raise ValueError("seven")
    return result


def dies(state, action, rng):
    if state % 101 == 7:
        os._exit(3)
    return noisy(state, action, rng)


def dies_later(state, action, rng):
    if state == 382:  # eight times action 2: not in the first batch, which asks for four steps
        os._exit(3)
    return noisy(state, action, rng)


def hangs(state, action, rng):
    if state % 101 == 7:
        FREE.wait(20)
    return noisy(state, action, rng)


def infinite(state, action, rng):
    after, reward, ended = noisy(state, action, rng)
    return after, float("inf") if state % 101 == 7 else reward, ended


def for_workers(access):
    """A planner that makes all of its calls in workers; by RESET the default walks here."""
    return pp.Platypus(0.9) if access == "restore" else pp.PlaTyPOOS(0.9)


def model(function, **more):
    return pp.FunctionModel(function, actions=3, initial_state=1, **more)


@pytest.fixture(scope="module")
def pools():
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as one,
        ProcessPoolExecutor(2, mp_context=context) as two,
        ThreadPoolExecutor(3) as threads,
    ):
        yield {"one process": one, "two processes": two, "three threads": threads}


PLANNERS = [
    pp.PlaTyPOOS(0.9), SequOOL(0.9), StroquOOL(0.9), Uniform(0.9),
    Uniform(0.9, share=False), SOO(0.9), OPD(0.9, reward_max=13.0), OneStep(0.9),
    UCT(0.9, scale=10.0, horizon=6), OLOP(0.9, reward_max=13.0), SparseSampling(0.9),
    Hindsight(0.9), CEM(discount=0.9), RandomShooting(discount=0.9),
]  # fmt: skip


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("planner", PLANNERS, ids=lambda p: p.name)
def test_the_plan_is_the_same(pools, planner, access):
    alone = planner.plan(model(noisy), budget=700, seed=3, access=access)
    size = alone.tree.num_nodes
    for name, pool in pools.items():
        plan = planner.plan(model(noisy), budget=700, seed=3, access=access, executor=pool)
        assert (plan.actions, plan.calls, plan.value) == (alone.actions, alone.calls, alone.value)
        for column in ("reward", "pulls", "flags", "parent"):
            one, other = getattr(plan.tree, column), getattr(alone.tree, column)
            np.testing.assert_array_equal(one[:size], other[:size], err_msg=name)


def test_control_with_a_real_environment_is_the_same(pools):
    env = NoisyReward(pp.GymnasiumModel("Pendulum-v1", actions=3, repeat=2), 5.0)
    alone = pp.control(env, budget=150, steps=4, discount=0.9, seed=0)
    for pool in pools.values():
        episode = pp.control(env, budget=150, steps=4, discount=0.9, seed=0, executor=pool)
        assert episode.rewards == alone.rewards
        assert episode.actions == alone.actions


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_every_call_is_counted_once(pools, access):
    CALLS.clear()
    plan = pp.plan(
        model(noisy), budget=900, discount=0.9, seed=0, access=access,
        executor=pools["three threads"],
    )  # fmt: skip
    assert CALLS["all"] == plan.calls <= 900


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("function", [raises, infinite])
def test_a_failing_model_loses_nothing(pools, access, function):
    CALLS.clear()
    with pytest.raises(pp.ModelError, match=r"seven|inf") as caught:
        pp.plan(
            model(function), budget=2_000, planner=for_workers(access), seed=0, access=access,
            executor=pools["three threads"],
        )  # fmt: skip
    error = caught.value
    assert error.calls == CALLS["all"]
    assert error.state % 101 == 7
    assert "at state" in str(error)
    samples = int(error.tree.pulls[1 : error.tree.num_nodes].sum())
    failures = 10  # six chunks may fail, and a node's samples count up to its first failure
    assert error.calls - failures <= samples < error.calls
    assert "test_executor" in str(error.__cause__) or function is infinite


def test_the_traceback_of_a_worker_is_shown(pools):
    with pytest.raises(pp.ModelError, match="seven") as caught:
        pp.plan(model(raises), budget=2_000, discount=0.9, seed=0, executor=pools["two processes"])
    assert 'raise ValueError("seven")' in str(caught.value.__cause__)


@pytest.mark.parametrize("access", ["restore", "reset"])
def test_a_worker_that_dies(access):
    planner = for_workers(access)
    deadly = model(dies_later if access == "restore" else dies)
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
        pytest.raises(WorkerError, match=r"a worker was lost with .* Make a new") as caught,
    ):
        pp.plan(deadly, budget=2_000, planner=planner, seed=0, access=access, executor=pool)
    error = caught.value
    assert error.calls <= 2_000
    assert 0 < error.tree.pulls[1 : error.tree.num_nodes].sum() < error.calls
    # The same plan with a new pool goes on as if nothing had happened.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert pp.plan(model(noisy), budget=100, discount=0.9, seed=0, executor=pool).calls == 100


def test_a_worker_that_hangs():
    pool = ThreadPoolExecutor(2)
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"no answer within 0.5 s .* hangs") as caught:
        pp.plan(model(hangs), budget=2_000, discount=0.9, seed=0, executor=pool, timeout=0.5)
    assert time.monotonic() - start < 4
    assert caught.value.calls <= 2_000
    assert caught.value.tree.num_nodes > 1
    FREE.set()
    pool.shutdown(wait=True, cancel_futures=True)


def sleepy(state, action, rng):
    time.sleep(0.002)
    return noisy(state, action, rng)


def test_killed_workers_are_replaced_and_the_plan_is_the_same():
    # A worker is killed three times while a plan is made.
    alone = pp.plan(model(noisy), budget=400, planner=pp.PlaTyPOOS(0.9), seed=3)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        now = Pool.of(pool)
        killed = []

        def kill():
            while len(killed) < 3 and not done.wait(0.4):
                for process in list((now.executor._processes or {}).values())[:1]:
                    process.kill()
                    killed.append(process.pid)

        done = threading.Event()
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for _ in range(6):
                plan = pp.plan(
                    model(sleepy), budget=400, planner=pp.PlaTyPOOS(0.9), seed=3, executor=pool
                )
                assert (plan.actions, plan.calls, plan.value) == (
                    alone.actions, alone.calls, alone.value,
                )  # fmt: skip
        finally:
            done.set()
            killer.join()
        assert killed
        assert now.replaced


class HangsOnce:
    """Hangs where nobody has hung before, as the file says."""

    def __init__(self, file):
        self.file = file

    def __call__(self, state, action, rng):
        if state == 4 and not self.file.exists():
            self.file.touch()
            time.sleep(60)
        return noisy(state, action, rng)


def test_a_process_that_hangs_is_replaced(tmp_path):
    alone = pp.plan(model(noisy), budget=200, discount=0.9, seed=0)
    start = time.monotonic()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        hangs = model(HangsOnce(tmp_path / "hung"))
        plan = pp.plan(hangs, budget=200, discount=0.9, seed=0, executor=pool, timeout=15)
        assert Pool.of(pool).replaced == 1
    assert (tmp_path / "hung").exists()
    assert (plan.actions, plan.calls, plan.value) == (alone.actions, alone.calls, alone.value)
    assert time.monotonic() - start < 55


def test_a_plan_says_how_busy_its_workers_were(pools):
    plan = pp.plan(model(sleepy), budget=200, discount=0.9, executor=pools["three threads"])
    assert plan.workers.number == 3
    assert 0.1 < plan.workers.share <= 1.0
    assert 0 < plan.workers.batches <= plan.workers.requests <= 200
    assert f"3 workers, busy {100 * plan.workers.share:.0f} % of the time" in str(plan)
    assert plan.explain().as_dict()["workers"] == plan.workers._asdict()
    assert pp.plan(model(noisy), budget=20, discount=0.9).workers is None


def test_an_interruption_keeps_the_episode_and_cancels_the_rest():
    class Interrupting(ThreadPoolExecutor):
        requests = 0

        def submit(self, *args, **kwargs):
            self.requests += 1
            if self.requests == 600:
                raise KeyboardInterrupt
            return super().submit(*args, **kwargs)

    with Interrupting(2) as pool, pytest.raises(KeyboardInterrupt) as caught:
        pp.control(model(noisy), budget=100, discount=0.9, steps=50, seed=0, executor=pool)
    assert 0 < len(caught.value.episode.actions) < 50


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"executor": 3}, r"executor must have submit\(\).*got 3"),
        ({"executor": ThreadPoolExecutor(1), "timeout": 0}, "timeout"),
    ],
)
def test_bad_input(arguments, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.plan(model(noisy), budget=100, discount=0.9, **arguments)


def test_a_worker_makes_its_environment_once(pools):
    import pickle

    import gymnasium

    from platypoos.models.gymnasium.snapshots import pickled

    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=0)
    model = pp.GymnasiumModel(env, actions=3)
    before = pickled(model)
    pp.plan(model, budget=50, discount=0.9, seed=0)  # moves the environment
    assert pickled(model) == before
    twin = pickle.loads(before)
    assert (twin.method, twin.access) == (model.method, model.access)
    np.testing.assert_array_equal(twin.initial_state, model.initial_state)
    walker = pickle.loads(pickled(pp.GymnasiumModel("BipedalWalker-v3", actions=2)))
    assert (walker.method, type(walker.keeper).__name__) == ("replay", "Box2D")


def test_wrapped_environments_are_made_in_workers(pools):
    import gymnasium
    from gymnasium import wrappers

    env = wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda r: -2 * r)
    env.reset(seed=0)
    model = pp.GymnasiumModel(env)
    alone = pp.plan(model, budget=60, discount=0.9, seed=0)
    for pool in pools.values():
        plan = pp.plan(model, budget=60, discount=0.9, seed=0, executor=pool)
        assert (plan.actions, plan.value) == (alone.actions, alone.value)


class OnlyHere:
    def __reduce__(self):
        return _fail, ()

    def __call__(self, state, action, rng):
        return state, 0.0, False


def _fail():
    raise OSError("no licence on this machine")


def test_a_model_that_cannot_be_made_in_a_worker(pools):
    with pytest.raises(pp.ModelError, match=r"cannot be made in a worker .*no licence"):
        pp.plan(model(OnlyHere()), budget=60, discount=0.9, executor=pools["two processes"])


def test_models_that_need_or_can_take_no_executor():
    pool = ThreadPoolExecutor(1)
    with pytest.raises(pp.InvalidArgument, match="CompiledModel is planned with in whole batches"):
        pp.plan(pp.problems.SwitchChain().compiled(), budget=9, discount=0.9, executor=pool)
    lock = threading.Lock()
    unpicklable = pp.FunctionModel(lambda s, a, rng: (lock, 0.0, False), 2, 0)
    with pytest.raises(pp.InvalidArgument, match="cannot be sent to workers"):
        pp.plan(unpicklable, budget=9, discount=0.9, executor=pool)
