"""Errors in compiled rules ("faults"): statuses, compiled checks, and messages.

| status | fault |
|---|---|
| TOO_LONG | a history is longer than declared |
| NO_ACTIONS | a player or chance has no move |
| BAD_PLAYER | the acting player does not exist |
| BAD_KEY | an information key exceeds `Sizes.key` |
| OTHER_ACTIONS | states of one infoset have different legal actions |
| NO_RECALL | a player reaches an infoset after different own pasts |
| BAD_CHANCE | chance probabilities are no distribution |
| BAD_RETURNS | returns contradict the declarations |
| TOO_MANY_CHILDREN | a node has more moves than a stored node can have |
| BAD_ACTIONS | moves are repeated, out of range, or (of players) not ascending |
| OVERRUN | `legal_actions` lists more moves than declared |

Compiled loops return these statuses because compiled code must not raise. `complaint`
makes the error message of a status.
"""

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.game_description import CHANCE, MAX_KEY_VALUES
from mccfr_spiel.common.arrays import MAX_CHILDREN
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.refusals import RECALL_WAY_OUT
from mccfr_spiel.kernels.jit import jit

DONE = 0
(
    TOO_LONG,
    NO_ACTIONS,
    BAD_PLAYER,
    BAD_KEY,
    OTHER_ACTIONS,
    NO_RECALL,
    BAD_CHANCE,
    BAD_RETURNS,
    TOO_MANY_CHILDREN,
    BAD_ACTIONS,
    OVERRUN,
) = range(1, 12)
"""Statuses of wrong rules; see the table above."""


@jit
def check_infoset(infosets, actions, infoset, parent, legal, count):
    """Checks that a state agrees with the record of its infoset.

    Args:
        infosets: `[I]` INFOSET.
        actions: `[S]` action of each sequence.
        infoset: number of the infoset.
        parent: the player's last sequence before the state.
        legal: legal actions of the state.
        count: number of legal actions.

    Returns:
        DONE; OTHER_ACTIONS if the legal actions differ from those of the infoset;
            NO_RECALL if the parent sequence differs.
    """
    if infosets[infoset]["num_actions"] != count:
        return OTHER_ACTIONS
    first = infosets[infoset]["first_sequence"]
    for k in range(count):
        if actions[first + k] != legal[k]:
            return OTHER_ACTIONS
    return DONE if infosets[infoset]["parent"] == parent else NO_RECALL


@jit
def ascends(actions, count, stop):
    """Returns whether actions[:count] are strictly ascending and in 0 .. stop - 1."""
    last = np.int64(-1)
    k = 0
    while k < count and actions[k] > last:
        last = actions[k]
        k += 1
    return k >= count and last < stop


@jit
def differ(outcomes, count, stop):
    """Returns whether outcomes[:count] are distinct and in 0 .. stop - 1.

    The order of chance outcomes is arbitrary. Nearly every game lists them in ascending
    order, so this case is tested first.
    """
    if ascends(outcomes, count, stop):
        return True
    for k in range(count):
        if outcomes[k] < 0 or outcomes[k] >= stop:
            return False
        for earlier in range(k):
            if outcomes[earlier] == outcomes[k]:
                return False
    return True


@jit
def fits(key, key_sizes, length):
    """Returns whether all elements of an information key are in range.

    Element key[k], for k from 1 to length - 1, must be in 0 .. key_sizes[k - 1] - 1.
    key[0] is the player.
    """
    k = 1
    while k < length and 0 <= key[k] < key_sizes[k - 1]:
        k += 1
    return k >= length


@jit
def sum_up(probs, count, cdf):
    """Writes the cumulative sums of probs[:count] to `cdf`, and checks the
    probabilities.

    From the last outcome with a positive probability on, the sums are set to exactly 1.
    So a draw just below 1 selects an outcome in spite of rounding errors.

    Returns:
        Whether probs[:count] is a probability distribution.
    """
    total = 0.0
    last = 0
    for k in range(count):
        # The negation also rejects NaN.
        if not probs[k] >= 0.0:
            return False
        if probs[k] > 0.0:
            last = k
        total += probs[k]
        cdf[k] = total
    for k in range(last, count):
        cdf[k] = 1.0
    return abs(total - 1.0) <= 1e-6


