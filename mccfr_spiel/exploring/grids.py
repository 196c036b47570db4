"""Grids."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.exploring.policy_numbers import Numbers
from mccfr_spiel.exploring.positions import (
    MAX_TOLD_MOVES,
    follow,
    known_to,
    name_of,
    names_of,
)
from mccfr_spiel.exploring.shown_policies import ShownPolicy
from mccfr_spiel.poker.cards import HAND_NAMES
from mccfr_spiel.poker.study import Study

_NEVER = 1e-100
"""The weight of hands that the player does not have, beside those that it has."""


_RANKS = "AKQJT98765432"


_CARD = re.compile("[2-9TJQKA][\u2660\u2665\u2666\u2663]")


class NoGridError(ValueError):
    """The game, or the state, allows no grid; the message says why."""


Ask = Callable[[pyspiel.State], dict[int, float]]


Cards = dict[int, str]


def grid(
    game: pyspiel.Game,
    history: Sequence[int],
    ask: Ask,
    candidate: ShownPolicy,
    tree: GameTree | None,
    numbers: Numbers | None,
) -> dict[str, Any]:
    """The policy of the player who acts after a history, for all of its own cards.

    Args:
        game: the turn-based game.
        history: where a player acts.
        ask: gives the policy at a state.
        candidate: the policy. Without a tree each hand is taken to be visited in its
            share of the walks that have found it, which is more than it can be.
        tree: the whole tree, or None.
        numbers: of the policy, or None.

    Raises:
        NoGridError: the game, or the history, allows no grid.
    """
    state, _ = follow(game, None, history)
    player = int(state.current_player())
    if player < 0:
        raise NoGridError("A grid needs a state where a player acts: walk to one.")
    seers = deals(game, history)
    own = [at for at, seer in enumerate(seers) if seer == player]
    if not own:
        raise NoGridError(
            "This game does not begin by dealing cards that one player alone sees, so "
            "it has no grid."
        )
    choices = [_cards_at(game, at) for at in own]
    if math.prod(map(len, choices)) > MAX_TOLD_MOVES:
        raise NoGridError(
            f"There are more than {MAX_TOLD_MOVES:,} hands, too many to show."
        )
    names: dict[str, None] = {}  # of all hands' moves, in order
    rows: dict[str, Any] = {}
    for dealt in itertools.product(*choices):
        state = replayed(game, history, dict(zip(own, dealt, strict=True)), len(seers))
        cards = (one[card] for one, card in zip(choices, dealt, strict=True))
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
    found = [row["probabilities"] for row in rows.values()]
    dealable = [name for one in choices for name in one.values()]
    has_ranks = len(own) == 2 and all(map(_CARD.fullmatch, dealable))
    return {
        "player": player,
        "actions": list(names),
        "rows": [*rows.values()],
        "ranks": _by_ranks(rows, found) if has_ranks else None,
    }


def grid_of_hands(study: Study, history: Sequence[int]) -> dict[str, Any]:
    """The policy of a subgame of hold'em at a decision, for all hands: their weights,
    frequencies, EVs and equities, hand by hand and by ranks.

    Behind a cell's frequencies stand the numbers that `extras` names.

    Args:
        study: the policy.
        history: the two hands that were dealt, which change nothing, and what followed.

    Raises:
        NoGridError: nobody acts there.
    """
    try:
        found = study.decision(history[2:])
    except ValueError as error:
        raise NoGridError(str(error)) from error
    weights = found.weights[found.player, found.hands]
    largest = weights.max(initial=0.0)
    shares = weights / largest if largest > 0 else weights
    extras = np.stack((shares, found.equities(), found.evs), axis=1)
    names = [HAND_NAMES[hand] for hand in found.hands]
    keys = "label", "weight", "equity", "value", "probabilities", "values"
    rows = zip(names, *extras.T, found.frequencies, found.action_evs, strict=True)
    columns = np.hstack((found.frequencies, extras))
    # Hands that are never here still have a mean, and a range is no mean by itself.
    parts = np.repeat(np.maximum(weights, _NEVER)[:, None], columns.shape[1], axis=1)
    parts[:, len(found.actions)] = 1.0
    total = weights.sum()
    first = 0 if found.actions[0] == "Fold" else 1
    deal = list(history[:2]) if len(history) > 1 else study.subgame.likely_deal()
    return {
        "player": found.player,
        "next": [[*deal, *history[2:], first + k] for k in range(len(found.actions))],
        "actions": list(found.actions),
        "extras": ["Range", "Equity", "EV"],
        "words": found.words,
        "totals": [
            weights @ column / total if total > 0 else None
            for column in np.nan_to_num(found.frequencies).T
        ],
        "evs": study.evs,
        "pot": study.subgame.betting.pot,
        "rows": [dict(zip(keys, row, strict=True)) for row in rows],
        "ranks": _by_ranks(names, columns, parts),
    }


def word_of_deals(game: pyspiel.Game) -> str:
    """What a game begins by dealing, as the page calls it; "" if it deals nothing."""
    state = game.new_initial_state()
    if not state.is_chance_node():
        return ""
    name = name_of(state, state.legal_actions()[0]).lower()
    words = {"roll": "Dice", "value": "Values"}
    return next((word for part, word in words.items() if part in name), "Cards")


def deals(game: pyspiel.Game, history: Sequence[int]) -> list[int]:
    """For each move of chance at the beginning, who alone sees it.

    A move that nobody or several players see ends the list.
    """
    state, seers = game.new_initial_state(), []
    for action in history:
        if not state.is_chance_node() or len(state.legal_actions()) == 1:
            break
        # It is enough to tell the outcome from one other, whichever.
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


def _cards_at(game: pyspiel.Game, at: int) -> Cards:
    """What could be dealt at one place if all the deals before were others: action ->
    the card's name."""
    found: Cards = {}
    # Two different ways to get there know all the cards, whatever was dealt before.
    for way in (0, -1):
        state = game.new_initial_state()
        for _ in range(at):
            state.apply_action(state.legal_actions()[way])
        moves = state.legal_actions()
        for move, name in zip(moves, loading.names_at(state, -1, moves), strict=True):
            found[move] = loading.card_in(game, name)
    return dict(sorted(found.items()))


