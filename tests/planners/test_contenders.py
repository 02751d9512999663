"""The contenders against slow textbook versions, brute force and value iteration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import textbook
from parts import in_parts
from random_trees import SequenceTree

import platypoos as pp
from platypoos.planners.olop import episodes_and_length
from platypoos.trees.tree import OPENED

CASES = 200  # random models for each planner; seeds 0 … 199


class Recorded(SequenceTree):
    """Writes down what is played, episode by episode."""

    def __init__(self, *args):
        super().__init__(*args)
        self.episodes = []

    def step(self, state, action, rng):
        if state == ():
            self.episodes.append(((), (), False))
        after = super().step(state, action, rng)
        actions, rewards, _ = self.episodes[-1]
        self.episodes[-1] = ((*actions, action), (*rewards, after.reward), after.terminated)
        return after


def random_case(seed, most_calls=150):
    rng = np.random.default_rng(seed)
    num_actions = int(rng.integers(1, 4))
    gamma = float(rng.choice([0.0, 0.3, 0.5, 0.6]))
    noise = float(rng.choice([0.0, 0.2]))
    ends = float(rng.choice([0.0, 0.0, 0.2]))
    budget = int(rng.integers(num_actions, most_calls))
    model = Recorded(seed, num_actions, noise, ends)
    return model, textbook.Record(num_actions, gamma), gamma, budget


def discounted(rewards, gamma):
    return sum(gamma**t * reward for t, reward in enumerate(rewards))


@in_parts(40, CASES)
@pytest.mark.parametrize("access", ["restore", "reset"])
def test_olop_plays_the_sequences_of_the_textbook(access, cases):
    alone = played = 0
    for seed in cases:
        model, record, gamma, budget = random_case(seed)
        width = float(np.random.default_rng(seed).choice([0.0, 0.1, 1.0]))
        planner = pp.planners.OLOP(gamma, reward_max=1.2, noise=width)
        plan = planner.plan(model, budget=budget, seed=seed, access=access)
        episodes, length = episodes_and_length(budget, model.actions.n, gamma)
        for actions, rewards, ended in model.episodes:
            alone += textbook.olop_allows(record, actions, length, episodes, width, 1.2)
            played += 1
            record.add(actions, rewards, ended)
            assert len(actions) == length or actions in record.ends
        assert len(model.episodes) >= episodes
        plays = [len(record.samples[(a,)]) for a in range(model.actions.n)]
        assert plays[plan.action] == max(plays)
    assert alone > played / 4, (alone, played)  # most choices are not mere ties


@in_parts(40, CASES)
def test_kl_olop_plays_the_sequences_of_the_textbook(cases):
    alone = played = 0
    for seed in cases:
        model, record, gamma, budget = random_case(seed)
        guaranteed = seed % 2 == 0
        # Sometimes the range is wrong.
        low, high = [(-0.2, 1.2), (0.0, 0.7), (-5.0, 5.0)][seed % 3]
        planner = pp.planners.KLOLOP(gamma, reward_min=low, reward_max=high, guaranteed=guaranteed)
        plan = planner.plan(model, budget=budget, seed=seed)
        episodes, length = episodes_and_length(budget, model.actions.n, gamma)
        threshold = math.log(episodes)
        if guaranteed and episodes > 2:
            threshold = 2 * math.log(episodes) + 2 * math.log(math.log(episodes))
        for actions, rewards, ended in model.episodes:
            alone += textbook.kl_olop_allows(record, actions, length, threshold, low, high)
            played += 1
            record.add(actions, rewards, ended)
        plays = [len(record.samples[(a,)]) for a in range(model.actions.n)]
        assert plays[plan.action] == max(plays)
    assert alone > played / 4, (alone, played)


@in_parts(40, CASES)
def test_hoo_plays_the_sequences_of_the_textbook(cases):
    alone = played = 0
    for seed in cases:
        model, record, gamma, budget = random_case(seed)
        planner = pp.planners.HOO(gamma, reward_max=0.3)
        plan = planner.plan(model, budget=budget, seed=seed)
        episodes, length = episodes_and_length(budget, model.actions.n, gamma)
        book = textbook.HOOBook(record, length, episodes, 0.3 / (1 - gamma))
        for actions, rewards, ended in model.episodes:
            alone += book.allows(actions, discounted(rewards, gamma))
            played += 1
            record.add(actions, rewards, ended)
        plays = [len(record.samples[(a,)]) for a in range(model.actions.n)]
        assert plays[plan.action] == max(plays)
    assert alone > played / 4, (alone, played)


@in_parts(40, CASES)
@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("kind", [pp.planners.UCT, pp.planners.PolynomialUCT])
def test_uct_has_the_statistics_of_a_dictionary(kind, access, cases):
    alone = played = 0
    for seed in cases:
        model, record, gamma, budget = random_case(seed)
        scale = float(np.random.default_rng(seed).choice([0.1, 1.0]))
        plan = kind(gamma, scale=scale, horizon=4).plan(
            model, budget=budget, seed=seed, access=access
        )
        horizon = min(4, budget // model.actions.n)

        def bonus(visits, tries, scale=scale):
            if kind is pp.planners.UCT:
                return scale * math.sqrt(math.log(visits) / tries)
            return scale * visits**0.25 / tries**0.5

        for actions, rewards, ended in model.episodes:
            alone += textbook.uct_allows(record, actions, horizon, bonus)
            played += 1
            record.add(actions, rewards, ended)
        tree = plan.tree
        assert {tree.actions(i) for i in range(1, tree.num_nodes)} == {
            node for node, samples in record.samples.items() if samples
        }
        for i in range(1, tree.num_nodes):
            node = tree.actions(i)
            assert tree.pulls[i] == len(record.samples[node])
            assert tree.reward[i] == pytest.approx(record.mean(node), abs=1e-12)
            assert tree.value[i] == pytest.approx(np.mean(record.returns(node)), abs=1e-12)
        assert plan.value == pytest.approx(np.nanmax(plan.action_values))
    assert alone > played / 4, (alone, played)


@in_parts(40, CASES)
def test_brue_switches_and_updates_as_in_the_textbook(cases):
    for seed in cases:
        model, record, gamma, budget = random_case(seed, most_calls=300)
        plan = pp.planners.BRUE(gamma, horizon=4).plan(model, budget=budget, seed=seed)
        book = textbook.BRUEBook(record, min(4, math.isqrt(budget // model.actions.n)))
        for number, (actions, rewards, ended) in enumerate(model.episodes, 1):
            book.allows(number, actions, rewards)
            record.add(actions, rewards, ended)
        tree = plan.tree
        for i in range(1, tree.num_nodes):
            returns = book.q[tree.actions(i)]
            assert tree.value[i] == pytest.approx(np.mean(returns) if returns else 0.0, abs=1e-12)
        best = max(np.mean(book.q[(a,)]) for a in range(model.actions.n) if book.q[(a,)])
        assert plan.value == pytest.approx(best)


@pytest.mark.parametrize(
    "planner",
    [
        pp.planners.BRUE(0.9, horizon=5),
        pp.planners.HOO(0.9, reward_max=1.0),
        pp.planners.UCT(0.9, scale=1.0, horizon=5),
        pp.planners.SequentialHalving(0.9, horizon=5),
    ],
    ids=lambda planner: planner.name,
)
def test_random_steps_are_uniform(planner):
    # Nothing to choose by: the fifth step is random. Of 500 steps or more, four standard errors
    # of a share of 1/3 are below 0.085.
    counts = np.zeros(3)

    def step(state, action, rng):
        counts[action] += state == 4
        return state + 1, 1.0, False

    planner.plan(pp.FunctionModel(step, 3, 0), budget=20_000, seed=0)
    assert counts.sum() > 500
    assert counts / counts.sum() == pytest.approx(np.full(3, 1 / 3), abs=0.085)


@in_parts(40, CASES)
def test_opd_expands_in_the_order_of_brute_force(cases):
    alone = opened = 0
    for seed in cases:
        rng = np.random.default_rng(seed)
        num_actions = int(rng.integers(1, 4))
        gamma = float(rng.choice([0.0, 0.5, 0.9]))
        budget = int(rng.integers(num_actions, 120))
        model = SequenceTree(seed, num_actions, 0.0, float(rng.choice([0.0, 0.2])))
        order = []
        seen = {}

        def step(state, action, rng, model=model, order=order, seen=seen):
            if not order or order[-1] != state:
                order.append(state)
            after = model.step(state, action, rng)
            seen[after.state] = after
            return after

        planner = pp.planners.OPD(gamma, reward_max=1.0)
        plan = planner.plan(pp.FunctionModel(step, num_actions, ()), budget=budget, seed=seed)

        def value(node, seen=seen, gamma=gamma):
            return sum(gamma**t * seen[node[: t + 1]].reward for t in range(len(node)))

        assert order[0] == ()
        leaves = {(a,) for a in range(num_actions)}
        for node in order[1:]:
            bounds = {
                leaf: value(leaf)
                + (0.0 if seen[leaf].terminated else gamma ** len(leaf) * 1.0 / (1 - gamma))
                for leaf in leaves
            }
            alone += textbook.among_the_best(bounds, node)
            opened += 1
            assert not seen[node].terminated
            leaves = (leaves - {node}) | {(*node, a) for a in range(num_actions)}
        assert value(plan.actions) == pytest.approx(max(value(node) for node in seen))
        assert plan.calls == len(order) * num_actions
        if plan.calls + num_actions <= budget:  # stopped early: an ended leaf cannot be beaten
            bounds = [
                value(n) + gamma ** len(n) / (1 - gamma) for n in leaves if not seen[n].terminated
            ]
            assert value(plan.actions) >= max(bounds, default=-1) - 1e-12
    assert alone > opened / 2, (alone, opened)


def test_the_regret_of_opd_obeys_its_bound():
    bounded = 0
    for seed in range(200):
        problem = pp.problems.Garnet(20, 3, seed=seed)
        for gamma, budget in [(0.5, 30), (0.8, 300), (0.95, 3_000)]:
            plan = pp.planners.OPD(gamma, reward_max=1.0).plan(
                problem.compiled(), budget=budget, seed=seed
            )
            tree = plan.tree
            opened = np.flatnonzero(tree.flags[: tree.num_nodes] & OPENED)
            bound = gamma ** int(tree.depth[opened].max()) / (1 - gamma)
            assert pp.problems.simple_regret(problem, plan) <= bound + 1e-12
            bounded += bound < 0.5
    assert bounded > 100


class Listed(SequenceTree):
    """Offers the one successor of a state as a list."""

    max_successors = 1

    def successors(self, state, action):
        return [(1.0, *self.step(state, action, None))]


@in_parts(40, CASES)
def test_op_mdp_is_opd_where_dynamics_are_deterministic(cases):
    for seed in cases:
        rng = np.random.default_rng(seed)
        num_actions = int(rng.integers(1, 4))
        gamma = float(rng.choice([0.6, 0.9]))
        budget = int(rng.integers(num_actions, 120))  # not so deep that values tie by rounding
        ends = float(rng.choice([0.0, 0.1]))
        trees = [
            kind(seed, num_actions, 0.0, ends) for kind in (SequenceTree, Listed, SequenceTree)
        ]
        plans = [
            kind(gamma, reward_max=1.0).plan(tree, budget=budget, seed=seed)
            for kind, tree in zip(
                (pp.planners.OPD, pp.planners.OPMDP, pp.planners.OPMDP), trees, strict=True
            )
        ]
        # The same leaves are expanded, in the same order.
        orders = [list(dict.fromkeys(node[:-1] for node in tree.visits)) for tree in trees]
        assert orders[0] == orders[1] == orders[2]
        assert len({plan.calls for plan in plans}) == 1
        assert len({plan.action for plan in plans}) == 1
        assert plans[1].value == pytest.approx(plans[0].value)
