"""The graph of what is known: values against value iteration, sums, names and forgetting."""

from __future__ import annotations

import numpy as np
import pytest
from graph_checks import check_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import platypoos as pp
from platypoos.graph import Graph


def random_graph(seed, *, states=12, actions=3, noise=0.0, walks=40, horizon=None, ends=0.1):
    """A graph that random walks over a random table have made, and the samples of each edge."""
    rng = np.random.default_rng([41, seed])
    successor = rng.integers(states, size=(states, actions))
    reward = rng.normal(size=(states, actions))
    over = rng.random((states, actions)) < ends
    graph = Graph(float(rng.choice([0.5, 0.9, 0.99])), actions, lambda s: s, seed)
    graph.horizon = horizon
    graph.root = graph.state_of(0, 0)
    samples = {}
    for _ in range(walks):
        start = graph.root
        if horizon is None:
            start = graph.reachable()[int(rng.integers(len(graph.reachable())))]
        walk, state = [], start.stored
        for t in range(int(rng.integers(1, 6))):
            if horizon is not None and t == horizon:
                break
            action = int(rng.integers(actions))
            paid = float(reward[state, action] + noise * rng.normal())
            samples.setdefault((state, t if horizon is not None else 0, action), []).append(paid)
            ended, state = bool(over[state, action]), int(successor[state, action])
            walk.append((action, state, paid, ended))
            if ended:
                break
        graph.learn(start, walk, start.time)
    return graph, samples


def solved(graph):
    """Value iteration over the known graph, by sweeps; unknown states as the survey counts them."""
    states = graph.reachable()
    values = {s: (s.value if not s.edges else 0.0) for s in states}
    for _ in range(5_000):
        change = 0.0
        for state in states:
            if not state.edges:
                continue
            best = max(
                graph.rewards([e])[0]
                + graph.discount * (e.rest if e.after is None else values[e.after])
                for e in state.edges.values()
            )
            change = max(change, abs(best - values[state]))
            values[state] = best
        if change < 1e-13:
            return values
    return values


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    noise=st.sampled_from([0.0, 0.5]),
    walks=st.integers(1, 120),
    horizon=st.sampled_from([None, None, 3]),
)
def test_the_work_list_ends_with_the_values_of_value_iteration(seed, noise, walks, horizon):
    graph, _ = random_graph(seed, noise=noise, walks=walks, horizon=horizon)
    graph.survey(10, exactly=True)
    values = solved(graph)
    for state in graph.reachable():
        assert state.value == pytest.approx(values[state], abs=1e-7)
        if state.edges:
            assert graph.edge_value(state.choice) == pytest.approx(values[state], abs=1e-7)
        else:
            assert state.value == pytest.approx(graph.rate * state.span)
    check_graph(graph)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), pieces=st.integers(1, 30))
def test_values_stay_right_while_more_is_learned(seed, pieces):
    # Settled in small parts between walks, and in one go at the end: the same values.
    rng = np.random.default_rng(seed)
    graph, _ = random_graph(seed, walks=20)
    for _ in range(20):
        state = graph.reachable()[0]
        action = int(rng.integers(3))
        if action in state.edges:
            edge = state.edges[action]
            after = None if edge.after is None else edge.after.stored
            walk = [(action, after, edge.mean + graph.origin + float(rng.normal()), after is None)]
            graph.learn(state, walk, 0)
        graph.settle(pieces)
    graph.survey(10, exactly=True)
    values = solved(graph)
    assert all(s.value == pytest.approx(values[s], abs=1e-7) for s in graph.reachable())


def test_means_sums_and_noise():
    for seed in range(60):
        graph, samples = random_graph(seed, noise=0.5, walks=60)
        check_graph(graph, whole=True)
        squares = degrees = 0.0
        for state in graph.reachable():
            for action, edge in state.edges.items():
                seen = samples[state.stored, 0, action]
                assert edge.samples == len(seen)
                assert edge.mean + graph.origin == pytest.approx(np.mean(seen), abs=1e-9)
                squares += np.sum((np.array(seen) - np.mean(seen)) ** 2)
                degrees += len(seen) - 1
        assert graph.squares == pytest.approx(squares, abs=1e-9)
        assert graph.degrees == degrees
        assert graph.noisy == (squares > 0)
        if degrees:
            assert graph.variance == pytest.approx(squares / degrees)


def test_rewards_are_drawn_to_the_mean_of_all():
    graph, _ = random_graph(3, noise=1.0, walks=80)
    graph.take_moments()
    edges = [edge for state in graph.reachable() for edge in state.edges.values()]
    for edge, drawn in zip(edges, graph.rewards(edges), strict=True):
        assert abs(drawn - graph.middle) <= abs(edge.mean - graph.middle)
        share = graph.spread / (graph.spread + graph.variance / edge.samples)
        assert drawn == pytest.approx(graph.middle + (edge.mean - graph.middle) * share)
    graph.shrinks = False
    graph.take_moments()
    assert graph.rewards(edges) == [edge.mean for edge in edges]
    silent, _ = random_graph(3, walks=80)
    silent.take_moments()
    assert silent.doubt == 0.0


