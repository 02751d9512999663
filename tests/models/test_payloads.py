"""Actions are payloads: what ``step`` takes is what a plan recommends."""

import enum
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.errors import MaskError
from platypoos.models.base import actions_of, check_dynamics
from platypoos.models.numbered import Numbered, numbered, original

PLANNERS = [
    pp.Platypus(0.9),
    pp.PlaTyPOOS(0.9),
    pp.planners.UCT(0.9, horizon=8),
    pp.planners.RandomShooting(0.9, length=6),
    pp.planners.GumbelMCTS(0.9),
    pp.planners.OPD(0.9, reward_max=1.0),
]
LISTS = {
    "texts": ["left", "stay", "right"],
    "numbers": [-1.0, 0.0, 1.0],
    "tuples": [(-1, 0), (0, 0), (1, 0)],
    "arrays": [np.array([-1.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0])],
    "anything": [None, True, np.array([1.0])],
}


class Way(enum.Enum):
    LEFT = -1
    STAY = 0
    RIGHT = 1


def walk(actions, **said):
    """Three ways to go, whatever they are called; the reward is to the right."""
    space = pp.Discrete(actions)

    def step(position, action, rng):
        position += space.index(action) - 1
        return position, float(position >= 3), False

    return pp.FunctionModel(step, actions, 0, **said)


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: type(planner).__name__)
@pytest.mark.parametrize("kind", LISTS)
def test_the_plan_is_that_of_the_numbers(planner, kind):
    plain = planner.plan(walk(3), budget=300, seed=1)
    plan = planner.plan(walk(LISTS[kind]), budget=300, seed=1)
    assert plan.action is LISTS[kind][plain.action]
    assert plan.action_index == plain.action
    assert plan.action_indices == plain.actions
    assert [any(a is b for b in LISTS[kind]) for a in plan.actions] == [True] * len(plan.actions)
    assert np.array_equal(plan.action_values, plain.action_values, equal_nan=True)
    assert plan.calls == plain.calls
    assert plan.origin.model.actions == pp.Discrete(LISTS[kind])


def test_an_enumeration():
    plan = pp.plan(
        pp.FunctionModel(lambda x, way, rng: (x + way.value, float(x == 2), False), Way, 0),
        budget=200,
        seed=0,
    )
    assert plan.action is Way.RIGHT
    assert plan.action_names == ("LEFT", "STAY", "RIGHT")
    assert "'RIGHT'" in plan.explain().summary
    assert "RIGHT (action 2)" in str(plan)


def test_legal_returns_payloads_or_booleans():
    for legal in (lambda s: ["stay"], lambda s: {"stay"}, lambda s: [False, True, False],
                  lambda s: iter(["stay"])):  # fmt: skip
        for planner in PLANNERS[:3]:
            assert (
                planner.plan(walk(LISTS["texts"], legal=legal), budget=50, seed=0).action == "stay"
            )
    for wrong in (lambda s: ["up"], lambda s: "stay", lambda s: [1], lambda s: [True], lambda s: 3):
        with pytest.raises(MaskError, match=r"^legal must return 3 booleans or the legal action"):
            pp.plan(walk(LISTS["texts"], legal=wrong), budget=50, seed=0)
    with pytest.raises(pp.ModelError, match="twice"):
        pp.plan(walk(LISTS["texts"], legal=lambda s: ["stay", "stay"]), budget=50, seed=0)
    rows = [np.array([0.0, 0.0])]
    assert pp.plan(walk(LISTS["arrays"], legal=lambda s: rows), budget=50, seed=0).action_index == 1


@pytest.mark.parametrize("kind", ["texts", "arrays", "numbers"])
def test_a_policy_may_return_an_action(kind):
    """An action counts as weight 1 on it."""
    actions = LISTS[kind]
    planner = pp.planners.UCT(0.9, horizon=8)
    weights = planner.plan(walk(3, policy=lambda s: [0, 0, 1]), budget=300, seed=0)
    for said in (lambda s: actions[2], lambda s: [0.0, 0.0, 5.0]):
        plan = planner.plan(walk(actions, policy=said), budget=300, seed=0)
        assert np.array_equal(plan.action_values, weights.action_values)
    with pytest.raises(pp.ModelError, match="policy must return an action of"):
        planner.plan(walk(actions, policy=lambda s: "nowhere"), budget=300, seed=0)


