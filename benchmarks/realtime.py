"""Does an agent keep its deadlines? Writes docs/results/realtime.md (six minutes).

    python benchmarks/realtime.py

An agent with a deadline of 20 ms plans 3,000 steps on the paper's problem (noise ±10), with a
Python model and with a compiled one (after ``agent.warm_up()``), each in a new process: cold (no
machine code on this machine) and warm. Then 100 actions with a simulator that takes 5 ms a
call, and the time to the first plan in machine code with a new kernel. Run it on a machine that
does nothing else, and on a busy one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "realtime.md"
DEADLINE, STEPS = 0.02, 3_000


def drive(kind: str, *, warms_up: bool = False) -> dict[str, Any]:
    """Plan step after step; how late each plan was."""
    imported = time.perf_counter()
    import numpy as np

    import platypoos as pp

    began = time.perf_counter()
    chain = pp.problems.SwitchChain(noise=10.0)
    agent = pp.Agent(chain.compiled() if kind == "compiled" else chain, deadline=DEADLINE, seed=0)
    if warms_up:
        agent.warm_up()
    rng = np.random.default_rng(0)
    state = chain.initial_state
    late, calls = [], []
    first = 0.0
    for step in range(STEPS):
        start = time.perf_counter()
        agent.act(np.array(state, float) if kind == "compiled" else state)
        plan = agent.plan
        now = time.perf_counter()
        late.append(now - start - DEADLINE)
        calls.append(plan.calls)
        first = now - began if step == 0 else first
        state, reward, _ = chain.step(state, plan.action, rng)
        agent.observe(reward)
    ms = 1e3 * np.array(late)
    return {
        "import": began - imported,
        "first": first,
        "worst": float(ms.max()),
        "over_2_ms": int((ms > 2.0).sum()),
        "over_2_ms_later": int((ms[STEPS // 2 :] > 2.0).sum()),
        "twice": int((ms > 1e3 * DEADLINE).sum()),
        "calls_at_first": int(np.median(calls[:50])),
        "calls_at_last": int(np.median(calls[-50:])),
    }


def slow_model() -> dict[str, Any]:
    """100 actions, 5 ms a call, 50 ms a plan."""
    import platypoos as pp

    def step(state: int, action: int, _rng: Any) -> tuple[int, float, bool]:
        time.sleep(0.005)
        return (state * 31 + action) % 997, float(action % 7 == 3), False

    model = pp.FunctionModel(step, actions=100, initial_state=1)
    agent = pp.Agent(model, deadline=0.05, discount=0.9, seed=0)
    worst = 0.0
    for _ in range(50):
        start = time.perf_counter()
        agent.act(1)
        worst = max(worst, time.perf_counter() - start - 0.05)
    return {"worst": 1e3 * worst}


def new_kernel() -> dict[str, Any]:
    """From a kernel that was never compiled to the first plan in machine code."""
    import numba
    import numpy as np

    import platypoos as pp

    shift = float(time.time())  # a constant of the kernel: nobody has compiled it before

    @numba.njit  # type: ignore[untyped-decorator]
    def kernel(state: Any, action: int, params: Any, _rng: Any, next_state: Any) -> Any:
        next_state[0] = state[0] + action * params - shift
        return next_state[0] % 7.0, False

    start = time.perf_counter()
    model = pp.CompiledModel(kernel, actions=3, initial_state=np.zeros(1), params=2.0)
    pp.plan(model, budget=100_000, discount=0.95, seed=0)
    return {"seconds": time.perf_counter() - start}


def reached(kind: str) -> dict[str, Any]:
    """Returns of an agent with a deadline, and of ``control`` with as many calls, 20 seeds."""
    import numpy as np

    import platypoos as pp
    from platypoos import lab

    def goal(seed: int) -> tuple[Any, float, int]:
        if kind == "chain":
            return pp.problems.SwitchChain(noise=50.0), 0.95, 20
        return lab.problems.Pillars(seed=seed), 0.95, 60

    def worth(episode: pp.Episode) -> float:
        if kind == "chain":
            plain = pp.problems.SwitchChain(shift=0.0)
            return float(plain.expected_return(episode.actions, episode.discount))
        return float(sum(episode.rewards))

    pp.Agent(goal(0)[0], deadline=DEADLINE, seed=0).warm_up()
    rows = []
    for seed in range(20):
        problem, discount, steps = goal(seed)
        said: dict[str, Any] = {"steps": steps, "discount": discount, "seed": seed}
        timed = pp.control(problem, deadline=DEADLINE, **said)
        counted = pp.control(problem, budget=timed.calls // len(timed.actions), **said)
        rows.append((worth(timed), worth(counted), timed.calls / steps))
    found = np.array(rows)
    gap = found[:, 0] - found[:, 1]
    return {
        "deadline": float(found[:, 0].mean()),
        "budget": float(found[:, 1].mean()),
        "error": float(gap.std(ddof=1) / len(gap) ** 0.5),
        "calls": int(found[:, 2].mean()),
    }


MEASURES = {
    "chain": lambda: reached("chain"),
    "drone": lambda: reached("drone"),
    "python": lambda: drive("python"),
    "compiled": lambda: drive("compiled", warms_up=True),
    "slow": slow_model,
    "kernel": new_kernel,
}


def measured(name: str, cache: str) -> dict[str, Any]:
    """A measure, in a new process with this cache of machine code."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return made


