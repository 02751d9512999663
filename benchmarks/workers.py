"""What workers bring for a slow simulator: writes docs/results/workers.md and workers.png.

A call sleeps for some milliseconds. Plans with 600 calls are made on threads, processes and a local
Dask cluster, and compared with the time that the same calls take one after the other. All plans for
a planner must be the same. Rows are kept in docs/results/workers.jsonl, the best of each: a machine
that does other things too is slower, never faster.

Examples:
  python benchmarks/workers.py                          # all that is missing, then the page
  python benchmarks/workers.py --again --ms 20 --only CEM MPPI    # measure these again
  python benchmarks/workers.py --uneven                 # calls whose cost varies tenfold
  python benchmarks/workers.py --kill 60                # kill a worker every two seconds
  python benchmarks/workers.py --page                   # only write the page and the picture
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import platypoos as pp
from platypoos.simulator.pools import Pool

RESULTS = Path(__file__).parents[1] / "docs" / "results"
ROWS, PAGE, PICTURE = (RESULTS / f"workers.{kind}" for kind in ("jsonl", "md", "png"))
CALLS, DISCOUNT = 600, 0.95
MILLISECONDS = (1, 5, 20, 100)
NUMBERS = (1, 2, 4, 8)
PLANNERS = {
    "Platypus": ("list", pp.Platypus(DISCOUNT)),
    "PlaTyPOOS": ("list", pp.PlaTyPOOS(DISCOUNT)),
    "CEM (list)": ("list", pp.planners.CEM(discount=DISCOUNT)),
    "RandomShooting (list)": ("list", pp.planners.RandomShooting(discount=DISCOUNT)),
    "Platypus (box)": ("box", pp.Platypus(DISCOUNT)),
    "CEM": ("box", pp.planners.CEM(discount=DISCOUNT)),
    "MPPI": ("box", pp.planners.MPPI(discount=DISCOUNT)),
}
AIMS = {"Platypus": 5.0, "CEM": 6.5, "MPPI": 6.5}
"""With calls of 20 ms and 8 threads."""


class Slow:
    """The step of a simulator that sleeps.

    Args:
        seconds: of a call, on average.
        noise: of the rewards.
        box: whether an action is a number between -1 and 1; else it is 0, 1 or 2.
        uneven: whether the dearest calls take ten times as long as the cheapest.
        sleeps: False to add the seconds up in place of sleeping.
    """

    def __init__(
        self, seconds: float, noise: float, *, box: bool, uneven: bool = False, sleeps: bool = True
    ) -> None:
        self.seconds, self.noise, self.box = seconds, noise, box
        self.uneven, self.sleeps = uneven, sleeps
        self.asleep = 0.0

    def model(self) -> pp.FunctionModel:
        """A model with this step."""
        return pp.FunctionModel(self, pp.Box(-1, 1) if self.box else 3, 3.0 if self.box else 1)

    def __call__(self, state: Any, action: Any, rng: np.random.Generator) -> Any:
        seconds = self.seconds
        if self.uneven:  # from 2/11 to 20/11 of the mean
            name = hashlib.sha256(repr((state, float(action))).encode()).digest()
            seconds *= 2 / 11 * (1 + 9 * name[0] / 255)
        if self.sleeps:
            time.sleep(seconds)
        else:
            self.asleep += seconds
        if self.box:
            state = state + float(action)
            reward = -abs(state)
        else:
            state = (state * 31 + int(action) * 7 + 3) % 1009
            reward = float(state * 7 % 13 == 0)
        return state, reward + self.noise * rng.normal(), False


@contextmanager
def pool_of(kind: str, number: int) -> Iterator[Executor]:
    """So many workers of a kind."""
    if kind == "threads":
        with ThreadPoolExecutor(number) as threads:
            yield threads
    elif kind == "processes":
        with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as processes:
            yield processes
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(number)
            yield client.get_executor()


def facts(plan: pp.Plan) -> tuple[Any, ...]:
    """What must be the same, whoever made the calls."""
    return [*map(str, plan.actions)], plan.value, plan.calls


def asleep(seconds: float) -> float:
    """How long a sleep of so many seconds takes, at its best."""
    best = math.inf
    for _ in range(20):
        began = time.perf_counter()
        time.sleep(seconds)
        best = min(best, time.perf_counter() - began)
    return best


def measure(
    name: str, pool: Any, ms: float, noise: float, *, uneven: bool = False
) -> dict[str, Any]:
    """Make a plan with a pool; the plan without it must be the same."""
    space, planner = PLANNERS[name]
    box = space == "box"
    quick = Slow(ms / 1e3, noise, box=box, uneven=uneven, sleeps=False)
    alone = planner.plan(quick.model(), budget=CALLS, seed=0)
    model = Slow(ms / 1e3, noise, box=box, uneven=uneven).model()
    late = asleep(ms / 1e3) / (ms / 1e3)
    began = time.perf_counter()
    plan = planner.plan(model, budget=CALLS, seed=0, executor=pool)
    seconds = time.perf_counter() - began
    assert facts(plan) == facts(alone), f"{name}: another plan"
    assert plan.calls <= CALLS
    busy: Any = plan.workers
    return {
        "seconds": round(seconds, 4),
        "one_by_one": round(quick.asleep * late, 4),
        "speed_up": round(quick.asleep * late / seconds, 3),
        "busy": round(busy.share, 3),
        "batches": busy.batches,
        "requests": busy.requests,
    }


KEY = ("planner", "kind", "workers", "ms", "noise", "uneven")


def read() -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows that were kept."""
    if not ROWS.exists():
        return {}
    lines = map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())
    return {tuple(row.get(field) for field in KEY): row for row in lines}


