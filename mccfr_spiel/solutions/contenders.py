"""Algorithms that suit a game, chosen by features of the game.

The lists are ordered. The first algorithm has the smallest worst case in the league
(docs/measured.md, "Which algorithm is first at which NashConv?"): SAPCFR+ needs at most
2.4 times the nodes of the best full-width rule at NashConv 0.1, 0.01 and 0.001 in all
ten two-player zero-sum games. With DCFR+ and PDCFR+ beside it, the factor is 1.6.

| players, sum | arena | chance | algorithms |
|---|---|---|---|
| two, constant | hands of cards | any | DCFR, DCFR+, SAPCFR+ |
| two, constant | any other | yes | SAPCFR+, DCFR+, PDCFR+ |
| two, constant | any other | no | PCFR+, PDCFR+, SAPCFR+ |
| other | any | any | CFR with a linear average |
"""

from typing import NamedTuple

import pyspiel

from mccfr_spiel.algorithms import (
    DCFR,
    DCFR_PLUS,
    FULL,
    LINEAR,
    PCFR_PLUS,
    PDCFR_PLUS,
    SAPCFR_PLUS,
    Algorithm,
    regret_matching,
)
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum

LINEAR_CFR = Algorithm(FULL, regret_matching(), LINEAR)
"""Alternating CFR with a linear average, for games without a convergence theorem."""


class Features(NamedTuple):
    """Features of a game that determine which algorithms race.

    Attributes:
        has_value: whether the game has two players and a constant sum.
        has_chance: whether there are chance moves.
        has_hands: whether passes run over hands of cards.
    """

    has_value: bool
    has_chance: bool
    has_hands: bool


def features_of(game: pyspiel.Game, has_hands: bool) -> Features:
    """The features of a game."""
    chance = game.get_type().chance_mode
    return Features(
        has_value=is_two_player_constant_sum(game),
        has_chance=chance != pyspiel.GameType.ChanceMode.DETERMINISTIC,
        has_hands=has_hands,
    )


def contenders(features: Features) -> tuple[Algorithm, ...]:
    """Full-width algorithms for a game, in the order in which they enter the race."""
    if not features.has_value:
        return (LINEAR_CFR,)
    if features.has_hands:
        return DCFR, DCFR_PLUS, SAPCFR_PLUS
    if features.has_chance:
        return SAPCFR_PLUS, DCFR_PLUS, PDCFR_PLUS
    return PCFR_PLUS, PDCFR_PLUS, SAPCFR_PLUS
