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
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pyspiel

from mccfr_spiel.arenas.hand_arena import Cost as Cost
from mccfr_spiel.arenas.hand_arena import cost as cost
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, FOLD, SHOWDOWN
from mccfr_spiel.common import refusals
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

# --- the betting: which sizes are legal where, and what everybody has paid ------------

MOST_NODES = 1_000_000
"""Of the betting; more would not be solved anyway."""

_STREETS = 3  # flop, turn, river
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%|x|c)|(a|e)")


class Size(NamedTuple):
    """A size of bets: `amount` percent of the pot ("%"), times the bet that is raised
    ("x") or chips ("c"); all-in ("a"), or geometric ("e")."""

    kind: str
    amount: float = 0.0


Sizes = tuple[tuple[tuple[Size, ...], ...], ...]
"""For each player and street, from the first one that is played."""


class Betting(NamedTuple):
    """The rules of betting.

    Attributes:
        pot: chips in the pot at the start, half of it from either player.
        stack: chips that each player has left.
        streets: how many streets are played, 1 (river) to 3 (flop, turn, river).
        first: the player who acts first on every street.
        min_bet: the smallest bet and the smallest increment of a raise.
        bets, raises: the sizes.
        donk: sizes of a first bet into the player who made the last bet of the street
            before; None for those of `bets`.
        max_raises: raises on a street after a bet, or None for no limit.
        rake: the share of the pot that the house takes, and the most that it takes.
    """

    pot: float
    stack: float
    streets: int
    first: int
    min_bet: float
    bets: Sizes
    raises: Sizes
    donk: Sizes | None = None
    max_raises: int | None = None
    rake: tuple[float, float] = (0.0, 0.0)

    @property
    def takes_rake(self) -> bool:
        """Whether the house takes anything."""
        return min(self.rake) > 0

    def payoffs(self, paid: tuple[float, float]) -> tuple[float, float, float]:
        """What a winner, a loser and each of two that tie get, relative to both having
        paid half of the pot.

        Args:
            paid: what the players have paid; only what both have is played for.
        """
        stake = self.pot / 2 + min(paid)
        share, most = self.rake
        rake = min(share * 2 * stake, most)
        return stake - rake, -stake, 0.0 - rake / 2  # a tie of 0, not of -0


class Node(NamedTuple):
    """A node of the betting tree.

    Attributes:
        kind: DECISION; DEAL, a card is dealt and `children[0]` follows; FOLD, where
            `player` has folded; or SHOWDOWN.
        player: the player who acts, or has folded.
        street: the street, 0 for the first that is played.
        paid: chips that the players have paid.
        words: the names of the actions, as players say them.
        children: the nodes behind the actions, all with larger numbers.
    """

    kind: int
    player: int
    street: int
    paid: tuple[float, float]
    words: tuple[str, ...] = ()
    children: tuple[int, ...] = ()

    @property
    def actions(self) -> range:
        """The numbers of a decision's actions: 0 to fold, 1 to check or call, and then
        the bets or raises."""
        first = 0 if self.words[0] == "Fold" else 1
        return range(first, first + len(self.words))


class _Spot(NamedTuple):
    """Where the betting of a street is: who has paid what, before it and altogether."""

    actor: int
    street: int
    paid: tuple[float, float]
    before: float = 0.0
    actions: int = 0
    raises: int = -1  # so that the bet is the 0th
    bettor: int = -1  # who made the last bet of the street before


def read_sizes(text: str, streets: int, where: str) -> Sizes:
    """The sizes of a text such as "50%,100%,a" or "33%/50%/70%,a".

    Args:
        text: sizes, separated by "," or ";"; streets by "/", of which the last is the
            river; players by "|".
        streets: how many streets are played.
        where: what the text is called, for messages.

    Raises:
        ValueError: a size is unknown, or there are too few or too many streets.
    """
    players = [_streets_of(one, streets, where) for one in text.split("|")]
    if len(players) > 2:
        raise ValueError(f"{where}={text!r} has sizes for {len(players)} players.")
    return tuple(players * (3 - len(players)))