def test_a_policy_over_numbers_may_return_one():
    planner = pp.planners.UCT(0.9, horizon=8)
    weights = planner.plan(walk(3, policy=lambda s: [0, 0, 1]), budget=300, seed=0)
    plan = planner.plan(walk(3, policy=lambda s: np.int64(2)), budget=300, seed=0)
    assert np.array_equal(plan.action_values, weights.action_values)


def test_episodes():
    model = walk(LISTS["texts"])
    episode = pp.control(model, budget=100, steps=5, seed=0)
    assert episode.actions[:3] == ("right",) * 3
    assert episode.action_indices[:3] == (2, 2, 2)
    assert episode.action_names == ("left", "stay", "right")
    assert "right" in episode._repr_html_()
    again = pp.Episode.from_dict(episode.as_dict())
    assert (again.actions, again.action_indices) == (episode.actions, episode.action_indices)
    assert pickle.loads(pickle.dumps(episode)).actions == episode.actions
    plan = episode.plans[0]
    assert pp.Plan.from_dict(plan.as_dict()).action == "right"
    assert pickle.loads(pickle.dumps(plan)).action == "right"
    assert pp.Plan.from_dict(plan.as_dict()).action_index == 2


def test_pages(tmp_path):
    episode = pp.control(walk(LISTS["arrays"]), budget=100, steps=3, seed=0)
    page = episode.explain(tmp_path / "episode.html").read_text(encoding="utf-8")
    assert "[1, 0]" in page
    plan = pp.plan(walk(LISTS["anything"]), budget=100, seed=0)
    plan.explain(tmp_path / "why.html")
    assert "[1]" in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert pp.Plan.from_dict(plan.as_dict()).action == [1.0]


def test_an_agent_remembers():
    model = walk(LISTS["texts"])
    plain = pp.Agent(walk(3), budget=60, seed=0)
    agent = pp.Agent(model, budget=60, seed=0)
    state, rng = 0, np.random.default_rng(0)
    for _ in range(4):
        agent.act(state)
        plain.act(state)
        plan, expected = agent.plan, plain.plan
        assert (plan.action_index, plan.value) == (expected.action, expected.value)
        state, reward, _ = model.step(state, "right", rng)
        agent.observe(reward, action="right")
        plain.observe(reward, action=2)
    with pytest.raises(pp.InvalidArgument, match="'up' is not an action of Discrete"):
        agent.observe(0.0, action="up")


def test_array_models():
    def step(positions, actions, rng):
        assert actions.dtype.kind == "f"
        positions = positions + actions
        return positions, (positions >= 3).astype(float), False

    model = pp.ArrayModel(step, [-1.0, 0.0, 1], 0.0)
    assert pp.check_model(model).ok, str(pp.check_model(model))
    plan = pp.plan(model, budget=300, discount=0.9, seed=0)
    assert plan.action == 1.0
    assert plan.origin.model is model
    assert model.step(0.0, 1, np.random.default_rng(0)).state == 1.0
    rows = pp.ArrayModel(lambda s, a, r: (s + a[:, 0], s, False), LISTS["arrays"], 0.0)
    assert pp.plan(rows, budget=100, seed=0).action.tolist() == [1.0, 0.0]
    texts = pp.ArrayModel(lambda s, a, r: (s, (a == "right") * 1.0, False), LISTS["texts"], 0.0)
    assert pp.plan(texts, budget=100, seed=0).action == "right"


def test_a_kernel_takes_numbers():
    compiled = pp.problems.SwitchChain().compiled()
    with pytest.raises(pp.InvalidArgument, match="a kernel takes the numbers of actions"):
        pp.CompiledModel(compiled.kernel, ["stay", "switch"], np.zeros(2), compiled.params)
    assert compiled.actions == pp.Discrete(2)


class Own:
    actions = ("left", "right")
    initial_state = 0

    def step(self, state, action, rng):
        if action == "right" and state == 3:
            raise RuntimeError("the wall")
        return state + (1 if action == "right" else -1), float(state), False