def no_recall(player: str, where: str) -> GameError:
    """Returns the error for an infoset that a player reaches after different own pasts.

    Args:
        player: name of the player, at the beginning of the message.
        where: description of the information state and the game.
    """
    return GameError(
        f"{player} reaches {where} after different own pasts (own moves or what "
        "was seen between them): the game has imperfect recall, for which these "
        f"solvers have no guarantee. {RECALL_WAY_OUT}"
    )


def complaint(status: int, rules: BoundRules, state: np.ndarray, longest: int) -> str:
    """Returns a message that describes the fault that stopped a walk, and how to
    correct it.

    Args:
        status: one of the statuses above, except DONE.
        rules: rules of the game.
        state: state vector at which the walk stopped.
        longest: declared length of the longest history, for TOO_LONG.
    """
    game = rules.description.short_name
    text = rules.description.words.state(rules.parameters, state)
    where = f"{brief(game)} at the state {text!r}"
    if status == TOO_LONG:
        return (
            f"{where}: the history is longer than Sizes.max_moves + "
            f"Sizes.max_chance_moves = {longest}."
        )
    player = rules.acting(state)
    if status == NO_ACTIONS and player == CHANCE:
        return (
            f"{where}: chance has no outcomes. List them in legal_actions, and "
            "their probabilities in chance_probs."
        )
    if status == NO_ACTIONS:
        return f"{where}: player {player} has no legal action."
    if status == BAD_PLAYER:
        return (
            f"{where}: player {player} acts. Expected a player (0 .. "
            f"{rules.num_players - 1}), CHANCE or TERMINAL."
        )
    if status == OVERRUN:
        return (
            f"{where}: legal_actions returns more than {rules.sizes.max_children} "
            "moves and hence writes outside of the buffer. Correct it, or "
            "Sizes.num_actions and Sizes.max_chance_outcomes."
        )
    if status == BAD_ACTIONS:
        stop, size = rules.sizes.num_actions, "num_actions"
        order = " ascending,"
        if player == CHANCE:
            stop, size = rules.sizes.max_chance_outcomes, "max_chance_outcomes"
            order = ""
        return (
            f"{where}: legal_actions lists {rules.legal_actions(state)}. Moves must be "
            f"distinct,{order} and in 0 .. {stop - 1} (Sizes.{size})."
        )
    if status == TOO_MANY_CHILDREN:
        return f"{where}: more than {MAX_CHILDREN} moves. Split the move into two."
    if status == BAD_CHANCE:
        outcomes = rules.chance_outcomes(state)
        return f"{where}: the probabilities are no distribution: {outcomes}."
    if status == BAD_RETURNS:
        return f"{where}: the returns are {rules.returns(state)}."
    key = rules.info_key(state, player)
    string = rules.info_state(player, key)
    if status == NO_RECALL and rules.spell is not None:  # a twin of OpenSpiel's game
        title = brief(rules.description.long_name)
        where = f"the information state {string!r} of {title}"
        return str(no_recall(f"Player {player}", where))
    where = f"{where} with the information state {string!r}"
    if status == BAD_KEY:
        return (
            f"{where}: the information key {key.tolist()} exceeds Sizes.key = "
            f"{rules.sizes.key} (at most {MAX_KEY_VALUES} values each)."
        )
    if status == OTHER_ACTIONS:
        return (
            f"{where}: the legal actions are {rules.legal_actions(state)}, but other "
            "states with this string have other legal actions."
        )
    return (
        f"{where}: player {player} reaches it after different own pasts (own moves or "
        "what was seen between them): the game has imperfect recall, for which these "
        "solvers have no guarantee. Write all actions and observations of the player "
        "in info_key."
    )
