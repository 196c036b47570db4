"""A subgame of hold'em as one value: its board, ranges, betting and deals.

OpenSpiel's load strings split at commas and have no fractions to the bit, so
`subgame` writes a subgame in their words and `Subgame` reads them back.

The betting says which sizes are legal where, and what everybody has paid.
`betting_tree` leaves the cards out: of each street there is one copy, whatever is
dealt. Amounts are chips beyond the pot that the subgame starts with; the amount of a
bet or a raise is what its player has then paid on this street.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import pyspiel

from mccfr_spiel.arenas.hand_arena import Cost as Cost
from mccfr_spiel.arenas.hand_arena import cost as cost
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common import refusals
from mccfr_spiel.poker.betting import Betting, Node, betting_tree, chips, read_sizes
from mccfr_spiel.poker.cards import (
    DECK,
    HANDS,
    Range,
    RangeError,
    cards_of,
    exchanges,
    text_of,
    weights_of,
)

GAME = "python_holdem_subgame"

DEFAULTS: Mapping[str, int | str] = {
    "board": "2s3h4d6c7c",
    "pot": 20,
    "stacks": 10,
    "range0": "AsAh;QsQh",
    "range1": "KsKh",
    "bets": "a",
    "raises": "none",
    "donk": "bets",
    "min_bet": 1,
    "first": 0,
    "max_raises": -1,
    "rake": "none",
    "amounts": "none",
}
"""The game's parameters. `amounts` stands for pot, stacks and min_bet where one of them
is a fraction. OpenSpiel cannot read empty texts, so "none" stands for them."""

_LARGEST = 2.0**31 - 1

Text = str | Sequence[str]


class Subgame:
    """What a game's parameters mean.

    Attributes:
        board: the cards on the table, 3 to 5.
        betting: the rules of betting.
        ranges: `[2, 1326]` weights; 0 where a hand shares a card with the board.
        nodes: the betting tree.
    """

    board: tuple[int, ...]
    betting: Betting
    ranges: np.ndarray
    nodes: list[Node]

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Reads the parameters of DEFAULTS.

        Raises:
            ValueError: a parameter's value is not allowed.
        """
        self.board = tuple(cards_of(given["board"], "board"))
        if not 3 <= len(self.board) <= 5:
            raise ValueError(
                f"board={given['board']!r} has {len(self.board)} cards; a subgame "
                "begins on the flop (3), the turn (4) or the river (5)."
            )
        names = ("pot", "stacks", "min_bet")
        amounts: list[Any] = [given[name] for name in names]
        if given["amounts"] != "none":
            amounts = given["amounts"].split(";")
            if len(amounts) != len(names):
                raise ValueError(
                    f"amounts={given['amounts']!r} is not pot;stacks;min_bet."
                )
        pot, stack, min_bet = map(_amount, amounts, names)
        if stack < min_bet:
            raise ValueError(
                f"stacks={chips(stack)} are below min_bet={chips(min_bet)}, so nobody "
                "could bet. Give larger stacks, or a smaller min_bet."
            )
        streets, donk = 6 - len(self.board), given["donk"]
        most = refusals.integer(given["max_raises"], "max_raises", -1)
        self.betting = Betting(
            pot,
            stack,
            streets,
            refusals.player(given["first"], 2, "first"),
            min_bet,
            read_sizes(given["bets"], streets, "bets"),
            read_sizes(given["raises"], streets, "raises"),
            None if donk == "bets" else read_sizes(donk, streets, "donk"),
            None if most < 0 else most,
            _rake(given["rake"]),
        )
        self.ranges = np.stack([self._range(given, player) for player in (0, 1)])
        if not self.total > 0:
            raise RangeError(
                "The ranges block each other: each hand of one shares a card with "
                "every hand of the other, so nothing can be dealt."
            )
        self.nodes = betting_tree(self.betting)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Subgame":
        """Itself, since nothing in it changes; OpenSpiel copies states deeply."""
        return self

    def _range(self, given: Mapping[str, Any], player: int) -> np.ndarray:
        name = f"range{player}"
        weights = weights_of(given[name], name)
        if not weights.any():
            raise RangeError(f"{name} is empty: no hand has a weight above 0.")
        on_board = np.isin(HANDS, self.board).any(axis=1)
        if not weights[~on_board].any():
            raise RangeError(
                f"{name} is empty: all of its hands have a card of the board "
                f"{self.board_text}."
            )
        return np.where(on_board, 0.0, weights)

    @property
    def board_text(self) -> str:
        """The board as players write it."""
        return "".join(DECK[card] for card in self.board)

    @functools.cached_property
    def exchanges(self) -> np.ndarray:
        """`[K, 52]` the exchanges of suits that change nothing, see `suits`."""
        return exchanges(self.board, self.ranges)

    @functools.cached_property
    def total(self) -> float:
        """The sum over all pairs of hands that fit of the product of their weights."""
        return float(self.ranges[0] @ (fits() @ self.ranges[1]))

    @functools.cached_property
    def deals(self) -> np.ndarray:
        """`[2, 1326]` the probability of each hand of either player."""
        return self.ranges * (fits() @ self.ranges[::-1].T).T / self.total

    def likely_deal(self) -> list[int]:
        """The most likely hand of player 0, and of player 1 given that."""
        first = int(self.deals[0].argmax())
        return [first, int(self.deals_after(first).argmax())]

    def deals_after(self, hand: int) -> np.ndarray:
        """`[1326]` the probability of each hand of player 1, given that of player 0."""
        weights = np.where(fits()[hand], self.ranges[1], 0.0)
        return weights / weights.sum()


