"""A real Dask cluster of two worker processes, of which one is killed on the way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from test_experiments import table, wait_for_rows

import platypoos as pp


@pytest.fixture
def cluster():
    """A scheduler and two workers in processes of their own; gives the address and the workers."""
    options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    address = ""
    while not address:
        line = scheduler.stderr.readline()
        assert line, "the scheduler did not start"
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", line)
        address = found.group(1) if found else ""
    workers = [
        subprocess.Popen(
            [
                sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny",
                "--nthreads", "1", "--no-dashboard",
            ],
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]  # fmt: skip
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()
    scheduler.stderr.close()


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(cluster, tmp_path):
    address, workers = cluster
    arguments = [
        "compare", "--problem", "switch-chain:noise=10", "--planner", "platypoos",
        "olop:reward_max=130,noise=10", "--budget", "2000", "5000", "--seeds", "60", "--quiet",
    ]  # fmt: skip
    command = [sys.executable, "-m", "platypoos.cli.main", *arguments]
    out = tmp_path / "cluster"
    process = subprocess.Popen(
        [*command, "--out", str(out), "--cluster", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_rows(out, 30, process)
    assert process.poll() is None, "it was done before a worker could be killed"
    os.kill(workers[0].pid, signal.SIGKILL)
    printed, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert "240 cells done" in printed
    assert workers[1].poll() is None
    local = subprocess.run(
        [*command, "--out", str(tmp_path / "local")], check=True, capture_output=True, text=True
    )
    assert "240 cells done" in local.stdout
    whole = table(tmp_path / "local")
    assert len(whole) == 240
    assert table(out) == whole


def slow(state, action, rng):
    return (state * 2 + action) % 1009, float(state % 13) + rng.normal(), False


def test_a_cluster_is_an_executor(cluster):
    """The workers build the model themselves: what they cannot import is sent by value."""
    import cloudpickle
    from distributed import Client

    address, _ = cluster
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    model = pp.FunctionModel(slow, actions=3, initial_state=1)
    alone = pp.plan(model, budget=300, discount=0.9, seed=0)
    with Client(address) as client:
        plan = pp.plan(
            model, budget=300, discount=0.9, seed=0, executor=client.get_executor(), timeout=60
        )
    assert (plan.actions, plan.value, plan.calls) == (alone.actions, alone.value, 300)
