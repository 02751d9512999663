"""Published planners under random dynamics, against slow versions with dictionaries."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import fuzz_chance
import numpy as np
import pytest
from random_trees import PLANNERS

import platypoos as pp
from platypoos.planners.closed_loop.tree import ChanceTree
from platypoos.planners.trailblazer import Elimination
from platypoos.search.base import REACTING


def unit(*numbers):
    """A number in [0, 1) that depends on some others: a hash."""
    mixed = hash(numbers) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9 % 2**64
    return (mixed >> 11) / 2**53


def test_units_are_uniform():
    found = np.histogram([unit(1, k, a, (0, s)) for k in range(500) for a in (0, 1, 2)
                          for s in (0, 1)], 10, (0, 1))[0]  # fmt: skip
    assert abs(found - 300).max() < 4 * math.sqrt(300)


class Chancy:
    """A random process with two or three outcomes for each action; it keeps a record of its calls.

    An outcome depends on how often the same action was called in the same state before, and not
    on the order of other calls: two planners that ask alike see the same.

    Args:
        seed: of the process.
        told: what a state tells beside its number: "nothing", the "time", or the "history".
    """

    def __init__(self, seed, told="nothing", states=5, actions=3, ends=0.0):
        rng = np.random.default_rng(seed)
        self.seed, self.told, self.states, self.actions = seed, told, states, actions
        self.after = rng.integers(states, size=(states, actions, 3))
        self.chances = rng.dirichlet(np.ones(3), (states, actions))
        self.rewards = rng.random((states, actions, 3))
        self.ends = rng.random((states, actions, 3)) < ends
        self.visits = Counter()
        self.record = []
        self.root = {"nothing": 0, "time": (0, 0), "history": (0,)}[told]

    def number(self, state):
        return state if self.told == "nothing" else state[0 if self.told == "time" else -1]

    def outcome(self, state, action, visit):
        """The outcome of one visit: the next state, the reward, whether the episode ends."""
        number = self.number(state)
        draw = unit(self.seed, visit, action, state)
        first, second, _ = self.chances[number, action]
        which = 0 if draw < first else 1 if draw < first + second else 2
        after = int(self.after[number, action, which])
        if self.told == "time":
            after = (after, state[1] + 1)
        if self.told == "history":
            after = (*state, action, after)
        ended = bool(self.ends[number, action, which])
        return after, float(self.rewards[number, action, which]), ended

    def step(self, state, action, rng):
        visit = self.visits[state, action]
        self.visits[state, action] += 1
        found = self.outcome(state, action, visit)
        self.record.append((state, action, *found))
        return found

    def model(self, **said):
        return pp.FunctionModel(self.step, self.actions, self.root, dynamics="random", **said)

    def plan(self, planner, budget, **asked):
        return planner.plan(self.model(), budget=budget, seed=self.seed, **asked)

    def values(self, discount, steps):
        """Q* of so many steps, by backward induction."""
        best = np.zeros(self.states)
        for _ in range(steps):
            follows = np.where(self.ends, 0.0, discount * best[self.after])
            q = (self.chances * (self.rewards + follows)).sum(axis=2)
            best = q.max(axis=1)
        return q


def walks_of(record, steps):
    """The calls of each walk: a walk is over after so many steps, or when the episode ends."""
    walk = []
    for call in record:
        walk.append(call)
        if len(walk) == steps or call[-1]:
            yield walk
            walk = []
    assert not walk


def best_of(values):
    """The keys of the largest value, and of those that are as large up to rounding."""
    most = max(values.values())
    return {key for key, value in values.items() if value >= most - 1e-9 * (1 + abs(most))}


def returns_of(walk, discount):
    """The return from each step of a walk on."""
    total, found = 0.0, []
    for *_, reward, _ in reversed(walk):
        total = reward + discount * total
        found.append(total)
    return found[::-1]


# ------------------------------------------------------------------ each planner as published


@pytest.mark.parametrize("polynomial", [False, True])
@pytest.mark.parametrize("scale", [0.7, "auto"])
def test_uct_takes_the_largest_bound(polynomial, scale):
    checked = 0
    for seed in range(6):
        process = Chancy(seed, ends=0.1)
        kind = pp.planners.PolynomialUCT if polynomial else pp.planners.UCT
        plan = process.plan(kind(0.8, scale=scale, horizon=4), 400)
        count, mean, low, high = Counter(), defaultdict(float), math.inf, -math.inf
        for walk in walks_of(process.record, 4):
            unit = scale if scale != "auto" else max(0.0, high - low)
            for depth, (state, action, *_) in enumerate(walk):
                tried = {a: count[state, depth, a] for a in range(3)}
                if min(tried.values()) == 0:
                    assert tried[action] == 0
                    continue
                n = sum(tried.values())
                bonus = n**0.25 if polynomial else math.sqrt(math.log(n))
                bounds = {
                    a: mean[state, depth, a] + unit * bonus / math.sqrt(m) for a, m in tried.items()
                }
                assert action in best_of(bounds)
                checked += 1
            totals = returns_of(walk, 0.8)
            low, high = min(low, totals[0]), max(high, totals[0])
            for depth, (state, action, *_) in enumerate(walk):
                name = state, depth, action
                count[name] += 1
                mean[name] += (totals[depth] - mean[name]) / count[name]
        assert plan.action_values == pytest.approx([mean[0, 0, a] for a in range(3)])
        assert plan.action in best_of(dict(enumerate(plan.action_values)))
    assert checked > 500


def test_brue_switches_where_it_says():
    explored = Counter()
    for seed in range(6):
        process = Chancy(seed, ends=0.05)
        plan = process.plan(pp.planners.BRUE(0.8, horizon=50), 1_000)
        count, mean = Counter(), defaultdict(float)
        steps = 4  # 4^4 = 256 < 1,000 / 3 < 5^4
        for number, walk in enumerate(walks_of(process.record, steps)):
            switch = steps - 1 - number % steps
            for depth, (state, action, *_) in enumerate(walk):
                updates = {a: count[state, depth, a] for a in range(3)}
                known = {a: mean[state, depth, a] for a, n in updates.items() if n}
                if depth < switch:
                    explored[action] += 1
                elif depth == switch:
                    assert updates[action] == min(updates.values())
                elif known:
                    assert action in best_of(known)
            if len(walk) > switch:
                state, action, *_ = walk[switch]
                name = state, switch, action
                count[name] += 1
                total = returns_of(walk, 0.8)[switch]
                mean[name] += (total - mean[name]) / count[name]
        assert plan.action_values == pytest.approx([mean[0, 0, a] for a in range(3)])
        assert plan.action in best_of(dict(enumerate(plan.action_values)))
    # Exploration is uniform: of about 2,000 actions each is taken in a third, ± 4 standard errors.
    total = sum(explored.values())
    assert total > 1_500
    for taken in explored.values():
        assert abs(taken / total - 1 / 3) < 4 * math.sqrt(2 / 9 / total)


def gumbel_scores(children, own, mean_reward, spread):
    """σ of the completed q of all actions: from (visits, sum, unseen steps) of each."""
    tried = {a: (s + mean_reward * u) / n for a, (n, s, u) in children.items() if n}
    visits = sum(n for n, _, _ in children.values())
    mixed = sum(tried.values()) / max(1, len(tried))
    if own is not None:
        mixed = (own + visits * mixed) / (1 + visits)
    low, high = spread
    most = max((n for n, _, _ in children.values()), default=0)
    scale = (50 + most) * 0.1 / (high - low) if high > low else 0.0
    return {a: scale * tried.get(a, mixed) for a in children}


def test_gumbel_follows_the_improved_policy():
    checked = halvings = 0
    for seed in range(6):
        process, budget, gamma = Chancy(seed, "history", actions=6), 300, 0.7
        plan = process.plan(pp.planners.GumbelMCTS(gamma), budget)
        longest = math.ceil(math.log(0.01) / math.log(gamma))
        nodes = {(0,): dict.fromkeys(range(6), (0, 0.0, 0.0))}
        rewards, spread, left, phase, calls = [], (math.inf, -math.inf), set(range(6)), 0, 0
        record = iter(process.record)
        walk = []
        for call in record:
            state, action, after, reward, _ = call
            mean_reward = sum(rewards) / len(rewards) if rewards else 0.0
            scores = gumbel_scores(
                nodes[state], None if len(state) == 1 else mean_reward / (1 - gamma),
                mean_reward, spread,
            )  # fmt: skip
            visits = {a: n for a, (n, _, _) in nodes[state].items()}
            if not walk:
                counts = {visits[a] for a in left}
                if len(left) > 2 and len(counts) == 1 and calls * 3 >= budget * (phase + 1):
                    ranked = sorted(left, key=scores.__getitem__, reverse=True)
                    left, phase, halvings = (
                        set(ranked[: max(2, len(left) // 2)]),
                        phase + 1,
                        halvings + 1,
                    )
                fewest = {a: scores[a] for a in left if visits[a] == min(visits[b] for b in left)}
                assert action in best_of(fewest)
            else:
                most = max(scores.values())
                weights = {a: math.exp(score - most) for a, score in scores.items()}
                total = sum(weights.values())
                behind = {a: w / total - visits[a] / (1 + sum(visits.values()))
                          for a, w in weights.items()}  # fmt: skip
                assert action in best_of(behind)
                checked += 1
            calls += 1
            rewards.append(reward)
            walk.append(call)
            if after in nodes and len(walk) < longest:
                continue
            nodes.setdefault(after, dict.fromkeys(range(6), (0, 0.0, 0.0)))
            seen, unseen, mean_reward = 0.0, 1 / (1 - gamma), sum(rewards) / len(rewards)
            for state, action, _, reward, _ in reversed(walk):
                seen, unseen = reward + gamma * seen, gamma * unseen
                n, total, steps = nodes[state][action]
                nodes[state][action] = n + 1, total + seen, steps + unseen
                q = (total + seen + mean_reward * (steps + unseen)) / (n + 1)
                spread = min(spread[0], q), max(spread[1], q)
            walk = []
        scores = gumbel_scores(nodes[0,], None, sum(rewards) / len(rewards), spread)
        assert plan.action in best_of({a: scores[a] for a in left})
    assert checked > 200
    assert halvings >= 6


def expected(table, seen, depth, unknown):
    """The mean over outcomes of the largest entry; of an action without one it is ``unknown``."""
    total = 0.0
    for after, times in seen.items():
        entries = [table.get((after, depth, action), unknown) for action in range(3)]
        total += times * max((entry for entry in entries if entry is not None), default=0.0)
    return total / sum(seen.values())


@pytest.mark.parametrize("rule", ["ugape", "lucb"])
def test_bai_mcts_walks_where_intervals_are_wide(rule):
    checked, depth, gamma, delta = 0, 2, 0.4, 0.5
    for seed in range(3):
        process = Chancy(seed, states=3)
        planner = pp.planners.BAIMCTS(gamma, reward_max=1.0, depth=depth, rule=rule, delta=delta)
        plan = process.plan(planner, 3_000)
        count, mean, follows = Counter(), defaultdict(float), defaultdict(Counter)
        low, high, value = {}, {}, {}
        branches, again = 1, None

        def span(at):
            return sum(gamma**t for t in range(depth - at))

        for number, walk in enumerate(walks_of(process.record, depth)):
            first = walk[0][1]
            if number >= 3:
                lows, highs, values = ([table[0, 0, a] for a in range(3)]
                                       for table in (low, high, value))  # fmt: skip
                others = [max(highs[b] for b in range(3) if b != a) for a in range(3)]
                if again is not None:
                    assert first in again
                    again = None
                else:
                    merits = (
                        values
                        if rule == "lucb"
                        else [x - y for x, y in zip(lows, others, strict=True)]
                    )
                    pairs = [(b, c) for b in best_of(dict(enumerate(merits))) for c in range(3)
                             if c != b and highs[c] == others[b]]  # fmt: skip
                    width = {a: highs[a] - lows[a] for a in range(3)}
                    wider = [(x, y) for b, c in pairs for x, y in ((b, c), (c, b))
                             if width[x] >= width[y] - 1e-9]  # fmt: skip
                    assert first in {x for x, _ in wider}
                    if rule == "lucb":
                        again = {y for x, y in wider if x == first}
                checked += 1
            for at, (state, action, *_) in list(enumerate(walk))[1:]:
                ends = {a: high.get((state, at, a), 99.0) for a in range(3)}
                assert action in best_of(ends)
            for at in reversed(range(depth)):
                state, action, after, reward, _ = walk[at]
                name = state, at, action
                count[name] += 1
                mean[name] += (reward - mean[name]) / count[name]
                follows[name][after] += 1
            for at in reversed(range(depth)):
                state, action, *_ = walk[at]
                name = state, at, action
                branches = max(branches, len(follows[name]))
                leaves = depth * math.log(branches * 3) - math.log(delta)
                beta = leaves + 3 * math.log(leaves) + 1.5 * math.log(math.log(count[name]) + 1)
                radius = span(at) * math.sqrt(beta / (2 * count[name]))

                top, seen = span(at + 1), follows[name]
                low_after = expected(low, seen, at + 1, None)
                high_after = expected(high, seen, at + 1, top)
                low[name] = max(0.0, mean[name] + gamma * low_after - radius)
                high[name] = min(span(at), mean[name] + gamma * high_after + radius)
                value[name] = mean[name] + gamma * expected(value, seen, at + 1, None)
        assert plan.action_values == pytest.approx([value[0, 0, a] for a in range(3)])
    assert checked > 300


def test_bai_mcts_is_right_when_it_says_so():
    # 30 processes, ε = 0.2, δ = 0.1, two steps. The regret is above ε in 3 at most on average.
    wrong = reached = 0
    for seed in range(30):
        process = Chancy(seed, actions=2, ends=0.1)
        planner = pp.planners.BAIMCTS(0.5, reward_max=1.0, depth=2, epsilon=0.3)
        plan = process.plan(planner, 4_000)
        q = process.values(0.5, 2)[0]
        reached += plan.reached
        wrong += plan.reached and q.max() - q[plan.action] > 0.3
    assert reached >= 15
    assert wrong <= 3


class SlowTrailBlazer:
    """The two recursions of the paper; the k-th sample of an action is always the same."""

    def __init__(self, process, gamma, epsilon, delta):
        self.process, self.gamma, self.delta = process, gamma, delta
        self.eta = gamma ** (1 / max(2.0, math.log(1 / epsilon)))
        lam = 2 * math.log(epsilon * (1 - gamma)) ** 2 * math.log(math.log(2) / (1 - self.eta))
        self.lam = max(0.0, lam / math.log(self.eta / gamma))
        self.m = math.ceil((math.log(1 / delta) + self.lam) / ((1 - gamma) ** 2 * epsilon**2))
        self.samples = defaultdict(list)
        for action in range(process.actions):
            self.call((0,), action, 1)

    def call(self, state, action, times):
        samples = self.samples[state, action]
        for visit in range(len(samples), times):
            samples.append(self.process.outcome(state, action, visit))
        return samples

    def average(self, state, action, m, eps):
        if eps >= 1 / (1 - self.gamma):
            return 0.0
        samples, total = self.call(state, action, m), 0.0
        for (after, ended), k in Counter((s, e) for s, _, e in samples[:m]).items():
            total += 0.0 if ended else k / m * self.maximum(after, k, eps / self.gamma)[0]
        return sum(reward for _, reward, _ in samples) / len(samples) + self.gamma * total

    def maximum(self, state, m, eps):
        gamma, eta, arms = self.gamma, self.eta, self.process.actions
        if eps >= 1 / (1 - gamma):
            return 0.0, None
        plays, alive, width = 1, list(range(arms)), math.inf
        while len(alive) > 1 and width >= (1 - eta) * eps:
            inside = math.log(arms * plays / (self.delta * eps)) + gamma / (eta - gamma)
            width = 2 / (1 - gamma) * math.sqrt(max(0.0, inside + self.lam + 1) / plays)
            mu = {a: self.average(state, a, plays, width * eta / (1 - eta)) for a in alive}
            alive = [a for a in alive if mu[a] + 4 * width / (1 - eta) >= max(mu.values())]
            plays = max(plays + 1, math.ceil(1.1 * plays))
        if len(alive) == 1:
            return self.average(state, alive[0], m, eta * eps), alive[0]
        return max((mu[a], a) for a in alive)


@pytest.mark.parametrize(
    ("gamma", "actions", "hasty"), [(0.15, 2, False), (0.3, 2, True), (0.6, 1, True)]
)
def test_trailblazer_is_the_recursion_of_its_paper(gamma, actions, hasty, monkeypatch):
    # With λ = 0 and δ = 5 nothing is guaranteed, but the recursion goes deeper in as many calls.
    epsilon, delta = 0.8, 5.0 if hasty else 0.1
    begin, searches = Elimination.__init__, []

    def begin_hastily(search, *args):
        begin(search, *args)
        searches.append(search)
        if hasty:
            search.lam, search.samples = 0.0, 90

    monkeypatch.setattr(Elimination, "__init__", begin_hastily)
    for seed in range(2):
        process = Chancy(seed, "history", states=3, actions=actions, ends=0.1)
        planner = pp.planners.TrailBlazer(gamma, reward_max=1.0, epsilon=epsilon)
        object.__setattr__(planner, "delta", delta)
        plan = process.plan(planner, 20_000)
        assert plan.reached
        slow = SlowTrailBlazer(process, gamma, epsilon, delta)
        if hasty:
            slow.lam, slow.m = 0.0, 90
        value, action = slow.maximum((0,), slow.m, epsilon / 2)
        assert plan.calls == sum(len(samples) for samples in slow.samples.values())
        assert plan.value == pytest.approx(value)
        assert plan.action == action
        # Asked again for less, it uses the first of its samples.
        again = searches[-1].maximum(searches[-1].root, 30, 0.7)[0]
        assert again == pytest.approx(slow.maximum((0,), 30, 0.7)[0])


@pytest.mark.parametrize(("width", "layers", "calls"), [(2, 2, 500), (6, 9, 500), (1, 9, 40)])
def test_sparse_sampling_is_the_recursion_of_its_paper(width, layers, calls):
    for seed in range(8):
        process = Chancy(seed, "history", ends=0.2 * (seed % 2))
        planner = pp.planners.SparseSampling(0.8, width=width, depth=layers)
        plan = process.plan(planner, calls)
        samples, layer, depth, left = {}, [(0,)], 0, calls
        while layer and depth < layers and len(layer) * 3 * width <= left:
            left -= len(layer) * 3 * width
            samples |= {
                (state, a): [process.outcome(state, a, k) for k in range(width)]
                for state in layer
                for a in range(3)
            }
            layer = list({s for h in layer for a in range(3) for s, _, e in samples[h, a] if not e})
            depth += 1

        def q(state, action, samples=samples):
            return np.mean([
                reward + (0.0 if ended else 0.8 * v(after))
                for after, reward, ended in samples[state, action]
            ])  # fmt: skip

        def v(state, samples=samples):
            return max(q(state, a) for a in range(3)) if (state, 0) in samples else 0.0

        assert plan.calls == calls - left
        assert plan.action_values == pytest.approx([q((0,), a) for a in range(3)])


@pytest.mark.parametrize(("futures", "calls"), [(1, 60), (4, 200), (30, 90)])
def test_hindsight_solves_each_future_exactly(futures, calls):
    for seed in range(8):
        process = Chancy(seed, "time", ends=0.2 * (seed % 2))
        plan = process.plan(pp.planners.Hindsight(0.8, futures=futures), calls)
        met, found, left = Counter(), [], calls
        for number in range(futures):
            share = left // (futures - number)
            future, layer = {}, [(0, 0)]
            while layer and 3 * len(layer) <= share:
                share -= 3 * len(layer)
                left -= 3 * len(layer)
                for state in layer:
                    for action in range(3):
                        visit = met[state, action]
                        future[state, action] = process.outcome(state, action, visit)
                        met[state, action] += 1
                layer = sorted({future[s, a][0] for s in layer for a in range(3)
                                if not future[s, a][2]})  # fmt: skip

            def q(state, action, future=future):
                if (state, action) not in future:
                    return 0.0
                after, reward, ended = future[state, action]
                return reward + (0.0 if ended else 0.8 * max(q(after, a) for a in range(3)))

            found.append([q((0, 0), a) for a in range(3)])
        assert plan.calls == calls - left
        assert plan.action_values == pytest.approx(np.mean(found, axis=0))


def test_op_mdp_expands_in_the_order_of_brute_force():
    gamma, samples = 0.7, 3
    for seed in range(8):
        process = Chancy(seed, "history", actions=2)
        plan = process.plan(pp.planners.OPMDP(gamma, reward_max=1.0, samples=samples), 150)
        order = list(dict.fromkeys(state for state, *_ in process.record))
        assert plan.calls == len(process.record) == len(order) * 2 * samples
        seen = defaultdict(list)
        for state, action, after, reward, _ in process.record:
            seen[state, action].append((after, reward))

        def bounds(state, expanded, leaf, seen=seen):
            """The bound of a state and of each action, from scratch."""
            if state not in expanded:
                return leaf, {}
            found = {
                a: sum(r + gamma * bounds(s, expanded, leaf)[0] for s, r in seen[state, a])
                / samples
                for a in range(2)
            }
            return max(found.values()), found

        def leaves(state, weight, expanded, seen=seen):
            """The leaves of the optimistic subtree, with P·γ^d."""
            if state not in expanded:
                return {state: weight}
            upper = bounds(state, expanded, 1 / (1 - gamma))[1]
            found = {}
            action = max(upper, key=upper.__getitem__)
            for after, times in Counter(s for s, _ in seen[state, action]).items():
                found |= leaves(after, weight * gamma * times / samples, expanded)
            return found

        expanded = set()
        for state in order:
            options = leaves((0,), 1.0, expanded)
            assert state in best_of(options)
            expanded.add(state)
        lower = bounds((0,), expanded, 0.0)[1]
        assert plan.action_values == pytest.approx(list(lower.values()))
        assert plan.action in best_of(lower)
        assert "3 samples" in plan.note
        assert plan.note in str(plan)


# ------------------------------------------------------------------ against value iteration

# Regret over that of a random action, 15 processes (seeds 0 to 14) with 5 states and 3 actions,
# γ = 0.7. With 6 calls it was 0.34 to 0.44 when this was written; with as many as stand here it was
# 0 or 0.003, and 0.05 and 0.04 for bai-mcts and hindsight. The last number is the most allowed.
REGRETS = {
    "uct": (pp.planners.UCT(0.7, horizon=12), 3_000, 0.03),
    "polynomial-uct": (pp.planners.PolynomialUCT(0.7, horizon=12), 3_000, 0.03),
    "brue": (pp.planners.BRUE(0.7, horizon=12), 10_000, 0.03),
    "gumbel-mcts": (pp.planners.GumbelMCTS(0.7), 3_000, 0.03),
    "op-mdp": (pp.planners.OPMDP(0.7, reward_max=1.0, samples=30), 6_000, 0.03),
    "bai-mcts": (pp.planners.BAIMCTS(0.7, reward_max=1.0, depth=4), 3_000, 0.1),
    "sparse-sampling": (pp.planners.SparseSampling(0.7, width=40), 12_000, 0.03),
    "hindsight": (pp.planners.Hindsight(0.7, futures=60), 6_000, 0.1),
}


@pytest.mark.parametrize("name", REGRETS)
def test_regret_falls(name):
    planner, most_calls, most = REGRETS[name]
    lost = {6: 0.0, most_calls: 0.0}
    blind = 0.0
    for seed in range(15):
        q = Chancy(seed).values(0.7, 40)[0]
        blind += q.max() - q.mean()
        for budget in lost:
            plan = Chancy(seed).plan(planner, budget)
            lost[budget] += q.max() - q[plan.action]
    few, many = (total / blind for total in lost.values())
    assert many <= most, (few, many)
    assert few > 0.2


def test_they_wait_for_the_coin():
    # Say which of two coins is shown: 1 each time. Or take 0.65 each time.
    def step(state, action, rng):
        if state == "start":
            return (int(rng.integers(2)) if action == 1 else "safe"), 0.0, False
        if state == "safe":
            return "safe", 0.65, False
        return int(rng.integers(2)), float(action == state), False

    model = pp.FunctionModel(step, 2, "start", dynamics="random")
    for name, (planner, _, _) in REGRETS.items():
        plan = planner.plan(model, budget=4_000, seed=0)
        assert plan.action == 1, name
        assert {o.state: o.action for o in plan.outcomes} == {0: 0, 1: 1}, name


def test_hindsight_believes_to_know_the_coin():
    # Call a coin before it is thrown: 1 if it is right, and 0.6 for not playing.
    def step(state, action, rng):
        return 0, 0.6 if action == 2 else float(rng.integers(2) == action), True

    def later(state, action, rng):  # the same, one step later: then every future has its winner
        return (1, 0.0, False) if state == 0 else step(state, action, rng)

    plan = pp.planners.Hindsight(0.9, futures=200).plan(
        pp.FunctionModel(later, 3, 0, dynamics="random"), budget=1_200, seed=0
    )
    assert plan.value > 0.7  # 0.9 · 0.6 = 0.54 is right; max(1 or 0, 0.6) is 0.9 on average
    honest = pp.planners.SparseSampling(0.9, width=100).plan(
        pp.FunctionModel(later, 3, 0, dynamics="random"), budget=1_200, seed=0
    )
    assert honest.value < 0.65


# ------------------------------------------------------------------ contract


@pytest.mark.parametrize("part", range(5))
def test_promises_are_kept(part):
    with ThreadPoolExecutor(2) as pool:
        for seed in range(30 * part, 30 * part + 30):
            said = fuzz_chance.check(seed, pool if seed % 3 else None)
            assert not said, f"python benchmarks/fuzz_chance.py: {said}"


def test_the_fuzzer_notices(monkeypatch):
    right = ChanceTree.node_after

    def beyond_the_end(tree, edge, stored, *, ended):
        return right(tree, edge, stored, ended=False)

    monkeypatch.setattr(ChanceTree, "node_after", beyond_the_end)
    said = []
    for seed in range(60):
        try:
            said.append(fuzz_chance.check(seed))
        except ValueError as error:  # from the model: a state after an end has no number
            said.append(str(error))
    assert sum(bool(text) for text in said) >= 5


def test_one_list_says_who_reacts():
    kinds = [kind for kind in pp.planners.available().values() if kind.reacts]
    named = REACTING.replace(" (the default)", "").replace(" and ", ", ").split(", ")
    assert sorted(kind.__name__ for kind in kinds) == sorted(named)
    model = Chancy(0).model()
    for name, kind in pp.planners.available().items():
        if kind.reacts or not kind.lists or kind is pp.planners.Random:  # which looks at nothing
            continue
        with pytest.raises(pp.InvalidArgument) as caught:
            PLANNERS[name](0.9).plan(model, budget=100)
        for said in (f"{kind.__name__} cannot react to chance", *named, 'access="reset"'):
            assert said in str(caught.value)
    with pytest.raises(pp.InvalidArgument, match="list all policies for the states"):
        pp.planners.StOP(0.5, reward_max=1.0, epsilon=0.5).plan(model, budget=100)


def test_interrupts_keep_the_plan():
    for planner, _, _ in REGRETS.values():
        process = Chancy(0)

        def step(state, action, rng, process=process):
            if len(process.record) == 500:
                raise KeyboardInterrupt
            return process.step(state, action, rng)

        model = pp.FunctionModel(step, 3, 0, dynamics="random")
        with pytest.raises(KeyboardInterrupt) as caught:
            planner.plan(model, budget=100_000, seed=0)
        assert caught.value.plan.calls in {500, 501}
        assert np.isfinite(caught.value.plan.value)


def test_array_models():
    def step(states, actions, rng):
        moved = states + (2 * actions[:, None] - 1) * (rng.random(len(states)) < 0.8)[:, None]
        return moved, np.tanh(moved[:, 0].astype(float)), np.zeros(len(states), bool)

    model = pp.ArrayModel(step, 2, np.zeros(1), dynamics="random")
    for name, (planner, _, _) in REGRETS.items():
        plan = planner.plan(model, budget=1_000, seed=0)
        assert plan.action == 1, name
        assert plan.calls <= 1_000


def test_rivals_of_the_textbook_take_deterministic_models_too():
    problem = pp.problems.Garnet(8, 3, seed=1)
    for planner in (pp.planners.SparseSampling(0.5), pp.planners.Hindsight(0.5)):
        plan = planner.plan(problem, budget=1_000, seed=0)
        assert pp.problems.simple_regret(problem, plan) == 0.0
        assert plan.outcomes == ()
        assert plan.value == pytest.approx(problem.action_values(0, 0.5).max(), abs=0.1)
