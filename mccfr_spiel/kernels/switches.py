"""Compile-time switches of walks: what is sampled, and how the loop records it."""

from typing import NamedTuple

from mccfr_spiel.kernels.tables import ALONE, BLOCK_PART, TOP_PART


class Sampled(NamedTuple):
    """What the walks of an algorithm sample.

    One loop is compiled for each value. Numbers such as epsilon are arguments of the
    loop, see `Task.settings`.

    Attributes:
        chance: whether one outcome is drawn at chance nodes.
        opponents: whether one action is drawn at nodes of players who are not updated.
        player: how the updated player's actions are chosen, see `algorithms.Sampling`.
        prune: whether children that opponents never play to are skipped.
        draws_one_action: whether one action of the updated player is drawn.
        picks_actions: whether average-strategy sampling picks the player's actions.
        skips: whether actions of very negative regret are skipped, see selection.py.
        baseline: kind of baseline, "" for none, see baselines.py.
        batched: whether an iteration makes several walks for each player.
        forgets: whether players forget, see visits.py. Only regret matching and regret
            matching+ allow this, and they then walk even if nothing is sampled.
    """

    chance: bool
    opponents: bool
    player: str
    prune: bool
    draws_one_action: bool
    picks_actions: bool
    skips: bool
    baseline: str
    batched: bool
    forgets: bool = False

    @property
    def learns(self) -> bool:
        """Whether there are baselines, see baselines.py."""
        return self.baseline != ""

    @property
    def branches(self) -> bool:
        """Whether walks with baselines follow all of the player's actions."""
        return self.learns and self.player == "all"

    @property
    def draws_others(self) -> bool:
        """Whether one move is followed wherever the updated player does not act."""
        return self.chance and self.opponents

    @property
    def meets_once(self) -> bool:
        """Whether each of the player's infosets is met at most once before an update,
        which is so if chance and all opponents are sampled."""
        return self.draws_others and not self.batched

    @property
    def can_be_shared(self) -> bool:
        """Whether threads or processes may share the walks of a batch."""
        return not (self.picks_actions or self.skips or self.learns)

    @property
    def is_weighted(self) -> bool:
        """Whether weights differ from 1, unlike those of external sampling."""
        return self.player != "all" or self.skips or not self.draws_others


class Switches(NamedTuple):
    """The switches of one compiled walk.

    Attributes:
        samples_chance: whether one outcome is drawn at chance nodes. Only then the
            stack holds places of histories.
        samples_opponents: whether one action is drawn at opponents' nodes.
        prunes: whether children that opponents never play to are skipped.
        draws_own: whether one action of the updated player is drawn.
        explores: whether it is drawn from the policy mixed with the uniform one
            (outcome sampling). Otherwise the balanced strategy draws.
        picks_own: whether average-strategy sampling picks the player's actions.
        skips: whether actions of very negative regret are skipped.
        may_overflow: whether weights may become so large that payoffs overflow.
        learns: whether the walk adds baselines and takes notes for them.
        branches: whether it then follows all of the player's actions.
        forgets: whether players forget, so that visits are listed.
        is_weighted: whether the stack holds weights.
        has_debts: whether the stack holds debts to the average.
        meets_once: whether no infoset of the player is met twice.
        postpones: whether the walk postpones nodes that must be expanded first. It may,
            because walks that meet no infoset twice add to no sequence twice. So their
            steps need no order, and a repeated walk writes the same payoffs.
        in_top: whether the walk stops where blocks begin, see logs.py.
    """

    samples_chance: bool
    samples_opponents: bool
    prunes: bool
    draws_own: bool
    explores: bool
    picks_own: bool
    skips: bool
    may_overflow: bool
    learns: bool
    branches: bool
    forgets: bool
    is_weighted: bool
    has_debts: bool
    meets_once: bool
    postpones: bool
    in_top: bool


def switches_of(sampled: Sampled, *, grows: bool, part: int) -> Switches:
    """The switches of a walk.

    Args:
        sampled: what the walk samples.
        grows: whether its nodes may have to be expanded first.
        part: one of ALONE, TOP_PART and BLOCK_PART.
    """
    has_debts = part == ALONE and not sampled.forgets
    is_alone_once = sampled.meets_once and has_debts
    return Switches(
        samples_chance=sampled.chance,
        samples_opponents=sampled.opponents,
        prunes=sampled.prune,
        draws_own=sampled.draws_one_action,
        explores=sampled.player == "epsilon",
        picks_own=sampled.picks_actions,
        skips=sampled.skips,
        may_overflow=sampled.player != "all",
        learns=sampled.learns,
        branches=sampled.branches,
        forgets=sampled.forgets,
        is_weighted=sampled.is_weighted,
        has_debts=has_debts,
        meets_once=sampled.meets_once and part != BLOCK_PART,
        postpones=is_alone_once and grows and not sampled.learns,
        in_top=part == TOP_PART,
    )
