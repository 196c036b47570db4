"""The betting of a subgame: legal sizes, and a tree without cards."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, FOLD, SHOWDOWN
from mccfr_spiel.poker.cards import DECK

MOST_NODES = 1_000_000
"""Of the betting; more would not be solved anyway."""

_STREETS = 3  # flop, turn, river
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%|x|c)|(a|e)")


class BetSize(NamedTuple):
    """A size of bets: `amount` percent of the pot ("%"), times the bet that is raised
    ("x") or chips ("c"); all-in ("a"), or geometric ("e")."""

    kind: str
    amount: float = 0.0


Sizes = tuple[tuple[tuple[BetSize, ...], ...], ...]
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


def _streets_of(text: str, streets: int, where: str) -> tuple[tuple[BetSize, ...], ...]:
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


def _size(text: str, where: str) -> BetSize:
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
    return BetSize(word) if word else BetSize(kind, float(number))


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
