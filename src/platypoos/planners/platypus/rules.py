"""The constants of the default planner, in one record that is passed in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """How a plan is made. An ablation is an argument: ``Platypus(rules=Rules(tree_share=0.0))``.

    What each is worth is in ``docs/default-planner.md``.
    """

    stages: int = 16
    """Parts of a plan; each explores, proposes and compares."""
    tree_share: float = 0.25
    """The tree explorers (the published exploration) get this share of all calls at least, and
    1 less this at most; it follows success. The least is less, in proportion, where a plan has
    fewer than ``stages`` calls for each action: the few states that could be opened tell little."""
    growth: float = 1.25
    """A round of the tree is followed by one that is larger by this factor."""
    seed_share: float = 0.4
    """Share of the calls, at most, for the first sequences."""
    greedy_share: float = 0.3
    """Share of the calls, at most, for the greedy sequence; less while it does not lead."""
    batch_share: float = 0.5
    """The walks that are under way at the same time may take this share of the calls; half as much
    in a box, where they are shorter; fewer in a large ``MultiDiscrete``…"""
    most_walks: int = 64
    """…and there are so many at most."""
    stretch: int = 1
    """Steps that each of them takes in a batch, or as many as the longest of the other requests."""
    idle: int = 8
    """The sequence explorer rests after so many walks in a row that brought nothing new."""
    challengers: int = 3
    """First actions that are tried with the best known tails in each stage; 0 for none."""
    challenge_share: float = 0.15
    """Share of the calls that challengers may take."""
    policies: int = 3
    """First actions after which the best known policy is tried in each stage; 0 for none."""
    sequences: bool = True
    """Whether stretches of the best sequence are changed."""
    steady_share: float = 0.9
    """Where first actions are equal: share of the walks that follow one of them at random."""
    look_share: float = 0.06
    """As long as no noise was seen, this share of a stage's calls looks for some."""
    hearing_share: float = 0.5
    """With noise, a stage is followed by a hearing of the jury of this share of its calls."""
    finish_share: float = 0.1
    """Where no more actions are left untried than this share of the calls, all of them are tried:
    then everything that can be reached is known."""
    jury_share: float = 0.25
    """With noise, the last hearing gets this share of the calls."""
    shrinkage: bool = True
    """With noise, draw rewards to the mean of all as far as they are unsure."""
    near: float = 0.0
    """With noise, candidates within so many standard errors of the best are equal: then the one
    whose variations do best on average is taken."""
    shortest: int = 4
    """Steps of a sequence, at least, if the budget has four times as many calls…"""
    shortest_kept: int = 6
    """…and if something is left of the last decision's sequence."""
    length_share: float = 3.0
    """In later plans, sequences have at most so many steps for each call that an action gets."""
    box_steps: float = 0.5
    """Where actions cannot be listed, sequences have this many times √N steps at most, or 12."""
    scout_share: float = 0.15
    """In a box: share of the calls for long sequences, if the discount asks for them."""
    settled_share: float = 0.5
    """The same where the search of shorter ones has settled…"""
    blind_share: float = 0.9
    """…and where all of them are worth the same."""
    anew_share: float = 0.5
    """In a box: share of the changes that set a stretch to one new action; the others move it."""
    each_share: float = 0.25
    """Share of these that draw an action for each step of the stretch."""
    pair_share: float = 0.5
    """Share of the moves after which the next stretch is moved back: a push and a counter-push."""
    wide: float = 2.0
    """In a box: a new action is drawn from a box this many times as wide, and cut to the box."""
    finest: float = 0.01
    """In a box: steps have scales between this share of its width and all of it."""
    early: float = 2.0
    """Changes of a sequence begin early: at a random place of it, to this power."""
