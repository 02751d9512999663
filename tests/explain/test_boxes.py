"""Plans, episodes and pages where actions are arrays."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

import platypoos as pp
from platypoos.explain.arrays import SIGNS, bars, courses
from platypoos.explain.brief import brief
from platypoos.spaces import Tried
from platypoos.trees.tree import path_to

NAMES = ("right <b>", "left")


class Cart:
    """Two thrusts push a cart along a line; it can be drawn, and filmed."""

    actions = pp.Box([0.0, 0.0], [1.0, 2.0])
    action_names = NAMES
    initial_state = (0.0, 0.0)
    name = "cart"

    def step(self, state, thrust, rng):
        assert thrust.shape == (2,)
        place, speed = state
        speed += 0.3 * float(thrust[0] - thrust[1])
        place += 0.3 * speed
        return (place, speed), -abs(place - 2.0), False

    def position(self, state):
        return state

    def render(self, state):
        picture = np.zeros((40, 60, 3), np.uint8)
        picture[:, min(59, max(0, int(10 * state[0])))] = 255
        return picture


MODELS = {
    "cart": Cart(),
    "number": pp.FunctionModel(
        lambda x, a, rng: (x + a, -abs(x + a - 3), False), pp.Box(-1, 1), 0.0, action_names=["push"]
    ),
    "nameless": pp.FunctionModel(
        lambda x, a, rng: (x + float(a.sum()), -abs(x - 3), False), pp.Box([[0.0], [0.0]], 1.0), 0.0
    ),
    "switches": pp.FunctionModel(
        lambda x, a, rng: (x, float(a[0] + a[3]) - float(a[1]), False), pp.MultiDiscrete([3] * 4), 0
    ),
    "noisy": pp.models.NoisyReward(Cart(), 0.5),
    "pendulum": pp.GymnasiumModel("Pendulum-v1"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.fixture(scope="module")
def plan(model):
    return pp.plan(model, budget=150, discount=0.8, seed=0)


@pytest.fixture(scope="module")
def episode(model):
    return pp.control(model, budget=60, steps=4, discount=0.8, seed=0)


def same_plan(one, other):
    assert np.array_equal(one.action, other.action)
    assert np.asarray(one.action).dtype == np.asarray(other.action).dtype
    assert type(one.action) is type(other.action)
    assert one.value == other.value
    assert len(one.actions) == len(other.actions)
    assert all(np.array_equal(a, b) for a, b in zip(one.actions, other.actions, strict=True))
    assert np.array_equal(one.action_values, other.action_values, equal_nan=True)
    assert one.coordinate_names == other.coordinate_names
    names = [p.action_names[p.action_index] for p in (one, other)]
    assert names[0] == names[1]
    assert isinstance(other.space, Tried)
    assert other.space.of == one.space.of


def test_a_plan_in_all_its_forms(plan, model, tmp_path):
    assert isinstance(plan.space, Tried)
    assert plan.summary is None
    name = plan.action_names[plan.action_index]
    text = str(plan)
    assert text.startswith(f"decision: {name}")
    assert "action 0" not in text
    why = plan.explain()
    if not why.summary.startswith("Undecided"):
        assert why.summary.startswith(f"Take {name} now.")
    assert "'" not in why.summary
    steps = {int(plan.sources[node]) for node in path_to(plan.tree, plan.node)}
    assert why.choices[why.action].samples >= len(steps)  # fewer than actions where states meet
    assert "be tried" in why.flips[-1].text or plan.noise.deviation > 0.0
    assert json.loads(why.as_json())["coordinates"]
    assert str(why)
    assert name in plan._repr_html_()
    assert why.summary[:20] in why._repr_html_().replace("&#x27;", "'")
    for kind in ("html", "json"):
        plan.explain(tmp_path / f"why.{kind}")
        assert (tmp_path / f"why.{kind}").stat().st_size > 500
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert f"hy <b>{name}</b>?" in page
    assert 'id="courses"' in page

    data = json.loads(json.dumps(plan.as_dict()))
    same_plan(plan, pp.Plan.from_dict(data))
    lists = str.maketrans("()", "[]")  # tuples have become lists
    assert str(pp.Plan.from_dict(data)).translate(lists) == text.translate(lists)
    same_plan(plan, pickle.loads(pickle.dumps(plan)))
    assert str(pickle.loads(pickle.dumps(plan))) == text
    small = plan.brief()
    same_plan(plan, small)
    assert small.space.n <= plan.space.n
    assert str(small).splitlines()[0] == text.splitlines()[0]
    assert str(small.brief()) == str(small)
    same_plan(plan, pp.Plan.from_dict(small.as_dict()))


def test_an_episode_in_all_its_forms(episode, model, tmp_path):
    data = json.loads(json.dumps(episode.as_dict()))
    first = data["steps"][0]
    assert len(first["first_actions"]) == len(first["values"])
    for step, action in zip(data["steps"], episode.actions, strict=True):
        assert data["payloads"][step["action"]] == np.asarray(action).tolist()
        chosen = step["values"].index(step["value"])
        assert np.asarray(action).tolist() in step["first_actions"]
        assert chosen < len(step["first_actions"])
    for other in (pp.Episode.from_dict(data), pickle.loads(pickle.dumps(episode))):
        assert all(map(np.array_equal, other.actions, episode.actions))
        assert type(other.actions[0]) is type(episode.actions[0])
        assert other.action_names == episode.action_names
        assert other.coordinate_names == episode.coordinate_names
        assert other._repr_html_().count("<tr>") == 5
    episode.save(tmp_path / "episode.json")
    assert json.loads((tmp_path / "episode.json").read_text()) == data
    page = episode.explain(tmp_path / "episode.html").read_text(encoding="utf-8")
    assert "data:image/png" in page or not hasattr(model, "render")
    island = re.search(r'id="episode-data">(.*?)</script>', page)[1]
    for row, taken in zip(json.loads(island)["steps"], episode.plans, strict=True):
        shown = row["names"][row["action"]]
        assert shown == taken.action_names[taken.action_index]
        for line in row["ahead"]:
            assert all(step[0] < len(row["names"]) for step in line)
    figure = episode.plot()
    assert len(figure.axes[1].get_lines()) >= 1
    assert episode.film(tmp_path / "film.gif").exists() if hasattr(model, "position") else True


def test_coordinates_have_the_names_of_the_model():
    plan = pp.plan(MODELS["cart"], budget=150, discount=0.8, seed=0)
    assert plan.coordinate_names == NAMES
    lines = str(plan).splitlines()
    drawn = [line for line in lines if line.strip().startswith(NAMES)]
    assert [line.split("  ")[-1] for line in drawn] == ["0 to 1", "0 to 2"]
    assert all(set(line.split()[-4]) <= set(SIGNS) for line in drawn)
    figure = pp.control(Cart(), budget=30, steps=2, seed=0)
    assert figure.coordinate_names == NAMES
    nameless = pp.plan(MODELS["nameless"], budget=50, discount=0.8, seed=0)
    assert nameless.coordinate_names == ()
    assert "  [1]  " in str(nameless)


def test_bars_go_from_low_to_high():
    space = Tried(pp.Box([-1.0, 0.0], [1.0, 10.0]), [], 0)
    assert bars(space, [-1.0, 10.0]) == "▁█"
    assert bars(space, [0.99, 0.01]) == "█▁"
    sequence = [np.array([low, 10.0 * high]) for low, high in ((-1, 0.0), (0, 0.6), (1, 1.0))]
    assert courses(space, sequence, ["a", "b"]) == [
        ("a", "▁▅█", "-1 to 1"),
        ("b", "▁▅█", "0 to 10"),
    ]
    levels = Tried(pp.MultiDiscrete([1, 3]), [], 0)
    assert [bars(levels, [0, i]) for i in range(3)] == ["▁▁", "▁▅", "▁█"]
    long = courses(space, 100 * [sequence[2]], ())
    assert long[0] == ("[0]", 60 * "█" + "…", "-1 to 1")
    assert courses(pp.Discrete(2), [0, 1], ()) == []


def test_names_have_three_digits_unless_they_would_be_the_same():
    box = pp.Box([0.0], [1.0])
    listed = [np.array([x]) for x in (0.123456, 0.123412, 0.98765, 1e-9, 0.5, 0.50004)]
    space = Tried(box, listed, 4)
    assert space.names == ("0.1235", "0.1234", "0.988", "1e-09", "0.5", "0.5")
    assert space.name(np.array([0.123412])) == "0.1234"
    assert space.name(np.array([0.25])) == "0.25"
    assert space.index(np.array([0.98765])) == 2
    with pytest.raises(pp.InvalidArgument, match="is not an action of"):
        space.index(np.array([0.9876]))
    with pytest.raises(pp.InvalidArgument, match="is not an action of"):
        space.index("left")


def test_points_that_a_coarser_type_makes_the_same():
    box = pp.Box(np.float32([0.0]), np.float32([1.0]))
    twice = Tried(box, [np.float32([0.5]), np.float32([0.5])], 2)
    assert twice.index([0.5]) == 0
    assert twice.n == 2


def test_small_plans_keep_the_actions_that_they_show():
    plan = pp.plan(MODELS["cart"], budget=300, discount=0.9, seed=0)
    fields = brief(plan)
    tree, space = fields["tree"], fields["space"]
    assert set(tree.action[1 : tree.num_nodes].tolist()) | set(range(space.firsts)) == set(
        range(space.n)
    )
    assert space.n < plan.space.n


def test_keep_nothing_and_many_actions():
    switches = MODELS["switches"]
    episode = pp.control(switches, budget=40, steps=3, discount=0.5, seed=0, keep="nothing")
    assert isinstance(episode.space, Tried)
    listed = pp.control(
        switches, planner=pp.planners.UCT(0.5, horizon=3), budget=100, steps=2, seed=0
    )
    assert listed.space == switches.actions
    assert listed.as_dict()["space"] is None


def test_states_that_are_replayed_say_how_many_steps_were_taken(tmp_path):
    model = pp.GymnasiumModel("Pendulum-v1", method="replay")
    episode = pp.control(model, budget=40, steps=3, seed=0)
    episode.explain(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = [f"{count} after the reset" for count in ("0 steps", "1 step", "2 steps")]
    assert re.findall(r'"state":"([^"]*)"', page) == told
    assert pickle.loads(pickle.dumps(episode.states[1])) == episode.states[1]


def test_names_of_coordinates_are_checked():
    with pytest.raises(pp.InvalidArgument, match="there are 2 coordinates; pass one for each"):
        pp.FunctionModel(Cart().step, Cart.actions, (0.0, 0.0), action_names=["one"])
    with pytest.raises(pp.InvalidArgument, match="a text for each coordinate"):
        pp.FunctionModel(Cart().step, Cart.actions, (0.0, 0.0), action_names="ab")
    pairs = pp.MultiDiscrete([2, 3])
    for names in (["a", "b"], list("abcdef")):
        assert pp.FunctionModel(Cart().step, pairs, 0, action_names=names).action_names == tuple(
            names
        )


@pytest.mark.parametrize(
    ("low", "high", "match"),
    [
        (1.0, -1.0, "low must be below high, got 1 and -1"),
        ([0.0, 2.0], [1.0, 1.0], "got 2 and 1 at coordinate 1"),
        (-np.inf, 1.0, "low must be finite numbers"),
        (0.0, np.nan, "high must be finite numbers"),
        ([], [], "at least one coordinate"),
        (-1.7e308, 1.7e308, "too wide"),
    ],
)
def test_boxes_that_are_none(low, high, match):
    with pytest.raises(pp.InvalidArgument, match=match):
        pp.Box(low, high)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"step": lambda s, a, rng: (s, a, False)}, "reward"),
        ({"step": lambda s, a, rng: (s, float("nan"), False)}, "finite|NaN|nan"),
        ({"step": lambda s, a, rng: (s, 1.0)}, r"state, reward"),
        ({"step": lambda s, a, rng: np.ones(3) @ a}, "matmul"),
        ({"policy": lambda s: np.array([0.5, 3.0])}, "policy chose .* out of bounds"),
        ({"policy": lambda s: np.array([0.5])}, r"policy chose .* its shape is \(1,\), not \(2,\)"),
        ({"policy": lambda s: np.array([0.5, np.nan])}, "policy chose .* out of bounds"),
    ],
)
def test_what_goes_wrong_says_so_and_nothing_is_lost(changes, match):
    def step(state, action, rng):
        return state + float(action.sum()), 0.0, False

    parts = {"step": step, **changes}
    model = pp.FunctionModel(parts.pop("step"), pp.Box([0.0, 0.0], [1.0, 2.0]), 0.0, **parts)
    with pytest.raises(pp.ModelError, match=match):
        pp.plan(model, budget=50, seed=0)
    taken = []

    def breaks(state, action, rng):
        taken.append(action)
        return (*step(state, action, rng)[:2], False) if len(taken) < 100 else model.nothing

    late = pp.FunctionModel(breaks, model.actions, 0.0)
    with pytest.raises(pp.ModelError) as caught:
        pp.control(late, budget=30, steps=20, seed=0)
    assert len(caught.value.episode.actions) == 3
    assert isinstance(caught.value.action, np.ndarray)


def batch(states, actions, rng):
    return states + actions, np.zeros(len(states)), np.zeros(len(states), bool)


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (lambda s, a, rng: (s[:, :1], *batch(s, a, rng)[1:]), "must return states of the same"),
        (lambda s, a, rng: (s, s, s.any(axis=1)), r"must return 1 rewards, got shape \(1, 2\)"),
    ],
)
def test_batches_of_the_wrong_shape(step, match):
    box = pp.Box([-1.0, -1.0], 1.0)
    assert pp.plan(pp.ArrayModel(batch, box, np.zeros(2)), budget=50, seed=0).action in box
    with pytest.raises(pp.ModelError, match=match):
        pp.plan(pp.ArrayModel(step, box, np.zeros(2)), budget=50, seed=0)


@pytest.mark.browser
def test_pages_leave_out_where_steps_lead_if_that_is_not_known(browser, tmp_path):
    heads = {}
    for method in ("replay", "native"):
        model = pp.GymnasiumModel("Pendulum-v1", method=method)
        episode = pp.control(model, budget=100, steps=2, seed=3)  # with runners-up
        browser.get(episode.explain(tmp_path / f"{method}.html").as_uri())
        assert browser.get_log("browser") == []
        heads[method] = [head.text for head in browser.find_elements("css selector", "#ahead th")]
    half = ["reward", "runner-up", "reward"]
    assert heads["replay"] == ["step", "recommended", *half]
    assert heads["native"] == ["step", "recommended", half[0], "leads to", *half[1:], "leads to"]


@pytest.mark.browser
def test_the_pages_of_a_box(browser, tmp_path):
    pp.plan(Cart(), budget=200, discount=0.8, seed=0).explain(tmp_path / "why.html")
    browser.get((tmp_path / "why.html").as_uri())
    assert browser.get_log("browser") == []
    cells = browser.find_elements("css selector", "#courses td")
    assert [cells[0].text, cells[3].text] == list(NAMES)
    assert set(cells[1].text) <= set(SIGNS)
    assert not browser.find_elements("css selector", "#heat")
    episode = pp.control(Cart(), budget=60, steps=3, discount=0.8, seed=0)
    browser.get(episode.explain(tmp_path / "episode.html").as_uri())
    for step, plan in enumerate(episode.plans):
        script = f"s = document.getElementById('slider'); s.value = {step};"
        browser.execute_script(script + "s.dispatchEvent(new Event('input'))")
        name = plan.action_names[plan.action_index]
        title = browser.find_element("id", "title").text
        assert title == f"Step {step + 1}: {name}"
        best = browser.find_elements("css selector", "#bars .name.is-best")
        assert [one.text for one in best] == [name]
    assert browser.get_log("browser") == []


@pytest.mark.browser
def test_pages_of_many_coordinates_fit_on_a_phone(browser, tmp_path):
    def step(state, action, rng):
        return state + action[:2], -float(np.sum((state - 1.0) ** 2)), False

    names = [f"joint number {place}" for place in range(17)]
    wide = pp.FunctionModel(step, pp.Box(-np.ones(17), 1.0), np.zeros(2), action_names=names)
    plan = pp.plan(wide, budget=60, discount=0.8, seed=0)
    assert "… 5 more" in str(plan)
    assert len(plan.explain(tmp_path / "why.html").coordinates) == 17
    assert (tmp_path / "why.html").read_text(encoding="utf-8").count("… 5 more") == 1
    episode = pp.control(wide, budget=30, steps=3, discount=0.8, seed=0)
    episode.explain(tmp_path / "episode.html")
    for width in (390, 1200):
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for page in ("why.html", "episode.html"):
            browser.get((tmp_path / page).as_uri())
            assert browser.get_log("browser") == []
            across = browser.execute_script("return document.documentElement.scrollWidth")
            assert across <= width, page