def replayed(
    game: pyspiel.Game, history: Sequence[int], cards: dict[int, int], num_deals: int
) -> pyspiel.State | None:
    """The state after a history with other deals; None if it is not possible.

    Args:
        game: the game.
        history: what is played.
        cards: place of a deal -> the action that is dealt there.
        num_deals: deals that are not given give way where their card is taken.
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


def _by_ranks(
    hands: Iterable[str],
    numbers: Iterable[Any],
    weights: Iterable[Any] = itertools.repeat(1.0),
) -> dict[str, Any]:
    """Two cards each: 13 x 13 ranks, suited above the diagonal and others below. A cell
    has the means over its suits that have a number.

    Args:
        hands: the names of hands.
        numbers: `[columns]` of each hand.
        weights: of each hand, one for all its numbers or `[columns]`.
    """
    found: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    for hand, of_hand, weight in zip(hands, numbers, weights, strict=False):
        rank, suit, other, its = hand.replace(" ", "")
        high, low = sorted((_RANKS.index(rank), _RANKS.index(other)))
        place = (high, low) if suit == its else (low, high)
        found.setdefault(place, []).append((of_hand, weight))
    cells: list[list[Any]] = [[None] * len(_RANKS) for _ in _RANKS]
    for (row, column), pairs in found.items():
        rows, parts = zip(*pairs, strict=True)
        told = np.ma.masked_invalid(np.array(rows, np.float64))
        mean: Any = np.ma.average(told, axis=0, weights=np.array(parts))
        cells[row][column] = mean.filled(np.nan)
    return {"labels": list(_RANKS), "cells": cells}
