"""What the page shows of a state, of an information set and of all hands, as values for
JSON.

Strings of games go out as they are: the page writes them as text, never as HTML.

Histories and infosets are found without a pass over the tree. A player remembers its
own moves, so all histories of an infoset lie below the same moves of that player, and a
search from the root that follows these moves and tries all of the others' meets few
nodes besides. Only a tree from the cache looks at all its nodes once, when it is first
asked for the way to one.
"""

import bisect
import collections
import contextlib
import itertools
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.whole import TooManyError, levels
from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.exploring.subjects import Candidate, Numbers, part_at
from mccfr_spiel.poker.cards import HAND_NAMES
from mccfr_spiel.poker.study import Study

MOST_MOVES = 2_000
"""Moves that the page knows of a state: all 1,326 hands, among which it searches."""

MOST_HISTORIES = 60
"""Histories shown of an information set."""

_MOST_TEXT = 20_000


# --- where histories and infosets are -------------------------------------------------


def names_of(state: pyspiel.State, moves: Sequence[int]) -> list[str]:
    """All moves at a state as people say them, or their numbers."""
    try:
        return loading.said_at(state, int(state.current_player()), moves)
    except Exception:  # games raise what they like
        return [*map(str, moves)]


def name_of(state: pyspiel.State, action: int) -> str:
    """A move as people say it, or its number."""
    moves = state.legal_actions()
    return names_of(state, moves)[moves.index(action)]


def path_to(state: pyspiel.State) -> list[tuple[int, str]]:
    """For each move before a state the player, and its name."""
    at, path = state.get_game().new_initial_state(), []
    for action in state.history():
        path.append((int(at.current_player()), name_of(at, action)))
        at.apply_action(action)
    return path


def follow(
    game: pyspiel.Game, tree: GameTree | None, history: Sequence[int]
) -> tuple[pyspiel.State, int | None]:
    """The state after a history, and the number of the infoset if a player acts there
    and there is a tree.

    Raises:
        ValueError: a move of the history is not possible.
    """
    state, node = game.new_initial_state(), 0
    for action in history:
        moves = state.legal_actions()
        if action not in moves:
            before = ", ".join(name for _, name in path_to(state)) or "the beginning"
            raise ValueError(
                f"{game} has no move {action} after {before}: the link may be of "
                "another game."
            )
        if tree is not None:
            node = int(tree.nodes[node]["first_child"]) + moves.index(action)
        state.apply_action(action)
    infoset = (
        tree.nodes[node]["infoset"] if tree and state.current_player() >= 0 else -1
    )
    return state, int(infoset) if infoset >= 0 else None


def histories_of(
    tree: GameTree, infoset: int, policy: np.ndarray, most: int
) -> tuple[list[tuple[int, float | None, pyspiel.State]], int]:
    """The `most` probable histories of an infoset, and how many there are besides.

    Of a history the tree's node; how likely the player should take it to be, None if
    the others and chance never play to the infoset; and the game's state.

    Raises:
        TooManyError: the search meets too many nodes.
    """
    infosets, player = tree.infosets, int(tree.infosets[infoset]["player"])
    taken, parent = [], int(infosets[infoset]["parent"])
    while parent >= tree.num_players:
        taken.append(parent)
        above = bisect.bisect_right(infosets["first_sequence"], parent) - 1
        parent = int(infosets[above]["parent"])
    hits: list[tuple[float, int]] = []
    for nodes, weights in levels(tree.arrays, 0, policy, player, taken):
        records = tree.nodes[nodes]
        is_hit = (records["player"] == player) & (records["infoset"] == infoset)
        hits += zip(weights[is_hit].tolist(), nodes[is_hit].tolist(), strict=True)
    hits.sort(key=lambda hit: -hit[0])
    total, found = sum(weight for weight, _ in hits), []
    for weight, node in hits[:most]:
        state, _ = tree.state_at(node)
        found.append((node, weight / total if total > 0 else None, state))
    return found, len(hits) - len(found)


def value_of_node(tree: GameTree, node: int, policy: np.ndarray) -> np.ndarray:
    """`[P]` what the players get on average from a node on.

    Raises:
        TooManyError: too many nodes of one level lie below it.
    """
    total = np.zeros(tree.num_players)
    for nodes, weights in levels(tree.arrays, node, policy):
        ends = tree.nodes["player"][nodes] == TERMINAL
        total += weights[ends] @ tree.utilities[tree.nodes["start"][nodes[ends]]]
    return total


def seen_moves(state: pyspiel.State, seat: int) -> list[bool]:
    """For each possible move, whether a player can tell it from all others; of very
    many moves none is said to be seen."""
    moves = state.legal_actions()
    if len(moves) > _MOST:
        return [False] * len(moves)
    known = [known_to(state.child(move), seat) for move in moves]
    times = collections.Counter(known)
    return [times[one] == 1 for one in known]


# --- what is shown of a state and of an information set -------------------------------


