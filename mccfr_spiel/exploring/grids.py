"""A policy by private cards, for games that begin by dealing them.

A deal is a move of chance at the beginning that one player alone sees. The grid keeps
all later moves of a history and replaces the deals.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.exploring import places
from mccfr_spiel.exploring.views import text
from mccfr_spiel.tree.game_tree import GameTree

_MOST = 2_000
"""Hands, and cells with values, that a grid has at most."""

_RANKS = "AKQJT98765432"
_CARD = re.compile(r"\b([2-9TJQKA])([cdhs])$")


class NoGridError(ValueError):
    """The game, or the state, allows no grid; the message says why."""


Ask = Callable[[pyspiel.State], dict[int, float] | None]


def grid(
    game: pyspiel.Game,
    history: Sequence[int],
    ask: Ask,
    tree: GameTree | None,
    policy: np.ndarray | None,
) -> dict[str, Any]:
    """The policy of the player who acts after a history, for all of its own cards.

    With a tree, and if the player and another one have one card each, it has the
    player's value for each pair of cards, too.

    Args:
        game: the turn-based game.
        history: where a player acts.
        ask: gives the policy at a state.
        tree: the whole tree, or None.
        policy: `[S]` over the tree's sequences, or None.

    Raises:
        NoGridError: the game, or the history, allows no grid.
    """
    place = places.follow(game, None, history)
    player = int(place.state.current_player())
    if player < 0:
        raise NoGridError("A grid needs a state where a player acts: walk to one.")
    seers = deals(game, history)
    own = [at for at, seer in enumerate(seers) if seer == player]
    if not own:
        raise NoGridError(
            "This game does not begin by dealing cards that one player alone sees, so "
            "it has no grid."
        )
    choices = [_outcomes(game, history, at) for at in own]
    if np.prod([len(one) for one in choices]) > 2 * _MOST:
        raise NoGridError(f"There are more than {2 * _MOST:,} hands, too many to show.")
    actions = places.moves_of(place.state)
    view: dict[str, Any] = {
        "player": player,
        "actions": [text(places.name_of(place.state, one)) for one in actions],
        "rows": [],
        "columns": [],
        "cells": [],
        "ranks": None,
    }
    hands: dict[str, list[float]] = {}
    for dealt in itertools.product(*choices):
        cards = dict(zip(own, (action for action, _ in dealt), strict=True))
        state = replayed(game, history, cards, len(seers))
        if state is None or places.moves_of(state) != actions:
            continue
        odds = ask(state)
        if odds is not None:
            label = " ".join(sorted(text(_short(name)) for _, name in dealt))
            hands.setdefault(label, [odds.get(one, 0.0) for one in actions])
    view["rows"] = [{"label": k, "probabilities": v} for k, v in hands.items()]
    if len(own) == 2 and all(_CARD.search(name) for one in choices for _, name in one):
        view["ranks"] = _by_ranks(hands)
    other = _other_with_one_card(seers, player)
    if len(own) == 1 and other is not None and tree is not None and policy is not None:
        columns = _outcomes(game, history, other)
        if len(columns) * len(choices[0]) <= _MOST:
            view["columns"] = [text(_short(name)) for _, name in columns]
            view["cells"] = _values(
                tree, history, (own[0], choices[0]), (other, columns), policy, player
            )
            view["rows"] = [
                {"label": text(_short(name)), "probabilities": hands.get(_short(name))}
                for _, name in choices[0]
            ]
    return view


def deals(game: pyspiel.Game, history: Sequence[int]) -> list[int]:
    """For each move of chance at the beginning, who alone sees it.

    A move that nobody or several players see ends the list.
    """
    state, seers = game.new_initial_state(), []
    for action in history:
        if state.is_terminal() or not state.is_chance_node():
            break
        others = [move for move in places.moves_of(state) if move != action]
        if not others:
            break
        pair = state.child(action), state.child(others[0])
        try:
            seen = [
                player
                for player in range(game.num_players())
                if len({one.information_state_string(player) for one in pair}) == 2
            ]
        except Exception:  # games without strings at chance nodes
            break
        if len(seen) != 1:
            break
        seers.append(seen[0])
        state.apply_action(action)
    return seers


def _outcomes(
    game: pyspiel.Game, history: Sequence[int], at: int
) -> list[tuple[int, str]]:
    """What could be dealt at one place if all the deals before were others."""
    found: dict[int, str] = {}
    state = game.new_initial_state()
    # Two different ways to get there know all the cards, whatever was dealt before.
    for way in ("first", "last"):
        state = game.new_initial_state()
        for _ in range(at):
            moves = places.moves_of(state)
            state.apply_action(moves[0 if way == "first" else -1])
        for move in places.moves_of(state):
            found.setdefault(move, places.name_of(state, move))
    return sorted(found.items())


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
        if state.is_terminal():
            return None
        moves = places.moves_of(state)
        if at in cards:
            action = cards[at]
        elif at < num_deals and (action in taken or action not in moves):
            free = [move for move in moves if move not in taken]
            if not free:
                return None
            action = free[0]
        if action not in moves:
            return None
        if at < num_deals:
            taken.add(action)
        state.apply_action(action)
    return None if state.is_terminal() else state


def _short(name: str) -> str:
    """The card in the name of a deal: its last word."""
    card = _CARD.search(name)
    return card[0] if card else re.split(r"[:\s]", name)[-1]


def _other_with_one_card(seers: list[int], player: int) -> int | None:
    for at, seer in enumerate(seers):
        if seer != player and seers.count(seer) == 1:
            return at
    return None


def _values(
    tree: GameTree,
    history: Sequence[int],
    rows: tuple[int, list[tuple[int, str]]],
    columns: tuple[int, list[tuple[int, str]]],
    policy: np.ndarray,
    player: int,
) -> list[list[float | None]]:
    """The player's value for each pair of cards; None for pairs that cannot be."""
    cells = []
    for mine, _ in rows[1]:
        line: list[float | None] = []
        for theirs, _ in columns[1]:
            changed = list(history)
            changed[rows[0]], changed[columns[0]] = mine, theirs
            try:
                node = places.follow(tree.game, tree, changed).node
            except ValueError:  # two players cannot have the same card
                line.append(None)
                continue
            assert node is not None
            line.append(float(places.value_of_node(tree, node, policy)[player]))
        cells.append(line)
    return cells


def _by_ranks(hands: dict[str, list[float]]) -> dict[str, Any]:
    """Two cards each: 13 x 13 ranks, suited above the diagonal and others below."""
    sums: dict[tuple[int, int], list[np.ndarray]] = {}
    for label, odds in hands.items():
        (rank, suit), (other, its) = label.split()
        high, low = sorted((_RANKS.index(rank), _RANKS.index(other)))
        place = (high, low) if suit == its else (low, high)
        sums.setdefault(place, []).append(np.array(odds))
    cells = [[None] * len(_RANKS) for _ in _RANKS]
    for (row, column), found in sums.items():
        cells[row][column] = np.mean(found, axis=0).tolist()
    return {"labels": list(_RANKS), "cells": cells}
