"""What a user of the package meets first: its description, and hints to install more."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import platypoos
from platypoos import version

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TO_FILES = re.compile(r"\]\((?!https?:|#)")


def test_no_link_of_the_description_leads_nowhere():
    for_an_index = runpy.run_path(str(ROOT / "setup.py"), run_name="helper")["for_an_index"]
    assert TO_FILES.search(README)
    plain = for_an_index(README, None)
    assert not TO_FILES.search(plain)
    assert "![" not in plain
    assert "the page (docs/paper.md)" in plain
    linked = for_an_index(README, "https://example.org/somebody/platypoos/")
    assert not TO_FILES.search(linked)
    base = "https://example.org/somebody/platypoos"
    assert f"[the page]({base}/blob/main/docs/paper.md)" in linked
    assert f"]({base}/raw/main/docs/gallery/quadrotor.gif)" in linked


def test_links_of_the_readme_lead_to_files():
    for path in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / path).exists(), path


def test_how_to_install_an_extra(tmp_path, monkeypatch):
    # In a checkout the command names it, so that it works from any directory.
    checkout = tmp_path / "checkout"
    package = checkout / "src" / "platypoos"
    package.mkdir(parents=True)
    shutil.copy(version.__file__, package)
    found = runpy.run_path(str(package / "version.py"))["install"]
    assert found("gym") == "pip install 'platypoos[gym]'"  # there is nothing to install from
    (checkout / "pyproject.toml").touch()
    assert found("gym") == f"pip install -e '{checkout}[gym]'"


def test_the_hint_names_extras_that_there_are():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    package = Path(platypoos.__file__).parent
    named = [
        name
        for file in package.rglob("*.py")
        for name in re.findall(r"install\('([^']+)'\)", file.read_text(encoding="utf-8"))
    ]
    assert len(named) >= 6
    assert set(named) <= set(extras)
    assert not [name for name in extras if "_" in name]  # pip 23.2 does not find them
    assert not [f for f in package.rglob("*.py") if "pip install 'platypoos[" in f.read_text()][1:]
