"""Is this simulator safe to plan with? A check for Gymnasium environments, the doctor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from platypoos.checking.parts import compare_pictures, examine_masks, measure_cells
from platypoos.checking.report import RESET_ONLY, SAFE, UNSAFE, SimulatorReport
from platypoos.checks import check_count, check_seed
from platypoos.errors import InvalidArgument
from platypoos.models.base import RANDOM, Access
from platypoos.models.gymnasium.actions import SOME
from platypoos.models.gymnasium.families import ToyText
from platypoos.models.gymnasium.generators import generators_of, global_state, position
from platypoos.models.gymnasium.model import GymnasiumModel
from platypoos.models.gymnasium.snapshots import Outcome
from platypoos.models.gymnasium.trial import AHEAD, Coin, Drive, first_difference, random_drive
from platypoos.progress import StatusLine

_PATIENCE = 40.0  # seconds for each of two examinations of slow simulators


def check_simulator(
    env: Any,
    *,
    method: str | None = None,
    trajectories: int = 5,
    steps: int = 20,
    seed: int = 0,
    pictures: bool = True,
    on_progress: Callable[[str], None] | None = None,
    **options: Any,
) -> SimulatorReport:
    """Restore and replay random trajectories of an environment, and say what is wrong.

    Args:
        env: an environment's id, an environment, a function that makes one, or a
            :class:`~platypoos.GymnasiumModel`.
        method: "native", "deepcopy" or "replay", to try that one.
        trajectories: how many random trajectories to take.
        steps: their length; each is restored at every step, as far as 40 seconds go.
        seed: for the trajectories.
        pictures: whether to compare pictures of restored states with the original's too.
        on_progress: called with what is being done. Left out, it is shown in a line on the
            standard error stream, if that is a terminal.
        **options: of the model (``actions``, ``resolution``, …) and of ``gymnasium.make``.

    >>> import platypoos as pp
    >>> report = pp.check_simulator("CartPole-v1")
    >>> report.verdict, report.method, report.access.name
    ('safe', 'native', 'RESTORE')
    """
    check_count("trajectories", trajectories)
    check_count("steps", steps)
    check_seed(seed)
    if isinstance(env, GymnasiumModel):
        if method is not None or options:
            raise InvalidArgument("method and options belong to the model; pass the environment")
        model = env
    else:
        if not (isinstance(env, str) or callable(env) or hasattr(env, "unwrapped")):
            raise InvalidArgument(
                f"check_simulator takes Gymnasium environments, got {env!r}; check_model is for "
                "other models"
            )
        model = GymnasiumModel(env, method=method, **{"actions": SOME, **options})
    line = StatusLine()
    doctor = _Doctor(model, trajectories, steps, seed, line if on_progress is None else on_progress)
    try:
        return doctor.examine(pictures=pictures)
    finally:
        line.clear()


def _kind(thing: object) -> str:
    return type(thing).__name__


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


class _Doctor:
    def __init__(
        self,
        model: GymnasiumModel,
        trajectories: int,
        steps: int,
        seed: int,
        tell: Callable[[str], None],
    ) -> None:
        self.model, self.keeper = model, model.keeper
        self.trajectories, self.steps = trajectories, steps
        self.rng = np.random.default_rng(seed)
        self.tell = tell
        self.pictures = ""
        self.start = self.keeper.save()
        self.passed: list[str] = []
        self.problems: list[str] = []
        self.remedies: list[str] = []
        self.random_dynamics = False
        self.unruly = False  # it differs of itself

    def examine(self, *, pictures: bool) -> SimulatorReport:
        costs: dict[str, float] = {}
        try:
            if self._masks() and (self._faithful() or self.unruly):
                self._randomness()
                self._cells()
                costs = self._costs()
                if pictures:
                    self._say("comparing pictures")
                    self.pictures, remedy = compare_pictures(self.model, self.rng)
                    self.remedies += [remedy] if remedy else []
        except Exception as error:  # noqa: BLE001  whatever it raises is the finding
            self.problems.append(f"it failed with {_words(error)}")
            self.remedies.append(
                "fix its step: it returns (observation, reward, terminated, truncated, info)"
            )
        finally:
            self._put_back()
        return self._report(costs)

    def _say(self, what: str) -> None:
        self.tell(f"{self.model.name}: {what} …")

    def _clock(self, what: str, total: int, seconds: float) -> Callable[[int], bool]:
        """Tells how far an examination is, and returns whether there is time left."""
        started = time.monotonic()

        def tell(done: int) -> bool:
            spent = time.monotonic() - started
            self._say(f"{what}, {done} of {total} in {spent:.0f} s of at most {seconds:.0f}")
            return spent <= seconds

        tell(0)
        return tell

    def _put_back(self) -> None:
        try:
            self.keeper.restore(self.start)
        except Exception:  # noqa: BLE001  the problem has been reported
            self.keeper.replayed = 0

    def _masks(self) -> bool:
        """Whether the masks can be trusted, if there are any."""
        if self.model.legal is None:
            return True
        clock = self._clock("asking for masks", self.trajectories * self.steps, _PATIENCE / 4)
        well, wrong = examine_masks(self.model, self.trajectories, self.steps, self.rng, clock)
        self.model.start(0)
        if not wrong:
            self.passed.append(well)
            return True
        self.problems.append(wrong)
        self.remedies.append(
            "fix the mask: it must depend on the state alone, and allow an action unless it ended"
        )
        return False

    def _cells(self) -> None:
        """How much is given up by cells, if there are any."""
        if self.model.resolution is not None and self.model.access is Access.RESTORE:
            self._say("measuring cells")
            found, remedy = measure_cells(self.model, self.rng)
            self.passed.append(found)
            self.remedies += [remedy] if remedy else []

    def _faithful(self) -> bool:
        """Whether restored states go on as the uninterrupted trajectory did."""
        points = 0
        clock = self._clock("restoring states", self.trajectories * self.steps, _PATIENCE)
        for number in range(self.trajectories):
            if not clock(points):
                break
            drive = random_drive(self.model.trial_actions, self.steps, self.rng)
            self.model.start(number)
            alone = drive.run(self.keeper)
            if not all(np.isfinite(reward) for _, reward, _ in alone):
                self.problems.append("a reward is NaN or infinite; rewards must be finite numbers")
                return False
            self.model.start(number)
            saved, snapshots = drive.run_and_save(self.keeper)
            found = first_difference(alone, saved)
            if found:
                self._not_repeatable(drive, number, *found)
                return False
            order = self.rng.permutation(len(snapshots)).tolist()
            for point in order:
                if not self._goes_on(drive, point, snapshots[point], alone):
                    return False
                points += 1
                if not clock(points):
                    break
        self.passed.append(
            f"{points} restores in {number + 1} random trajectories went on identically "
            "(observations, rewards, ends)"
        )
        return True

    def _goes_on(self, drive: Drive, point: int, snapshot: Any, alone: Sequence[Outcome]) -> bool:
        ahead = min(point + 5, len(alone))
        for attempt in ("first", "second"):
            try:
                self.keeper.restore(snapshot)
                got = drive.run(self.keeper, point, ahead)
            except Exception as error:  # noqa: BLE001  reported
                self.problems.append(
                    f"a state restored by {self.model.method} cannot be stepped: {_words(error)}"
                )
                self._other_method()
                return False
            found = first_difference(alone[point:ahead], got)
            if not found:
                continue
            step, how = found
            if attempt == "second":
                self.problems.append(
                    f"what was saved at step {point} changed when the environment went on from "
                    f"it: restored again, {how}; copies share state with the original"
                )
            else:
                self.problems.append(
                    f"restored at step {point}, it went another way {step + 1} step"
                    f"{'s' if step else ''} later: {how}"
                )
            self._other_method()
            return False
        return True

    def _not_repeatable(self, drive: Drive, number: int, step: int, how: str) -> None:
        """Two equal drives from a reset differ: of themselves, or because of the saves."""
        self.model.start(number)
        one = drive.run(self.keeper)
        self.model.start(number)
        if first_difference(one, drive.run(self.keeper)):
            self.unruly = True
            self.problems.append(
                f"after the same reset and actions, step {step + 1} differs: {how}; it has "
                "randomness or memory that neither the reset nor the planner's generator governs"
            )
            lasting = [w for w in map(_kind, self.keeper.wrappers) if w.startswith("Normalize")]
            self.remedies.append(
                f"leave out the wrapper {lasting[0]}: its statistics outlast a reset"
                if lasting
                else "draw all randomness from the environment's np_random, and let reset clear "
                "all else; then plan with access=Access.RESET, which plans open loop"
            )
        else:
            self.problems.append(f"saving changes the environment: at step {step + 1} {how}")
            self._other_method()

    def _other_method(self) -> None:
        method = self.model.method
        if method == "deepcopy":
            self.remedies.append(
                "leave out method='deepcopy': the family's own way, or a replay, is chosen then"
                if self.model.forced
                else "use method='replay'"
            )
        elif method == "native":
            self.remedies.append("use method='deepcopy' or method='replay', and check again")
        else:
            self.remedies.append("let reset(seed=…) start the same episode each time")

    def _randomness(self) -> None:
        """What the planner's generator changes, and which generators are restored with states."""
        leaks: set[str] = set()
        foreign = noisy = suspicious = False
        rng, keeper = self.rng, self.keeper
        total = self.trajectories * self.steps
        clock = self._clock("looking for randomness", total, _PATIENCE / 2)
        for number in range(self.trajectories):
            self.model.start(1000 + number)
            for step in range(self.steps):
                snapshot = keeper.save()
                drive = random_drive(self.model.trial_actions, AHEAD, rng)
                coin = Coin(keeper, snapshot, drive, rng)
                self.random_dynamics |= coin.random
                noisy |= coin.noisy
                suspicious |= coin.suspicious
                keeper.restore(snapshot)
                generators = generators_of(keeper)
                before = [position(generator) for _, generator in generators]
                outside = global_state()
                drive.take(keeper, 0, np.random.default_rng(drive.seeds[0]))
                leaks |= {
                    name
                    for (name, generator), was in zip(generators, before, strict=True)
                    if position(generator) != was
                }
                foreign |= outside != global_state()
                if not clock(number * self.steps + step + 1) or coin.ended:
                    break
        self._judge_randomness(leaks, foreign, noisy)
        if suspicious and not (self.random_dynamics or self.problems or self._known()):
            self.passed.append("steps draw random numbers, but nothing random was seen")

    def _judge_randomness(self, leaks: set[str], foreign: bool, noisy: bool) -> None:
        if leaks:
            self.problems.append(
                f"steps draw from {', '.join(sorted(leaks))}, which is restored with the state: "
                "the same noise comes again, and a planner would foresee it"
            )
            self.remedies.append("draw from the environment's np_random instead")
        if foreign:
            self.problems.append(
                "steps draw from the global generator of numpy.random or random, which no seed "
                "of a plan governs"
            )
            self.remedies.append("draw from the environment's np_random instead")
        if leaks or foreign or self.unruly:
            return
        self.passed.append("no generator is restored with the state")
        if self.random_dynamics:
            self.passed.append("the dynamics are random, with the planner's generator")
            if self.model.access is Access.RESET:
                self.remedies.append(
                    "plan with access=Access.RESET: open loop, over sequences of actions"
                )
            elif self.model.dynamics != RANDOM:
                self.problems.append(
                    "a short trial saw no randomness, so dynamics would be taken for "
                    'deterministic; pass dynamics="random" to GymnasiumModel'
                )
            else:
                self.remedies.append(
                    "plan with the default planner, in closed loop; 'platypoos planners' tells "
                    'which others react to chance; the rest need access="reset": open loop, over '
                    "sequences of actions"
                )
        else:
            self.passed.append(
                "the dynamics were deterministic" + (", the rewards are noisy" if noisy else "")
            )

    def _known(self) -> bool:
        return isinstance(self.keeper, ToyText) and self.keeper.is_deterministic()

    def _costs(self) -> dict[str, float]:
        keeper, actions = self.keeper, self.model.trial_actions
        self.model.start(0)
        spent: dict[str, list[float]] = {"save_us": [], "step_us": [], "restore_us": []}
        clock = self._clock("measuring", 50, 5)
        for turn in range(50):
            number = random_drive(actions, 1, self.rng).number(keeper, 0)
            if number is None:
                break
            times = [time.perf_counter()]
            snapshot = keeper.save()
            times.append(time.perf_counter())
            keeper.step(actions[number], self.rng)
            times.append(time.perf_counter())
            keeper.restore(snapshot)
            times.append(time.perf_counter())
            for name, seconds in zip(spent, np.diff(times), strict=True):
                spent[name].append(float(seconds) * 1e6)
            if keeper.step(actions[number], self.rng)[2]:
                self.model.start(0)
            if not clock(turn + 1):
                break
        return {name: float(np.median(values)) for name, values in spent.items()}

    def _report(self, costs: dict[str, float]) -> SimulatorReport:
        model = self.model
        is_declared = model.dynamics == RANDOM
        open_loop = model.access is Access.RESET or (self.random_dynamics and not is_declared)
        verdict = UNSAFE if self.problems else RESET_ONLY if open_loop else SAFE
        if not self.problems:
            if model.method == "replay":
                self.remedies.append(
                    "states are restored by taking all steps since the reset again; "
                    "register_family tells of a faster way, if there is one"
                )
            elif not self.remedies:
                self.remedies.append("nothing: plan with it as it is")
        return SimulatorReport(
            name=model.name,
            family=model.family,
            method=model.method,
            access=Access.RESET if open_loop else Access.RESTORE,
            verdict=verdict,
            passed=tuple(self.passed),
            problems=tuple(self.problems),
            remedies=tuple(dict.fromkeys(self.remedies)),
            repeat=model.steps_per_call,
            pictures=self.pictures,
            **costs,
        )
