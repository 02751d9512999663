"""The examples run."""

from __future__ import annotations

import runpy
from ctypes.util import find_library
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "own_simulator": [
        "safe to plan with",
        "decision: heat (action 1), ahead of the runner-up by ",
        "480,000 calls",
    ],
    "real_time": ["50 steps upright"],
    "jax_simulators": ["rows 3 to the left of 3", "from the origin"],
    "mujoco_threads": ["rewards of 20 steps differ by ", "array model: "],
}
GALLERY = {  # the steps to take, and what it prints then
    "battery": (6, "earned -"),
    "cart_pole": (5, "the pole was up for 20 time steps; 1,500 calls"),
    "cheetah": (2, "reward 0 of 8 at most; 2,000 calls"),
    "door_key": (2, "goal not reached after 2 steps; 6,000 calls"),
    "drone": (3, "from the goal after 3 steps; 900 calls"),
    "highway": (1, "1 decisions, no crash"),
    "inventory": (3, "in 3 days; 3,000 calls"),
    "job_shop": (3, "the optimum is 55"),
    "ms_pacman": (2, "score 0 after 2 decisions; 160 calls"),
    "quadrotor": (3, "Platypus: in the air after 0.2 s, return -"),
}


def test_all_are_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)
    assert {path.stem for path in EXAMPLES.glob("gallery/*.py")} == set(GALLERY)


@pytest.mark.slow
@pytest.mark.parametrize("example", SAYS)
def test_example(example, capsys):
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    out = capsys.readouterr().out
    for words in SAYS[example]:
        assert words in out


@pytest.mark.slow
@pytest.mark.parametrize("example", GALLERY)
def test_gallery(example, capsys, tmp_path):
    if example == "cheetah" and not (find_library("EGL") or find_library("OSMesa")):
        pytest.skip("MuJoCo cannot draw here: there is no EGL or OSMesa")
    steps, says = GALLERY[example]
    page = (EXAMPLES.parent / "docs" / "gallery" / f"{example}.md").read_text(encoding="utf-8")
    kind = "gif" if f"({example}.gif)" in page else "png"
    main = runpy.run_path(str(EXAMPLES / "gallery" / f"{example}.py"))["main"]
    main(str(tmp_path / f"picture.{kind}"), steps=steps)
    assert says in capsys.readouterr().out
    head = (tmp_path / f"picture.{kind}").read_bytes()[:4]
    assert head in {b"GIF8", b"\x89PNG"}
