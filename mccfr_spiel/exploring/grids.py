"""Grids: the policy for all private cards of the acting player.

A *deal* is a chance move at the beginning that exactly one player sees. A grid keeps
all later moves of a history and replaces the acting player's deals.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import action_names, phrases
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import (
    follow,
    known_to,
    name_of,
    names_of,
)
from mccfr_spiel.exploring.shown_policies import ShownPolicy

_MAX_HANDS = 4_000
"""The largest number of hands in a grid."""

_RANKS = "AKQJT98765432"

_CARD = re.compile("[2-9TJQKA][\u2660\u2665\u2666\u2663]")
"""A card as printed, such as A♠."""


class NoGridError(ValueError):
    """The game or the state has no grid, for the reason in the message."""


Ask = Callable[[pyspiel.State], dict[int, float]]
"""Function that returns action probabilities at a state."""

Cards = dict[int, str]
"""Action of a deal -> name of the card."""


def grid(
    game: pyspiel.Game,
    history: Sequence[int],
    ask: Ask,
    candidate: ShownPolicy,
    tree: GameTree | None,
    numbers: Numbers | None,
) -> dict[str, Any]:
    """The policy of the player who acts after a history, for all cards of that player.

    Args:
        game: the turn-based game.
        history: a history after which a player acts.
        ask: function that returns the policy's action probabilities at a state.
        candidate: the policy. Without a tree, the visits of each hand are an equal
            share of all walks, which overestimates them.
        tree: the whole tree; None without one.
        numbers: the numbers of the policy; None if unknown.

    Raises:
        NoGridError: the game or the state has no grid.
    """
    state, _ = follow(game, None, history)
    player = int(state.current_player())
    if player < 0:
        raise NoGridError("A grid needs a state where a player acts: walk to one.")
    seers = deals(game, history)
    own = [index for index, seer in enumerate(seers) if seer == player]
    if not own:
        raise NoGridError(
            "A grid needs a game that begins by dealing cards that only one player "
            "sees; this game does not."
        )
    choices = [_cards_at(game, index) for index in own]
    if math.prod(map(len, choices)) > _MAX_HANDS:
        raise NoGridError(
            f"A grid shows at most {_MAX_HANDS:,} hands; this game deals more."
        )
    names: dict[str, None] = {}  # of all hands' moves, in order
    rows: dict[str, Any] = {}
    for dealt in itertools.product(*choices):
        state = replayed(game, history, dict(zip(own, dealt, strict=True)), len(seers))
        cards = (deck[card] for deck, card in zip(choices, dealt, strict=True))
        label = " ".join(sorted(cards))
        if state is None or state.current_player() != player or label in rows:
            continue
        odds, moves, visits = ask(state), state.legal_actions(), None
        if tree is not None and numbers is not None and numbers.visits is not None:
            visits = float(numbers.visits[tree.find_at(state, player)])
        probabilities = [odds.get(move, 0.0) for move in moves]
        by_name = dict(zip(names_of(state, moves), probabilities, strict=True))
        names |= dict.fromkeys(by_name)
        rows[label] = {"label": label, "visits": visits, "probabilities": by_name}
    solver = candidate.solver
    for row in rows.values():
        row["probabilities"] = [*map(row["probabilities"].get, names)]
        if solver and tree is None and solver.algorithm.sampling.chance:
            row["visits"] = candidate.walks / len(rows)
    probabilities = [row["probabilities"] for row in rows.values()]
    dealable = [name for deck in choices for name in deck.values()]
    has_ranks = len(own) == 2 and all(map(_CARD.fullmatch, dealable))
    return {
        "player": player,
        "actions": list(names),
        "rows": [*rows.values()],
        "ranks": by_ranks(rows, probabilities) if has_ranks else None,
    }


def word_of_deals(game: pyspiel.Game) -> str:
    """The page's heading for the private deals, such as "Cards"; "" without deals."""
    state = game.new_initial_state()
    if not state.is_chance_node():
        return ""
    name = name_of(state, state.legal_actions()[0]).lower()
    headings = {"roll": "Dice", "value": "Values"}
    return next(
        (heading for part, heading in headings.items() if part in name), "Cards"
    )


def deals(game: pyspiel.Game, history: Sequence[int]) -> list[int]:
    """The one player who sees it, for each chance move at the beginning.

    The list ends before the first move that no player or several players see.
    """
    state, seers = game.new_initial_state(), []
    for action in history:
        if not state.is_chance_node() or len(state.legal_actions()) == 1:
            break
        # A player who sees the outcome can tell it from all others.
        other = next(move for move in state.legal_actions() if move != action)
        ways = state.child(action), state.child(other)
        seen = [
            player
            for player in range(game.num_players())
            if known_to(ways[0], player) != known_to(ways[1], player)
        ]
        if len(seen) != 1:
            break
        seers += seen
        state.apply_action(action)
    return seers


def _cards_at(game: pyspiel.Game, index: int) -> Cards:
    """The cards that the chance move number `index` may deal: action -> card name."""
    cards: Cards = {}
    # Earlier deals remove cards. Two histories, which always deal the first or the last
    # card, remove different cards, so all cards appear in at least one of them.
    for way in (0, -1):
        state = game.new_initial_state()
        for _ in range(index):
            state.apply_action(state.legal_actions()[way])
        moves = state.legal_actions()
        for move, name in zip(
            moves, action_names.names_at(state, -1, moves), strict=True
        ):
            cards[move] = phrases.card_in(game, name)
    return dict(sorted(cards.items()))


def replayed(
    game: pyspiel.Game, history: Sequence[int], cards: dict[int, int], num_deals: int
) -> pyspiel.State | None:
    """The state after a history with other deals; None if such a state does not exist.

    Args:
        game: the game.
        history: the actions of the history.
        cards: index of a deal -> the action to deal there.
        num_deals: number of deals in the history. Deals that are not in `cards` change
            if another player gets the card.
    """
    state = game.new_initial_state()
    taken = set(cards.values())
    for at, action in enumerate(history):
        moves, wanted = state.legal_actions(), [cards.get(at, action)]
        if at < num_deals and at not in cards:
            wanted = [move for move in (action, *moves) if move not in taken]
        action = next((move for move in wanted if move in moves), None)
        if action is None:
            return None
        taken.add(action)
        state.apply_action(action)
    return None if state.is_terminal() else state


def by_ranks(
    hands: Iterable[str],
    numbers: Iterable[Any],
    weights: Iterable[Any] = itertools.repeat(1.0),
) -> dict[str, Any]:
    """A 13 x 13 table of two-card hands by ranks: suited above the diagonal, others
    below.

    A cell is the weighted mean over its hands; NaN entries do not count.

    Args:
        hands: names of the hands.
        numbers: `[columns]` for each hand.
        weights: for each hand one weight, or `[columns]` weights.
    """
    members: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    for hand, of_hand, weight in zip(hands, numbers, weights, strict=False):
        rank, suit, rank2, suit2 = hand.replace(" ", "")
        high, low = sorted((_RANKS.index(rank), _RANKS.index(rank2)))
        cell = (high, low) if suit == suit2 else (low, high)
        members.setdefault(cell, []).append((of_hand, weight))
    cells: list[list[Any]] = [[None] * len(_RANKS) for _ in _RANKS]
    for (row, column), pairs in members.items():
        rows, parts = zip(*pairs, strict=True)
        valid = np.ma.masked_invalid(np.array(rows, np.float64))
        mean: Any = np.ma.average(valid, axis=0, weights=np.array(parts))
        cells[row][column] = mean.filled(np.nan)
    return {"labels": list(_RANKS), "cells": cells}
