"""The betting of a subgame: legal bets, and the betting tree without cards.

The tree has one copy of each street, because the cards do not change what is legal.
Amounts are chips in addition to the starting pot. The amount of a bet or raise is the
player's total on this street.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, FOLD, SHOWDOWN
from mccfr_spiel.common.display import counted
from mccfr_spiel.poker.cards import DECK

MOST_NODES = 1_000_000
"""Largest number of nodes of a betting tree. Larger games are too large to solve."""

_STREETS = 3  # flop, turn, river
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%|x|c)|(a|e)")


class BetSize(NamedTuple):
    """A size of bets or raises.

    Attributes:
        kind: "%" percent of the pot, "x" multiple of the bet, "c" chips, "a" all-in, or
            "e" geometric.
        amount: the number before "%", "x" or "c".
    """

    kind: str
    amount: float = 0.0


Sizes = tuple[tuple[tuple[BetSize, ...], ...], ...]
"""Sizes per player and street, from the earliest street on."""


class Betting(NamedTuple):
    """The rules of betting.

    Attributes:
        pot: chips in the pot at the start, half of them from either player.
        stack: chips that each player has left.
        streets: number of streets, 1 (river) to 3 (flop, turn, river).
        first: player to act first on every street.
        min_bet: smallest bet and smallest increment of a raise.
        bets: sizes of bets.
        raises: sizes of raises.
        donk: sizes of an opening bet into the previous street's aggressor; None for
            those of `bets`.
        max_raises: largest number of raises per street; None for no limit.
        rake: share of the pot that the house takes, and the largest rake in chips.
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
        """Returns of a winner, of a loser, and of both players at a tie.

        They are relative to a state where each player has paid half of the starting
        pot.

        Args:
            paid: chips that the players have paid. The unmatched part is returned.
        """
        stake = self.pot / 2 + min(paid)
        share, cap = self.rake
        rake = min(share * 2 * stake, cap)
        return stake - rake, -stake, 0.0 - rake / 2  # a tie of 0, not of -0


class Node(NamedTuple):
    """A node of the betting tree.

    Attributes:
        kind: DECISION; DEAL, where a card is dealt and `children[0]` follows; FOLD,
            where `player` has folded; or SHOWDOWN.
        player: the acting or folding player.
        street: street, counted from the start of the subgame.
        paid: chips that the players have paid.
        words: names of the actions.
        children: nodes after the actions, with larger numbers.
    """

    kind: int
    player: int
    street: int
    paid: tuple[float, float]
    words: tuple[str, ...] = ()
    children: tuple[int, ...] = ()

    @property
    def actions(self) -> range:
        """Actions of a decision: 0 fold, 1 check or call, 2 and up bets or raises."""
        first = 0 if self.words[0] == "Fold" else 1
        return range(first, first + len(self.words))


class _StreetState(NamedTuple):
    """The state of the betting on a street.

    Attributes:
        actor: the acting player.
        street: the street.
        paid: chips that the players have paid, earlier streets included.
        before: chips that each player paid on earlier streets.
        actions: 0 before the first action of the street, else 1.
        raises: number of raises; -1 before the first bet.
        bettor: the aggressor of the previous street; -1 for none.
    """

    actor: int
    street: int
    paid: tuple[float, float]
    before: float = 0.0
    actions: int = 0
    raises: int = -1
    bettor: int = -1


def read_sizes(text: str, streets: int, where: str) -> Sizes:
    """The sizes of a text such as "50%,100%,a" or "33%/50%/70%,a".

    Args:
        text: sizes separated by "," or ";", streets by "/" (the last is the river),
            players by "|".
        streets: number of streets.
        where: name of the argument, for messages.

    Raises:
        ValueError: a size is unknown, or the number of streets or players is wrong.
    """
    players = [_streets_of(part, streets, where) for part in text.split("|")]
    if len(players) > 2:
        raise ValueError(
            f"{where}={text!r} has sizes for {len(players)} players, expected 1 or 2."
        )
    return tuple(players * (3 - len(players)))


def _streets_of(text: str, streets: int, where: str) -> tuple[tuple[BetSize, ...], ...]:
    """The sizes of one player per street; a single list counts for all streets."""
    parts = text.split("/")
    if len(parts) == 1:
        parts *= streets
    if not streets <= len(parts) <= _STREETS:
        raise ValueError(
            f"{where}={text!r} has sizes for {counted(len(parts), 'street')}, expected "
            f"{streets}. Give one list for all streets, or one per street, separated "
            "by /."
        )
    return tuple(
        tuple(
            _size(size.strip(), where)
            for size in re.split("[,;]", part)
            if size.strip() not in ("", "none")
        )
        for part in parts[-streets:]
    )


def _size(text: str, where: str) -> BetSize:
    """The size of a text such as "50%"."""
    match = _SIZE.fullmatch("100%" if text == "pot" else text)
    if match is None:
        raise ValueError(
            f"{where}: unknown size {text!r}. Expected a share of the pot (50%, or pot "
            "for 100%), chips (120c), a multiple of the bet to raise (2.5x), a "
            "(all-in), or e (the same share of the pot on all streets, ending all-in)."
        )
    number, kind, letter = match.groups()
    if kind == "x" and where != "raises":
        raise ValueError(
            f"{where}: {text!r} is a multiple of a bet, but nobody has bet yet. Use "
            f"a share of the pot instead, such as {number}%."
        )
    return BetSize(letter) if letter else BetSize(kind, float(number))


