"""Poker spots as JSON: the grid of hands at a decision, and the report of runouts."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mccfr_spiel.arenas.worlds.public_tree import DECISION, FOLD, SHOWDOWN
from mccfr_spiel.exploring.grids import NoGridError, by_ranks
from mccfr_spiel.poker.betting import chips
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS
from mccfr_spiel.poker.decision import Decision
from mccfr_spiel.poker.made_hands import DRAWS, MADE, draws, made_hands
from mccfr_spiel.poker.runouts import rows_by_card
from mccfr_spiel.poker.study import Study
from mccfr_spiel.poker.subgames import Subgame, compatible

_NEVER = 1e-100
"""Weight of hands that the player never holds at a decision, so that all cells have a
mean."""

_KEPT_DECISIONS = 32
"""Decisions in the cache. Equities on a flop take about a second."""


def title_of(subgame: Subgame) -> str:
    """The heading of a spot: "River Ks7d4c2s9h, pot 100, stacks 300"."""
    street = ("Flop", "Turn", "River")[len(subgame.board) - 3]
    pot, stack = chips(subgame.betting.pot), chips(subgame.betting.stack)
    return f"{street} {subgame.board_text}, pot {pot}, stacks {stack}"


@functools.lru_cache(maxsize=_KEPT_DECISIONS)
def _decision(study: Study, history: tuple[int, ...]) -> Decision:
    return study.decision(history)


def grid_of_hands(
    study: Study, history: Sequence[int], made: str = "", draw: str = ""
) -> dict[str, Any]:
    """The policy of a hold'em subgame at a decision, for all hands.

    Each hand has its weight, frequencies, EVs and equity. `ranks` has the same by
    ranks; each cell holds the frequencies followed by the columns that `extras` names.

    Args:
        study: the policy.
        history: the two dealt hands, which do not matter, and the moves after them.
        made: only hands with this name in `MADE`; "" for all.
        draw: only hands with this name in `DRAWS`; "" for all.

    Raises:
        NoGridError: no player acts after the history, or no hand passes the filters.
    """
    try:
        decision = _decision(study, tuple(history[2:]))
    except ValueError as error:
        raise NoGridError(str(error)) from error
    all_made = made_hands(decision.hands, decision.board)
    all_draws = draws(decision.hands, decision.board)
    pairs = zip(all_made, all_draws, strict=True)
    shown = [made in ("", one) and draw in ("", other) for one, other in pairs]
    kept = np.flatnonzero(shown)
    actions, frequencies = decision.actions, decision.frequencies[kept]
    weights = decision.weights[decision.player, decision.hands]
    largest = weights.max(initial=0.0)
    shares = (weights / largest if largest > 0 else weights)[kept]
    equities, evs = decision.equities()[kept], decision.evs[kept]
    extras = np.stack((shares, equities, evs), axis=1)
    names = [HAND_NAMES[hand] for hand in decision.hands[kept]]
    keys = "label", "weight", "equity", "value", "probabilities", "values"
    rows = zip(names, *extras.T, frequencies, decision.action_evs[kept], strict=True)
    columns = np.hstack((frequencies, extras))
    # Hands of weight 0 get a tiny weight, so that all cells have a mean. The mean of
    # the weight column is unweighted.
    parts = np.repeat(
        np.maximum(weights[kept], _NEVER)[:, None], columns.shape[1], axis=1
    )
    parts[:, len(actions)] = 1.0
    masses = decision.masses(decision.player)[decision.hands]
    total = masses[kept].sum()
    first = 0 if actions[0] == "Fold" else 1
    deal = list(history[:2]) if len(history) > 1 else study.subgame.likely_deal()
    return {
        "player": decision.player,
        "next": [[*deal, *history[2:], first + k] for k in range(len(actions))],
        "actions": list(actions),
        "extras": ["Range", "Equity", "EV"],
        "words": decision.words,
        "board": [DECK[card] for card in decision.board],
        "totals": [
            masses[kept] @ column / total if total > 0 else None
            for column in np.nan_to_num(frequencies).T
        ],
        "share": total / masses.sum() if total > 0 else None,
        "evs": decision.node_evs(),
        "equities": decision.node_equities(),
        "starting_pot": study.subgame.betting.pot,
        "pot": decision.pot,
        "stacks": list(decision.stacks),
        "made": [name for name in MADE if name in all_made],
        "draws": [name for name in DRAWS if name in all_draws],
        "rows": [
            dict(zip(keys, row, strict=True))
            | {"made": all_made[k], "draw": all_draws[k]}
            for row, k in zip(rows, kept, strict=True)
        ],
        "ranks": by_ranks(names, columns, parts),
    }


@functools.lru_cache(maxsize=4)
def _rows_by_card(study: Study, history: tuple[int, ...]) -> list[dict[str, Any]]:
    return rows_by_card(study, history)


def report_of_runouts(study: Study, history: Sequence[int]) -> dict[str, Any]:
    """The report over the next cards, if the history ends at a deal. Where nobody acts
    any more, "none" gives the reason instead.

    Args:
        study: the policy.
        history: the two dealt hands and the moves after them.

    Raises:
        NoGridError: an action or card is impossible.
    """
    steps = tuple(history[2:])
    try:
        node, known = study.next_deal(steps)
    except ValueError as error:
        raise NoGridError(str(error)) from error
    betting = study.subgame.betting
    place = {
        "board": [DECK[card] for card in known],
        "words": study.words_of(steps),
        "starting_pot": betting.pot,
        "pot": betting.pot + sum(node.paid),
        "stacks": [betting.stack - paid for paid in node.paid],
    }
    if node.kind == FOLD:
        return place | {"none": f"Player {node.player} has folded."}
    if node.kind == SHOWDOWN:
        return place | {"none": "Showdown: the better hand wins the pot."}
    if study.subgame.nodes[node.children[0]].kind != DECISION:
        return place | {"none": "All chips are in the pot: nobody acts any more."}
    rows = _rows_by_card(study, steps)
    fixed = {"card", "probability", "ev0", "ev1", "equity0", "equity1"}
    return place | {
        "rows": rows,
        "actions": [name for name in rows[0] if name not in fixed],
        "next": {row["card"]: _dealt(study, history, row["card"]) for row in rows},
    }


def _dealt(study: Study, history: Sequence[int], card: str) -> list[int]:
    """The history after a card. Hands that contain the card are replaced by the most
    likely ones, because the page shows a state with dealt hands."""
    number, steps = DECK.index(card), list(history[2:])
    hands = list(history[:2])
    if number in HANDS[hands]:
        decision = _decision(study, (*steps, number))
        first = int(decision.masses(0).argmax())
        second = np.where(compatible()[first], decision.weights[1], 0.0)
        hands = [first, int(second.argmax())]
    return [*hands, *steps, number]
