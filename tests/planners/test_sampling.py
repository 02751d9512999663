"""Planners that sample sequences in boxes, against slow versions with plain loops."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import platypoos as pp
from platypoos.planners.sampling.frame import FEWEST, shifted, usual_length
from platypoos.planners.sampling.gaussian import Gaussian
from platypoos.planners.sampling.noise import coloured
from platypoos.planners.sampling.predictive import between_knots
from platypoos.search.base import Asked

KINDS = [
    pp.planners.MPPI,
    pp.planners.PredictiveSampling,
    pp.planners.CEM,
    pp.planners.RandomShooting,
]
BOX = pp.Box([-1.0, -2.0], [1.0, 6.0])


def push(state, action, rng):
    """A point mass with two thrusts; the episode ends beyond 1.2, which pays a little."""
    x, v = state
    a, b = action.tolist()
    v = 0.9 * v + 0.3 * a
    x = x + 0.2 * v
    reward = -abs(x - 0.7) - 0.05 * (b - 3.0) ** 2
    return (x, v), reward, x > 1.2


def model_of(step=push, start=(0.0, 0.0), box=BOX, **said):
    return pp.FunctionModel(step, box, start, **said)


def counted(step):
    def counting(state, action, rng):
        counting.calls += 1
        return step(state, action, rng)

    counting.calls = 0
    return counting


def kinds(*more):
    return pytest.mark.parametrize("kind", [*KINDS, *more], ids=lambda kind: kind.__name__)


# ------------------------------------------------------------------ slow versions


def generator_of(seed):
    """What a planner draws with, if it was given a seed."""
    return np.random.default_rng(int(np.random.default_rng(seed).bit_generator.random_raw()) >> 1)


class Textbook:
    """Walks sequences one after the other; controls are in [-1, 1]."""

    def __init__(self, discount, length, value=None, **settings):
        self.discount, self.length, self.value = discount, length, value
        vars(self).update(settings)
        self.start()

    def start(self):
        pass

    def walk(self, state, controls):
        total = 0.0
        for t in range(self.length):
            point = [
                low + (min(1.0, max(-1.0, float(u))) + 1.0) / 2.0 * (high - low)
                for u, low, high in zip(controls[t], BOX.low, BOX.high, strict=True)
            ]
            state, reward, ended = push(state, np.array(point), None)
            total += self.discount**t * reward
            if ended:
                return total, t + 1
        if self.value is not None:
            total += self.discount**self.length * self.value(state)
        return total, self.length

    def noise(self, rng, number, beta):
        """Waves, summed one by one."""
        length = self.length
        if beta == 0.0:
            return rng.standard_normal((number, length, 2))
        count = length // 2 + 1
        parts = rng.standard_normal((2, number, 2, count))
        found = np.zeros((number, length, 2))
        power = 0.0
        for k in range(count):
            scale = (max(k, 1) / length) ** (-beta / 2.0)
            alone = k == 0 or 2 * k == length
            power += scale**2 * (1.0 if alone else 2.0)
            for t in range(length):
                angle = 2.0 * math.pi * k * t / length
                if alone:
                    wave = math.sqrt(2.0) * parts[0, :, :, k] * math.cos(angle)
                else:
                    wave = 2.0 * (
                        parts[0, :, :, k] * math.cos(angle) - parts[1, :, :, k] * math.sin(angle)
                    )
                found[:, t] += scale * wave
        return found / math.sqrt(2.0 * power)


class TextbookMPPI(Textbook):
    def start(self):
        self.mean = np.zeros((self.length, 2))

    def decide(self, state, budget, rng):
        drawn, returns = [], []
        while (number := budget // self.length) > 0:
            rows = self.mean + self.sigma * self.noise(rng, number, self.beta)
            for row in np.clip(rows, -1.0, 1.0):
                value, calls = self.walk(state, row)
                drawn.append(row)
                returns.append(value)
                budget -= calls
        spread = max(returns) - min(returns)
        weights = [math.exp((r - max(returns)) / (self.temperature * spread)) for r in returns]
        mean = sum(w * row for w, row in zip(weights, drawn, strict=True)) / sum(weights)
        value = sum(w * r for w, r in zip(weights, returns, strict=True)) / sum(weights)
        self.mean = np.array([*mean[1:], mean[-1]])
        return mean[0], value, budget


class TextbookPredictive(Textbook):
    def start(self):
        self.knots = np.zeros((self.count, 2))

    def at(self, knots, time):
        """A linear spline, by its definition."""
        place = min(time, self.length - 1) / (self.length - 1) * (self.count - 1)
        left = min(int(place), self.count - 2)
        return knots[left] + (place - left) * (knots[left + 1] - knots[left])

    def decide(self, state, budget, rng):
        best, best_value, best_row = self.knots, -math.inf, None
        while (number := budget // self.length) > 0:
            drawn = best + self.sigma * rng.standard_normal((number, self.count, 2))
            if best_row is None:
                drawn[0] = best
            for knots in np.clip(drawn, -1.0, 1.0):
                row = np.array([self.at(knots, t) for t in range(self.length)])
                value, calls = self.walk(state, row)
                budget -= calls
                if value > best_value:
                    best, best_value, best_row = knots, value, row
        gap = (self.length - 1) / (self.count - 1)
        self.knots = np.array([self.at(best, 1 + gap * k) for k in range(self.count)])
        return best_row[0], best_value, budget


class TextbookCEM(Textbook):
    def start(self):
        self.mean = np.zeros((self.length, 2))
        self.elites = []
        self.first = True

    def decide(self, state, budget, rng):
        sizes = shares_of(budget // self.length, 3)
        if not self.first:  # the last steps of elites are drawn anew
            last = rng.standard_normal((len(self.elites), 2))
            for elite, step in zip(self.elites, last, strict=True):
                elite[-1] = self.mean[-1] + self.sigma * step
        self.first = False
        sigma = np.full((self.length, 2), self.sigma)
        kept, best, best_value, iteration = [], None, -math.inf, 0
        while (number := budget // self.length) > 0:
            if iteration < 3:
                number = sizes[iteration]
            drawn = self.mean + sigma * self.noise(rng, number, self.beta)
            if iteration == 0:
                for place, elite in enumerate(self.elites[: min(3, number - 1)]):
                    drawn[place] = elite
            elif iteration == 2:
                drawn[0] = self.mean
            found = list(kept)
            for row in np.clip(drawn, -1.0, 1.0):
                value, calls = self.walk(state, row)
                found.append((value, row))
                budget -= calls
            found.sort(key=lambda pair: -pair[0])
            if found[0][0] > best_value:
                best_value, best = found[0]
            elites = [row for _, row in found[: min(10, max(2, number // 2))]]
            kept = found[: min(3, len(elites))]
            self.mean = 0.1 * self.mean + 0.9 * np.mean(elites, axis=0)
            sigma = 0.1 * sigma + 0.9 * np.std(elites, axis=0)
            iteration += 1
        self.elites = [np.array([*elite[1:], elite[-1]]) for elite in elites]
        self.mean = np.array([*self.mean[1:], self.mean[-1]])
        return best[0], best_value, budget


class TextbookShooting(Textbook):
    def decide(self, state, budget, rng):
        best, best_value = None, -math.inf
        while (number := budget // self.length) > 0:
            for row in 2.0 * rng.random((number, self.length, 2)) - 1.0:
                value, calls = self.walk(state, row)
                budget -= calls
                if value > best_value:
                    best, best_value = row, value
        return best[0], best_value, budget


def shares_of(number, iterations):
    """Populations that decay by 1.25, ``number`` in all."""
    shares = [1.25**-i for i in range(iterations)]
    sums = [round(number * sum(shares[: i + 1]) / sum(shares)) for i in range(iterations)]
    return [after - before for before, after in zip([0, *sums], sums, strict=False)]


CASES = {
    "mppi": (pp.planners.MPPI, TextbookMPPI, {"sigma": 0.6, "temperature": 0.1, "beta": 2.0}),
    "mppi white": (pp.planners.MPPI, TextbookMPPI, {"sigma": 0.4, "temperature": 0.3, "beta": 0.0}),
    "predictive": (pp.planners.PredictiveSampling, TextbookPredictive, {"sigma": 0.6, "knots": 5}),
    "cem": (pp.planners.CEM, TextbookCEM, {"sigma": 0.5, "beta": 2.0}),
    "cem pink": (pp.planners.CEM, TextbookCEM, {"sigma": 0.8, "beta": 1.0}),
    "shooting": (pp.planners.RandomShooting, TextbookShooting, {}),
}


@pytest.mark.parametrize("length", [6, 9])
@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_plans_of_the_textbook_decision_after_decision(case, valued, length):
    kind, book_kind, settings = CASES[case]
    value = (lambda state: 3.0 * state[0]) if valued else None
    planner = kind(0.9, length=length, **settings)
    told = {"count" if name == "knots" else name: given for name, given in settings.items()}
    book = book_kind(0.9, length, value, **told)
    view = planner.view_of(model_of(value=value))
    memory = planner.remember()
    state, left_over = (0.6, 0.8), set()
    for seed in range(6):
        budget = (37 + 5 * seed) * length
        plan = planner.answer(view, state, Asked(budget), seed=seed, memory=memory)
        control, expected, left = book.decide(state, budget, generator_of(seed))
        point = BOX.low + (np.clip(control, -1, 1) + 1) / 2 * (BOX.high - BOX.low)
        np.testing.assert_allclose(plan.action, point, atol=1e-9)
        assert plan.value == pytest.approx(expected, abs=1e-9)
        assert plan.calls == budget - left
        left_over.add(left)
        state = push(state, plan.action, None)[0]
    assert len(left_over) > 1  # some walks ended early


def test_shares_of_the_textbook():
    for number in (15, 37, 100, 333):
        sizes = Gaussian(pp.planners.CEM(0.9), 5, 2, np.random.default_rng(0)).sizes(number)
        assert sizes == shares_of(number, 3)
        assert sum(sizes) == number
    assert sizes[0] > sizes[1] > sizes[2]
    few = Gaussian(pp.planners.CEM(0.9, population=40, elites=10), 5, 2, np.random.default_rng(0))
    assert few.sizes(150) == [40, 32, 26, 20, 20, 12]
    short = Gaussian(pp.planners.CEM(0.9), 5, 2, np.random.default_rng(0))
    assert [short.sizes(number) for number in (1, 9, 10, 14)] == [[1], [9], [6, 4], [8, 6]]
    told = Gaussian(pp.planners.CEM(0.9, iterations=3), 5, 2, np.random.default_rng(0))
    assert [told.sizes(number) for number in (2, 9)] == [[1, 1], shares_of(9, 3)]


# ------------------------------------------------------------------ parts


@pytest.mark.parametrize("length", [1, 2, 7, 12])
@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0, 4.0])
def test_coloured_noise_has_variance_1_and_the_spectrum_that_was_asked_for(length, beta):
    noise = coloured(np.random.default_rng(0), 20_000, length, 2, beta)
    assert noise.shape == (20_000, length, 2)
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(noise.var(axis=0), 1.0, atol=0.06)
    assert abs(np.mean(noise[..., 0] * noise[..., 1])) < 0.03  # coordinates are independent
    power = (np.abs(np.fft.rfft(noise, axis=1)) ** 2).mean(axis=(0, 2))
    frequency = np.maximum(np.arange(len(power)), 1.0)
    expected = frequency**-beta
    times = np.full(len(power), 2.0)
    times[0] = 1.0
    if length % 2 == 0:
        times[-1] = 1.0
    expected *= length**2 / np.sum(times * expected)
    np.testing.assert_allclose(power, expected, rtol=0.08)


def test_noise_of_a_larger_exponent_changes_more_slowly():
    changes = []
    for beta in (0.0, 1.0, 2.0, 3.0):
        noise = coloured(np.random.default_rng(1), 5_000, 20, 1, beta)
        changes.append(np.abs(np.diff(noise, axis=1)).mean())
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] < 0.5 * changes[0]


def test_splines_go_through_their_knots():
    shares = between_knots(4, np.arange(10), 10)
    assert shares.shape == (10, 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    knots = np.array([0.0, 3.0, -1.0, 2.0])
    np.testing.assert_allclose((shares @ knots)[[0, 3, 6, 9]], knots)
    np.testing.assert_allclose((shares @ knots)[1], 1.0)
    assert between_knots(3, np.arange(1), 1).tolist() == [[1.0, 0.0, 0.0]]


def test_shifting_holds_the_last_step():
    rows = np.arange(8.0).reshape(2, 4, 1)
    assert shifted(rows, 4)[1].ravel().tolist() == [5.0, 6.0, 7.0, 7.0]
    assert shifted(rows, 2)[0].ravel().tolist() == [1.0, 2.0]
    assert shifted(rows[:, :1], 3)[0].ravel().tolist() == [0.0, 0.0, 0.0]


def test_how_long_sequences_are():
    assert usual_length(0.95, 100) == 12
    assert usual_length(0.95, 10_000) == 31
    assert usual_length(0.5, 10**6) == 12
    assert usual_length(1.0, 10_000) == 40
    assert usual_length(0.0, 100) == usual_length(0.9, 1) == 1


# ------------------------------------------------------------------ the contract


@kinds()
def test_budgets_are_exact(kind):
    rng = np.random.default_rng(0)
    spent = 0
    for seed in range(60):
        budget = int(rng.integers(1, 400))
        length = None if seed % 3 == 0 else int(rng.integers(1, 30))
        chance = float(rng.choice([0.0, 0.1, 0.5, 1.0]))

        def step(state, action, rng, chance=chance):
            return state + float(action.sum()), float(rng.random()), rng.random() < chance

        step = counted(step)
        model = model_of(step, 0.0)
        plan = kind(0.9, length=length).plan(model, budget=budget, seed=seed, access="reset")
        assert step.calls == plan.calls <= budget
        used = min(usual_length(0.9, budget) if length is None else length, budget)
        assert budget - plan.calls < used
        spent += plan.calls
    assert spent > 5_000


@kinds(pp.Platypus)
def test_the_same_seed_makes_the_same_plan_on_any_executor(kind):
    def noisy(state, action, rng):
        after, reward, ended = push(state, action, rng)
        return after, reward + 0.3 * rng.standard_normal(), ended

    plans = [kind(0.9).plan(model_of(noisy), budget=500, seed=seed) for seed in (4, 4, 5)]
    with ThreadPoolExecutor(3) as pool:
        plans.append(kind(0.9).plan(model_of(noisy), budget=500, seed=4, executor=pool))
    for same in (plans[1], plans[3]):
        assert same.value == plans[0].value
        assert same.calls == plans[0].calls
        np.testing.assert_array_equal(same.actions, plans[0].actions)
    assert not np.array_equal(plans[2].action, plans[0].action)


@kinds()
def test_episodes_are_the_same_on_any_executor_and_by_reset(kind):
    def play(**how):
        return pp.control(model_of(), planner=kind(0.9), budget=150, steps=6, seed=3, **how)

    here = play()
    with ThreadPoolExecutor(2) as pool:
        there = play(executor=pool)
    np.testing.assert_array_equal(here.actions, there.actions)
    np.testing.assert_array_equal(here.actions, play(access="reset").actions)
    assert max(here.step_calls) <= 150


@kinds()
def test_array_models_get_whole_batches(kind):
    sizes = []

    def steps(states, actions, rng):
        sizes.append(len(states))
        v = 0.9 * states[:, 1] + 0.3 * actions[:, 0]
        x = states[:, 0] + 0.2 * v
        return np.stack([x, v], 1), -abs(x - 0.7) - 0.05 * (actions[:, 1] - 3.0) ** 2, x > 1.2

    arrays = pp.ArrayModel(steps, BOX, np.zeros(2))
    plan = kind(0.9, length=10).plan(arrays, budget=1_000, seed=0)
    assert sum(sizes) == plan.calls <= 1_000
    assert max(sizes) == 100 if kind is not pp.planners.CEM else max(sizes) == shares_of(100, 3)[0]
    other = kind(0.9, length=10).plan(model_of(), budget=1_000, seed=0)
    np.testing.assert_allclose(plan.action, other.action, atol=1e-9)


@kinds(pp.Platypus)
@pytest.mark.parametrize(("scale", "shift"), [(8.0, 0.0), (2.0**-10, 0.0), (4.0, 1_000.0)])
def test_the_scale_of_the_box_does_not_matter(kind, scale, shift):
    def scaled(state, action, rng):
        return push(state, (action - shift) / scale, rng)

    box = pp.Box(BOX.low * scale + shift, BOX.high * scale + shift)
    plan = kind(0.9).plan(model_of(), budget=400, seed=1)
    other = kind(0.9).plan(model_of(scaled, box=box), budget=400, seed=1)
    np.testing.assert_allclose((other.action - shift) / scale, plan.action, atol=1e-9)
    assert len(other.actions) == len(plan.actions)


@kinds()
def test_the_scale_of_the_rewards_does_not_matter(kind):
    def scaled(state, action, rng):
        after, reward, ended = push(state, action, rng)
        return after, 1024.0 * reward, ended

    plan = kind(0.9).plan(model_of(), budget=400, seed=1)
    other = kind(0.9).plan(model_of(scaled), budget=400, seed=1)
    np.testing.assert_allclose(other.action, plan.action, atol=1e-12)


@kinds()
def test_actions_of_any_shape(kind):
    seen = []

    def step(state, action, rng):
        seen.append(action)
        return state, float(-np.sum((np.asarray(action) - 0.5) ** 2)), False

    for box in (pp.Box(0, 1), pp.Box(np.zeros((2, 2)), 1.0), pp.Box(np.float32([0, 0]), 1.0)):
        seen.clear()
        plan = kind(0.5).plan(pp.FunctionModel(step, box, 0), budget=200, seed=0)
        for action in (*seen, plan.action):
            box.check(action)
            assert np.shape(action) == box.shape
        if box.shape:
            assert {action.dtype for action in seen} == {box.low.dtype}
        else:
            assert {type(action) for action in seen} == {float}


# ------------------------------------------------------------------ what they are for


@kinds()
def test_more_calls_park_a_cart(kind):
    """The episode is good with many calls, and better than random actions."""

    def step(state, action, rng):
        x, v = state
        v += 0.2 * action
        x += 0.2 * v
        return (x, v), -abs(x), False

    model = pp.FunctionModel(step, pp.Box(-1, 1), (2.0, 0.0))
    scores = []
    for budget in (20, 2_000):
        episodes = [
            pp.control(model, planner=kind(0.95), budget=budget, steps=40, seed=seed)
            for seed in range(3)
        ]
        scores.append(np.mean([sum(episode.rewards) for episode in episodes]))
    assert scores[1] > scores[0]
    assert scores[1] > -33.0  # the best is -29


def test_what_was_learned_is_kept_from_step_to_step():
    """Few calls a decision add up: without the memory the tip of a needle is not found."""

    def step(state, action, rng):
        return state, -float(np.sum((action - 0.9) ** 2)), False

    model = pp.FunctionModel(step, pp.Box([-1.0] * 6, [1.0] * 6), 0)
    for kind in (pp.planners.MPPI, pp.planners.PredictiveSampling, pp.planners.CEM):
        planner = kind(0.9, length=5)
        kept = pp.control(model, planner=planner, budget=100, steps=25, seed=0)
        alone = [planner.plan(model, budget=100, seed=seed).action for seed in range(10)]
        fresh = np.mean([step(0, action, None)[1] for action in alone])
        assert np.mean(kept.rewards[-5:]) > 0.5 * fresh, kind


@kinds()
def test_nothing_is_counted_after_the_horizon(kind):
    asked = []

    def step(state, action, rng):
        asked.append(state)
        return state + 1, 100.0 if state >= 3 else float(action), False

    model = pp.FunctionModel(step, pp.Box(-1, 1), 0, value=lambda state: 1e6)
    plan = kind(1.0).plan(model, budget=300, horizon=3, seed=0)
    assert max(asked) == 2
    assert len(plan.actions) == 3
    assert plan.value <= 3.0
    shorter = kind(1.0, length=2).plan(model, budget=300, horizon=3, seed=0)
    assert shorter.value > 1e5  # it stops before the horizon, so the value counts
    episode = pp.control(model, planner=kind(1.0), budget=100, horizon=6, seed=0)
    assert len(episode.actions) == 6


@kinds()
def test_walks_that_ended_earn_nothing_more(kind):
    def step(state, action, rng):
        return state + 1, -1.0 if state else -0.1, action > 0.0

    model = pp.FunctionModel(step, pp.Box(-1, 1), 0, value=lambda state: -1.0)
    plan = kind(0.9, length=8).plan(model, budget=400, seed=0)
    if kind is not pp.planners.MPPI:  # the mean of many
        assert plan.value == pytest.approx(-0.1)
        assert plan.action > 0.0
        assert len(plan.actions) == 1
    endless = kind(0.9, length=8).plan(
        pp.FunctionModel(lambda s, a, r: (s, 1.0, False), pp.Box(-1, 1), 0, value=lambda s: 10.0),
        budget=400,
        seed=0,
    )
    assert endless.value == pytest.approx(10.0)


def test_plans_have_trees_states_and_explanations(tmp_path):
    for kind in KINDS:
        plan = kind(0.9).plan(model_of(), budget=600, seed=0)
        assert np.array_equal(plan.action, plan.actions[0])
        assert len(plan.action_values) == plan.num_actions > 1
        assert plan.action_values[plan.action_index] == plan.value
        if kind is not pp.planners.MPPI:
            assert plan.lead.estimate >= 0.0
            state, total = (0.0, 0.0), 0.0
            for t, action in enumerate(plan.actions):
                state, reward, _ = push(state, action, None)
                total += 0.9**t * reward
            assert plan.value == pytest.approx(total)
            assert plan.states[plan.node] == pytest.approx(state)
        assert "Take" in plan.explain(tmp_path / "why.html").summary
        assert str(plan)
        episode = pp.control(model_of(), planner=kind(0.9), budget=100, steps=2, seed=0)
        assert len(episode.plans) == 2
        assert episode.plans[0].brief().value == episode.plans[0].value


# ------------------------------------------------------------------ clocks


@pytest.mark.parametrize("kind", [pp.planners.MPPI, pp.planners.PredictiveSampling])
def test_deadlines_and_stops(kind):
    step = counted(push)
    plan = kind(0.9).plan(model_of(step), budget=None, deadline=0.1, seed=0)
    assert plan.budget is None
    assert plan.calls == step.calls > 100
    assert 1 <= len(plan.actions) <= usual_length(0.9, 3_000)
    stopped = kind(0.9).plan(model_of(), budget=None, stop=lambda calls: calls >= 200, seed=0)
    assert 200 <= stopped.calls < 2_000
    few = FEWEST * usual_length(0.9, 100)  # one batch, with a clock too
    assert few == 96
    both = kind(0.9).plan(model_of(), budget=100, stop=lambda calls: False, seed=0)
    whole = kind(0.9).plan(model_of(), budget=100, seed=0)
    assert 85 < both.calls == whole.calls <= few  # some episodes end early
    np.testing.assert_allclose(both.action, whole.action)
    more = kind(0.9).plan(model_of(), budget=150, stop=lambda calls: False, seed=0)
    assert 130 < more.calls <= 150


@pytest.mark.parametrize("kind", [pp.planners.MPPI, pp.planners.PredictiveSampling])
def test_a_model_that_is_slower_than_the_deadline(kind):
    import time

    def slow(state, action, rng):
        time.sleep(0.02)
        return push(state, action, rng)

    plan = kind(0.9, length=10).plan(model_of(slow), budget=None, deadline=0.05, seed=0)
    assert 1 <= plan.calls < 10
    BOX.check(plan.action)


@pytest.mark.parametrize("kind", [pp.planners.MPPI, pp.planners.PredictiveSampling])
def test_an_interrupted_plan_is_not_lost(kind):
    step = counted(push)

    def interrupted(state, action, rng):
        if step.calls == 150:
            raise KeyboardInterrupt
        return step(state, action, rng)

    plan = kind(0.9).plan(model_of(interrupted), budget=None, deadline=60.0, seed=0)
    assert 100 < plan.calls <= 151
    step.calls = 0
    with pytest.raises(KeyboardInterrupt) as caught:
        kind(0.9).plan(model_of(interrupted), budget=1_000, seed=0)
    BOX.check(caught.value.plan.action)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("kind", [pp.planners.MPPI, pp.planners.PredictiveSampling])
def test_lists_are_refused_by_name(kind):
    message = rf"{kind.__name__} chooses from a box of numbers \(pp\.Box\), but .*Discrete\(2\)"
    with pytest.raises(pp.InvalidArgument, match=message):
        kind(0.9).plan(pp.problems.SwitchChain(), budget=100)
    with pytest.raises(pp.InvalidArgument, match=message):
        pp.Agent(pp.problems.SwitchChain(), planner=kind(0.9), budget=100)


def test_planners_for_lists_name_those_for_boxes():
    names = "Platypus, CEM, MPPI, PredictiveSampling or RandomShooting"
    with pytest.raises(pp.InvalidArgument, match=names):
        pp.planners.UCT(0.9, horizon=5).plan(model_of(), budget=100)


@kinds()
@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1.0, -1.0, "low must be below high"),
        ([0.0, 2.0], [1.0, 1.0], "low must be below high, got 2 and 1 at coordinate 1"),
        (-np.inf, 1.0, "low must be finite numbers"),
        (0.0, np.nan, "high must be finite numbers"),
        ([0.0, 0.0], [1.0, 1.0, 1.0], "same shape"),
    ],
)
def test_boxes_that_are_none(kind, low, high, message):
    with pytest.raises(pp.InvalidArgument, match=message):
        kind(0.9).plan(pp.FunctionModel(push, pp.Box(low, high), (0.0, 0.0)), budget=100)


@kinds()
def test_a_step_that_fails_says_where_and_loses_nothing(kind):
    def failing(bad):
        def step(state, action, rng):
            after, reward, ended = push(state, action, rng)
            return bad(after, reward, ended) if counter.calls == 50 else (after, reward, False)

        return step

    for bad, message in [
        (lambda after, reward, ended: (after, math.nan, ended), "must be finite"),
        (lambda after, reward, ended: (after, reward), "must return"),
        (lambda after, reward, ended: 1 / 0, "ZeroDivisionError"),
        (lambda after, reward, ended: (after, np.zeros(3), ended), "reward"),
    ]:
        counter = counted(failing(bad))
        with pytest.raises(pp.ModelError, match=message) as caught:
            kind(0.9).plan(model_of(counter), budget=300, seed=0)
        error = caught.value
        assert error.calls == counter.calls == 50
        assert error.tree.num_nodes == 50  # the root, and 49 steps
        BOX.check(error.action)
        assert ", action [" in str(error)


@kinds()
def test_arrays_of_the_wrong_shape(kind):
    def steps(states, actions, rng):
        return states[:, :1], np.zeros(len(states)), np.zeros(len(states), bool)

    with pytest.raises(pp.ModelError, match="shape"):
        kind(0.9).plan(pp.ArrayModel(steps, BOX, np.zeros(2)), budget=100, seed=0)


@kinds()
def test_values_and_rules_that_are_wrong(kind):
    with pytest.raises(pp.ModelError, match="value must return a finite number"):
        kind(0.9).plan(model_of(value=lambda state: math.nan), budget=100, seed=0)
    with pytest.raises(pp.InvalidArgument, match="legal= is for a list"):
        kind(0.9).plan(model_of(legal=lambda state: [0]), budget=100, seed=0)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (pp.planners.MPPI, {"sigma": 0.0}),
        (pp.planners.MPPI, {"sigma": math.nan}),
        (pp.planners.MPPI, {"temperature": -1.0}),
        (pp.planners.MPPI, {"beta": -0.5}),
        (pp.planners.MPPI, {"length": 0}),
        (pp.planners.PredictiveSampling, {"sigma": "wide"}),
        (pp.planners.PredictiveSampling, {"knots": 0}),
        (pp.planners.PredictiveSampling, {"knots": 2.5}),
        (pp.planners.CEM, {"sigma": -1.0}),
        (pp.planners.CEM, {"beta": math.inf}),
        (pp.planners.CEM, {"iterations": 0}),
        (pp.planners.CEM, {"elites": 0}),
        (pp.planners.CEM, {"population": 3, "elites": 4}),
        (pp.planners.RandomShooting, {"length": -1}),
    ],
)
def test_settings_that_are_wrong(kind, settings):
    name = list(settings)[-1]
    with pytest.raises(pp.InvalidArgument, match=f"{name} must be"):
        kind(0.9, **settings)


def test_more_elites_than_a_list_has_room_for():
    with pytest.raises(pp.InvalidArgument, match="at most the population, 12, got 20"):
        pp.planners.CEM(0.9, elites=20).plan(pp.problems.SwitchChain(), budget=100)
    assert (
        pp.planners.CEM(0.9, population=2).plan(pp.problems.SwitchChain(), budget=100, seed=0).calls
    )
