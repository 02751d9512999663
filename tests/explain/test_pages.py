"""The pages, opened in a real headless Chromium: on a desktop and on a phone."""

from __future__ import annotations

import re
import sys
from collections import namedtuple
from dataclasses import make_dataclass, replace

import pytest

import platypoos as pp
from platypoos import lab

NASTY = (
    "<img src=x onerror=window.hacked=1>",
    "</script><script>window.hacked=1</script>",
    "a & b",
)
SIZES = {"desktop": (1200, 900), "phone": (390, 844)}


def hop(state, action, rng):
    state += (-1, 1, 3)[action]
    return state, float(state == 12) + 0.2 * (action == 0), state > 15


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page for each kind of model, and for an episode."""
    out = tmp_path_factory.mktemp("pages")
    chain = pp.plan(pp.problems.SwitchChain(noise=1.0), budget=600, seed=0)
    chain.explain(out / "chain.html")
    found = pp.plan(pp.FunctionModel(hop, 3, 0), budget=400, seed=0)
    vars(found)["action_names"] = NASTY
    found.explain(out / "function.html", command=NASTY[1])
    pole = pp.GymnasiumModel("CartPole-v1", seed=0, repeat=4)
    pp.plan(pole, budget=300, discount=0.9, seed=0).explain(out / "pole.html")
    pp.plan(lab.problems.Pillars(repeat=4), budget=300, discount=0.9, seed=0).explain(
        out / "pillars.html"
    )
    pp.control(pole, budget=100, steps=6, discount=0.9, seed=0).explain(out / "pole-episode.html")
    flight = pp.control(lab.problems.Pillars(repeat=4), budget=120, steps=6, discount=0.9, seed=0)
    flight.explain(out / "pillars-episode.html")
    return out


def visit(browser, page, size="desktop"):
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    return lambda css: browser.find_elements("css selector", css)


def test_pages_need_nothing_else(pages):
    for page in pages.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert len(text) < 1_000_000
        fetched = re.findall(r'(?:src|href)="(?!data:)[^"]*"|url\(|@import', text)
        assert fetched == [], page.name
        assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")


def test_pages_open_without_errors(pages, browser):
    for page in sorted(pages.glob("*.html")):
        for size, (width, _) in SIZES.items():
            visit(browser, page, size)
            assert browser.get_log("browser") == [], page.name
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, (page.name, size)


def test_texts_are_escaped(pages, browser):
    find = visit(browser, pages / "function.html")
    assert browser.execute_script("return window.hacked") is None
    names = [one.text for one in find("#values .name")]
    assert set(names) == set(NASTY)
    assert find("pre")[0].text == NASTY[1]


def hostile(hop=hop):
    """A model all of whose texts are markup: its name, its actions, its fields and its places."""
    first, second, _ = NASTY

    def step(state, action, rng):
        place, reward, ended = hop(state[first], NASTY.index(action), rng)
        return {first: place, "text": second}, reward, ended

    model = pp.FunctionModel(
        step, list(NASTY), {first: 0, "text": second}, name=second, key=lambda s: s[first],
        action_names=[text + "'\"" for text in NASTY],
    )  # fmt: skip
    object.__setattr__(model, "position", lambda state: (state[first], 0.0))
    object.__setattr__(model, "landmarks", lambda: [(1.0, 1.0, 0.5, second)])
    return model


def test_nothing_in_a_model_becomes_markup(tmp_path, browser):
    model = hostile()
    found = pp.plan(model, budget=300, seed=0)
    found.explain(tmp_path / "why.html")
    pp.control(model, budget=50, steps=4, seed=0).explain(tmp_path / "episode.html")
    shown = f'<!DOCTYPE html><link rel="icon" href="data:,">{found._repr_html_()}'
    shown += f"{found.explain()._repr_html_()}{pp.check_model(model)._repr_html_()}"
    (tmp_path / "notebook.html").write_text(shown, encoding="utf-8")
    for name in ("why", "episode", "notebook"):
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "<img" not in text.replace('<img class="frame"', "")
        assert "</script><script>" not in text
        visit(browser, tmp_path / f"{name}.html")
        assert browser.execute_script("return window.hacked") is None
        assert browser.get_log("browser") == []
        assert NASTY[1] in browser.execute_script("return document.body.innerText")


def test_without_pillow_a_page_has_no_pictures_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    pole = pp.GymnasiumModel("CartPole-v1", seed=0)
    pp.plan(pole, budget=50, seed=0).explain(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "data:image/png" not in page
    assert "There are no pictures: they need Pillow: pip install" in page


def test_the_parts_of_the_page(pages, browser):
    find = visit(browser, pages / "chain.html")
    titles = [title.text for title in find("h2")]
    assert titles == [
        "What each first action is worth",
        "Where the lead comes from",
        "What would change the decision",
        "The best sequence and its rival",
        "Where the calls went",
        "The tree",
        "Make it again",
    ]
    assert len(find("#values .lane")) == 2
    widths = [one.size["width"] for one in find("#values .lane i")]
    assert min(widths) > 5  # intervals are seen
    total = sum(int(cell.text.replace(",", "")) for cell in find("#heat td:not(:first-child)"))
    assert total == 600
    assert "budget=600" in find("pre")[0].text
    find("#sequences summary")[0].click()
    assert len([one for one in find("#sequences .t") if one.is_displayed()]) > 20


def test_pictures_and_maps(pages, browser):
    find = visit(browser, pages / "pole.html")
    drawn = find("#sequences img")
    assert len(drawn) > 8
    assert browser.execute_script("return arguments[0].naturalWidth", drawn[0]) == 220
    find = visit(browser, pages / "pillars.html")
    assert len(find("#map polyline")) == 2
    assert len(find("#map circle")) > 5


def test_the_tree_zooms(pages, browser):
    find = visit(browser, pages / "chain.html")
    boxes = find("#tree div")
    assert 20 < len(boxes) < 1_300
    assert "600" in find("#tree-info")[0].text
    child = next(box for box in boxes if "step 1:" in (box.get_attribute("title") or ""))
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", child)
    child.click()
    assert find("#crumbs button")[0].text == "now"
    assert len(find("#crumbs button")) == 2
    find("#crumbs button")[0].click()
    assert "all:" in find("#tree-info")[0].text
    assert browser.get_log("browser") == []


def test_the_slider(pages, browser):
    find = visit(browser, pages / "pillars-episode.html")
    assert find("#where")[0].text == "1 / 6"
    before = find("#map .look-ahead")[0].get_attribute("points")
    script = "arguments[0].value = 4; arguments[0].dispatchEvent(new Event('input'))"
    browser.execute_script(script, find("#slider")[0])
    assert find("#where")[0].text == "5 / 6"
    assert find("#title")[0].text.startswith("Step 5: ")
    assert find("#map .look-ahead")[0].get_attribute("points") != before
    assert len(find("#map .way")[0].get_attribute("points").split()) == 5
    assert len(find("#bars .lane")) > 1
    assert browser.get_log("browser") == []
    find = visit(browser, pages / "pole-episode.html", "phone")
    first = find("#frame")[0].get_attribute("src")
    browser.execute_script(script, find("#slider")[0])
    assert find("#frame")[0].get_attribute("src") != first
    assert not find("#map")[0].is_displayed()


def test_the_name_of_a_model_is_the_title(tmp_path):
    def step(state, action, rng):
        return state + action, float(action), False

    for name, title in [("Heat <pump>", "<h1>Heat &lt;pump&gt;: why "), ("", "<h1>Why ")]:
        model = pp.FunctionModel(step, 2, 0, name=name)
        pp.plan(model, budget=50, seed=0).explain(tmp_path / "why.html")
        assert title in (tmp_path / "why.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["named tuple", "dataclass", "dictionary"])
def test_fields_of_states_are_shown_and_changes_marked(kind, tmp_path):
    fields = ["hour", "warmth"]
    house = {
        "named tuple": namedtuple("House", fields),  # noqa: PYI024
        "dataclass": make_dataclass("House", fields, frozen=True),
        "dictionary": lambda *values: dict(zip(fields, values, strict=True)),
    }[kind]

    def step(state, action, rng):
        hour = state["hour"] if kind == "dictionary" else state.hour
        return house(hour + 1, 20.25), float(action), False

    model = pp.FunctionModel(step, 2, house(7, 20.25))
    pp.plan(model, budget=50, seed=0).explain(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "<span>hour <b>7</b></span><span>warmth <b>20.25</b></span>" in page
    assert '<span class="changed">hour <b>8</b></span><span>warmth <b>20.25</b></span>' in page


def test_under_chance_the_page_has_a_policy_and_no_waterfall(tmp_path):
    def step(place, action, rng):
        if action == 0:
            return place, 0.1, False
        return place + int(rng.random() < 0.25), float(place == 2), place == 2

    model = pp.FunctionModel(step, ["stay", "go"], 0, dynamics="random")
    model = replace(model, step=lambda place, word, rng: step(place, int(word == "go"), rng))
    plan = pp.plan(model, budget=500, discount=0.9, seed=0)
    why = plan.explain(tmp_path / "why.html")
    assert [case.probability for case in why.cases] == [o.probability for o in plan.outcomes]
    assert why.cases[0].then == plan.outcomes[0].action
    assert why.bars == ()
    assert why.as_dict()["cases"][0]["then"] == plan.outcomes[0].action
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "What may happen next, and what to do then" in page
    assert "The likeliest line" in page
    assert "Where the lead comes from" not in page
