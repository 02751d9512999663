"""Problems with illegal actions: are their answers right, and are illegal actions left alone?"""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pytest

import platypoos as pp
from platypoos import lab
from platypoos.problems.job_shop import FT06

SMALL_SHOP = (((0, 3), (1, 2), (2, 2)), ((2, 2), (0, 4)), ((1, 4), (2, 3)))
SHORTEST = (1, 0, 2, 1, 4, 3, 5, 2, 4, 0, 0, 5, 3, 3, 1, 2, 5, 4, 1, 3, 0, 0, 4, 3, 3, 2, 5, 2, 2,
            5, 5, 1, 0, 1, 4, 4)  # fmt: skip
"""A schedule of ft06 with the makespan 55."""
MASKED = [
    lab.problems.TravellingSalesman(num_cities=6, seed=3),
    lab.problems.TravellingSalesman(num_cities=70),  # two numbers for the visited cities
    lab.problems.TravellingSalesman(num_cities=64),
    lab.problems.TravellingSalesman(num_cities=63),  # as many as fit in one
    pp.problems.JobShop(),
    pp.problems.JobShop(SMALL_SHOP),
]
PENALISED = [
    lab.problems.TravellingSalesman(num_cities=6, seed=3, penalty=0.7),
    lab.problems.TravellingSalesman(num_cities=65, penalty=2.0),
    pp.problems.JobShop(penalty=11.0),
    pp.problems.JobShop(SMALL_SHOP, penalty=3.0),
]
RNG = np.random.default_rng(0)  # nothing is drawn from it


def name(problem):
    size = getattr(problem, "num_cities", None) or len(problem.times)
    return f"{type(problem).__name__}-{size}" + ("-penalty" if problem.penalty else "")


masked = pytest.mark.parametrize("problem", MASKED, ids=name)
penalised = pytest.mark.parametrize("problem", PENALISED, ids=name)


def random_walk(problem, seed):
    """Legal actions to the end, and the sum of their rewards."""
    rng = np.random.default_rng(seed)
    state, terminated, actions, total = problem.initial_state, False, [], 0.0
    while not terminated:
        actions.append(int(rng.choice(problem.legal(state))))
        state, reward, terminated = problem.step(state, actions[-1], RNG)
        total += reward
    return actions, total