def _streets_of(text: str, streets: int, where: str) -> tuple[tuple[Size, ...], ...]:
    parts = text.split("/")
    if len(parts) == 1:
        parts *= streets
    if not streets <= len(parts) <= _STREETS:
        raise ValueError(
            f"{where}={text!r} has sizes for {len(parts)} streets, and {streets} are "
            "played. Give one list for all of them, or one for each, separated by /."
        )
    return tuple(
        tuple(
            _size(one.strip(), where)
            for one in re.split("[,;]", part)
            if one.strip() not in ("", "none")
        )
        for part in parts[-streets:]
    )


def _size(text: str, where: str) -> Size:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{where}: {text!r} is no size. A size is a share of the pot (50%), chips "
            "(120c), a multiple of the bet that is raised (2.5x), a (all-in), or e (of "
            "the pot, equally on every street, so that the river's is all-in)."
        )
    number, kind, word = found.groups()
    if kind == "x" and where != "raises":
        raise ValueError(
            f"{where}: {text!r} is a multiple of a bet, but nobody has bet yet. Give "
            f"a share of the pot, such as {number}%."
        )
    return Size(word) if word else Size(kind, float(number))


def betting_tree(betting: Betting) -> list[Node]:
    """The tree, its root first; children have larger numbers than their parents.

    Raises:
        ValueError: it has more than MOST_NODES nodes.
    """
    start = _Spot(betting.first, 0, (0.0, 0.0))
    todo: list[_Spot | Node] = [start]
    nodes: list[Node] = []
    for at in todo:  # which grows meanwhile
        if isinstance(at, Node) and at.kind != DEAL:
            nodes.append(at)
            continue
        if isinstance(at, Node):
            moves = {"": _after_card(betting, at)}
            kind, player = DEAL, at.player
        else:
            moves = _moves(betting, at)
            kind, player = DECISION, at.actor
        words = tuple(moves) if kind == DECISION else ()
        children = tuple(range(len(todo), len(todo) + len(moves)))
        nodes.append(Node(kind, player, at.street, at.paid, words, children))
        todo += moves.values()
        if len(todo) > MOST_NODES:
            raise ValueError(
                f"The betting has more than {MOST_NODES:,} nodes without any cards. "
                "Give fewer sizes, or max_raises."
            )
    return nodes


def _moves(betting: Betting, spot: _Spot) -> dict[str, "_Spot | Node"]:
    """The actions by name and what follows each."""
    actor, street, paid = spot.actor, spot.street, spot.paid
    mine, theirs = paid[actor] - spot.before, paid[1 - actor] - spot.before
    moves: dict[str, _Spot | Node] = {}
    if theirs > mine:
        moves["Fold"] = Node(FOLD, actor, street, paid)
        called = paid[1 - actor]
        moves["Call"] = _closed(betting, spot, called, 1 - actor)
    elif spot.actions:
        moves["Check"] = _closed(betting, spot, paid[0], -1)
    else:
        moves["Check"] = spot._replace(actor=1 - actor, actions=1)
    everything = betting.stack - spot.before
    for amount in _amounts(betting, spot, mine, theirs):
        own, other = spot.before + amount, paid[1 - actor]
        total = (own, other) if actor == 0 else (other, own)
        verb = "Raise to" if theirs > 0 else "Bet"
        verb = "All-in" if amount == everything else verb
        moves[f"{verb} {chips(amount)}"] = spot._replace(
            actor=1 - actor, paid=total, actions=1, raises=spot.raises + 1
        )
    return moves