def test_errors_name_the_payload():
    with pytest.raises(pp.ModelError, match=r"at state 3, action 'right'\)") as caught:
        pp.plan(Own(), budget=100, seed=0)
    assert caught.value.action == "right"
    report = pp.check_model(Own())
    assert not report.ok
    assert "action 'right'" in report.problems[0]
    bad = pp.FunctionModel(lambda s, a, r: (s, float("nan"), False), ["up", "down"], 0)
    with pytest.raises(pp.errors.RewardError, match=r"action .(up|down)."):
        pp.plan(bad, budget=100, seed=0)
    batch = pp.ArrayModel(lambda s, a, r: 1 / 0, [1.5, 2.5], 0.0)
    with pytest.raises(pp.ModelError) as caught:
        pp.plan(batch, budget=100, seed=0)
    assert set(caught.value.action) <= {1.5, 2.5}


def test_workers_get_payloads():
    model = pp.models.NoisyReward(Ways(), 0.5)
    with ThreadPoolExecutor(2) as executor:
        spread = pp.plan(model, budget=100, seed=0, executor=executor)
    assert spread.action == pp.plan(model, budget=100, seed=0).action == "right"
    assert pickle.loads(pickle.dumps(numbered(model))).step(0, 1, np.random.default_rng(0))[0] == 1


class Ways(Own):
    def step(self, state, action, rng):
        return state + (1 if action == "right" else -1), float(state), False


def test_wrapped_models():
    slow = pp.models.RepeatedAction(Ways(), repeat=2, discount=0.9)
    assert slow.actions == pp.Discrete(["left", "right"])
    assert pp.plan(slow, budget=100, discount=slow.discount, seed=0).action == "right"


def test_views():
    model = walk(LISTS["texts"])
    view = numbered(model)
    assert isinstance(view, Numbered)
    assert (view.num_actions, view.actions, original(view)) == (3, pp.Discrete(3), model)
    assert numbered(walk(3)).actions.n == 3
    assert original(walk(3)).actions.n == 3
    plain = walk([0, 1, 2])
    assert numbered(plain) is plain
    assert numbered(view) is view


def test_models_that_call_it_num_actions():
    class Old:
        num_actions = 3
        initial_state = 0

        def step(self, state, action, rng):
            return state, 0.0, False

    for use in (lambda: pp.plan(Old(), budget=10), lambda: actions_of(Old()),
                lambda: pp.models.NoisyReward(Old(), 1.0)):  # fmt: skip
        with pytest.raises(pp.InvalidArgument, match="num_actions is now actions: write actions=3"):
            use()
    assert "write actions=3" in str(pp.check_model(Old()))


@pytest.mark.parametrize(
    "planner",
    [
        planner
        for planner in PLANNERS
        if not isinstance(planner, pp.Platypus | pp.planners.RandomShooting)
    ],
    ids=lambda planner: type(planner).__name__,
)
def test_boxes_are_refused(planner):
    model = pp.FunctionModel(lambda s, a, r: (s + a, 0.0, False), pp.Box(-1, 1), 0.0)
    message = rf"{type(planner).__name__} chooses from a finite list .* Box\(-1, 1\): pass actions="
    with pytest.raises(pp.InvalidArgument, match=message):
        planner.plan(model, budget=100)
    with pytest.raises(pp.InvalidArgument, match=message):
        pp.Agent(model, planner=planner, budget=100)
    many = pp.FunctionModel(lambda s, a, r: (s, 0.0, False), pp.MultiDiscrete([10] * 5), 0.0)
    with pytest.raises(pp.InvalidArgument, match=r"MultiDiscrete\(\[10, 10, 10, 10, 10\]\)"):
        planner.plan(many, budget=100)


def test_a_small_multi_discrete_is_a_list():
    model = pp.FunctionModel(
        lambda s, a, r: (s + int(a.sum()), float(s), False), pp.MultiDiscrete([2, 2]), 0
    )
    assert pp.plan(model, budget=100, seed=0).action.tolist() == [1, 1]


