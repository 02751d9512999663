"""What planners say of the workers that they keep busy."""

from __future__ import annotations

import threading
import time
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
        assert Crowd.most >= 6
