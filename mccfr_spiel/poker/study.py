"""Frequencies, equities and EVs of a policy, hand by hand, at the decisions of a
subgame.

An EV is the return of the whole subgame plus half of the starting pot. The EVs of both
players therefore add up to that pot, less the rake.
"""

import csv
import functools
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.block_arena import BlockArena
from mccfr_spiel.arenas.block_values import BlockValues
from mccfr_spiel.arenas.evaluating import complete_table, read_policy
from mccfr_spiel.arenas.infosets.identity import same_name
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION
from mccfr_spiel.common.atomic_files import (
    write_file,
)
from mccfr_spiel.common.display import line, never_raises, short
from mccfr_spiel.poker.betting import Node, append_step
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HAND_OF, HANDS, cards_of
from mccfr_spiel.poker.ranges import Range
from mccfr_spiel.poker.subgames import Subgame, compatible, subgame
from mccfr_spiel.poker.suits import canonical_deal, representatives
from mccfr_spiel.policies.block_policy import BlockPolicy


class Decision(NamedTuple):
    """A decision and the n hands that may be held there.

    Attributes:
        words: actions and cards before the decision, as the game names them.
        board: public cards.
        player: the acting player.
        actions: `[A]` names of the actions.
        hands: `[n]` numbers of hands, see `cards.HANDS`.
        infosets: `[n]` numbers of the hands' infosets in the tree.
        weights: `[2, 1326]` reach of both players with each hand: the weight in the
            range times the probability of the player's own actions.
        frequencies: `[n, A]` the policy.
        action_evs: `[n, A]` EV of each action; NaN for hands that meet no hand of the
            other player here.
        evs: `[n]` EV under the policy.
    """

    words: str
    board: tuple[int, ...]
    player: int
    actions: tuple[str, ...]
    hands: np.ndarray
    infosets: np.ndarray
    weights: np.ndarray
    frequencies: np.ndarray
    action_evs: np.ndarray
    evs: np.ndarray

    def equities(self) -> np.ndarray:
        """`[n]` equity of each hand against the other player's hands at this decision;
        NaN for hands that meet none of them.
        """
        opponent = self.weights[1 - self.player]
        total = compatible()[self.hands] @ opponent
        if not total.any():
            return np.full(len(self.hands), np.nan)
        if len(self.board) == 5:
            return self._on_river(opponent, total)
        every_hand = np.zeros(len(HANDS))
        # Equity does not depend on the player's own reach.
        every_hand[self.hands] = (
            1.0  # whether or not the player would be here with the hand
        )
        board = "".join(DECK[card] for card in self.board)
        all_equities = equities(board, (every_hand, opponent))[0, self.hands]
        return np.where(total > 0, all_equities, np.nan)

    def _on_river(self, opponent: np.ndarray, total: np.ndarray) -> np.ndarray:
        """The equities on the river, where strengths decide."""
        strength = strengths_with(HANDS, self.board)
        theirs = np.flatnonzero(opponent)
        wins = np.sign(strength[self.hands, None] - strength[theirs])
        wins = (
            np.where(compatible()[np.ix_(self.hands, theirs)], wins, 0)
            @ opponent[theirs]
        )
        result = np.full(len(self.hands), np.nan)
        return np.divide(wins + total, 2 * total, out=result, where=total > 0)