@pytest.mark.parametrize("horizon", [None, 4])
def test_a_constant_added_to_all_rewards_is_added_to_all_values(horizon):
    # Without ends: values differ by the constant's discounted sum, and the choices are the same.
    rng = np.random.default_rng(0)
    successor, reward = rng.integers(8, size=(8, 2)), rng.integers(64, size=(8, 2)) / 64
    graphs = []
    for shift in (0.0, 2.0**20):
        graph = Graph(0.75, 2, lambda s: s, 0)
        graph.horizon = horizon
        graph.root = graph.state_of(0, 0)
        draw = np.random.default_rng(1)
        for _ in range(50):
            walk, state = [], 0
            for _ in range(4):
                action = int(draw.integers(2))
                paid = float(reward[state, action] + shift)
                state = int(successor[state, action])
                walk.append((action, state, paid, False))
            graph.learn(graph.root, walk, 0)
        graph.survey(10, exactly=True)
        graphs.append(graph)
    one, other = graphs
    assert other.origin - one.origin == 2.0**20
    for a, b in zip(one.reachable(), other.reachable(), strict=True):
        assert a.stored == b.stored
        assert a.value == b.value  # both are counted from the origin
        assert (a.choice and a.choice.action) == (b.choice and b.choice.action)


def test_ends_are_worth_nothing_whatever_rewards_are_counted_from():
    graph = Graph(0.5, 2, lambda s: s, 0)
    graph.root = graph.state_of("here", 0)
    graph.learn(graph.root, [(0, "there", 3.0, False)], 0)  # 3 at each step is worth 6
    graph.learn(graph.root, [(1, None, 5.0, True)], 0)
    graph.survey(10)
    edge = graph.root.edges[1]
    assert graph.edge_value(edge) + graph.origin * graph.root.span == pytest.approx(5.0)


def test_states_are_the_same_if_as_many_steps_are_left():
    graph = Graph(1.0, 1, lambda s: s, 0)
    graph.horizon = 3
    graph.root = graph.state_of("s", 0)
    path = graph.learn(graph.root, [(0, "s", 1.0, False)] * 5, 0)
    assert len(path) == 3  # and the horizon is an end
    assert [edge.start.time for edge in path] == [0, 1, 2]
    assert path[-1].after is None
    assert graph.find("s", 1) is path[1].start
    assert graph.find("s", 7) is None
    assert graph.span_from(1) == 2.0
    graph.survey(10, exactly=True)
    assert graph.root.value + graph.origin * graph.root.span == pytest.approx(3.0)
    assert graph.closed


def test_without_names_nothing_meets():
    for key in (None, lambda _: None):
        graph = Graph(0.9, 2, key, 0)
        graph.root = graph.state_of([0], 0)
        graph.learn(graph.root, [(0, [0], 1.0, False), (0, [0], 1.0, False)], 0)
        assert graph.count == len(graph.reachable()) == 3
        assert graph.find([0], 0) is None


def test_an_action_that_ends_only_sometimes_is_an_error():
    graph = Graph(0.9, 2, lambda s: s, 0)
    graph.root = graph.state_of(0, 0)
    graph.learn(graph.root, [(0, 1, 1.0, False)], 0)
    with pytest.raises(pp.errors.DynamicsError, match="ended in one try") as caught:
        graph.learn(graph.root, [(0, 1, 1.0, True)], 0)
    assert (caught.value.state, caught.value.action) == (0, 0)


@pytest.mark.parametrize("most", [1, 2, 5, 11])
def test_the_nearest_states_are_kept(most):
    for seed in range(20):
        graph, _ = random_graph(seed, walks=80, ends=0.05)
        found = graph.reachable()
        graph.keep_most(most)
        kept = graph.reachable()
        assert kept == found[: len(kept)]
        assert len(kept) <= max(1, most)
        check_graph(graph, whole=True)
        graph.survey(10, exactly=True)
        values = solved(graph)
        assert all(s.value == pytest.approx(values[s], abs=1e-7) for s in kept)


def test_what_is_out_of_reach_is_forgotten_first():
    graph = Graph(0.9, 1, lambda s: s, 0)
    graph.root = graph.state_of(0, 0)
    graph.learn(graph.root, [(0, n, 1.0, False) for n in range(1, 11)], 0)
    graph.root = graph.find(6, 0)
    graph.keep_most(8)
    assert [state.stored for state in graph.reachable()] == [6, 7, 8, 9, 10]
    assert graph.find(5, 0) is None
    assert graph.known == 4


def test_keys_that_fail_say_so():
    graph = Graph(0.9, 2, lambda s: s, 0)
    with pytest.raises(pp.InvalidArgument, match="key"):
        graph.state_of([1], 0)
    graph.key = lambda s: 1 / s
    with pytest.raises(pp.ModelError, match=r"key raised ZeroDivisionError.*at state 0"):
        graph.find(0, 0)
