"""What all tests share: what a planner cannot do is left out, and marks are set."""

from __future__ import annotations

import math
import os
import shutil
import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)

from random_trees import can_use

from platypoos.compiled.code import notice
from platypoos.search.base import REGISTERED

notice.WORTH_A_LINE = math.inf  # how long the compiler takes must not decide what is printed


def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        access = given.get("access")
        fits = access is None or all(can_use(value, access) for value in given.values())
        (kept if fits else left_out).append(item)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture(autouse=True)
def planners_of_a_test_are_forgotten():
    """A planner registers itself, also one that a test or a page defines."""
    before = dict(REGISTERED)
    yield
    ours = {n: kind for n, kind in REGISTERED.items() if kind.__module__.startswith("platypoos.")}
    REGISTERED.clear()
    REGISTERED.update(ours | before)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium without a window; what pages write to its console is kept."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("Chromium is not installed")
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", "--window-size=1200,900", f"--user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()