class Study:
    """A policy of a subgame with the values of all hands.

    Attributes:
        game: the game.
        subgame: decoded parameters of the game.
        tree: arena of the game, with all hands.
        values: `[2, 1326]` EV of each hand; 0 for hands with probability 0.
        evs: `[2]` EVs of the players.
        best_evs: `[2]` EVs of best responses.
    """

    def __init__(self, game: pyspiel.Game | str, policy: Any) -> None:
        """Computes the values of all hands at all decisions.

        Args:
            game: a game from `subgame`, or its load string.
            policy: a policy, see `nash_conv`.

        Raises:
            ValueError: the game is not a subgame of hold'em, or the policy is not for
                this game.
        """
        self.game = load_game(game)
        decoded = getattr(self.game, "subgame", None)
        if not isinstance(decoded, Subgame):
            raise ValueError(f"{self.game} must be a game made by ms.poker.subgame.")
        self.subgame = decoded
        self.tree, self._values_of = _evaluated(self.game, policy)
        half = decoded.betting.pot / 2
        self.evs = self._values_of.returns + half
        self.best_evs = self._values_of.best + half
        self._public, self._numbering = self.tree.blocks.public, self.tree.numbering
        self._hand_of = HAND_OF[tuple(self._public.hole_cards.T)]
        self.values = self._values()

    @never_raises
    def __repr__(self) -> str:
        first, second = map(short, self.evs.tolist())
        return line(self, self.subgame.board_text, f"EVs {first} and {second}")

    @functools.cached_property
    def policy(self) -> np.ndarray:
        """`[S]` the policy, one number per sequence of `tree`."""
        return self.tree.policy_of(self._values_of.table)

    def _values(self) -> np.ndarray:
        """`[2, 1326]` EV of each hand at the root."""
        values, dealt = np.zeros((2, len(HANDS))), np.array(self.subgame.deals)
        num_boards = len(self.tree.blocks.boards.lists)
        row = int(self.tree.blocks.boards.node_board[0])
        for player in (0, 1):
            held, offsets = self._held(player * num_boards + row, ())
            opponent = compatible()[held] @ self.subgame.ranges[1 - player]
            value = self._values_of.at_root(player)[offsets]
            np.divide(value, opponent, out=value, where=opponent > 0)
            values[player, held] = value
        return np.where(dealt > 0, values + self.subgame.betting.pot / 2, 0.0)

    def _held(self, row: int, dealt: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The possible hands in a row of `members`, and the position of the
        representative of each.

        `dealt` are the cards dealt since the start; the row may be that of their
        representatives.
        """
        held = np.flatnonzero(self.subgame.ranges.any(axis=0))
        exchange, stabilizer = canonical_deal(self.subgame.exchanges, dealt)
        members = self._numbering.members[row]
        offsets = np.full(len(HANDS), -1)
        offsets[self._hand_of[members]] = np.arange(len(members))
        offsets = offsets[representatives(held, exchange, stabilizer)]
        return held[offsets >= 0], offsets[offsets >= 0]

    def decision(self, history: Sequence[int | str] = ()) -> Decision:
        """The decision at the end of a history.

        Args:
            history: actions and cards since the hands were dealt, as OpenSpiel's
                numbers or as names ("Bet 250", "Qd").

        Raises:
            ValueError: nobody acts there, or an action or card is impossible.
        """
        position = node = 0
        words, dealt = "", ()
        weights = self.subgame.ranges.copy()
        # An iteration follows one step in the betting tree (`position`) and in the
        # public tree (`node`), and updates the players' reaches. It ends after the last
        # step.
        for step in history:
            here = self.subgame.nodes[position]
            if here.kind == DEAL:
                cards = cards_of(step, "card") if isinstance(step, str) else [step]
                if len(cards) != 1 or cards[0] not in range(len(DECK)):
                    raise ValueError(f"{step!r} must be a single card, e.g. Qd.")
                card, chosen = int(cards[0]), 0
                dealt = *dealt, card
                node = self._dealt(node, dealt)
                words = append_step(words, here, card)
                weights[:, np.isin(HANDS, card).any(axis=1)] = 0.0
            else:
                chosen = _action_index(here, step)
                hands, offsets = self._held(self._numbering.rows[node], dealt)
                policy = self._values_of.policy_at(node)[offsets, chosen]
                weights[here.player, hands] *= policy
                words = append_step(words, here, here.actions[chosen])
                node = int(self._public.first_child[node]) + chosen
            position = here.children[chosen]
        here = self.subgame.nodes[position]
        if here.kind != DECISION:
            raise ValueError(
                f"Nobody acts after{words}. The history must end at a decision."
            )
        hands, offsets = self._held(self._numbering.rows[node], dealt)
        frequencies = self._values_of.policy_at(node)[offsets]
        # Values are weighted with the opponent's reach. Dividing by it gives EVs.
        opponent = compatible()[hands] @ weights[1 - here.player]
        action_evs = np.full(frequencies.shape, np.nan)
        values = self._values_of.actions_at(node)[offsets]
        np.divide(
            values, opponent[:, None], out=action_evs, where=opponent[:, None] > 0
        )
        action_evs += self.subgame.betting.pot / 2
        return Decision(
            words.strip(),
            (*self.subgame.board, *dealt),
            here.player,
            here.words,
            hands,
            self._numbering.first[node] + offsets,
            weights,
            frequencies,
            action_evs,
            (frequencies * action_evs).sum(axis=1),
        )

    def _dealt(self, node: int, dealt: Sequence[int]) -> int:
        """The node of a sequence of dealt cards.

        Raises:
            ValueError: the card cannot be dealt.
        """
        card = canonical_deal(self.subgame.exchanges, dealt)[0][dealt[-1]]
        first, count = self._public.first_child[node], self._public.num_children[node]
        new = self._public.board[first : first + count] & ~self._public.board[node]
        child = np.flatnonzero(new == np.uint64(1 << int(card)))
        if not len(child):
            raise ValueError(
                f"{DECK[dealt[-1]]} cannot be dealt here, because it is on the board."
            )
        return int(first + child[0])

    def decisions(self, *, all_streets: bool = False) -> Iterator[Decision]:
        """Iterates over the decisions of the first street, or of all streets and all
        cards.
        """
        stack: list[tuple[int, tuple[int | str, ...]]] = [(0, ())]
        while stack:
            position, history = stack.pop()
            here = self.subgame.nodes[position]
            if here.kind == DECISION:
                decision = self.decision(history)
                yield decision
                steps = zip(here.children, here.words, strict=True)
                stack += [(child, (*history, word)) for child, word in steps][::-1]
            elif here.kind == DEAL and all_streets:
                known = {*(DECK[card] for card in self.subgame.board), *history}
                cards = [card for card in reversed(DECK) if card not in known]
                stack += [(here.children[0], (*history, card)) for card in cards]

    def write_csv(
        self, path: str | os.PathLike[str], *, all_streets: bool = False
    ) -> None:
        """Writes a table with a line per decision, hand and action.

        Columns: history, player, hand, weight (range times own actions), equity, EV, EV
        as a share of equity times pot, action, frequency of the action, EV of the
        action.

        Args:
            path: path of the file.
            all_streets: whether to write the decisions of all streets, not of the first
                only.

        Raises:
            OSError: the file cannot be written.
        """
        pot = self.subgame.betting.pot

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(COLUMNS)
            for decision in self.decisions(all_streets=all_streets):
                rows.writerows(_lines(decision, pot))
            text.detach()

        write_file(path, write)


def _lines(decision: Decision, pot: float) -> Iterator[tuple[Any, ...]]:
    """The lines of a decision in the table of `Study.write_csv`."""
    equities = decision.equities()
    shares = np.full(len(equities), np.nan)
    np.divide(decision.evs, equities * pot, out=shares, where=equities > 0)
    weights = decision.weights[decision.player, decision.hands]
    hands = np.stack((weights, equities, decision.evs, shares), axis=1).tolist()
    policies, evs = decision.frequencies.tolist(), decision.action_evs.tolist()
    for hand, row, policy, ev in zip(decision.hands, hands, policies, evs, strict=True):
        for action in zip(decision.actions, policy, ev, strict=True):
            yield decision.words, decision.player, HAND_NAMES[hand], *row, *action


COLUMNS = (
    *("before", "player", "hand", "weight", "equity", "ev", "ev_share"),
    *("action", "frequency", "action_ev"),
)
"""Columns of the table of `Study.write_csv`."""


def _action_index(node: Node, action: int | str) -> int:
    """Index of an action, given as a number or a name.

    Raises:
        ValueError: the action is unknown, or the game is over.
    """
    if not node.words:
        raise ValueError(
            f"{action!r} follows the end of the game. Shorten the history."
        )
    choices: list[int | str] = [
        *(node.words if isinstance(action, str) else node.actions)
    ]
    if action not in choices:
        raise ValueError(
            f"Unknown action {action!r}, expected one of {', '.join(node.words)}."
        )
    return choices.index(action)


def values(game: pyspiel.Game | str, policy: Any) -> np.ndarray:
    """`[2, 1326]` EV of each player's hands under a policy.

    An EV is the return plus half of the pot, so the EVs of both players add up to the
    pot, less the rake. It is 0 for hands with probability 0. See `Study` for arguments
    and errors.
    """
    return Study(game, policy).values


def equities(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2, 1326]` share of the pot that each hand wins if nobody bets any more.

    It is 0 for hands with probability 0.

    Args:
        board: 3 to 5 cards.
        ranges: a range per player, as for `subgame`.

    Raises:
        ValueError: the board or a range is invalid, or no two hands are compatible.
    """
    return _checked_down(board, ranges).values


def equity(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2]` share of the pot that each range wins if nobody bets any more.

    See `equities` for arguments and errors.
    """
    study = _checked_down(board, ranges)
    return (study.subgame.deals * study.values).sum(axis=1)


def _checked_down(board: str, ranges: Sequence[Range]) -> Study:
    """A study of the subgame in which both players always check."""
    game = subgame(board=board, pot=1, stacks=1, ranges=ranges, bets="", raises="")
    tree = complete_table(game, store="blocks")
    return Study(game, BlockPolicy(tree, np.ones(tree.blocks.num_entries)))


def _evaluated(game: pyspiel.Game, policy: Any) -> tuple[BlockArena, BlockValues]:
    """The arena of a policy, and the values of the policy."""
    if isinstance(policy, BlockPolicy) and same_name(policy.tree.game, game):
        return policy.tree, BlockValues(policy.tree, policy.weights)
    tree, vector = read_policy(game, policy, None, store="blocks")
    return tree, BlockValues(tree, tree.table_of(vector))