@functools.cache
def fits() -> np.ndarray:
    """`[1326, 1326]` whether two hands share no card."""
    shared = [HANDS[:, None, k] == HANDS[None, :, j] for k in (0, 1) for j in (0, 1)]
    return ~np.logical_or.reduce(shared)


def _amount(value: Any, name: str) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"{name}={value!r} is no number of chips.") from None
    return refusals.number(value, name, 0.0, _LARGEST, open_low=True)


def _rake(text: str) -> tuple[float, float]:
    if text == "none":
        return 0.0, 0.0
    try:
        share, most = map(float, text.split(";"))
    except ValueError:
        raise ValueError(
            f"rake={text!r} is not a share of the pot and the most chips that are "
            "taken, such as 0.05;30."
        ) from None
    if most < 0 or math.isnan(most):
        raise ValueError(f"rake={text!r}: the house cannot take less than 0 chips.")
    return refusals.number(share, "rake", 0.0, 1.0), most


def _rake_text(rake: Sequence[float]) -> str:
    try:
        return ";".join(repr(float(number)) for number in rake)
    except (TypeError, ValueError):
        raise ValueError(
            f"rake={rake!r} is not a share of the pot and the most chips that are "
            "taken, such as (0.05, 30)."
        ) from None


def subgame(
    *,
    board: str,
    pot: float,
    stacks: float | Sequence[float],
    ranges: Sequence[Range],
    bets: Text,
    raises: Text,
    min_bet: float = 1,
    first: int = 0,
    rake: Sequence[float] | None = None,
    donk: Text | None = None,
    max_raises: int | None = None,
) -> pyspiel.Game:
    """A subgame of heads-up no-limit hold'em, as an OpenSpiel game.

        game = ms.poker.subgame(board="4s8hTc9h2s", pot=500, stacks=19_750,
            ranges=("QQ+,AKs,A5s:0.5", "random"), bets="50%,100%,a", raises="100%,a")
        ms.Solver(game, ms.CFR_PLUS).iterate(1000)

    A bet of p % is p % of the pot; a raise is *to* theirs + p % of the pot after a
    call. Amounts are rounded to the nearest chip; below `min_bet`, or below the last
    increment, they become that minimum, and at the stack or above all-in. Returns are
    chips relative to both players having paid half of the pot. The string of the game
    (`str(game)`) loads it again.

    Args:
        board: 3 to 5 cards.
        pot: chips in the pot.
        stacks: chips that the players have left, one number or two, of which the
            smaller one counts.
        ranges: for each player, a text (see `ranges`) or `[1326]` weights.
        bets, raises: sizes, such as "33%/50%/70%,a": 50% of the pot, 120c chips, 2.5x
            the bet, a all-in, e geometric. Streets are separated by "/". A pair gives
            one text for each player.
        min_bet: the smallest bet, and increment of a raise.
        first: the player who acts first on every street.
        rake: the share of the pot that the house takes, and the most that it takes. The
            game then is not zero-sum, and no algorithm has a guarantee.
        donk: sizes of a first bet into the player who made the last bet of the street
            before; those of `bets` if not given.
        max_raises: the most raises on a street after a bet.

    Raises:
        ValueError: an argument is not allowed; the message names it.
    """
    if not _is_several(ranges) or len(ranges) != 2:
        raise ValueError("ranges= is no pair: give one range for each player.")
    amounts = [pot, min(_numbers(stacks)), min_bet]
    parameters: dict[str, Any] = {
        "board": board,
        "bets": _pair_text(bets, "bets"),
        "raises": _pair_text(raises, "raises"),
        "donk": "bets" if donk is None else _pair_text(donk, "donk"),
        "first": refusals.player(first, 2, "first"),
        "rake": "none" if rake is None else _rake_text(rake),
    }
    if max_raises is not None:
        parameters["max_raises"] = refusals.integer(max_raises, "max_raises", 0)
    cards_of(board, "board")
    names = ("pot", "stacks", "min_bet")
    numbers = [*map(_amount, amounts, names)]
    if all(one.is_integer() for one in numbers):
        parameters |= dict(zip(names, map(int, numbers), strict=True))
    else:
        parameters["amounts"] = ";".join(map(repr, numbers))
    for player, one in enumerate(ranges):
        name = f"range{player}"
        if isinstance(one, str):
            text = re.sub(r"\s", "", one).replace(",", ";")
            # OpenSpiel would read "22" as a number when it loads the game's string.
            parameters[name] = f"{text};" if text.isdecimal() else text
        else:
            parameters[name] = text_of(weights_of(one, name))
    load_game(GAME)  # registers it
    return pyspiel.load_game(GAME, parameters)


def _is_several(given: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)


def _numbers(values: Any) -> Sequence[float]:
    if _is_several(values):
        if len(values) != 2:
            raise ValueError(f"stacks={values!r}: give one number, or two.")
        return [_amount(value, "stacks") for value in values]
    return [values]


def _pair_text(given: Text, name: str) -> str:
    """One text for OpenSpiel: "|" between players, no commas."""
    texts: list[Any] = [*given] if _is_several(given) else [given]
    if not 1 <= len(texts) <= 2 or not all(isinstance(one, str) for one in texts):
        raise ValueError(f"{name}={given!r} is neither a text nor one for each player.")
    text = "|".join(re.sub(r"\s", "", one).replace(",", ";") for one in texts)
    return text or "none"
