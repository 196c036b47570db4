"""What a policy does and is worth, hand by hand, at the decisions of a subgame.

EVs are chips out of the pot: the return of the whole subgame plus half of the pot that
it began with. So the EVs of both players add up to that pot, less the rake.
"""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import complete_table, full_pass, read_policy
from mccfr_spiel.arenas.hand_arena import HandNames
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.public_tree import DEAL, DECISION, strengths_with
from mccfr_spiel.common.display import line, never_raises, short
from mccfr_spiel.common.folders import write_file
from mccfr_spiel.poker.cards import (
    DECK,
    HAND_NAMES,
    HAND_OF,
    HANDS,
    Range,
    cards_of,
    kept,
    stand_for,
)
from mccfr_spiel.poker.subgames import Node, Subgame, fits, said, subgame
from mccfr_spiel.policies.policy import SequencePolicy


class Decision(NamedTuple):
    """A decision and the n hands that may be held there.

    Attributes:
        words: the actions and cards before it, as the game names them.
        board: the cards on the table.
        player: the player who acts.
        actions: `[A]` the names of the actions.
        hands: `[n]` numbers of hands, see `cards.HANDS`.
        infosets: `[n]` their numbers in the tree, whose `info_state` names them.
        weights: `[2, 1326]` how the players reach the decision with each hand: the
            weight in the range times the probability of the own actions.
        frequencies: `[n, A]` the policy.
        action_evs: `[n, A]` the EV of each action; NaN for a hand that cannot get here,
            since the other player would not have.
        evs: `[n]` the EV under the policy.
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
        """`[n]` the equity of each hand against the hands that the other player has
        here; NaN where that has none."""
        others = self.weights[1 - self.player]
        against = fits()[self.hands] @ others
        if not against.any():
            return np.full(len(self.hands), np.nan)
        if len(self.board) == 5:
            return self._on_river(others, against)
        own = np.zeros(len(HANDS))
        own[self.hands] = 1.0  # whether or not the player would be here with the hand
        board = "".join(DECK[card] for card in self.board)
        found = equities(board, (own, others))[0, self.hands]
        return np.where(against > 0, found, np.nan)

    def _on_river(self, others: np.ndarray, against: np.ndarray) -> np.ndarray:
        strength = strengths_with(HANDS, self.board)
        theirs = np.flatnonzero(others)
        wins = np.sign(strength[self.hands, None] - strength[theirs])
        wins = np.where(fits()[np.ix_(self.hands, theirs)], wins, 0) @ others[theirs]
        found = np.full(len(self.hands), np.nan)
        return np.divide(wins + against, 2 * against, out=found, where=against > 0)


class Study:
    """A policy of a subgame, looked at.

    Attributes:
        game, subgame: the game, and what its parameters mean.
        tree: its tree of hands.
        policy: `[S]` the policy.
        values: `[2, 1326]` the EV of each hand; 0 for hands that are never dealt.
        evs, best_evs: `[2]` the players' EVs, and those of best responses.
    """

    def __init__(self, game: pyspiel.Game | str, policy: Any) -> None:
        """Computes the values of all hands everywhere.

        Args:
            game: made by `subgame`, or its load string.
            policy: see `nash_conv`.

        Raises:
            ValueError: the game is no subgame of hold'em, or the policy not for it.
        """
        self.game = load_game(game)
        found = getattr(self.game, "subgame", None)
        if not isinstance(found, Subgame):
            raise ValueError(f"{self.game} is no game of ms.poker.subgame.")
        self.subgame = found
        self.tree, self.policy = read_policy(self.game, policy, None, store="worlds")
        self._got, best = full_pass(self.tree).after_sequences(self.policy)
        half = found.betting.pot / 2
        self.evs, self.best_evs = self._got[:2] + half, best[:2] + half
        names = self.tree.infoset_names
        assert isinstance(names, HandNames)
        self._public, self._listed = names.public, names.found
        self._hand_of = HAND_OF[tuple(self._public.hole_cards.T)]
        self.values = self._values()

    @never_raises
    def __repr__(self) -> str:
        first, second = map(short, self.evs.tolist())
        return line(self, self.subgame.board_text, f"EVs {first} and {second}")

    def _values(self) -> np.ndarray:
        """A hand's value is that of its first infosets, of which it meets one."""
        values = np.zeros((2, len(HANDS)))
        nodes = np.flatnonzero(self._public.kind == DECISION)
        firsts = np.minimum(self._listed.first[nodes], self.tree.num_infosets - 1)
        is_first = self.tree.infosets["parent"][firsts] == self._public.player[nodes]
        for node in nodes[is_first].tolist():
            infosets, hands, shares = self._infosets(node, ())
            got = self._rows_of(infosets, self.policy)
            got *= self._rows_of(infosets, self._got)
            values[int(self._public.player[node]), hands] += got.sum(axis=1) / shares
        dealt = np.array(self.subgame.deals)
        given = np.divide(values, dealt, out=np.zeros_like(values), where=dealt > 0)
        return np.where(dealt > 0, given + self.subgame.betting.pot / 2, 0.0)

    def _infosets(
        self, node: int, dealt: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The infosets of a public decision, for each hand that may be held there; the
        hands; and how many hands share each one's infoset, since suits exchange
        them. The cards that were dealt may be others than the node's, for which these
        stand."""
        held = np.flatnonzero(self.subgame.ranges.any(axis=0))
        way, left = kept(self.subgame.exchanges, dealt)
        members = self._listed.members[self._listed.rows[node]]
        places = np.full(len(HANDS), -1)
        places[self._hand_of[members]] = np.arange(len(members))
        places = places[stand_for(held, way, left)]
        held, places = held[places >= 0], places[places >= 0]
        shares = np.bincount(places)[places]
        return self._listed.first[node] + places, held, shares

    def _rows_of(self, infosets: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """`[n, A]` the part of a vector over sequences at infosets of one decision."""
        records = self.tree.infosets[infosets]
        actions = np.arange(records["num_actions"].max(initial=0))
        return vector[records["first_sequence"][:, None] + actions]

    def decision(self, history: Sequence[int | str] = ()) -> Decision:
        """A decision.

        Args:
            history: the actions and cards that lead there from the moment when the
                hands have been dealt: OpenSpiel's numbers, or names ("Bet 250", "Qd").

        Raises:
            ValueError: nobody acts there, or an action is not possible.
        """
        at = node = 0
        words, dealt, odds = "", (), 1.0 / self.subgame.total
        weights = self.subgame.ranges.copy()
        for step in history:
            here = self.subgame.nodes[at]
            if here.kind == DEAL:
                cards = cards_of(step, "card") if isinstance(step, str) else [step]
                if len(cards) != 1 or cards[0] not in range(len(DECK)):
                    raise ValueError(f"{step!r} is not one card, such as Qd.")
                card, chosen = int(cards[0]), 0
                dealt = *dealt, card
                node = self._dealt(node, dealt)
                words = said(words, here, card)
                odds *= self._public.chance[node]
                weights[:, np.isin(HANDS, card).any(axis=1)] = 0.0
            else:
                chosen = _place(here, step)
                infosets, hands, _ = self._infosets(node, dealt)
                starts = self.tree.infosets["first_sequence"][infosets]
                weights[here.player, hands] *= self.policy[starts + chosen]
                words = said(words, here, here.actions[chosen])
                node = int(self._public.first_child[node]) + chosen
            at = here.children[chosen]
        here = self.subgame.nodes[at]
        if here.kind != DECISION:
            raise ValueError(f"Nobody acts after{words}.")
        infosets, hands, shares = self._infosets(node, dealt)
        others = fits()[hands] @ weights[1 - here.player]
        norm = self.subgame.ranges[here.player, hands] * others * odds * shares
        got = self._rows_of(infosets, self._got)
        found = np.full(got.shape, np.nan)
        np.divide(got, norm[:, None], out=found, where=norm[:, None] > 0)
        found += self.subgame.betting.pot / 2
        rows = self._rows_of(infosets, self.policy)
        return Decision(
            words.strip(),
            (*self.subgame.board, *dealt),
            here.player,
            here.words,
            hands,
            infosets,
            weights,
            rows,
            found,
            (rows * found).sum(axis=1),
        )

    def _dealt(self, node: int, dealt: Sequence[int]) -> int:
        """The node behind the last of some cards.

        Raises:
            ValueError: it cannot be dealt.
        """
        card = kept(self.subgame.exchanges, dealt)[0][dealt[-1]]
        first, count = self._public.first_child[node], self._public.num_children[node]
        new = self._public.board[first : first + count] & ~self._public.board[node]
        found = np.flatnonzero(new == np.uint64(1 << int(card)))
        if not len(found):
            raise ValueError(f"{DECK[dealt[-1]]} cannot be dealt here.")
        return int(first + found[0])

    def decisions(self, *, all_streets: bool = False) -> Iterator[Decision]:
        """The decisions of the first street, or of all streets and all cards."""
        todo: list[tuple[int, tuple[int | str, ...]]] = [(0, ())]
        while todo:
            at, history = todo.pop()
            here = self.subgame.nodes[at]
            if here.kind == DECISION:
                found = self.decision(history)
                yield found
                steps = zip(here.children, here.words, strict=True)
                todo += [(child, (*history, word)) for child, word in steps][::-1]
            elif here.kind == DEAL and all_streets:
                known = {*(DECK[card] for card in self.subgame.board), *history}
                cards = [card for card in reversed(DECK) if card not in known]
                todo += [(here.children[0], (*history, card)) for card in cards]

    def write_csv(
        self, path: str | os.PathLike[str], *, all_streets: bool = False
    ) -> None:
        """Writes a table with one line for each decision, hand and action.

        Its columns: what happened before, the player, the hand, its weight (the range
        times the own actions), its equity, its EV, the EV as a share of equity times
        the pot, the action, how often the policy takes it, and its EV.

        Raises:
            OSError: the file cannot be written.
        """
        pot = self.subgame.betting.pot

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(COLUMNS)
            for one in self.decisions(all_streets=all_streets):
                rows.writerows(_lines(one, pot))
            text.detach()

        write_file(path, write)


def _lines(one: Decision, pot: float) -> Iterator[tuple[Any, ...]]:
    """The lines of a decision in the table of `Study.write_csv`."""
    equities = one.equities()
    shares = np.full(len(equities), np.nan)
    np.divide(one.evs, equities * pot, out=shares, where=equities > 0)
    weights = one.weights[one.player, one.hands]
    hands = np.stack((weights, equities, one.evs, shares), axis=1).tolist()
    policies, evs = one.frequencies.tolist(), one.action_evs.tolist()
    for hand, row, policy, ev in zip(one.hands, hands, policies, evs, strict=True):
        for action in zip(one.actions, policy, ev, strict=True):
            yield one.words, one.player, HAND_NAMES[hand], *row, *action


COLUMNS = (
    *("before", "player", "hand", "weight", "equity", "ev", "ev_share"),
    *("action", "frequency", "action_ev"),
)
"""Of the table that `Study.write_csv` writes."""


def _place(node: Node, action: int | str) -> int:
    """Which of a decision's actions one is.

    Raises:
        ValueError: it is none.
    """
    known: list[int | str] = [
        *(node.words if isinstance(action, str) else node.actions)
    ]
    if action not in known:
        if not known:
            raise ValueError(f"{action!r} comes when the game is over.")
        raise ValueError(f"{action!r} is not one of {', '.join(node.words)}.")
    return known.index(action)


def values(game: pyspiel.Game | str, policy: Any) -> np.ndarray:
    """`[2, 1326]` the EV of each player's hands under a policy.

    An EV is the return plus half of the pot, so both players' add up to the pot less
    the rake. It is 0 for hands that are never dealt. Arguments and errors are those of
    `Study`.
    """
    return Study(game, policy).values


def equities(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2, 1326]` what share of the pot each hand wins if nobody bets any more.

    It is 0 for hands that are never dealt.

    Args:
        board: 3 to 5 cards.
        ranges: a range for each player, as in `subgame`.

    Raises:
        ValueError: the board or a range is none, or they block each other.
    """
    return _checked_down(board, ranges).values


def equity(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2]` what share of the pot each range wins if nobody bets any more.

    Arguments and errors are those of `equities`.
    """
    study = _checked_down(board, ranges)
    return (study.subgame.deals * study.values).sum(axis=1)


def _checked_down(board: str, ranges: Sequence[Range]) -> Study:
    """A subgame for one chip in which players can only check."""
    game = subgame(board=board, pot=1, stacks=1, ranges=ranges, bets="", raises="")
    tree = complete_table(game, store="worlds")
    return Study(game, SequencePolicy(tree, np.ones(tree.num_sequences)))
