"""Compile-time switches of walks: what is sampled, and which data must be recorded."""

from typing import NamedTuple

from mccfr_spiel.kernels.randomness import COUNTED_PLACES, NO_PLACES, PLACES
from mccfr_spiel.kernels.tables import ALONE, BLOCK_PART, TOP_PART


class Sampled(NamedTuple):
    """The sampled parts of an algorithm.

    A separate loop is compiled for each different `Sampled`. Numbers such as epsilon
    are not part of it; they are arguments of the loop, see `Task.settings`.

    Attributes:
        chance: True to draw one outcome at chance nodes, False to visit all.
        opponents: True to draw one action at opponents' nodes, False to visit all.
        player: selection of the updated player's actions, see `algorithms.Sampling`.
        prune: True to skip actions that opponents play with probability 0.
        draws_one_action: True to draw one action of the updated player.
        picks_actions: True for average-strategy sampling.
        skips: True to skip actions of very negative regret, see selection.py.
        baseline: type of baseline, "" for none, see baselines.py.
        batched: True for several walks per player and iteration.
        forgets: True for players with imperfect recall, see visits.py. This requires
            regret matching or regret matching+. Such algorithms use walks instead of
            passes even if they sample nothing.
        correlates: True to draw chance from a Sobol sequence over the walks, see
            sobol.py.
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
    correlates: bool = False

    @property
    def places(self) -> int:
        """NO_PLACES, PLACES or COUNTED_PLACES, see randomness.py."""
        if not self.chance:
            return NO_PLACES
        return COUNTED_PLACES if self.correlates else PLACES

    @property
    def learns(self) -> bool:
        """True for algorithms with baselines, see baselines.py."""
        return self.baseline != ""

    @property
    def branches(self) -> bool:
        """True if walks with baselines follow all actions of the updated player."""
        return self.learns and self.player == "all"

    @property
    def draws_others(self) -> bool:
        """True if chance and all opponents are sampled."""
        return self.chance and self.opponents

    @property
    def meets_once(self) -> bool:
        """True if no infoset of the updated player is visited twice before an update.

        This follows from perfect recall: the walk fixes the moves of chance and of all
        opponents, and the player's own moves before the infoset are known, so the
        history is unique.
        """
        return self.draws_others and not self.batched

    @property
    def can_be_shared(self) -> bool:
        """True if threads or processes may share the walks of a batch."""
        return not (self.picks_actions or self.skips or self.learns)

    @property
    def is_weighted(self) -> bool:
        """True if weights may differ from 1, unlike in external sampling."""
        return self.player != "all" or self.skips or not self.draws_others


class Switches(NamedTuple):
    """The switches of one compiled walk.

    Attributes:
        samples_chance: one outcome is drawn at chance nodes. Only in this case the
            stack stores places (keys of chance draws, hashes of histories).
        places: kind of these places, see randomness.py.
        correlates: chance is drawn from a Sobol sequence, see sobol.py.
        samples_opponents: one action is drawn at opponents' nodes.
        prunes: actions that opponents play with probability 0 are skipped.
        draws_own: one action of the updated player is drawn.
        explores: that draw mixes the policy with the uniform policy (outcome sampling).
            Otherwise it uses the balanced strategy.
        picks_own: average-strategy sampling selects the updated player's actions.
        skips: actions of very negative regret are skipped.
        may_overflow: weights may become so large that payoffs overflow.
        learns: the walk adds baselines and appends notes (baselines.py).
        branches: a walk with baselines follows all actions of the updated player.
        forgets: players have imperfect recall, and the walk lists visits (visits.py).
        is_weighted: the stack stores weights.
        has_debts: the stack stores the debts of the lazy average (lazy_average.py).
        meets_once: no infoset of the updated player is visited twice before an update.
        postpones: the walk postpones unexpanded nodes and visits other nodes first.
            This requires that no sequence receives two payoffs before an update. Then
            the order of visits is irrelevant, and a repeated walk writes the same
            payoffs.
        in_top: the walk stops at the roots of blocks, see logs.py.
    """

    samples_chance: bool
    places: int
    correlates: bool
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
    """Derives the switches of a walk.

    Args:
        sampled: the sampled parts of the algorithm.
        grows: True if nodes may be missing, see `source.Source`.
        part: ALONE, TOP_PART or BLOCK_PART.
    """
    has_debts = part == ALONE and not sampled.forgets
    is_alone_once = sampled.meets_once and has_debts
    return Switches(
        samples_chance=sampled.chance,
        places=sampled.places,
        correlates=sampled.correlates,
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
