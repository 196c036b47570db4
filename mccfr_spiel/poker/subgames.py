"""A subgame of hold'em as a value (`Subgame`), and as an OpenSpiel game (`subgame`).

OpenSpiel's load strings use commas as separators and print fractions inexactly.
`subgame` therefore encodes the arguments, and `Subgame` decodes them.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import pyspiel

from mccfr_spiel.arenas.hand_cost import Cost as Cost
from mccfr_spiel.arenas.hand_cost import cost as cost
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import counted
from mccfr_spiel.poker.betting import Betting, Node, betting_tree, chips, read_sizes
from mccfr_spiel.poker.cards import (
    DECK,
    HANDS,
    board_of,
    cards_of,
)
from mccfr_spiel.poker.ranges import (
    Range,
    RangeError,
    pair_of,
    text_of,
    weights_of,
    weights_off,
)
from mccfr_spiel.poker.suits import (
    exchanges,
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
"""Parameters of the game.

`amounts` replaces pot, stacks and min_bet if any of these is a fraction. "none"
replaces empty texts, which OpenSpiel cannot read.
"""

_LARGEST = 2.0**31 - 1

Text = str | Sequence[str]


class Subgame:
    """The decoded parameters of a game.

    Attributes:
        board: initial board, 3 to 5 cards.
        betting: rules of betting.
        ranges: `[2, 1326]` weights; 0 for hands with a card of the board.
        nodes: betting tree.
    """

    board: tuple[int, ...]
    betting: Betting
    ranges: np.ndarray
    nodes: list[Node]

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Decodes parameters as in DEFAULTS.

        Raises:
            ValueError: a parameter is invalid; the message names it.
        """
        self.board = tuple(cards_of(given["board"], "board"))
        if not 3 <= len(self.board) <= 5:
            raise ValueError(
                f"board={given['board']!r} has {counted(len(self.board), 'card')}, "
                "expected 3 (flop), 4 (turn) or 5 (river)."
            )
        names = ("pot", "stacks", "min_bet")
        amounts: list[Any] = [given[name] for name in names]
        if given["amounts"] != "none":
            amounts = given["amounts"].split(";")
            if len(amounts) != len(names):
                raise ValueError(
                    f"amounts={given['amounts']!r} must be pot;stacks;min_bet."
                )
        pot, stack, min_bet = map(_amount, amounts, names)
        if stack < min_bet:
            raise ValueError(
                f"stacks={chips(stack)} must be at least min_bet={chips(min_bet)}. Use "
                "larger stacks or a smaller min_bet."
            )
        streets, donk = 6 - len(self.board), given["donk"]
        max_raises = refusals.integer(given["max_raises"], "max_raises", -1)
        self.betting = Betting(
            pot,
            stack,
            streets,
            refusals.player(given["first"], 2, "first"),
            min_bet,
            read_sizes(given["bets"], streets, "bets"),
            read_sizes(given["raises"], streets, "raises"),
            None if donk == "bets" else read_sizes(donk, streets, "donk"),
            None if max_raises < 0 else max_raises,
            _rake(given["rake"]),
        )
        self.ranges = np.stack(
            [
                weights_off(self.board, given[name], name)
                for name in ("range0", "range1")
            ]
        )
        if not self.total > 0:
            raise RangeError(
                "ranges: all hands of player 0 share a card with all hands of "
                "player 1, so no hands can be dealt. Use larger ranges."
            )
        self.nodes = betting_tree(self.betting)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Subgame":
        """Returns the subgame itself, because it is immutable and OpenSpiel copies
        states deeply.
        """
        return self

    @property
    def board_text(self) -> str:
        """The initial board as a text, such as "4s8hTc"."""
        return "".join(DECK[card] for card in self.board)

    @functools.cached_property
    def exchanges(self) -> np.ndarray:
        """`[K, 52]` cards after each exchange of suits, see `suits.exchanges`."""
        return exchanges(self.board, self.ranges)

    @functools.cached_property
    def total(self) -> float:
        """The sum of the products of weights over all compatible pairs of hands."""
        return float(self.ranges[0] @ (compatible() @ self.ranges[1]))

    @functools.cached_property
    def deals(self) -> np.ndarray:
        """`[2, 1326]` probability of each hand of either player."""
        return self.ranges * (compatible() @ self.ranges[::-1].T).T / self.total

    def likely_deal(self) -> list[int]:
        """The most likely hand of player 0, and the most likely hand of player 1 given
        that.
        """
        first = int(self.deals[0].argmax())
        return [first, int(self.deals_after(first).argmax())]

    def deals_after(self, hand: int) -> np.ndarray:
        """`[1326]` probability of each hand of player 1, given the hand of player 0."""
        weights = np.where(compatible()[hand], self.ranges[1], 0.0)
        return weights / weights.sum()