def as_numbers(problem, state):
    """A Python state as the numbers of the other forms."""
    if isinstance(problem, pp.problems.JobShop):
        return list(state)
    words = range((problem.num_cities + 62) // 63)
    return [state[0], *((state[1] >> 63 * i) % 2**63 for i in words)]


def legal_numbers(said, num_actions):
    """What a model says is legal, as numbers, however it says it."""
    said = np.asarray(said)
    return np.arange(num_actions)[said].tolist() if said.dtype == bool else said.tolist()


@pytest.mark.parametrize("problem", MASKED + PENALISED, ids=name)
def test_the_three_forms_step_alike(problem):
    array, compiled = problem.array(), problem.compiled()
    state, row, vector = problem.initial_state, array.initial_state, compiled.initial_state
    rng = np.random.default_rng(5)
    ends = 0
    for _ in range(500):
        legal = list(problem.legal(state))
        if problem.penalty is None:
            assert legal_numbers(array.legal(row[None])[0], problem.actions.n) == legal
            mask = np.ones(problem.actions.n, np.uint8)
            compiled.legal(vector, compiled.params, mask)
            assert legal_numbers(mask != 0, problem.actions.n) == legal
        else:
            assert legal == list(range(problem.actions.n))
            assert array.legal is compiled.legal is None
        action = int(rng.choice(legal))
        a = problem.step(state, action, RNG)
        b = array.step(row, action, RNG)
        c = compiled.step(vector, action, RNG)
        assert a.reward == pytest.approx(b.reward, rel=1e-12)
        assert a.reward == pytest.approx(c.reward, rel=1e-12)
        assert as_numbers(problem, a.state) == b.state.tolist() == c.state.tolist()
        assert bool(a.terminated) == bool(b.terminated) == bool(c.terminated)
        state, row, vector = a.state, b.state, c.state
        if a.terminated:
            ends += 1
            state, row, vector = problem.initial_state, array.initial_state, compiled.initial_state
    assert ends


@masked
def test_illegal_actions_are_refused(problem):
    array, compiled = problem.array(), problem.compiled()
    state, illegal = problem.initial_state, []
    while not illegal:
        state = problem.step(state, problem.legal(state)[0], RNG).state
        illegal = sorted(set(range(problem.actions.n)) - set(problem.legal(state)))
    row = np.array(as_numbers(problem, state))
    with pytest.raises(pp.InvalidArgument, match=f"(city|job) {illegal[0]} .* already"):
        problem.step(state, illegal[0], RNG)
    with pytest.raises(pp.InvalidArgument, match=f"(city|job) {illegal[0]} .* already"):
        array.step(row, illegal[0], RNG)
    assert np.isnan(compiled.step(row, illegal[0], RNG).reward)


@penalised
def test_a_penalty_changes_nothing_else(problem):
    twin = dataclasses.replace(problem, penalty=None)
    actions, total = random_walk(twin, 0)
    state, paid, received = problem.initial_state, 0, 0.0
    measure = problem.makespan if hasattr(problem, "makespan") else problem.tour_length
    unmasked = twin.makespan if hasattr(twin, "makespan") else twin.tour_length
    tried = []
    for action in actions:
        for illegal in set(range(problem.actions.n)) - set(twin.legal(state)):
            after, reward, terminated = problem.step(state, illegal, RNG)
            assert (after, reward, terminated) == (state, -problem.penalty, False)
            tried.append(illegal)
            paid += 1
        state, reward, terminated = problem.step(state, action, RNG)
        tried.append(action)
        received += reward
    assert paid
    assert terminated
    assert received == pytest.approx(total)
    assert measure(tried) == unmasked(actions) == pytest.approx(-total)
    with pytest.raises(pp.InvalidArgument, match="already"):
        unmasked(tried)


def from_here(problem, state, discount, depth):
    """max over all sequences of this length, and what is lost by cutting them is small."""
    if depth == 0:
        return np.zeros(problem.actions.n)
    values = np.full(problem.actions.n, -np.inf)
    for action in problem.legal(state):
        after, reward, terminated = problem.step(state, action, RNG)
        future = 0.0 if terminated else from_here(problem, after, discount, depth - 1).max()
        values[action] = reward + discount * future
    return values


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("problem", [MASKED[0], MASKED[5]], ids=name)
def test_values_against_all_sequences(problem, discount):
    state, terminated = problem.initial_state, False
    rng = np.random.default_rng(2)
    while not terminated:
        expected = from_here(problem, state, discount, 10)
        np.testing.assert_allclose(problem.action_values(state, discount), expected)
        assert np.isneginf(expected).any() == (len(problem.legal(state)) < problem.actions.n)
        row = np.array(as_numbers(problem, state))
        np.testing.assert_allclose(problem.action_values(row, discount), expected)
        action = int(rng.choice(problem.legal(state)))
        assert problem.mean_reward(row, action) == problem.step(state, action, RNG).reward
        state, _, terminated = problem.step(state, action, RNG)


@pytest.mark.parametrize("penalty", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("shop", [False, True])
def test_values_with_a_penalty(shop, penalty):
    # With the smallest penalty it is best never to go on. What is cut off is below the largest
    # cost, of some steps, times γ^8.
    problem = lab.problems.TravellingSalesman(4, seed=1, penalty=penalty)
    if shop:
        problem = pp.problems.JobShop((((0, 1), (1, 2)), ((1, 2), (0, 3))), penalty=penalty)
    state = problem.initial_state
    for action in (1, 1, 0):
        expected = from_here(problem, state, 0.2, 8)
        got = problem.action_values(state, 0.2)
        np.testing.assert_allclose(got, expected, atol=10 * 0.2**8)
        state = problem.step(state, action, RNG).state


@pytest.mark.parametrize("seed", range(4))
def test_the_shortest_tour_against_all_tours(seed):
    problem = lab.problems.TravellingSalesman(num_cities=7, seed=seed)
    shortest = min(problem.tour_length(order) for order in itertools.permutations(range(1, 7)))
    assert problem.optimum() == pytest.approx(shortest)
    assert lab.problems.TravellingSalesman(7, seed, penalty=1.0).optimum() == problem.optimum()


def test_a_tour_by_hand():
    problem = lab.problems.TravellingSalesman(num_cities=4, seed=2)
    places = np.random.default_rng(2).random((4, 2))
    there_and_back = places[[0, 2, 1, 3, 0]]
    length = np.hypot(*np.diff(there_and_back, axis=0).T).sum()
    assert problem.tour_length((2, 1, 3)) == pytest.approx(length)
    state, _, terminated = problem.step((0, 0b0001), 2, RNG)
    assert (state, terminated) == ((2, 0b0101), False)
    _, reward, terminated = problem.step((1, 0b0111), 3, RNG)
    last_and_home = places[[1, 3, 0]]
    assert terminated
    assert reward == pytest.approx(-np.hypot(*np.diff(last_and_home, axis=0).T).sum())


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_tour(seed):
    small = lab.problems.TravellingSalesman(num_cities=12, seed=seed)
    assert small.optimum() <= small.reference + 1e-9
    assert small.reference < 1.02 * small.optimum()
    problem = lab.problems.TravellingSalesman(num_cities=30, seed=seed)
    tour = problem.reference_tour
    assert sorted(tour) == list(range(1, 30))
    assert problem.reference == problem.tour_length(tour)
    # No piece of it can be turned round for the better.
    for i, j in itertools.combinations(range(30), 2):
        turned = tour[:i] + tour[i:j][::-1] + tour[j:]
        assert problem.tour_length(turned) > problem.reference - 1e-9
    random = [problem.tour_length(random_walk(problem, s)[0]) for s in range(20)]
    assert problem.reference < 0.5 * min(random)


def test_two_cities():
    two = lab.problems.TravellingSalesman(num_cities=2)
    assert two.optimum() == pytest.approx(2 * two.distances[0, 1])
    assert two.reference == pytest.approx(two.optimum())


def test_ft06_is_the_classic_instance():
    assert len(FT06) == 6
    assert all(sorted(machine for machine, _ in job) == list(range(6)) for job in FT06)
    assert sum(time for job in FT06 for _, time in job) == 197
    problem = pp.problems.JobShop()
    assert problem.num_operations == len(SHORTEST) == 36
    assert problem.makespan(SHORTEST) == 55
    assert problem.optimum() == 55  # none is shorter: all others were given up
    assert problem.lower_bound == 47  # the second job


@pytest.mark.parametrize("problem", [MASKED[4], MASKED[5]], ids=name)
def test_schedules_are_possible_and_none_is_too_short(problem):
    for seed in range(100):
        actions, total = random_walk(problem, seed)
        assert len(actions) == problem.num_operations
        busy = {machine: [] for machine in range(problem.num_machines)}
        ready, done = [0] * len(problem.times), [0] * len(problem.times)
        for job in actions:  # each as early as the jobs and machines before it allow
            machine, time = problem.times[job][done[job]]
            start = max([ready[job]] + [end for _, end in busy[machine]])
            ready[job] = start + time
            done[job] += 1
            assert all(end <= start for _, end in busy[machine])
            busy[machine].append((start, start + time))
        assert problem.makespan(actions) == max(ready) == pytest.approx(-total)
        assert max(ready) >= problem.optimum() >= problem.lower_bound


def test_the_shortest_makespan_against_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(30):
        jobs = [
            [(int(rng.integers(3)), int(rng.integers(6))) for _ in range(rng.integers(1, 4))]
            for _ in range(rng.integers(1, 4))
        ]
        problem = pp.problems.JobShop(jobs)
        shortest = -from_here(problem, problem.initial_state, 1.0, 10).max()
        assert problem.optimum() == shortest >= problem.lower_bound


def test_what_is_too_large_is_said():
    with pytest.raises(pp.InvalidArgument, match=r"30 cities are too many .* at most 12"):
        lab.problems.TravellingSalesman(30).optimum()
    large = lab.problems.TravellingSalesman(13)
    with pytest.raises(pp.InvalidArgument, match="13 cities are too many"):
        large.action_values(large.initial_state, 0.9)
    after = large.step(large.initial_state, 5, RNG).state  # one fewer to visit
    assert np.isfinite(large.action_values(after, 0.9)).sum() == 11
    shop = pp.problems.JobShop()
    with pytest.raises(pp.InvalidArgument, match=r"36 operations in 2.7e\+24 orders"):
        shop.action_values(shop.initial_state, 0.9)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: lab.problems.TravellingSalesman(1), "num_cities must be at least 2, got 1"),
        (lambda: lab.problems.TravellingSalesman(2.5), "num_cities must be a whole number"),
        (lambda: lab.problems.TravellingSalesman(seed=-1), "seed must be"),
        (lambda: lab.problems.TravellingSalesman(penalty=0.0), "penalty must be .* above 0"),
        (lambda: pp.problems.JobShop(penalty=-1.0), "penalty must be .* above 0"),
        (lambda: pp.problems.JobShop([]), "times must have a job"),
        (lambda: pp.problems.JobShop([[(0, 1)], []]), "each job an operation"),
        (lambda: pp.problems.JobShop([(0, 1)]), "times must be jobs of"),
        (lambda: pp.problems.JobShop([[(0, 1.5)]]), "whole numbers .* got \\(0, 1.5\\) in job 0"),
        (lambda: pp.problems.JobShop([[(-1, 1)]]), "whole numbers of at least 0"),
        (lambda: lab.problems.TravellingSalesman(4).tour_length((1, 3)), "leave out the cities 2"),
        (lambda: pp.problems.JobShop().makespan(SHORTEST[:-2]), "leave out 2 operations"),
        (lambda: lab.problems.TravellingSalesman(4).tour_length((1, 4)), "no action 4: .* 0 to 3"),
        (lambda: pp.problems.JobShop().makespan((0, -1)), "no action -1: .* 0 to 5"),
    ],
)
def test_wrong_arguments(wrong, says):
    with pytest.raises(pp.InvalidArgument, match=says):
        wrong()


