"""The site is built without a warning, its links lead somewhere, and its pages open in Chromium."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT

NARROW, WIDE = (390, 844), (1280, 900)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without running its tutorials: their code runs in ``test_code``."""
    out = tmp_path_factory.mktemp("site")
    command = "-m sphinx --fail-on-warning --keep-going --quiet -b html -D nb_execution_mode=off"
    done = subprocess.run(
        [sys.executable, *command.split(), "-d", str(out / "doctrees"), "docs", str(out / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return out / "html"


class Links(HTMLParser):
    """What a page links to, and the anchors it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            if (
                name in {"href", "src"}
                and value
                and tag in {"a", "iframe", "img", "link", "script"}
            ):
                self.targets.append(value)


def broken_links(site: Path) -> list[str]:
    """Links inside of the site that lead nowhere."""
    read = functools.cache(Links)
    broken = []
    for page in sorted(site.rglob("*.html")):
        for target in read(page).targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            missing = not to.is_file()
            if not missing and parts.fragment and to.suffix == ".html":
                missing = unquote(parts.fragment) not in read(to).anchors
            if missing:
                broken.append(f"{page.relative_to(site)}: {target}")
    return broken


@pytest.mark.slow
def test_links_lead_somewhere(site):
    assert not broken_links(site)


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a> <a href="#y">y</a> <p id="y">')
    (tmp_path / "b.html").write_text('<p id="z"> <img src="c.png">')
    assert broken_links(tmp_path) == ["a.html: b.html#x", "b.html: c.png"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture
def address(site):
    """Where the site is served."""
    serve = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_every_page_opens(site, address, browser):
    pages = sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    assert len(pages) > 80
    for width, height in (WIDE, NARROW):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        for page in pages if width == WIDE[0] else pages[::4]:
            browser.get(f"{address}/{page}")
            assert browser.title, page
            said = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
            assert not said, f"{page}: {said}"
            needed = browser.execute_script("return document.documentElement.scrollWidth")
            assert needed <= width, f"{page} is {needed} pixels wide on a screen of {width}"
            shown = browser.execute_script(
                "return [...document.images].filter(i => i.complete && !i.naturalWidth).length"
            )
            assert shown == 0, f"{page} has a picture that cannot be shown"