def keep(row: dict[str, Any]) -> None:
    """Keep a row if it is the best of its kind."""
    rows = read()
    key = tuple(row.get(field) for field in KEY)
    if key not in rows or row.get("speed_up", 0) >= rows[key].get("speed_up", 0):
        rows[key] = row
    lines = [json.dumps(rows[key]) for key in sorted(rows, key=str)]
    ROWS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure_all(options: argparse.Namespace) -> None:
    """Measure what is missing, or all of it again."""
    rows = read()
    for kind, number in [*((k, n) for k in ("threads", "processes") for n in NUMBERS), ("dask", 8)]:
        if kind not in options.kinds or number not in options.workers:
            continue
        cells = [
            (name, kind, number, ms, noise, options.uneven)
            for name in options.only
            for ms in ((20,) if options.uneven else options.ms)
            if ms < 100 or number == max(NUMBERS)  # others take a minute each
            for noise in ((0.0,) if options.uneven else (0.0, 1.0))
        ]
        cells = [cell for cell in cells if options.again or cell not in rows]
        if not cells:
            continue
        with pool_of(kind, number) as pool:
            for name in options.only:  # starts the workers, and compiles what must be compiled
                model = Slow(1e-3, 0.0, box=PLANNERS[name][0] == "box").model()
                PLANNERS[name][1].plan(model, budget=CALLS, executor=pool)
            for cell in cells:
                name, _, _, ms, noise, uneven = cell
                found = measure(name, pool, ms, noise, uneven=uneven)
                print(*cell, found, flush=True)
                keep(dict(zip(KEY, cell, strict=True)) | found)


def kill(seconds: float, every: float = 2.0, number: int = 4) -> None:
    """Make plans while a worker is killed every two seconds; each plan must be the quiet one."""
    planner, draw = pp.PlaTyPOOS(DISCOUNT), random.Random(0)  # noqa: S311
    quiet = planner.plan(Slow(0, 0.0, box=False).model(), budget=CALLS, seed=0)
    model = Slow(0.02, 0.0, box=False).model()
    done, killed, plans, slowest = threading.Event(), 0, 0, 0.0
    # A server that has imported all starts new workers in no time. It is told the path in this way.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    context = get_context("forkserver")
    context.set_forkserver_preload(["workers"])
    with ProcessPoolExecutor(number, mp_context=context) as pool:
        planner.plan(model, budget=CALLS, seed=0, executor=pool)
        now = Pool.of(pool)

        def killer() -> None:
            nonlocal killed
            while not done.wait(every):
                victims = list((now.executor._processes or {}).values())  # noqa: SLF001
                if victims:
                    draw.choice(victims).kill()
                    killed += 1

        thread = threading.Thread(target=killer)
        thread.start()
        began = time.monotonic()
        try:
            while time.monotonic() - began < seconds:
                start = time.monotonic()
                plan = planner.plan(model, budget=CALLS, seed=0, executor=pool, timeout=30)
                slowest = max(slowest, time.monotonic() - start)
                assert facts(plan) == facts(quiet), "another plan"
                plans += 1
        finally:
            done.set()
            thread.join()
    row = {"planner": "kill", "kind": "processes", "workers": number, "ms": 20, "seconds": seconds}
    row |= {"killed": killed, "replaced": now.replaced, "plans": plans, "slowest": slowest}
    print(row)
    keep(row | {"slowest": round(slowest, 2)})


