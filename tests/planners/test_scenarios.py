"""Random dynamics and a box of actions: sequences are averaged over common scenarios."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import platypoos as pp
from platypoos.planners.platypus.scenarios import OVER, Joint, Scenarios
from platypoos.simulator import Request, Simulator
from platypoos.simulator.streams import Stream

BOX = pp.Box([-1.0], [1.0])


def push(state, action, rng):
    """A mass in gusts: go to 0 and stay there; far away it is lost."""
    x, v = state
    v += 0.2 * action[0] + 0.1 * rng.standard_normal()
    x += 0.2 * v
    cost = x * x + 0.1 * v * v
    far = bool(abs(x) > 2.5)
    return (float(x), float(v)), -100.0 if far else -float(cost), far


def mass(step=push, start=(2.0, 0.0), **more):
    return pp.FunctionModel(step, BOX, start, dynamics="random", **more)


def joint_of(model, number, budget=1_000, seed=0):
    simulator = Simulator(model, np.random.default_rng(seed), budget=budget)
    return Scenarios(simulator, number, model.actions, np.random.default_rng(seed + 1))


def slowly(number, seed, start, sequences):
    """What ``Scenarios`` should find, one scenario and one sequence at a time."""
    rng, stream = np.random.default_rng(seed + 1), Stream()
    longest = max(map(len, sequences))
    words = [[rng.bytes(16) for _ in range(number)] for _ in range(longest)]
    found = []
    for actions in sequences:
        states, walk = [start] * number, []
        for t, action in enumerate(actions):
            total, after = 0.0, []
            for state, word in zip(states, words[t], strict=True):
                if state is OVER:
                    after.append(OVER)
                    continue
                stream.start(word)
                state, reward, ended = push(state, action, stream.rng)
                total += reward
                after.append(OVER if ended else state)
            states = after
            ended = all(state is OVER for state in states)
            walk.append((action, Joint(tuple(states), t + 1), total / number, ended))
            if ended:
                break
        found.append([walk])
    return found


@pytest.mark.parametrize("number", [1, 2, 5])
def test_sequences_are_averaged_over_common_scenarios(number):
    rng = np.random.default_rng(number)
    start = (2.2, 0.3)  # some scenarios end
    sequences = [
        [(float(a),) for a in rng.uniform(-1.0, 1.0, size=rng.integers(1, 9))] for _ in range(20)
    ]
    scenarios = joint_of(mass(start=start), number)
    batch = [Request(scenarios.start(start), actions, len(actions)) for actions in sequences]
    found = scenarios.run(batch)
    assert found == slowly(number, 0, start, sequences)
    assert scenarios.calls == sum(len(walk) for (walk,) in found)
    alive = sum(
        sum(state is not OVER for state in at.states)
        for (walk,) in found
        for at in (scenarios.start(start), *(step[1] for step in walk[:-1]))
    )
    assert scenarios.simulator.calls == alive  # nothing is asked after an end
    if number > 1:
        assert any(OVER in step[1].states and not step[3] for (walk,) in found for step in walk)
    again = scenarios.run(batch[3:4])  # later, and alone: the same numbers
    assert again == found[3:4]


def test_a_walk_may_go_on_from_where_another_one_is():
    scenarios = joint_of(mass(), 3)
    start = scenarios.start((2.0, 0.0))
    actions = [(-1.0,), (0.5,), (0.0,), (1.0,)]
    ((whole,),) = scenarios.run([Request(start, actions, 4)])
    ((rest,),) = scenarios.run([Request(whole[1][1], actions[2:], 2)])
    assert rest == whole[2:]


class Counted:
    """A model that counts for itself, and notes the gusts at the root."""

    def __init__(self):
        self.calls, self.gusts = 0, set()

    def step(self, state, action, rng):
        self.calls += 1
        made = push(state, action, rng)
        if state == (2.0, 0.0):
            self.gusts.add(round(made[0][1] - 0.2 * action[0], 9))
        return made


@pytest.mark.parametrize("budget", [1, 2, 30, 300, 999, 1_000, 3_001])
def test_budgets(budget):
    counted = Counted()
    plan = pp.plan(mass(counted.step), budget=budget, discount=0.9, seed=0)
    assert plan.calls == counted.calls <= budget
    number = max(1, int((budget / 250) ** 0.5))
    assert len(counted.gusts) == number  # each first action meets the same few scenarios
    assert plan.calls > budget - number
    assert plan.is_open_loop
    assert "open loop: one sequence for all that chance may do; " in str(plan)
    assert ("in one scenario" if number == 1 else f"over {number} common scenarios") in str(plan)
    assert plan.noise is None
    assert not plan.states
    again = pp.plan(mass(), budget=budget, discount=0.9, seed=0)
    assert np.array_equal(again.actions, plan.actions)
    assert again.value == plan.value
    with ThreadPoolExecutor(2) as pool:
        spread = pp.plan(mass(), budget=budget, discount=0.9, seed=0, executor=pool)
    assert np.array_equal(spread.actions, plan.actions)


def test_it_is_better_than_a_walk_for_each_sequence():
    """In pairs of episodes with the same gusts: in 9 of 12, and by 14 on average."""
    totals = {}
    for access in ("restore", "reset"):
        totals[access] = np.array([
            sum(
                pp.control(
                    mass(), budget=300, discount=0.95, steps=40, seed=seed, access=access
                ).rewards
            )
            for seed in range(12)
        ])  # fmt: skip
    gain = totals["restore"] - totals["reset"]
    assert gain.mean() > 3.0
    assert (gain > 0.0).sum() >= 8


def test_an_end_in_some_scenarios_only():
    """A gamble: beyond 1 the state is worth more, but one time in four the episode ends there."""

    def step(state, action, rng):
        x = float(np.clip(state + action[0], 0.0, 2.0))
        falls = rng.random() < 0.25 and x > 1.0
        return x, -50.0 if falls else x, falls

    model = pp.FunctionModel(step, BOX, 0.0, dynamics="random")
    # Seeds 0 to 7. There are six scenarios: a step beyond looks safe in 0.75⁶ = 18 % of the cases,
    # so some plans take one, mostly late (measured: 1 of 8 within five steps). Value: measured
    # 5.9 ± 0.5 on average over seeds 0 to 11; the best is 10 or so.
    plans = [pp.plan(model, budget=10_000, discount=0.9, seed=seed) for seed in range(8)]
    beyond = 0
    for plan in plans:
        place, far = 0.0, False
        for action in plan.actions[:5]:
            place = float(np.clip(place + action[0], 0.0, 2.0))
            far |= place > 1.0
        beyond += far
    assert beyond <= 2
    assert np.mean([plan.value for plan in plans]) > 4.5


def test_models_that_draw_from_elsewhere():
    """The numbers are new ones each time: candidates are compared on fresh samples."""
    own = np.random.default_rng(3)

    def step(state, action, rng):
        state, reward, ended = push(state, action, own)
        return state, reward, ended or bool(own.random() < 0.02)

    # Seeds 0 to 19; measured -0.47 ± 0.07 over 60 plans. Random actions have 0.
    plans = [pp.plan(mass(step), budget=1_500, discount=0.9, seed=seed) for seed in range(20)]
    assert all(plan.calls <= 1_500 for plan in plans)
    assert np.mean([plan.action[0] for plan in plans]) < -0.15


def test_an_array_model():
    def step(states, actions, rng):
        x, v = states.T
        v = v + 0.2 * actions[:, 0] + 0.05 * rng.standard_normal(len(x))
        x = x + 0.2 * v
        return np.stack([x, v], axis=1), -x * x - 0.1 * v * v, abs(x) > 3.0

    model = pp.ArrayModel(step, BOX, np.array([2.0, 0.0]), dynamics="random")
    for seed in range(3):
        plan = pp.plan(model, budget=2_000, discount=0.9, seed=seed)
        assert plan.action[0] < 0.0
        assert 1_500 < plan.calls <= 2_000


def test_a_rule_a_value_and_a_horizon():
    seen = []

    def rule(state):
        seen.append(state)
        return np.array([np.clip(-state[0] - 2.0 * state[1], -1.0, 1.0)])

    model = mass(policy=rule, value=lambda state: -10.0 * state[0] ** 2)
    plan = pp.plan(model, budget=1_200, discount=1.0, horizon=6, seed=0)
    assert plan.action[0] < 0.0
    assert len(plan.actions) <= 6
    assert all(isinstance(state, tuple) and len(state) == 2 for state in seen)
    assert plan.improvement is None  # the rule reacts, the sequence does not
    scenarios = joint_of(model, 2)
    at = Joint(((2.0, 0.0), (0.1, 0.0)), 1)
    assert scenarios.advise(at) == pytest.approx(((-1.0 - 0.1) / 2,))
    assert scenarios.advise(Joint((OVER, (0.1, 0.0)), 1)) == pytest.approx((-0.1,))
    assert scenarios.value(lambda state: state[0])(Joint((OVER, (3.0, 0.0)), 1)) == 1.5


def test_whole_numbers():
    """Ten valves that stick now and then: open the first five."""
    target = np.array([1] * 5 + [0] * 5)

    def step(state, action, rng):
        stuck = rng.random(10) < 0.1
        return state + 1, float(-np.abs(np.where(stuck, 0, action) - target).sum()), False

    space = pp.MultiDiscrete([2] * 10)
    model = pp.FunctionModel(step, space, 0, dynamics="random")
    # Seeds 0 to 7; measured 1.9 valves on average over seeds 0 to 15. Arbitrary actions miss 5.
    plans = [pp.plan(model, budget=3_000, discount=0.5, seed=seed) for seed in range(8)]
    assert plans[0].action.dtype == np.int64
    assert np.mean([np.abs(plan.action - target).sum() for plan in plans]) <= 3


def test_a_failing_model_is_named_with_its_own_state():
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == 700:
            raise ValueError("broken")
        return push(state, action, rng)

    with pytest.raises(pp.ModelError, match="broken") as caught:
        pp.plan(mass(step), budget=1_500, discount=0.9, seed=0)
    error = caught.value
    assert error.calls == calls == 700
    assert isinstance(error.state, tuple)
    assert len(error.state) == 2
    assert isinstance(error.action, np.ndarray)
    assert error.tree.num_nodes > 1


def test_interrupts_and_deadlines():
    calls = 0

    def step(state, action, rng):
        nonlocal calls
        calls += 1
        if calls == 700:
            raise KeyboardInterrupt
        return push(state, action, rng)

    with pytest.raises(KeyboardInterrupt) as caught:
        pp.plan(mass(step), budget=1_500, discount=0.9, seed=0)
    assert caught.value.plan.action[0] < 0.0
    plan = pp.plan(mass(), budget=None, deadline=0.05, discount=0.9, seed=0)
    assert "over 3 common scenarios" in str(plan)
    assert plan.action[0] < 0.0
    stopped = pp.plan(mass(), budget=None, stop=lambda made: made >= 500, discount=0.9, seed=0)
    assert 500 <= stopped.calls < 2_000