def test_the_check_takes_boxes():
    model = pp.FunctionModel(lambda s, a, r: (s + a, 0.0, False), pp.Box(-1, 1), 0.0)
    report = pp.check_model(model)
    assert report.ok
    assert "actions Box(-1, 1), access restore" in str(report)
    ruled = pp.FunctionModel(model.step, pp.Box(-1, 1), 0.0, policy=lambda s: 2.0)
    assert "policy must return an action of Box(-1, 1), got 2.0" in str(pp.check_model(ruled))


def test_gymnasium_lists():
    model = pp.GymnasiumModel("Pendulum-v1", actions=[[-2.0], [0.0], [2.0]])
    plan = pp.plan(model, budget=100, seed=0)
    assert plan.action.shape == (1,)
    assert model.env.action_space.contains(plan.action)
    grid = pp.GymnasiumModel("Pendulum-v1", actions=3)
    assert grid.actions == pp.Discrete(3)
    assert grid.env_actions[plan.action_index].tolist() == plan.action.tolist()
    assert pp.plan(grid, budget=100, seed=0).action_index == plan.action_index
    assert pickle.loads(pickle.dumps(model)).actions == model.actions
    assert pickle.loads(pickle.dumps(grid)).actions == grid.actions


def slips(state, action, rng):
    return state + int(rng.integers(2)) * (1 if action == 1 else -1), float(state), False


def test_random_dynamics():
    model = pp.FunctionModel(slips, 2, 0, dynamics="random")
    for planner in PLANNERS:
        if planner.reacts:
            assert planner.plan(model, budget=100, seed=0).outcomes
            continue
        with pytest.raises(pp.InvalidArgument) as caught:
            planner.plan(model, budget=100)
        for said in (type(planner).__name__, "Platypus", "OPMDP", 'access="reset"'):
            assert said in str(caught.value)
    right = [pp.plan(model, budget=200, access="reset", seed=seed).action for seed in range(10)]
    assert sum(right) >= 8  # 38 of 40 are right
    reset = pp.FunctionModel(slips, 2, 0, dynamics="random", access="reset")
    assert pp.plan(reset, budget=200, seed=1).action == 1
    assert pp.check_model(model).ok
    assert "dynamics are random" in str(pp.check_model(model))
    honest = pp.FunctionModel(slips, 2, 0)
    assert 'dynamics="random"' in str(pp.check_model(honest))
    with pytest.raises(pp.errors.DynamicsError, match='dynamics="random"'):
        pp.plan(honest, budget=2_000, seed=0)


def test_who_is_random():
    assert lab.problems.NoisyTable([[0, 0]], [[0.0, 1.0]], slip=0.5).dynamics == "random"
    assert lab.problems.NoisyTable([[0, 0]], [[0.0, 1.0]], slip=0.5).compiled().dynamics == "random"
    assert pp.problems.SwitchChain().array().dynamics == "deterministic"
    lake = pp.GymnasiumModel("FrozenLake-v1")
    assert (lake.dynamics, lake.access) == ("random", pp.Access.RESTORE)
    assert pp.models.NoisyReward(lake, 1.0).dynamics == "random"
    assert pp.GymnasiumModel("CartPole-v1").dynamics == "deterministic"
    assert pp.planners.OPMDP(0.9, reward_max=1.0).plan(lake, budget=200, seed=0).calls <= 200
    for wrong in ("stochastic", None, True):
        with pytest.raises(
            pp.InvalidArgument, match='dynamics must be "deterministic" or "random"'
        ):
            check_dynamics(wrong)
        with pytest.raises(pp.InvalidArgument, match="dynamics must be"):
            pp.FunctionModel(slips, 2, 0, dynamics=wrong)


def test_successors_get_payloads():
    class Listed(Ways):
        dynamics = "random"
        max_successors = 2

        def successors(self, state, action):
            assert action in self.actions
            side = 1 if action == "right" else -1
            return [(0.5, state + side, float(side)), (0.5, state, 0.0)]

    assert (
        pp.planners.OPMDP(0.9, reward_max=1.0, reward_min=-1.0).plan(Listed(), budget=100).action
        == "right"
    )
