"""The public tree of a game of cards: what both players see, and hands they may hold.

Chance deals each player one private hand, from one deck; everything else that happens
is seen by both. Then a history is a node of the public tree with a pair of hands that
share no card with each other or the board, and a pass needs a vector of hands at each
node in place of all pairs. `passes.py` makes passes of such a tree.

A `PublicTree` is plain data that any source fills: `read_public_tree` reads those of
OpenSpiel's games through pyspiel, and a registered Python game gives its own by a
method `public_tree()` without arguments, which is asked at most once for each
`GameTree`.

A reading follows one deal of hands through the game. What is read does not depend on
the hands, except where the public cards must be others than theirs, and at showdowns,
which are looked at with three deals: one that player 0 wins, one that ties, and one
that player 0 loses.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError

DECISION, DEAL, FOLD, SHOWDOWN = range(4)
"""The kinds of nodes."""

WINS, TIES, LOSES = range(3)
"""The rows of `PublicTree.pays`: what player 0 does at the showdown. A fold has the
first row only."""

MOST_CARDS = 64
"""A board is a set of cards in 64 bits. Games without public cards may have more."""


class PublicTree(NamedTuple):
    """A public tree and the hands. N is how many nodes it has, H how many hands, C how
    many cards a hand has, B how many different boards a showdown may have.

    Cards are numbers from 0 on. Node 0 is the root: what both see when the hands have
    been dealt. Every node comes after its parent, and the children of a node follow
    each other, in the order of their actions or cards.

    Attributes:
        hole_cards: `[H, C]` the cards of each hand, C = 1 or 2. All hands are different
            as sets; which are listed, and in which order, is up to the source.
        weights: `[2, H]` at least 0. The probability that chance deals hand i to player
            0 and j to player 1 is `weights[0, i] * weights[1, j] / Z`, where Z sums
            this over the pairs that share no card with each other or the root's board.
            No other normalisation is needed. Hands of weight 0 get no infosets.
        kind: `[N]` DECISION, DEAL (of public cards), FOLD or SHOWDOWN.
        player: `[N]` who acts at a decision; anything elsewhere.
        first_child, num_children: `[N]` the children; 0 and 0 where the game ends.
        action: `[N]` OpenSpiel's action along the edge that leads to a node from a
            decision; anything at others. The actions of a decision must ascend.
        board: `[N]` uint64, the public cards at a node as a set: bit c is card c. Below
            a deal these are the parent's and those that were dealt along the edge.
        chance: `[N]` along an edge from a deal the probability that chance deals these
            cards, for each pair of hands that holds none of them: 1 over the number of
            ways to draw from the cards that neither player nor the board holds. 1 at
            all other nodes. If several boards are played as one (isomorphic suits), it
            is the sum for all that the child stands for.
        strength_row: `[N]` at a showdown the row of `strengths`; anything elsewhere.
        strengths: `[B, H]` int32, the higher wins, equal ones tie. What it says of a
            hand that shares a card with the board is never looked at.
        pays: `[N, 3, 2]` both players' returns where player 0 WINS, TIES and LOSES at a
            showdown; at a fold the first row, whatever hands are held. They need not
            add up to 0 (rake).
        info_state: (node, hand) -> OpenSpiel's information-state string of the player
            who acts at a decision and holds that hand (its row in `hole_cards`).
        history: (node, hand) -> the actions of chance and players (OpenSpiel's, in
            order) that lead to some state of that infoset, which has a probability
            above 0. It may deal the other player any hand that fits.
        orbits: None, or for each node and hand the hand whose infoset there stands for
            it: `orbits(node)` gives `[H]` numbers of hands, each its own or one that
            suits exchanged make of it. Then `weights` must be equal for all hands of an
            orbit. What `info_state` says must be the same for these, too.
        locate: None, or what `info_state` was given: string -> (node, hand), for a hand
            that stands for itself; any others, or a ValueError, if no infoset has that
            string. Then no two nodes have the same strings.
    """

    hole_cards: np.ndarray
    weights: np.ndarray
    kind: np.ndarray
    player: np.ndarray
    first_child: np.ndarray
    num_children: np.ndarray
    action: np.ndarray
    board: np.ndarray
    chance: np.ndarray
    strength_row: np.ndarray
    strengths: np.ndarray
    pays: np.ndarray
    info_state: Callable[[int, int], str]
    history: Callable[[int, int], list[int]]
    orbits: Callable[[int], np.ndarray] | None = None
    locate: Callable[[str], tuple[int, int]] | None = None

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.kind)

    @property
    def num_hands(self) -> int:
        """H."""
        return len(self.hole_cards)


# --- reading it of a game -------------------------------------------------------------

_MOST_NODES = 1_000_000
"""More public nodes would take minutes to read."""

_CHECKED = 40
"""Pairs of hands whose showdown is looked at, to see whether strengths are right."""

_RANKS, _SUITS = "23456789TJQKA", "cdhs"  # of universal_poker


def has_public_tree(game: pyspiel.Game) -> bool:
    """Whether `read_public_tree` knows the kind of a game."""
    name, players = game.get_type().short_name, game.num_players()
    return hasattr(game, "public_tree") or (name in _STRENGTHS and players == 2)


def needs_public_tree(game: pyspiel.Game) -> bool:
    """Whether a game is to be taken by hands, whatever fits: it has a public tree, or
    deals all pairs of hands at one chance node."""
    return hasattr(game, "public_tree") or (
        has_public_tree(game) and game.get_parameters().get("handReaches", "") != ""
    )


def read_public_tree(game: Any) -> PublicTree:
    """The public tree of a game.

    Args:
        game: a game with a method `public_tree`, or kuhn_poker, leduc_poker,
            universal_poker or python_one_card_poker for two players.

    Raises:
        ValueError: chance does not deal the hands as a `PublicTree` has it.
        GameError: the game does not play as its kind does.
        MemoryBudgetError: there are too many public nodes.
    """
    if hasattr(game, "public_tree"):
        return game.public_tree()
    return _Reading(game).public_tree()


def _by_rank(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    return hands[:, 0]


def _by_pair(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """Leduc: a pair with the public card, else the higher rank. Suits are two."""
    ranks = hands[:, 0] // 2
    return ranks + len(hands) * np.isin(ranks, np.array(board) // 2)


def _by_five(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """The best five of all cards, or as many as there are."""
    return strengths_with(hands, board, game.get_parameters()["numSuits"])


_STRENGTHS: dict[str, Callable[[pyspiel.Game, np.ndarray, list[int]], np.ndarray]] = {
    "kuhn_poker": _by_rank,
    "leduc_poker": _by_pair,
    "python_one_card_poker": _by_rank,
    "universal_poker": _by_five,
}
"""The games that can be read, and how strong their hands are, `[H]`, at a board."""


class _Deals(NamedTuple):
    """How chance deals the private hands.

    Attributes:
        deck: the cards that are not on the first board.
        board: the first board.
        hands: `[H, C]` the hands.
        weights: `[2, H]`.
        owners: who gets each card, one after the other; empty if one node deals all.
    """

    deck: list[int]
    board: list[int]
    hands: np.ndarray
    weights: np.ndarray
    owners: list[int]

    def actions(self, first: int, second: int) -> list[int]:
        """What deals these hands."""
        cards = [self.hands[first].tolist(), self.hands[second].tolist()]
        if not self.owners:  # OpenSpiel's numbers in base 52
            action = 0
            for card in itertools.chain(*cards):
                action = 52 * action + card
            return [action]
        return [cards[owner].pop(0) for owner in self.owners]


def _read_deals(game: pyspiel.Game) -> _Deals:
    """Raises ValueError unless each pair without a common card is dealt alike."""
    parameters, state = game.get_parameters(), game.new_initial_state()
    if parameters.get("handReaches", ""):
        return _deals_of_reaches(parameters)
    owners, dealt, deck = [], [], []
    while state.is_chance_node():
        outcomes = dict(state.chance_outcomes())
        deck = deck or sorted(outcomes)
        uniform = 1 / len(outcomes)
        is_even = all(abs(prob - uniform) < 1e-9 for prob in outcomes.values())
        if not is_even or sorted({*outcomes, *dealt}) != deck:
            raise ValueError(
                "store='worlds' needs hands that chance deals from one deck, each pair "
                f"without a common card alike. {brief(game)} deals otherwise (merged "
                "suits, or weights). Use store='tree'."
            )
        cards = list(outcomes)
        one, other = state.child(cards[0]), state.child(cards[-1])
        seen = [
            one.information_state_string(p) != other.information_state_string(p)
            for p in (0, 1)
        ]
        if sum(seen) != 1:
            raise ValueError(
                f"store='worlds' needs hands that one player sees, but {brief(game)} "
                f"deals a card that {'both' if all(seen) else 'no'} players see before "
                "the first decision. Use store='tree'."
            )
        owners.append(seen.index(True))
        dealt.append(cards[0])
        state = one
    count = owners.count(0)
    if count != owners.count(1) or count not in (1, 2):
        raise ValueError(
            "store='worlds' needs hands of one or two cards, the same number for both "
            f"players, and {brief(game)} deals {count} and {owners.count(1)}. Use "
            "store='tree'."
        )
    hands = np.array([*itertools.combinations(deck, count)])
    text = str(parameters.get("boardCards", ""))
    board = _cards_of(text, parameters["numSuits"]) if text else []
    return _Deals(deck, board, hands, np.ones((2, len(hands))), owners)


def _cards_of(text: str, suits: int) -> list[int]:
    pairs = zip(text[::2], text[1::2], strict=True)
    return [suits * _RANKS.index(rank) + _SUITS.index(suit) for rank, suit in pairs]


def _deals_of_reaches(parameters: dict[str, Any]) -> _Deals:
    """The deals of universal_poker with `handReaches`, which are in the order 2s2h,
    2s2d, ..., of cards 2s 2h 2d 2c 3s, while its cards are 2c 2d 2h 2s 3c."""
    reaches = np.array(parameters["handReaches"].split(), np.float64).reshape(2, -1)
    board = _cards_of(parameters["boardCards"], 4)
    deck = [card for card in range(52) if card not in board]
    pairs = np.array([*itertools.combinations(range(52), 2)])
    hands = np.sort(pairs ^ 3, axis=1)  # which turns the suits around
    fits = ~np.isin(hands, board).any(axis=1)
    return _Deals(deck, board, hands[fits], reaches[:, fits], [])


class _Node:
    """A node as far as it is read: the actions from the root to it, and so on."""

    def __init__(self, path: list[int], board: list[int]) -> None:
        self.path, self.board = path, board
        self.kind, self.player, self.first_child, self.num_children = DECISION, 0, 0, 0
        self.chance, self.row = 1.0, 0
        self.text: list[str] = []  # of an information state, around the hand
        self.pays = np.zeros((3, 2))


_Pairs = list[tuple[int, int]]


class _Reading:
    """A public tree being read.

    Attributes:
        nodes: those met, each after its parent.
        boards: for each board, its row of strengths, and what `_look_at` found.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.deals = _read_deals(game)
        self.nodes = [_Node([], self.deals.board)]
        self._strength = _STRENGTHS[game.get_type().short_name]
        self.boards: dict[tuple[int, ...], tuple[int, np.ndarray, _Pairs]] = {}
        self._checked: set[int] = set()

    def public_tree(self) -> PublicTree:
        """Reads all nodes.

        Each pass of the loop reads one node, whose children come last in the list and
        are read first.
        """
        nodes, stack = self.nodes, [0]
        num_boards = self._num_boards()
        while stack:
            if max(len(nodes), num_boards) > _MOST_NODES:
                raise MemoryBudgetError(
                    f"{brief(self.game)} has more than {_MOST_NODES:,} public nodes, "
                    f"since {num_boards:,} boards may be dealt. Begin on a later "
                    "street (boardCards), or use external or outcome sampling."
                )
            at = stack.pop()
            self._read(at)
            node = nodes[at]
            stack += range(node.first_child, node.first_child + node.num_children)
        boards = [sum(1 << card for card in node.board) for node in nodes]
        return PublicTree(
            hole_cards=self.deals.hands,
            weights=self.deals.weights,
            kind=np.array([node.kind for node in nodes]),
            player=np.array([node.player for node in nodes]),
            first_child=np.array([node.first_child for node in nodes]),
            num_children=np.array([node.num_children for node in nodes]),
            action=np.array([node.path[-1] if node.path else -1 for node in nodes]),
            board=np.array(boards, np.uint64),
            chance=np.array([node.chance for node in nodes]),
            strength_row=np.array([node.row for node in nodes]),
            strengths=np.array([one[1] for one in self.boards.values()], np.int32),
            pays=np.array([node.pays for node in nodes]),
            info_state=self.info_state,
            history=self.history,
        )

    def _num_boards(self) -> int:
        """How many boards there are where a history in which nobody folds ends."""
        _, hands = self._look_at(self.deals.board)
        state, found, count = self._state(0, hands[WINS]), 1, 0
        left = len(self.deals.deck)
        while not state.is_terminal():
            moves = state.legal_actions()
            if state.is_chance_node():
                count += 1
                found = found * left // count
                left -= 1
            else:
                count = 0
            state.apply_action(moves[min(1, len(moves) - 1)])
        return found

    def _state(self, at: int, hands: tuple[int, int]) -> pyspiel.State:
        """The state of a node, with these hands."""
        return replayed(self.game, (*self.deals.actions(*hands), *self.nodes[at].path))

    def _fitting(self, cards: list[int]) -> np.ndarray:
        """The hands that have none of some cards."""
        return np.flatnonzero(~np.isin(self.deals.hands, cards).any(axis=1))

    def _read(self, at: int) -> None:
        node = self.nodes[at]
        key = tuple(sorted(node.board))
        if key not in self.boards:
            self.boards[key] = len(self.boards), *self._look_at(node.board)
        node.row, strength, hands = self.boards[key]
        state = self._state(at, hands[WINS])
        if state.is_terminal():
            node.pays[:] = [self._state(at, pair).returns() for pair in hands]
            is_fold = (node.pays[WINS] == node.pays[LOSES]).all()
            node.kind = FOLD if is_fold else SHOWDOWN
            if not is_fold and node.row not in self._checked:
                self._check(at, strength)
        elif state.is_chance_node():
            self._read_deal(at, state)
        else:
            node.player = state.current_player()
            text = state.information_state_string(node.player)
            if self._strength is _by_five:
                parts = text.split(self._private(hands[WINS][node.player]))
                node.text = parts if len(parts) == 2 else []
            self._branch(
                at, [([action], node.board) for action in state.legal_actions()]
            )

    def _look_at(self, board: list[int]) -> tuple[np.ndarray, _Pairs]:
        """Finds how strong hands are at a board, and two that differ, two that tie.

        Where there are none of a kind, others stand for them, since nothing is paid.
        """
        hands = self.deals.hands
        found = np.asarray(self._strength(self.game, hands, board))
        fits = self._fitting(board)
        pairs: dict[int, tuple[int, int]] = {}
        for hand in fits[np.argsort(-found[fits], kind="stable")].tolist():
            others = self._fitting([*board, *hands[hand]])
            for result, those in (
                (WINS, others[found[others] < found[hand]]),
                (TIES, others[found[others] == found[hand]]),
            ):
                if len(those):
                    pairs.setdefault(result, (hand, int(those[0])))
            if len(pairs) == 2:
                break
        if not pairs:
            raise ValueError(f"{brief(self.game)} has too few cards for two hands.")
        first, second = wins = pairs.get(WINS, pairs.get(TIES, (0, 0)))
        return found, [wins, pairs.get(TIES, wins), (second, first)]

    def _private(self, hand: int) -> str:
        """How universal_poker writes a private hand."""
        suits = self.game.get_parameters().get("numSuits", 4)
        cards = sorted(self.deals.hands[hand].tolist(), reverse=True)
        names = [_RANKS[card // suits] + _SUITS[card % suits] for card in cards]
        return f"[Private: {''.join(names)}]"

    def _branch(self, at: int, edges: list[tuple[list[int], list[int]]]) -> None:
        node = self.nodes[at]
        node.first_child, node.num_children = len(self.nodes), len(edges)
        self.nodes += [_Node([*node.path, *edge], board) for edge, board in edges]

    def _read_deal(self, at: int, state: pyspiel.State) -> None:
        """Cards that are dealt one after the other are one deal of a set."""
        node, count = self.nodes[at], 0
        left = [card for card in self.deals.deck if card not in node.board]
        drawn = len(left) - 2 * self.deals.hands.shape[1]
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            even = all(abs(prob * len(outcomes) - 1) < 1e-9 for _, prob in outcomes)
            if not even or len(outcomes) != drawn - count:
                raise ValueError(
                    "store='worlds' needs public cards that are drawn evenly from "
                    f"those that nobody holds, and {brief(self.game)} draws them "
                    "otherwise. Use store='tree'."
                )
            state = state.child(outcomes[0][0])
            count += 1
        node.kind = DEAL
        drawn_sets = map(list, itertools.combinations(left, count))
        self._branch(at, [(cards, node.board + cards) for cards in drawn_sets])
        for child in self.nodes[node.first_child :]:
            child.chance = 1 / math.comb(drawn, count)

    def _check(self, at: int, found: np.ndarray) -> None:
        """Raises GameError unless strengths say who wins a board's first showdown."""
        node, rng = self.nodes[at], np.random.default_rng(0)
        self._checked.add(node.row)
        fits, hands = self._fitting(node.board), self.deals.hands
        for hand in rng.choice(fits, min(_CHECKED, len(fits)), replace=False).tolist():
            other = int(rng.choice(self._fitting([*node.board, *hands[hand]])))
            result = TIES - np.sign(found[hand] - found[other])
            pays = self._state(at, (hand, other)).returns()
            if (node.pays[result] != pays).any():
                raise GameError(
                    f"{brief(self.game)} pays {pays} where hands of the cards "
                    f"{hands[[hand, other]].tolist()} meet the board "
                    f"{node.board}, and not {node.pays[result].tolist()}, as the "
                    "strengths of hands say."
                )

    def info_state(self, at: int, hand: int) -> str:
        """See `PublicTree.info_state`."""
        node = self.nodes[at]
        if node.text:
            return self._private(hand).join(node.text)
        state = replayed(self.game, self.history(at, hand))
        return state.information_state_string(node.player)

    def history(self, at: int, hand: int) -> list[int]:
        """See `PublicTree.history`."""
        node = self.nodes[at]
        others = self._fitting([*node.board, *self.deals.hands[hand]])
        others = others[self.deals.weights[1 - node.player, others] > 0]
        pair = hand, int(others[0])
        return [
            *self.deals.actions(*(pair if node.player == 0 else pair[::-1])),
            *self.nodes[at].path,
        ]


# --- how strong hands of cards are with a board ---------------------------------------

CLASS_UNIT = 1 << 26
"""A strength divided by this is its class: high card (0), pair, two pairs, three of a
kind, straight, flush, full house, four of a kind, straight flush."""

_WHEEL = 0b1_0000_0000_1111  # A2345, in which the ace is low
_ONES = np.left_shift(1, np.arange(13), dtype=np.int32)
_MASKS = np.arange(1 << 13, dtype=np.int32)[:, None]
_COUNT = (_MASKS & _ONES > 0).sum(axis=1)


def strengths(cards: np.ndarray) -> np.ndarray:
    """Strengths of hands of up to 7 cards; the larger one wins, equal ones tie.

    Cards are numbers, 4 * rank + suit; the best five count, or as many as there are.

    A set of ranks is a number of 13 bits. The sets that each suit has, and the sets of
    ranks that are there at least two, three and four times, decide the best five of the
    cards. A strength has its class in front, then the ranks that matter, then those
    that break ties.

    Args:
        cards: `[..., K]` different cards, K at most 7.

    Returns:
        `[...]` int32 strengths.
    """
    ranks, suits = _ONES[cards // 4], cards % 4
    sets: list[np.ndarray] = [
        np.bitwise_or.reduce(np.where(suits == k, ranks, 0), axis=-1) for k in range(4)
    ]
    s, h, d, c = sets
    once = s | h | d | c
    twice = (s & h) | (d & c) | ((s | h) & (d | c))
    thrice = (s & h & (d | c)) | (d & c & (s | h))
    quads = s & h & d & c
    suited = np.stack((s, h, d, c))
    flush = np.where(_COUNT[suited] >= 5, suited, 0).max(axis=0)
    trips = _TOP[1][thrice]
    two_pairs = _TOP[2][twice]
    pair = _TOP[1][twice]

    def made(kind: int, first: np.ndarray, rest: np.ndarray | int = 0) -> np.ndarray:
        return np.where(first > 0, kind * CLASS_UNIT + (first << 13) + rest, 0)

    found = _TOP[5][once]  # the high card
    for kind, first, rest in (
        (1, pair, _TOP[3][once & ~pair]),
        (2, np.where(_COUNT[twice] > 1, two_pairs, 0), _TOP[1][once & ~two_pairs]),
        (3, trips, _TOP[2][once & ~trips]),
        (4, _STRAIGHT[once], 0),
        (5, _TOP[5][flush], 0),
        (6, np.where(twice & ~trips > 0, trips, 0), _TOP[1][twice & ~trips]),
        (7, quads, _TOP[1][once & ~quads]),
        (8, _STRAIGHT[flush], 0),
    ):
        found = np.maximum(found, made(kind, first, rest))
    return found


def strengths_with(
    hands: np.ndarray, board: Sequence[int], suits: int = 4
) -> np.ndarray:
    """`[H]` strengths of hands `[H, C]` with a board; cards are suits * rank + suit."""
    public = np.broadcast_to(np.array(board, np.int64), (len(hands), len(board)))
    cards = np.hstack((hands, public))
    return strengths(4 * (cards // suits) + cards % suits)


def _top(count: int) -> np.ndarray:
    """`[8192]` for each set of ranks its `count` highest ones, or all of fewer."""
    from_above = np.cumsum((_MASKS & _ONES > 0)[:, ::-1], axis=1)[:, ::-1]
    return ((_MASKS & _ONES > 0) & (from_above <= count)) @ _ONES


def _straight() -> np.ndarray:
    """`[8192]` for each set of ranks 1 + the rank at which its best straight begins,
    where that of A2345 counts as 1; 0 if it has none."""
    found = (_MASKS[:, 0] & _WHEEL == _WHEEL).astype(np.int32)
    for low in range(9):
        five = 0b11111 << low
        found[_MASKS[:, 0] & five == five] = low + 2
    return found


_TOP = [_top(count) for count in range(6)]
_STRAIGHT = _straight()