def plain(value: Any) -> Any:
    """An answer for JSON, which has no arrays, no infinity and no NaN. Texts of games
    are cut where they are endless."""
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
        return value if len(value) <= _MOST_TEXT else value[:_MOST_TEXT] + " ..."
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def known_to(state: pyspiel.State, player: int) -> str:
    """What a player knows at a state; nothing if the game does not say."""
    if not state.get_game().get_type().provides_information_state_string:
        return ""  # asked all the same, OpenSpiel would complain on the terminal
    try:
        return state.information_state_string(player)
    except Exception:  # games raise what they like
        return ""


def knowledge(game: pyspiel.Game, player: int, info_state: str) -> dict[str, Any]:
    """An information state, as OpenSpiel has it and as people say it."""
    words = loading.said_info_state(game, player, info_state)
    return {"player": player, "info_state": info_state, "words": words}


def words_known_to(state: pyspiel.State, player: int) -> str:
    """The same as people say it, or what the player sees if there is no more."""
    game, known = state.get_game(), known_to(state, player)
    if not known and game.get_type().provides_observation_string:
        known = state.observation_string(player)
    return loading.said_info_state(game, player, known)


def moves_view(state: pyspiel.State) -> list[dict[str, Any]]:
    """The moves at a state, with their probabilities where chance moves."""
    odds = dict(state.chance_outcomes()) if state.is_chance_node() else {}
    moves = state.legal_actions()
    pairs = zip(moves, names_of(state, moves), strict=True)
    return [
        {"action": move, "name": name, "probability": odds.get(move)}
        for move, name in itertools.islice(pairs, MOST_MOVES)
    ]


def state_view(state: pyspiel.State) -> dict[str, Any]:
    """A state: how it was reached, what the game prints, who acts, the moves."""
    try:
        printed = str(state)
    except Exception:  # games raise what they like
        printed = ", ".join(map(str, state.history()))
    view: dict[str, Any] = {
        "history": state.history(),
        "path": path_to(state),
        "text": printed,
        "player": int(state.current_player()),
        "moves": moves_view(state),
        "left_out": max(len(state.legal_actions()) - MOST_MOVES, 0),
    }
    if state.is_terminal():
        view["returns"] = state.returns()
    return view


def infoset_view(
    candidate: Candidate, state: pyspiel.State, infoset: int | None = None
) -> dict[str, Any]:
    """A policy at a state where a player acts, from the policy alone, with the
    solver's cumulative regrets if there are any.

    Args:
        candidate: the policy.
        state: where a player acts.
        infoset: its number in the tree, if there is a tree.
    """
    odds, player = candidate.probabilities(state), int(state.current_player())
    actions = state.legal_actions()[:MOST_MOVES]
    view = {
        "number": infoset,
        **knowledge(state.get_game(), player, known_to(state, player)),
        "probabilities": None if odds is None else [odds.get(a, 0.0) for a in actions],
    }
    if candidate.regrets is not None:
        regrets = candidate.regrets(state)
        if regrets is not None:
            view["cumulative_regrets"] = regrets[:MOST_MOVES]
    return view


def values_view(tree: GameTree, numbers: Numbers, infoset: int) -> dict[str, Any]:
    """What is known of the actions at an infoset of a whole tree."""
    policy, values, best = (
        part_at(tree, infoset, one)
        for one in (numbers.policy, numbers.values, numbers.best)
    )
    parent = tree.infosets[infoset]["parent"]
    reach, value = float(numbers.reach[infoset]), float(policy @ values)

    def once_there(counterfactual: np.ndarray) -> np.ndarray:
        """NaN for all if the others never lead there."""
        return counterfactual[:MOST_MOVES] / (reach if reach > 0 else np.nan)

    return {
        "visits": None if numbers.visits is None else float(numbers.visits[infoset]),
        "probabilities": policy[:MOST_MOVES],
        "reach": reach * float(numbers.plan[parent]),
        "others_reach": reach,
        "value": once_there(np.array([value]))[0],
        "values": once_there(values),
        "regrets": once_there(values - value),
        "best_values": once_there(best),
        "gain": float(numbers.gains[infoset]),
    }


def belief_view(
    tree: GameTree, policy: np.ndarray, infoset: int, chosen: int = -1
) -> dict[str, Any]:
    """The histories of an infoset, and how likely the player should take each to be.

    Args:
        tree: the whole tree.
        policy: `[S]` over its sequences.
        infoset: its number.
        chosen: a move there; if it is given, each row has its value for the player.

    Raises:
        TooManyError: there are too many to search for.
    """
    found, left_out = histories_of(tree, infoset, policy, MOST_HISTORIES)
    player = int(tree.infosets[infoset]["player"])
    rows = []
    for node, belief, state in found:
        names = [name for _, name in path_to(state)]
        row = {"history": state.history(), "names": names, "belief": belief}
        if chosen >= 0:
            below = int(tree.nodes[node]["first_child"]) + chosen
            row["value"] = float(value_of_node(tree, below, policy)[player])
        rows.append(row)
    return {"rows": rows, "left_out": left_out}