def test_they_can_be_sent_to_workers():
    for problem in (MASKED[0], MASKED[4]):
        random_walk(problem, 0)  # what is computed on demand is there
        twin = pickle.loads(pickle.dumps(problem))
        assert twin == problem
        assert random_walk(twin, 1) == random_walk(problem, 1)


FORMS = {
    "python": lambda problem: problem,
    "array": lambda problem: problem.array(),
    "compiled": lambda problem: problem.compiled(),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@every_form
@pytest.mark.parametrize("problem", [MASKED[0], MASKED[5]], ids=name)
def test_plans_are_legal_and_best(problem, form):
    # Any call of an illegal action is an error, or a reward that is not a number.
    plan = pp.plan(form(problem), budget=2_000, discount=0.99, seed=0)
    assert pp.problems.simple_regret(form(problem), plan) == pytest.approx(0.0)
    state = problem.initial_state
    for action in plan.actions:
        assert action in problem.legal(state)
        state = problem.step(state, action, RNG).state


@every_form
@pytest.mark.parametrize("budget", [30, 200])
def test_an_episode_is_legal_to_its_end(form, budget):
    problem = lab.problems.TravellingSalesman(num_cities=10, seed=1)
    episode = pp.control(form(problem), budget=budget, steps=20, discount=0.99, seed=0)
    assert episode.terminated
    assert len(episode.actions) == 9
    length = problem.tour_length(episode.actions)
    assert problem.optimum() - 1e-9 <= length == pytest.approx(-sum(episode.rewards))
    shop = pp.problems.JobShop()
    episode = pp.control(form(shop), budget=budget, steps=50, discount=0.99, seed=0)
    assert episode.terminated
    assert len(episode.actions) == 36
    assert 55 <= shop.makespan(episode.actions) == pytest.approx(-sum(episode.rewards))


@every_form
def test_an_episode_without_a_discount(form):
    problem = lab.problems.TravellingSalesman(num_cities=7, seed=1)
    episode = pp.control(form(problem), budget=300, horizon=6, discount=1.0, seed=0)
    assert episode.terminated
    assert episode.discounted_return == pytest.approx(-problem.tour_length(episode.actions))


@pytest.mark.parametrize("problem", [lab.problems.TravellingSalesman(20), MASKED[4]], ids=name)
def test_the_compiled_form_is_played_as_the_python_one(problem):
    # An array model draws other actions in place of those that are not legal: it has one stream.
    planner = pp.Platypus(0.99)
    models = [FORMS[form](problem) for form in ("python", "compiled")]
    played = [pp.control(model, planner=planner, budget=150, steps=40, seed=0).actions
              for model in models]  # fmt: skip
    assert played[0] == played[1]


def test_an_episode_with_penalties():
    problem = lab.problems.TravellingSalesman(num_cities=6, seed=3, penalty=2.0)
    episode = pp.control(problem, budget=3_000, steps=20, discount=0.99, seed=0)
    assert episode.terminated
    assert problem.tour_length(episode.actions) < 1.1 * problem.optimum()


@every_form
@pytest.mark.parametrize("problem", [MASKED[0], MASKED[4], *PENALISED], ids=name)
def test_they_keep_the_contract_of_a_model(problem, form):
    report = pp.check_model(form(problem), steps=60)
    assert report.ok, str(report)
