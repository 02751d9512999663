"""The simulator: exact counts, the same walks whoever plays them, and nothing lost."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import platypoos as pp
from platypoos.simulator import IfLegal, Request, Simulator, fitting, sharing, workers
from platypoos.simulator.pace import Pace
from platypoos.simulator.requests import most_calls

CALLS = Counter()


def noisy(state, action, rng):
    CALLS["all"] += 1
    reward = float((state * 7 + action) % 13) + rng.normal()
    rng.integers(10, dtype=np.uint32)  # leaves half of a draw behind
    return (state * 2 + action) % 1009, reward, state % 89 == 88


def model(function=noisy, **more):
    return pp.FunctionModel(function, actions=3, initial_state=1, **more)


def simulator(function=noisy, budget=10_000, seed=3, said=None, **more):
    return Simulator(
        model(function, **(said or {})), np.random.default_rng(seed), budget=budget, **more
    )


requests = st.builds(
    lambda state, actions, cut, times: Request(state, actions, len(actions) - cut, times),
    st.integers(0, 1008),
    st.lists(st.integers(0, 2), min_size=2, max_size=9),
    st.integers(0, 1),
    st.integers(1, 4),
)
batches = st.lists(requests, max_size=12)


def is_reply(request, walks):
    """Whether walks are whole answers to a request."""
    return len(walks) == request.times and all(
        len(walk) == request.steps or walk[-1][3] for walk in walks
    )


@given(batches)
@settings(deadline=None)
def test_every_call_is_counted_once(batch):
    CALLS.clear()
    sim = simulator()
    replies = sim.run(batch)
    assert sim.calls == CALLS["all"] == sum(len(w) for walks in replies for w in walks)
    assert sim.left == 10_000 - sim.calls
    assert len(replies) == len(batch)
    for request, walks in zip(batch, replies, strict=True):
        assert is_reply(request, walks)
        for walk in walks:
            state = request.state
            for (action, after, reward, ended), planned in zip(walk, request.actions, strict=False):
                assert action == planned
                assert after == (state * 2 + action) % 1009
                assert ended == (state % 89 == 88)
                assert type(reward) is float
                state = after


@given(batches, st.integers(0, 100))
def test_what_fits_is_a_part_of_the_batch(batch, left):
    cut = fitting(batch, left)
    assert most_calls(cut) <= left
    if most_calls(batch) <= left:
        assert cut == batch
    elif batch:
        assert most_calls(cut) > 0 or left == 0
        for whole, part in zip(batch, cut, strict=False):
            assert (part.state, part.actions) == (whole.state, whole.actions)
            assert part.times <= whole.times
            assert part.steps <= whole.steps
            assert part.steps == whole.steps or part.times == 1


def test_a_batch_that_might_be_too_large_is_refused_before_the_first_call():
    CALLS.clear()
    sim = simulator(budget=5)
    sim.run([Request(0, [1, 1, 1], 3)])
    with pytest.raises(pp.errors.BudgetExceeded, match="3 calls was refused: 3 of the budget of 5"):
        sim.run([Request(0, [1], 1), Request(0, [1, 1], 2)])
    assert CALLS["all"] == sim.calls == 3
    sim.allow(1)
    sim.run([Request(0, [1], 1), Request(0, [1, 1], 2)])
    assert CALLS["all"] == sim.calls == 6


def test_an_empty_batch():
    assert simulator().run([]) == []


@pytest.fixture(scope="module")
def pools():
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as two,
        ThreadPoolExecutor(3) as threads,
    ):
        yield {"two processes": two, "three threads": threads}


def even(state):
    return [0, 2] if state % 2 else [True, True, False]


def last(state):
    return 2 if state % 2 else [0.5, 1.0, 3.0]


BATCHES = [
    [Request(n, [n % 3] * (1 + n % 5), 1 + n % 5, 1 + n % 2) for n in range(40)],
    [Request(7, [1], 1)],
    [Request(n, [1], 6, 2) for n in range(5)],
]


@pytest.mark.parametrize("access", ["restore", "reset"])
@pytest.mark.parametrize("said", [{}, {"legal": even}])
def test_the_walks_do_not_depend_on_who_makes_them(pools, access, said):
    said = {**said, "policy": last}
    alone = simulator(said=said, access=access)
    expected = [alone.run(batch) for batch in BATCHES]
    for pool in pools.values():
        sim = simulator(said=said, access=access, executor=pool)
        assert [sim.run(batch) for batch in BATCHES] == expected
        assert sim.calls == alone.calls


@pytest.mark.parametrize("said", [{}, {"legal": even}])
def test_walks_that_are_cut_after_each_call_are_the_same(pools, said, monkeypatch):
    monkeypatch.setattr(sharing, "LONGEST", 0.0)
    said = {**said, "policy": last}
    batch = [*BATCHES[0], Request(3, [1], 9, 3)]
    if "legal" in said:
        batch.append(Request(2, [0, IfLegal(0), 1, IfLegal(2)], 4, 2))
    alone = simulator(said=said)
    expected = alone.run(batch)
    tasks = []
    submit = workers.Workers._submit
    monkeypatch.setattr(
        workers.Workers, "_submit", lambda *args: tasks.append(args) or submit(*args)
    )
    for pool in pools.values():
        tasks.clear()
        sim = simulator(said=said, executor=pool)
        assert sim.run(batch) == expected
        assert sim.calls == alone.calls
        assert len(tasks) > len(batch)  # they were cut


def shares(steps, pace, number=2, latency=0.001, **more):
    """Chains that wait, of so many steps each, with calls that take so long."""
    seconds = Pace()
    seconds.note(1, pace)
    chains = sharing.Chain.of([Request(0, [0] * n, n) for n in steps], b"")
    return sharing.Shares(chains, number, seconds, latency, **more)


def test_the_longest_walk_goes_first_and_is_cut_while_others_wait():
    waiting = shares([4, 9, 30], 0.1)
    chains, seconds = waiting.take(2)
    assert [chain.calls for chain in chains] == [30]
    assert seconds == pytest.approx(13 * 0.1 / 16)  # an eighth of what two workers have to do
    (chain,) = chains
    chain.take([[[(0, n, 0.0, False) for n in range(22)]]], "the stream")
    waiting.put_back(chains)
    assert [waiting.take(1)[0][0].calls for _ in range(3)] == [9, 8, 4]
    assert not waiting


def test_the_last_walks_are_not_cut_and_quick_calls_go_together():
    assert shares([30], 0.1).take(2)[1] == sharing.LONGEST
    waiting = shares([1] * 100, 1e-3)
    assert len(waiting.take(2)[0]) == 20  # sending them takes 1 ms: a twentieth of their time
    waiting = shares([1] * 30, 1e-3)
    assert len(waiting.take(2)[0]) == 15  # each worker gets something
    assert len(shares([1] * 30, 0.1).take(2)[0]) == 1


def test_with_a_clock_the_first_ones_are_played_whole():
    waiting = shares([4, 9, 30], 0.1, in_order=True)
    chains, seconds = waiting.take(2)
    assert ([chain.calls for chain in chains], seconds) == ([4], sharing.LONGEST)
    chains[0].take([[[(0, 0, 0.0, False)]]], "the stream")
    waiting.put_back(chains)
    assert [waiting.take(1)[0][0].calls for _ in range(3)] == [3, 9, 30]


def test_walks_that_cannot_go_on_from_a_state_are_not_cut():
    assert shares([4, 9, 30], 0.1, restores=False).take(2)[1] is None


def test_a_request_has_its_own_stream():
    one = simulator().run([Request(1, [0] * 9, 9), Request(5, [1], 1, 3)])[1]
    other = simulator().run([Request(2, [1], 1), Request(5, [1], 1, 3)])[1]
    assert one == other


def test_a_walk_step_by_step_draws_the_same_numbers():
    (walk,) = simulator().run([Request(1, [0, 1, 2, 0], 4)])[0]
    sim, state = simulator(), 1
    for t, (action, after, reward, ended) in enumerate(walk):
        (step,) = sim.run([Request(state, [action], 1)], go_on=t > 0)[0][0]
        assert step == (action, after, reward, ended)
        state = after
    assert sim.run([Request(1, [0], 1)]) == simulator_after(2).run([Request(1, [0], 1)])


def simulator_after(batches):
    """A simulator that has drawn the streams of some batches."""
    sim = simulator()
    for _ in range(batches - 1):
        sim.run([Request(1, [0], 1)])
    return sim


def test_with_reset_only_the_last_state_of_a_walk_is_kept():
    walk = simulator(access="reset").run([Request(1, [0, 1], 2)])[0][0]
    assert [state for _, state, _, _ in walk] == [None, 5]


# Legal actions and the rule.


def test_actions_that_are_not_legal_are_replaced():
    replies = simulator(said={"legal": even}).run([Request(n, [0, 1, 2] * 3, 9) for n in range(30)])
    played = Counter()
    for n, (walk,) in enumerate(replies):
        state = n
        for t, (action, after, _, _) in enumerate(walk):
            legal = [0, 2] if state % 2 else [0, 1]
            assert action in legal
            assert action == t % 3 or t % 3 not in legal
            played[state % 2, action] += 1
            state = after
    assert min(played[1, 0], played[1, 2], played[0, 0], played[0, 1]) > 5


def test_an_action_that_is_tried_only_if_it_is_legal(pools):
    batch = [Request(2, [0, IfLegal(0), 1, IfLegal(2)], 4, 2), Request(1, [IfLegal(1), 0], 2)]
    alone = simulator(said={"legal": even})
    replies = alone.run(batch)
    # From 2 by 0 to 4, to 8, by 1 to 17, where 2 is legal; in 1 the action 1 is not.
    assert [[action for action, *_ in walk] for walk in replies[0]] == [[0, 0, 1, 2]] * 2
    assert replies[1] == [[]]
    assert alone.calls == 8
    for pool in pools.values():
        assert simulator(said={"legal": even}, executor=pool).run(batch) == replies


def test_legal_actions_need_not_be_checked():
    def legal(state):
        raise AssertionError

    sim = simulator(said={"legal": legal})
    assert sim.run([Request(1, [1], 1)], check_legal=False)[0][0][0][0] == 1


def test_a_batch_can_be_played_here_in_spite_of_the_executor():
    sim, alone = simulator(executor=Pool()), simulator()
    assert sim.run(BATCHES[0], here=True) == alone.run(BATCHES[0])
    assert sim.calls == alone.calls


def test_the_rule_goes_on_after_the_actions():
    walk = simulator(said={"policy": last}).run([Request(1, [0, 0], 6)])[0][0]
    assert [action for action, *_ in walk] == [0, 0, 2, 2, 2, 2]
    masked = simulator(said={"policy": lambda s: [1.0, 2.0, 3.0], "legal": even})
    for action, *_ in masked.run([Request(2, [], 1)])[0][0]:
        assert action == 1


def test_a_request_that_needs_a_rule():
    with pytest.raises(pp.InvalidArgument, match="6 steps names 1 actions, and the model has no"):
        simulator().run([Request(1, [0], 6)])


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        (lambda s: 1, r"policy chose the action 1, which is not legal there \(at state 1\)"),
        (lambda s: 7, r"the action 7, which is not one of the model's actions \(at state 1\)"),
        (lambda s: 1 / 0, r"policy raised ZeroDivisionError.* \(at state 1\)"),
        (lambda s: [1.0, np.nan, 0.0], r"3 finite weights .* \(at state 1\)"),
    ],
)
def test_rules_that_cannot_be_followed(policy, match):
    sim = simulator(said={"policy": policy, "legal": even})
    with pytest.raises(pp.ModelError, match=match) as caught:
        sim.run([Request(2, [0], 1), Request(1, [], 2)])
    assert sim.calls == caught.value.calls == 1
    assert [len(walks) for walks in caught.value.replies] == [1, 0]


@pytest.mark.parametrize("legal", [lambda s: [], lambda s: [3], lambda s: [0, 0], lambda s: 1 / 0])
def test_masks_that_cannot_be_planned_with(legal):
    with pytest.raises(pp.ModelError, match="at state 1"):
        simulator(said={"legal": legal}).run([Request(1, [0], 1)])


def test_actions_that_are_payloads():
    east, west = np.array([1, 0]), np.array([-1, 0])
    sim = Simulator(
        model(lambda s, a, rng: (s + int(a[0]), 1.0, False)),
        np.random.default_rng(0),
        budget=100,
        actions=[east, west],
        legal=lambda s: [west] if s > 3 else [True, True],
        policy=lambda s: [3.0, 1.0] if s < 3 else west,
    )
    walk = sim.run([Request(2, [east, east, east], 4)])[0][0]
    assert [state for _, state, _, _ in walk] == [3, 4, 3, 2]
    assert sim.run([Request(2, [], 2)])[0][0][0][0] is east


# Failures keep what was learned.


def fails_at_7(state, action, rng):
    after, reward, ended = noisy(state, action, rng)
    if state == 7:
        raise ValueError("seven")
    return after, reward, ended


BATCH = [Request(1, [0, 0], 2, 2), Request(3, [0, 1, 1], 3), Request(9, [1], 1)]


def test_a_failure_keeps_the_walks_before_it(pools):
    CALLS.clear()
    sim = simulator(fails_at_7)
    # 3 → 6 by 0, then 13; from 3 by 1 it is 7.
    batch = [Request(1, [0, 0], 2, 2), Request(3, [1, 1, 1], 3), Request(9, [1], 1)]
    with pytest.raises(
        pp.ModelError, match=r"ValueError: seven \(at state 7, action 1\)"
    ) as caught:
        sim.run(batch)
    error = caught.value
    assert isinstance(error.__cause__, ValueError)
    assert (error.state, error.action) == (7, 1)
    assert error.calls == sim.calls == CALLS["all"] == 6
    assert [[len(walk) for walk in walks] for walks in error.replies] == [[2, 2], [1], []]
    # The simulator can go on.
    assert len(sim.run([Request(1, [0], 1)])) == 1
    for pool in pools.values():
        sim = simulator(fails_at_7, executor=pool)
        with pytest.raises(pp.ModelError, match="seven") as caught:
            sim.run(batch)
        assert sim.calls == caught.value.calls
        assert 'raise ValueError("seven")' in str(caught.value.__cause__)
        assert [len(walk) for walk in caught.value.replies[1]] == [1]


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 1e101, "much", None, 1j])
def test_rewards_that_are_no_finite_numbers(reward):
    sim = simulator(lambda s, a, r: (s, reward if s == 5 else 1, False))
    with pytest.raises(
        pp.errors.RewardError, match=r"finite numbers.*at state 5, action 2"
    ) as caught:
        sim.run([Request(1, [0], 1), Request(5, [2], 1)])
    assert caught.value.replies == [[[(0, 1, 1.0, False)]], []]


@pytest.mark.parametrize("result", [None, 1.0, (0, 1.0), (0, 1.0, False, {}), (0, 1.0, "no")])
def test_results_of_the_wrong_shape(result):
    with pytest.raises(
        pp.errors.TransitionError, match=r"\(state, reward, terminated\).*state 1, action"
    ):
        simulator(lambda s, a, r: result).run([Request(1, [0], 1)])


def test_results_of_other_kinds():
    sim = simulator(lambda s, a, r: (s, np.float32(0.5), np.True_))
    assert sim.run([Request(1, [0, 0], 2)]) == [[[(0, 1, 0.5, True)]]]


def test_an_interruption_keeps_the_walks():
    def step(state, action, rng):
        if state == 4:
            raise KeyboardInterrupt
        return state + 1, 1.0, False

    sim = simulator(step)
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run([Request(0, [0, 0], 2), Request(3, [0, 0], 2), Request(0, [0], 1)])
    assert sim.calls == caught.value.calls == 4
    assert [[len(walk) for walk in walks] for walks in caught.value.replies] == [[2], [1], []]


class Pool:
    """Plays at once, but loses some messages."""

    _max_workers = 4

    def __init__(self, *outcomes):
        self.outcomes, self.tasks = list(outcomes), 0

    def submit(self, function, *args):
        future, outcome = Future(), self.outcomes.pop(0) if self.outcomes else None
        self.tasks += 1
        if isinstance(outcome, KeyboardInterrupt):
            raise outcome
        if outcome is None:
            future.set_result(function(*args))
        else:
            future.set_exception(outcome)
        return future


@pytest.mark.parametrize("error", [OSError("killed"), TimeoutError()])
def test_what_a_worker_had_is_sent_out_again(error):
    batch = [Request(n, [0, 0], 2) for n in range(4)]
    quiet = simulator(executor=Pool()).run(batch)
    pool = Pool(None, error, None, None)
    sim = simulator(executor=pool, timeout=0.5)
    assert sim.run(batch) == quiet
    assert pool.tasks == 5
    assert sim.calls == 8  # what was asked for, not what was sent


def test_a_request_that_is_lost_again_and_again_is_named():
    # Lost four times with the others, then alone: the one that is lost alone is to blame.
    batch = [Request(n, [0, 0], 2) for n in range(4)]
    errors = [None, OSError("killed"), OSError("killed"), None]
    errors += [OSError("killed")] * 2 + [OSError("killed")] * 4 + [OSError("killed")] * 20
    sim = simulator(executor=Pool(*errors))
    match = r"lost with 2 calls, from state 1 with actions \[0, 0\] \(.*killed.* Make a new"
    with pytest.raises(pp.errors.WorkerError, match=match) as caught:
        sim.run(batch)
    assert [len(walks) for walks in caught.value.replies] == [1, 0, 0, 1]
    assert sim.calls == caught.value.calls == 6
    sim = simulator(executor=Pool(*[TimeoutError()] * 30), timeout=0.5)
    match = r"no answer within 0.5 s to 2 calls, from state 0 .* hangs"
    with pytest.raises(pp.errors.WorkerError, match=match):
        sim.run(batch)


def test_a_long_walk_is_no_timeout():
    def slow(state, action, rng):
        time.sleep(0.01)
        return state + 1, 1.0, False

    with ThreadPoolExecutor(2) as pool:
        sim = simulator(slow, executor=pool, timeout=0.3)
        assert [len(walk) for (walk,) in sim.run([Request(0, [0] * 60, 60)])] == [60]


def test_the_others_are_answered_before_a_request_is_given_up():
    class Deadly(Pool):
        def submit(self, function, *args):
            if any(request.state == 7 for request in args[3]):
                self.outcomes = [OSError("killed")]
            return super().submit(function, *args)

    batch = [Request(n, [0, 0], 2) for n in range(20)]
    sim = simulator(executor=Deadly())
    with pytest.raises(pp.errors.WorkerError, match="from state 7 ") as caught:
        sim.run(batch)
    assert [len(walks) for walks in caught.value.replies] == [1] * 7 + [0] + [1] * 12
    assert sim.calls == 40


def test_workers_that_come_later_are_used():
    pool = Pool()
    pool._max_workers = 1
    batch = [Request(n, [0, 0], 2) for n in range(4)]
    assert simulator(executor=pool).workers == 1
    pool._max_workers = 4
    sim = simulator(executor=pool)
    assert sim.workers == 4
    assert sim.run(batch) == simulator().run(batch)


def test_large_models_are_sent_to_those_who_do_not_have_them():
    class Counting(Pool):
        sizes = ()

        def submit(self, function, *args):
            self.sizes = (*self.sizes, 0 if args[1] is None else len(args[1]))
            return super().submit(function, *args)

    table = np.arange(10_000)

    def step(state, action, rng):
        return state + int(table[action]), 1.0, False

    pool = Counting()
    sim = Simulator(
        pp.FunctionModel(step, 2, 0), np.random.default_rng(0), budget=90, executor=pool
    )
    for _ in range(3):
        assert len(sim.run([Request(n, [1, 1], 2) for n in range(4)])) == 4
    assert min(pool.sizes[:4]) > 10_000
    assert max(pool.sizes[4:]) == 0  # the same thread has it
    workers._here.__dict__.pop("players")
    sim.run([Request(n, [1, 1], 2) for n in range(4)])
    assert sim.calls == 32
    assert max(pool.sizes[12:]) > 10_000  # asked for


def test_an_interruption_counts_all_that_was_asked_for():
    sim = simulator(executor=Pool(None, KeyboardInterrupt(), None, None))
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run([Request(n, [0, 0], 2) for n in range(4)])
    assert sim.calls == 8
    assert caught.value.replies == [[], [], [], []]


def test_a_model_that_cannot_be_sent(pools):
    with pytest.raises(pp.InvalidArgument, match="cannot be sent to workers"):
        Simulator(
            model(lambda s, a, r: pools), np.random.default_rng(0), budget=9,
            executor=pools["three threads"],
        )  # fmt: skip


def test_steps_that_change_their_state_are_noticed(pools):
    def step(state, action, rng):
        state["stock"] += 1
        return dict(state), 1.0, False

    for executor in (None, pools["three threads"]):
        sim = Simulator(
            pp.FunctionModel(step, 2, {"stock": 0}), np.random.default_rng(0), budget=9,
            executor=executor,
        )  # fmt: skip
        with pytest.raises(
            pp.errors.DynamicsError, match="changed the state it was given"
        ) as caught:
            sim.run([Request({"stock": 3}, [0], 1)])
        assert sim.calls == caught.value.calls == 1


def test_callers_can_compare_repeated_steps():
    sim = simulator()
    assert sim.watch.compares(sim.calls)
    sim.watch.compare(1, 0, 5, 5)
    with pytest.raises(pp.errors.DynamicsError, match="led to 5 and then to 6"):
        sim.watch.compare(1, 0, 5, 6)