def betting_tree(betting: Betting) -> list[Node]:
    """The betting tree from the root on; parents precede children.

    Raises:
        ValueError: the tree has more than MOST_NODES nodes.
    """
    start = _StreetState(betting.first, 0, (0.0, 0.0))
    queue: list[_StreetState | Node] = [start]
    nodes: list[Node] = []
    # Breadth first: an iteration turns an item of `queue` into a node and appends the
    # children, so that an item's position is the node's number. The loop ends when no
    # decision or deal is left.
    for item in queue:
        if isinstance(item, Node) and item.kind != DEAL:
            nodes.append(item)
            continue
        if isinstance(item, Node):
            moves = {"": _after_card(betting, item)}
            kind, player = DEAL, item.player
        else:
            moves = _moves(betting, item)
            kind, player = DECISION, item.actor
        words = tuple(moves) if kind == DECISION else ()
        children = tuple(range(len(queue), len(queue) + len(moves)))
        nodes.append(Node(kind, player, item.street, item.paid, words, children))
        queue += moves.values()
        if len(queue) > MOST_NODES:
            raise ValueError(
                f"The betting has more than {MOST_NODES:,} nodes without any cards. "
                "Use fewer sizes, or set max_raises."
            )
    return nodes


def _moves(betting: Betting, state: _StreetState) -> dict[str, "_StreetState | Node"]:
    """The actions by name, and the resulting state or node."""
    actor, street, paid = state.actor, state.street, state.paid
    mine, theirs = paid[actor] - state.before, paid[1 - actor] - state.before
    moves: dict[str, _StreetState | Node] = {}
    if theirs > mine:
        moves["Fold"] = Node(FOLD, actor, street, paid)
        called = paid[1 - actor]
        moves["Call"] = _closed(betting, state, called, 1 - actor)
    elif state.actions:
        moves["Check"] = _closed(betting, state, paid[0], -1)
    else:
        moves["Check"] = state._replace(actor=1 - actor, actions=1)
    everything = betting.stack - state.before
    for amount in _amounts(betting, state, mine, theirs):
        new_paid, other = state.before + amount, paid[1 - actor]
        total = (new_paid, other) if actor == 0 else (other, new_paid)
        verb = "Raise to" if theirs > 0 else "Bet"
        verb = "All-in" if amount == everything else verb
        moves[f"{verb} {chips(amount)}"] = state._replace(
            actor=1 - actor, paid=total, actions=1, raises=state.raises + 1
        )
    return moves


def _amounts(
    betting: Betting, state: _StreetState, mine: float, theirs: float
) -> Sequence[float]:
    """The amounts that the acting player may bet or raise to, ascending."""
    everything = betting.stack - state.before
    limit = betting.max_raises
    if theirs >= everything or (theirs and limit is not None and state.raises >= limit):
        return ()
    sizes = betting.raises if theirs else betting.bets
    is_donk = not theirs and not state.actions and state.bettor == 1 - state.actor
    if is_donk and betting.donk is not None:
        sizes = betting.donk
    pot = betting.pot + 2 * state.before + 2 * theirs  # after a call
    left = betting.streets - state.street
    least = theirs + max(betting.min_bet, theirs - mine)
    amounts = set()
    # Amounts are rounded to whole chips, and limited to the range from the minimum to
    # all-in.
    for size in sizes[state.actor][state.street]:
        if size.kind == "a":
            amounts.add(everything)
            continue
        if size.kind == "%":
            amount = theirs + size.amount * pot / 100
        elif size.kind == "x":
            amount = theirs * size.amount
        elif size.kind == "c":
            amount = size.amount
        else:
            # Geometric: betting the same share of the pot on all remaining streets ends
            # all-in.
            growth = ((pot + 2 * (everything - theirs)) / pot) ** (1 / left)
            amount = theirs + (growth - 1) / 2 * pot
            if left == 1:
                amount = everything
        # Rounding down must not leave the fraction of a chip in a stack of 7.25.
        whole = max(math.floor(amount + 0.5), least)
        amounts.add(everything if amount >= everything else min(whole, everything))
    return sorted(amounts)


def _closed(betting: Betting, state: _StreetState, paid: float, bettor: int) -> "Node":
    """The node after the betting of a street: a deal, or the showdown."""
    is_last = state.street == betting.streets - 1
    kind = SHOWDOWN if is_last else DEAL
    return Node(kind, bettor, state.street, (paid, paid))


def _after_card(betting: Betting, node: Node) -> "_StreetState | Node":
    """The state after a deal. Without chips left, the next deal or the showdown."""
    street, paid = node.street + 1, node.paid
    state = _StreetState(betting.first, street, paid, paid[0], bettor=node.player)
    if paid[0] >= betting.stack:
        return _closed(betting, state, paid[0], -1)
    return state


def append_step(before: str, node: Node, action: int) -> str:
    """The text of a history after one more action or card."""
    if node.kind == DEAL:
        return f"{before} / {DECK[action]}:"
    word = node.words[node.actions.index(action)]
    return f"{before}{'' if not before or before.endswith(':') else ','} {word}"


def chips(amount: float) -> str:
    """An amount as players write it: 250, or 2.5."""
    return str(int(amount)) if amount == int(amount) else repr(amount)