def table(rows: dict[tuple[Any, ...], dict[str, Any]], noise: float) -> list[str]:
    """Speed-up with 8 workers, by planner; columns are kinds of workers and calls."""
    columns = [(kind, ms) for ms in MILLISECONDS for kind in ("threads", "processes", "dask")]
    said = " | ".join(f"{ms} ms, {kind.replace('dask', 'Dask')}" for kind, ms in columns)
    lines = [f"| planner | {said} |", "|---" * (1 + len(columns)) + "|"]
    for name in PLANNERS:
        found = [rows.get((name, kind, 8, ms, noise, False)) for kind, ms in columns]
        cells = [f"{row['speed_up']:.1f}" if row else "" for row in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def batches(rows: dict[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    """How many batches a plan takes, and with calls of uneven cost."""
    lines = [
        "| planner | batches | requests in them | 20 ms | 3.6 to 36 ms |",
        "|---|---|---|---|---|",
    ]
    for name in PLANNERS:
        even = rows.get((name, "threads", 8, 20, 0.0, False))
        uneven = rows.get((name, "threads", 8, 20, 0.0, True))
        if even is not None and uneven is not None:
            lines.append(
                f"| {name} | {even['batches']} | {even['requests']} | {even['speed_up']:.1f} "
                f"| {uneven['speed_up']:.1f} |"
            )
    return lines


TEXT = """# Workers

`python benchmarks/workers.py`. A call sleeps; plans have {calls} calls. The figures say how many
times as fast a plan is as its calls one after the other, at their best. Every plan was the same on
all executors, and without one. Measured on {cores} cores that did other things too.
How to use workers: [Use workers for a slow simulator](../howto/slow-simulators.md).

![Speed-up against workers](workers.png)

## Eight workers, no noise

{silent}

## Eight workers, rewards with noise (σ = 1)

{noisy}

## Batches, and calls whose cost varies

With 8 threads. The dearest calls take ten times as long as the cheapest ones, 20 ms on average: a
slow call should not hold up the others.

{uneven}

## A worker is killed every two seconds

{killed}
"""


def write() -> None:
    """Write the page and the picture."""
    rows = read()
    row: Any = next((row for row in rows.values() if row["planner"] == "kill"), None)
    killed = "Not measured."
    if row is not None:
        killed = (
            f"`python benchmarks/workers.py --kill {row['seconds']:.0f}`. {row['workers']} "
            f"processes, calls of {row['ms']} ms, `PlaTyPOOS`. In {row['seconds']:.0f} seconds "
            f"{row['killed']} workers were killed, and the pool was replaced {row['replaced']} "
            f"times. {row['plans']} plans were made, all of them the same as the quiet one. The "
            f"slowest took {row['slowest']:.1f} s."
        )
    PAGE.write_text(
        TEXT.format(
            calls=CALLS,
            cores=os.cpu_count(),
            silent="\n".join(table(rows, 0.0)),
            noisy="\n".join(table(rows, 1.0)),
            uneven="\n".join(batches(rows)),
            killed=killed,
        ),
        encoding="utf-8",
    )
    draw(rows)


def draw(rows: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    """Speed-up against workers."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = [ms for ms in MILLISECONDS if ms < 100]
    figure, axes = plt.subplots(2, len(shown), figsize=(11, 7), sharex=True, sharey=True)
    for line, noise in zip(axes, (0.0, 1.0), strict=True):
        for axis, ms in zip(line, shown, strict=True):
            axis.plot(NUMBERS, NUMBERS, color="0.8", zorder=0)
            for place, name in enumerate(PLANNERS):
                for kind, style in (("threads", "-o"), ("processes", "--s")):
                    found = [(n, rows.get((name, kind, n, ms, noise, False))) for n in NUMBERS]
                    points = [(n, row["speed_up"]) for n, row in found if row]
                    if points:
                        label = name if kind == "threads" else None
                        axis.plot(
                            *zip(*points, strict=True), style, color=f"C{place}", label=label,
                            markersize=4, linewidth=1.3, alpha=1.0 if kind == "threads" else 0.6,
                        )  # fmt: skip
                row = rows.get((name, "dask", 8, ms, noise, False))
                if row:
                    axis.plot([8.25], [row["speed_up"]], "*", color=f"C{place}", markersize=9)
            axis.set_title(f"{ms} ms a call" + (", noise" if noise else ""))
            axis.set_xticks(NUMBERS)
            axis.grid(alpha=0.3)
            axis.set_ylim(0, 8.5)
    for axis in axes[-1]:
        axis.set_xlabel("workers")
    for axis in axes[:, 0]:
        axis.set_ylabel("times as fast as one by one")
    lines: dict[str, Any] = {}  # not every planner has been measured everywhere
    for axis in axes.flat:
        handles, labels = axis.get_legend_handles_labels()
        lines |= dict(zip(labels, handles, strict=True))
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=4, frameon=False)
    figure.suptitle("Threads (solid), processes (dashed), a local Dask cluster (stars)")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PLANNERS), default=list(PLANNERS))
    parser.add_argument("--ms", nargs="+", type=int, default=list(MILLISECONDS), help="of a call")
    parser.add_argument("--kinds", nargs="+", default=["threads", "processes", "dask"])
    parser.add_argument("--workers", nargs="+", type=int, default=list(NUMBERS))
    parser.add_argument("--again", action="store_true", help="measure what was measured already")
    parser.add_argument("--uneven", action="store_true", help="calls whose cost varies tenfold")
    parser.add_argument("--kill", type=float, metavar="SECONDS", help="kill workers for so long")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.kill:
        kill(options.kill)
    elif not options.page:
        measure_all(options)
    write()


if __name__ == "__main__":
    import workers  # so that workers can unpickle Slow

    workers.main()