def overview(returns: np.ndarray, best_returns: np.ndarray) -> dict[str, Any]:
    """A policy as a whole, by what the players get `[P]` and could get."""
    gains = np.maximum(best_returns - returns, 0.0)
    nash_conv = float(gains.sum())
    both = {"returns": returns, "best_returns": best_returns}
    return both | {"gains": gains, "nash_conv": nash_conv}


def hand_view(study: Study, state: pyspiel.State) -> dict[str, Any]:
    """A policy of a subgame of hold'em at a decision, with the hand that the player
    has there."""
    history = state.history()
    found = study.decision(history[2:])
    at = int(np.flatnonzero(found.hands == history[found.player])[0])
    value, values = float(found.evs[at]), found.action_evs[at]
    return {
        "number": int(found.infosets[at]),
        **knowledge(study.game, found.player, known_to(state, found.player)),
        "probabilities": found.frequencies[at],
        "value": value,
        "values": values,
        "regrets": values - value,
    }


# --- finding information sets: by text, and the first ones by some number -------------


SHOWN = 25
"""Rows of a list, and of one search."""

LISTS = {
    "reached": "Most reached",
    "gain": "Largest gain of a best response",
    "mixed": "Most mixed",
    "changed": "Differ most from the other policy",
}
"""The lists, by what the page calls them."""

_SECONDS = 0.3
"""Of one search; the page asks to go on."""

_AT_ONCE = 256


def search(tree: GameTree, wanted: str, first: int = 0) -> dict[str, Any]:
    """The infosets whose strings contain a text, as OpenSpiel has them or as people say
    them, capitals or not, from a number on.

    It stops after some rows, or some time, and says where to go on.
    """
    wanted = wanted.casefold()
    found: list[int] = []
    count, at = tree.num_infosets, first
    end = time.monotonic() + _SECONDS
    while at < count and len(found) < SHOWN:
        if at % _AT_ONCE == 0 and time.monotonic() > end:
            break
        string, player = tree.info_state(at), int(tree.infosets[at]["player"])
        words = loading.said_info_state(tree.game, player, string)
        if wanted in f"{string}\n{words}".casefold():
            found.append(at)
        at += 1
    return {"infosets": found, "next": at if at < count else None, "total": count}


def listed(
    numbers: Numbers, tree: GameTree, kind: str, other: Numbers | None
) -> list[tuple[int, float]]:
    """The first infosets by a number, and that number of each.

    Args:
        numbers: of the policy.
        tree: the whole tree.
        kind: of LISTS.
        other: the policy to compare with, for "changed".

    Raises:
        ValueError: there is no such list, or nothing to compare with.
    """
    if kind not in LISTS:
        raise ValueError(f"{kind!r} is none of the lists {', '.join(LISTS)}.")
    chosen = numbers.policy[tree.num_players :]
    starts = tree.infosets["first_sequence"] - tree.num_players
    if kind == "reached":
        amounts = numbers.reach * numbers.plan[tree.infosets["parent"]]
    elif kind == "gain":
        amounts = numbers.gains
    elif kind == "mixed":  # by the entropy in bits
        logs = np.log2(chosen, out=np.zeros_like(chosen), where=chosen > 0)
        amounts = np.add.reduceat(-chosen * logs, starts)
    elif other is None:
        raise ValueError("Choose a second policy to see where the two differ.")
    else:  # by the total variation distance
        apart = np.abs(chosen - other.policy[tree.num_players :]) / 2
        amounts = np.add.reduceat(apart, starts)
    # Of equal amounts the infosets that are met first come first.
    first = np.argsort(-amounts, kind="stable")[:SHOWN]
    return [(int(i), float(amounts[i])) for i in first if amounts[i] > 0]


def row_of(
    tree: GameTree, policy: np.ndarray, infoset: int, visits: np.ndarray | None
) -> dict[str, Any]:
    """An infoset in a list: whose it is, its string, its policy in words, and about how
    often walks came there, if that is known."""
    _, start, _, size, player = tree.infosets[infoset].item()
    legal = tree.actions[start : start + size].tolist()
    names = loading.names_anywhere(tree.game, player, legal)
    if any(map(str.isdecimal, names)):  # a state of it may tell them
        with contextlib.suppress(TooManyError):
            names = names_of(histories_of(tree, infoset, policy, 1)[0][0][2], legal)
    else:
        names = loading.said(tree.game, player, names)
    odds = policy[start : start + size]
    best = np.argsort(-odds, kind="stable")[:3]
    return {
        "infoset": infoset,
        **knowledge(tree.game, player, tree.info_state(infoset)),
        "visits": None if visits is None else float(visits[infoset]),
        "policy": [[names[i], float(odds[i])] for i in best],
        "left_out": max(size - 3, 0),
    }


# --- a policy by private cards, for games that begin by dealing them ------------------
#
# A deal is a move of chance at the beginning that one player alone sees. The grid keeps
# all later moves of a history and replaces the deals.


_MOST = 4_000
"""Hands that a grid has at most, and moves that are told from one another."""

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
    candidate: Candidate,
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
    if math.prod(map(len, choices)) > _MOST:
        raise NoGridError(f"There are more than {_MOST:,} hands, too many to show.")
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