@functools.cache
def compatible() -> np.ndarray:
    """`[1326, 1326]` whether two hands share no card."""
    shared = [HANDS[:, None, k] == HANDS[None, :, j] for k in (0, 1) for j in (0, 1)]
    return ~np.logical_or.reduce(shared)


def _amount(value: Any, name: str) -> float:
    """A positive number of chips."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"{name}={value!r} must be a number of chips.") from None
    return refusals.number(value, name, 0.0, _LARGEST, open_low=True)


def _rake(text: str) -> tuple[float, float]:
    """The share and the cap of an encoded rake."""
    if text == "none":
        return 0.0, 0.0
    try:
        share, cap = map(float, text.split(";"))
    except ValueError:
        raise ValueError(
            f"rake={text!r} must be a share of the pot and the largest rake in chips, "
            "e.g. 0.05;30."
        ) from None
    if cap < 0 or math.isnan(cap):
        raise ValueError(f"rake={text!r}: the largest rake must be at least 0.")
    return refusals.number(share, "rake", 0.0, 1.0), cap


def _rake_text(rake: Sequence[float]) -> str:
    """The encoded rake."""
    try:
        share, cap = map(float, rake)
        return f"{share!r};{cap!r}"
    except (TypeError, ValueError):
        raise ValueError(
            f"rake={rake!r} must be a share of the pot and the largest rake in chips, "
            "e.g. (0.05, 30)."
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

    A bet of p % is p % of the pot. A raise of p % is *to* the opponent's bet plus p %
    of the pot after a call. Amounts are rounded to the nearest chip. They are at least
    `min_bet`, or the last increment if that is larger, and at most all-in. Returns are
    chips relative to both players having paid half of the pot. The string of the game
    (`str(game)`) loads it again.

    Args:
        board: 3 to 5 cards.
        pot: chips in the pot.
        stacks: chips that the players have left, one number or two; the smaller counts.
        ranges: for each player, a text (see `ranges`) or `[1326]` weights.
        bets: sizes, such as "33%/50%/70%,a": 50% of the pot, 120c chips, 2.5x the bet
            (raises only), a all-in, e geometric. Streets are separated by "/". A pair
            gives one text per player.
        raises: sizes of raises, as for `bets`.
        min_bet: smallest bet, and smallest increment of a raise.
        first: player to act first on every street.
        rake: share of the pot that the house takes, and the largest rake in chips. With
            a rake the game is not zero-sum, and no algorithm has a guarantee.
        donk: sizes of an opening bet into the previous street's aggressor (default:
            those of `bets`).
        max_raises: largest number of raises per street after a bet.

    Raises:
        ValueError: an argument is invalid; the message names it.
    """
    pair_of(ranges)
    amounts = [pot, min(_numbers(stacks)), min_bet]
    parameters: dict[str, Any] = {
        "board": board_of(board),
        "bets": _pair_text(bets, "bets"),
        "raises": _pair_text(raises, "raises"),
        "donk": "bets" if donk is None else _pair_text(donk, "donk"),
        "first": refusals.player(first, 2, "first"),
        "rake": "none" if rake is None else _rake_text(rake),
    }
    if max_raises is not None:
        parameters["max_raises"] = refusals.integer(max_raises, "max_raises", 0)
    names = ("pot", "stacks", "min_bet")
    numbers = [*map(_amount, amounts, names)]
    if all(number.is_integer() for number in numbers):
        parameters |= dict(zip(names, map(int, numbers), strict=True))
    else:
        parameters["amounts"] = ";".join(map(repr, numbers))
    for player, weights in enumerate(ranges):
        name = f"range{player}"
        if isinstance(weights, str):
            text = re.sub(r"\s", "", weights).replace(",", ";")
            # OpenSpiel would read "22" as a number when it loads the game's string.
            parameters[name] = f"{text};" if text.isdecimal() else text
        else:
            parameters[name] = text_of(weights_of(weights, name))
    load_game(GAME)  # registers it
    return pyspiel.load_game(GAME, parameters)


def _is_several(given: Any) -> TypeGuard[Sequence[Any]]:
    """Whether an argument is a sequence other than a text."""
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)


def _numbers(values: Any) -> Sequence[float]:
    """One or two stacks as a sequence."""
    if _is_several(values):
        if len(values) != 2:
            raise ValueError(f"stacks={values!r} must be one number or two.")
        return [_amount(value, "stacks") for value in values]
    return [values]


def _pair_text(given: Text, name: str) -> str:
    """The encoded sizes: "|" between players, ";" instead of commas."""
    texts: list[Any] = [*given] if _is_several(given) else [given]
    if not 1 <= len(texts) <= 2 or not all(isinstance(part, str) for part in texts):
        raise ValueError(f"{name}={given!r} must be a text, or one text per player.")
    text = "|".join(re.sub(r"\s", "", part).replace(",", ";") for part in texts)
    return text or "none"