def _amounts(
    betting: Betting, spot: _Spot, mine: float, theirs: float
) -> Sequence[float]:
    """What a bet or raise may bring the player's chips on this street to, ascending."""
    everything = betting.stack - spot.before
    most = betting.max_raises
    if theirs >= everything or (theirs and most is not None and spot.raises >= most):
        return ()
    sizes = betting.raises if theirs else betting.bets
    is_donk = not theirs and not spot.actions and spot.bettor == 1 - spot.actor
    if is_donk and betting.donk is not None:
        sizes = betting.donk
    pot = betting.pot + 2 * spot.before + 2 * theirs  # after a call
    left = betting.streets - spot.street
    least = theirs + max(betting.min_bet, theirs - mine)
    found = set()
    for size in sizes[spot.actor][spot.street]:
        if size.kind == "a":
            found.add(everything)
            continue
        if size.kind == "%":
            amount = theirs + size.amount * pot / 100
        elif size.kind == "x":
            amount = theirs * size.amount
        elif size.kind == "c":
            amount = size.amount
        else:
            growth = ((pot + 2 * (everything - theirs)) / pot) ** (1 / left)
            amount = theirs + (growth - 1) / 2 * pot
            if left == 1:
                amount = everything
        found.add(min(max(math.floor(amount + 0.5), least), everything))
    return sorted(found)


def _closed(betting: Betting, spot: _Spot, paid: float, bettor: int) -> "Node":
    """What follows when a street's betting is over: a card, or the showdown."""
    is_last = spot.street == betting.streets - 1
    kind = SHOWDOWN if is_last else DEAL
    return Node(kind, bettor, spot.street, (paid, paid))


def _after_card(betting: Betting, node: Node) -> "_Spot | Node":
    """What follows a card. With no chips left, the next card or the showdown."""
    street, paid = node.street + 1, node.paid
    spot = _Spot(betting.first, street, paid, paid[0], bettor=node.player)
    if paid[0] >= betting.stack:
        return _closed(betting, spot, paid[0], -1)
    return spot


def said(before: str, node: Node, action: int) -> str:
    """The words of a history after one more action, or a card."""
    if node.kind == DEAL:
        return f"{before} / {DECK[action]}:"
    word = node.words[node.actions.index(action)]
    return f"{before}{'' if not before or before.endswith(':') else ','} {word}"


def chips(amount: float) -> str:
    """An amount as players write it: 250, or 2.5."""
    return str(int(amount)) if amount == int(amount) else repr(amount)


# --- a subgame as one value -----------------------------------------------------------

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


def load_endgame(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of `subgame` for a file of the Libratus endgames (Brown and
    Sandholm 2017), except for `bets`, `raises` and `min_bet`.

    The file has lines `-round` (3 for the turn, 4 for the river), `-board`, `-pot` and
    `-reach` (2 x 1,326 numbers). Stacks are 20,000 - pot / 2; the second range acts
    first.

    Raises:
        ValueError: the file is none of these.
        OSError: it cannot be read.
    """
    lines = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.strip().partition(" ")
        lines[name] = value.strip()
    missing = {"-round", "-board", "-pot", "-reach"} - lines.keys()
    if missing:
        raise ValueError(f"{path} is no endgame: it has no line {min(missing)}.")
    try:
        pot = float(lines["-pot"])
        reach = np.array(lines["-reach"].split(), np.float64)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from error
    if reach.shape != (2 * len(HANDS),):
        raise ValueError(f"{path} has {len(reach)} weights instead of 2 x 1,326.")
    board = cards_of(lines["-board"], "board")
    if lines["-round"] not in ("3", "4") or len(board) < int(lines["-round"]) + 1:
        raise ValueError(f"{path}: {lines['-round']} is no round of its board.")
    text = "".join(DECK[card] for card in board[: int(lines["-round"]) + 1])
    ranges = reach.reshape(2, -1)
    sums = ranges.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise ValueError(f"{path} has an empty range.")
    ranges = ranges / sums
    return {
        "board": text,
        "pot": int(pot) if pot.is_integer() else pot,
        "stacks": 20_000 - (int(pot) // 2 if pot % 2 == 0 else pot / 2),
        "ranges": (ranges[0], ranges[1]),
        "first": 1,
    }