def main() -> None:
    """Measure all, and write the page."""
    rows = []
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as warm:
        environment = {**os.environ, "NUMBA_CACHE_DIR": warm}
        start = time.perf_counter()
        command = [sys.executable, "-m", "platypoos", "warm-up"]
        subprocess.run(command, env=environment, check=True)
        whole = time.perf_counter() - start
        for kind in ("python", "compiled"):
            ready = "" if kind == "python" else ", after warm_up()"  # compiled models insist on it
            for state, cache in (("cold", str(Path(empty) / kind)), ("warm", warm)):
                rows.append((kind, state + ready, measured(kind, cache)))
                print(*rows[-1], flush=True)
        slow = measured("slow", warm)
        equal = {kind: measured(kind, warm) for kind in ("chain", "drone")}
        kernel = min(measured("kernel", warm)["seconds"] for _ in range(3))
    table = [TABLE]
    for kind, state, row in rows:
        cells = [
            kind,
            state,
            f"{row['import']:.2f}",
            f"{row['first']:.3f}",
            f"{row['worst']:.1f}",
            f"{row['over_2_ms']} ({row['over_2_ms_later']})",
            str(row["twice"]),
            f"{row['calls_at_first']:,}",
            f"{row['calls_at_last']:,}",
        ]
        table.append(f"| {' | '.join(cells)} |")
    page = PAGE.format(
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        table="\n".join(table),
        slow=slow["worst"],
        equal="\n".join(EQUAL.format(kind=kind, **found) for kind, found in equal.items()),
        kernel=kernel,
        whole=whole,
    )
    RESULTS.write_text(page, encoding="utf-8")
    print(page)


TABLE = """\
| model | machine code | import, s | first plan, s | latest, ms | over 2 ms late (in the \
second half) | over twice the deadline | calls a plan at first | at last |
|---|---|---|---|---|---|---|---|---|"""

EQUAL = """\
| {kind} | {calls:,} | {deadline:.1f} | {budget:.1f} | {error:.1f} |"""

PAGE = """\
# Real time

`python benchmarks/realtime.py`. An `Agent` with a deadline of 20 ms, 3,000 steps on the paper's
problem (noise ±10), each row in a new process; cold: no machine code on the machine; warm: it is
on disk, and loaded while the agent plans. Late: the time of a plan beyond its deadline.
{cores} cores, load {load:.1f} at the end.

{table}

- 100 actions, 5 ms a call, deadline 50 ms: at most {slow:.1f} ms late.
- A new kernel, the planner on disk: {kernel:.1f} s to the end of the first plan in machine code.
- The whole planner, once a machine: {whole:.0f} s.

Is a deadline as good as a budget? 20 episodes of an agent with memory and 20 ms a step, and of
`control` with as many calls a step; Python models. The chain (±50) is the paper's, 20 steps, the
drone flies among pillars for 60.

| problem | calls a step | return with a deadline | with a budget | error of the difference |
|---|---|---|---|---|
{equal}
"""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(MEASURES[sys.argv[1]]()))
    else:
        main()
