"""Reads the public trees of OpenSpiel's games of cards.

The reader follows a pair of hands through the game. Nothing that it reads depends on
the hands, with two exceptions: public cards must differ from the hands' cards, and
showdowns are read with three pairs of hands, which player 0 wins, ties and loses.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.worlds.hand_deals import RANKS, SUITS, read_deals
from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.arenas.worlds.public_tree import (
    DEAL,
    DECISION,
    FOLD,
    LOSES,
    SHOWDOWN,
    TIES,
    WINS,
    PublicTree,
)
from mccfr_spiel.common.budget import (
    MemoryBudgetError,
)
from mccfr_spiel.common.display import brief

_MOST_NODES = 1_000_000
"""Largest number of public nodes; more would take minutes to read."""

_CHECKED = 40
"""Number of hands whose showdown checks the strengths of a board."""


def has_public_tree(game: pyspiel.Game) -> bool:
    """Whether `read_public_tree` knows this kind of game."""
    name, players = game.get_type().short_name, game.num_players()
    return hasattr(game, "public_tree") or (name in _STRENGTHS and players == 2)


def needs_public_tree(game: pyspiel.Game) -> bool:
    """Whether a game is always played by hands: it has a method `public_tree`, or deals
    all pairs of hands at one chance node.
    """
    return hasattr(game, "public_tree") or (
        has_public_tree(game) and game.get_parameters().get("handReaches", "") != ""
    )


def read_public_tree(game: Any) -> PublicTree:
    """The public tree of a game.

    Args:
        game: a game with a method `public_tree`; or kuhn_poker, leduc_poker,
            universal_poker or python_one_card_poker for two players.

    Raises:
        ValueError: chance does not deal the hands as `PublicTree` requires.
        GameError: a showdown contradicts the strengths of hands.
        MemoryBudgetError: there are too many public nodes.
    """
    if hasattr(game, "public_tree"):
        return game.public_tree()
    return _Reader(game).public_tree()


def _by_rank(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """The only card."""
    return hands[:, 0]


def _by_pair(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """Leduc poker, two suits: a pair with the public card, else the rank."""
    ranks = hands[:, 0] // 2
    return ranks + len(hands) * np.isin(ranks, np.array(board) // 2)


def _by_five(game: pyspiel.Game, hands: np.ndarray, board: list[int]) -> np.ndarray:
    """The best five of all cards, or all if there are fewer."""
    return strengths_with(hands, board, game.get_parameters()["numSuits"])


_STRENGTHS: dict[str, Callable[[pyspiel.Game, np.ndarray, list[int]], np.ndarray]] = {
    "kuhn_poker": _by_rank,
    "leduc_poker": _by_pair,
    "python_one_card_poker": _by_rank,
    "universal_poker": _by_five,
}
"""Per readable game, the function of (game, hands, board) that gives `[H]` strengths.
"""


class _Node:
    """A public node that is being read.

    Attributes:
        path: actions from the root, without the deals of hands.
        board: public cards.
        kind, player, first_child, num_children, chance: see `PublicTree`.
        row: row of strengths of the board.
        text: parts of the information-state string around the hand; empty if unknown.
        pays: returns, see `PublicTree`.
    """

    def __init__(self, path: list[int], board: list[int]) -> None:
        self.path, self.board = path, board
        self.kind, self.player, self.first_child, self.num_children = DECISION, 0, 0, 0
        self.chance, self.row = 1.0, 0
        self.text: list[str] = []
        self.pays = np.zeros((3, 2))


_Pairs = list[tuple[int, int]]


class _Reader:
    """A public tree that is being read.

    Attributes:
        game: the game.
        deals: deals of the hands.
        nodes: nodes read so far, parents first.
        boards: per board, the row of strengths, the strengths, and the pairs of hands
            that `_compare_hands` returned.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.deals = read_deals(game)
        self.nodes = [_Node([], self.deals.board)]
        self._strength = _STRENGTHS[game.get_type().short_name]
        self.boards: dict[tuple[int, ...], tuple[int, np.ndarray, _Pairs]] = {}
        self._checked: set[int] = set()

    def public_tree(self) -> PublicTree:
        """Reads all nodes, depth first.

        Raises:
            MemoryBudgetError: there are too many nodes or boards.
        """
        nodes, stack = self.nodes, [0]
        num_boards = self._num_boards()
        # An iteration reads the node on top of the stack and pushes the children, which
        # are at the end of `nodes`. The loop ends when the stack is empty.
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
            strengths=np.array([row[1] for row in self.boards.values()], np.int32),
            pays=np.array([node.pays for node in nodes]),
            info_state=self.info_state,
            history=self.history,
        )

    def _num_boards(self) -> int:
        """Number of boards at the end of a history without a fold."""
        _, hands = self._compare_hands(self.deals.board)
        state, num_boards, count = self._state(0, hands[WINS]), 1, 0
        left = len(self.deals.deck)
        # A set of n cards is counted once, so the n-th card in a row divides by n.
        while not state.is_terminal():
            moves = state.legal_actions()
            if state.is_chance_node():
                count += 1
                num_boards = num_boards * left // count
                left -= 1
            else:
                count = 0
            state.apply_action(moves[min(1, len(moves) - 1)])
        return num_boards

    def _state(self, at: int, hands: tuple[int, int]) -> pyspiel.State:
        """The state of a node with two hands."""
        return replayed(self.game, (*self.deals.actions(*hands), *self.nodes[at].path))

    def _fitting(self, cards: list[int]) -> np.ndarray:
        """The hands that contain none of some cards."""
        return np.flatnonzero(~np.isin(self.deals.hands, cards).any(axis=1))

    def _read(self, at: int) -> None:
        """Reads a node, and adds the children to the list."""
        node = self.nodes[at]
        key = tuple(sorted(node.board))
        if key not in self.boards:
            self.boards[key] = len(self.boards), *self._compare_hands(node.board)
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

    def _compare_hands(self, board: list[int]) -> tuple[np.ndarray, _Pairs]:
        """The strengths of hands at a board, and three pairs of hands: player 0 wins,
        ties, loses.

        If no two hands tie (or differ), another pair replaces the missing pair; these
        payoffs are never used.
        """
        hands = self.deals.hands
        strength = np.asarray(self._strength(self.game, hands, board))
        fits = self._fitting(board)
        pairs: dict[int, tuple[int, int]] = {}
        for hand in fits[np.argsort(-strength[fits], kind="stable")].tolist():
            others = self._fitting([*board, *hands[hand]])
            for result, matches in (
                (WINS, others[strength[others] < strength[hand]]),
                (TIES, others[strength[others] == strength[hand]]),
            ):
                if len(matches):
                    pairs.setdefault(result, (hand, int(matches[0])))
            if len(pairs) == 2:
                break
        if not pairs:
            raise ValueError(
                f"{brief(self.game)} must have enough cards for two hands."
            )
        first, second = wins = pairs.get(WINS, pairs.get(TIES, (0, 0)))
        return strength, [wins, pairs.get(TIES, wins), (second, first)]

    def _private(self, hand: int) -> str:
        """How universal_poker writes a private hand."""
        suits = self.game.get_parameters().get("numSuits", 4)
        cards = sorted(self.deals.hands[hand].tolist(), reverse=True)
        names = [RANKS[card // suits] + SUITS[card % suits] for card in cards]
        return f"[Private: {''.join(names)}]"

    def _branch(self, at: int, edges: list[tuple[list[int], list[int]]]) -> None:
        """Adds the children of a node."""
        node = self.nodes[at]
        node.first_child, node.num_children = len(self.nodes), len(edges)
        self.nodes += [_Node([*node.path, *edge], board) for edge, board in edges]

    def _read_deal(self, at: int, state: pyspiel.State) -> None:
        """Reads a deal of public cards. Consecutive cards form a single deal of a set.

        Raises:
            ValueError: the cards are not drawn uniformly.
        """
        node, count = self.nodes[at], 0
        left = [card for card in self.deals.deck if card not in node.board]
        drawn = len(left) - 2 * self.deals.hands.shape[1]
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            even = all(abs(prob * len(outcomes) - 1) < 1e-9 for _, prob in outcomes)
            if not even or len(outcomes) != drawn - count:
                raise ValueError(
                    f"store='worlds': {brief(self.game)} must draw public cards with "
                    "equal probability from the cards that nobody holds. Use "
                    "store='tree' instead."
                )
            state = state.child(outcomes[0][0])
            count += 1
        node.kind = DEAL
        drawn_sets = map(list, itertools.combinations(left, count))
        self._branch(at, [(cards, node.board + cards) for cards in drawn_sets])
        for child in self.nodes[node.first_child :]:
            child.chance = 1 / math.comb(drawn, count)

    def _check(self, at: int, strength: np.ndarray) -> None:
        """Compares the strengths of hands with random showdowns at a node.

        Raises:
            GameError: a showdown contradicts the strengths.
        """
        node, rng = self.nodes[at], np.random.default_rng(0)
        self._checked.add(node.row)
        fits, hands = self._fitting(node.board), self.deals.hands
        for hand in rng.choice(fits, min(_CHECKED, len(fits)), replace=False).tolist():
            other = int(rng.choice(self._fitting([*node.board, *hands[hand]])))
            result = TIES - np.sign(strength[hand] - strength[other])
            pays = self._state(at, (hand, other)).returns()
            if (node.pays[result] != pays).any():
                raise GameError(
                    f"{brief(self.game)} pays {pays} for the hands "
                    f"{hands[[hand, other]].tolist()} and the board {node.board}; "
                    f"expected {node.pays[result].tolist()} by the strengths of hands."
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
