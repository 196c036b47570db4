"""Faults of compiled rules: their statuses, the checks that find them, and messages."""

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
"""What a game's rules do wrong, which `complaint` says in words."""


@jit
def check_infoset(infosets, actions, infoset, parent, legal, count):
    """Compares a known infoset with the one met again.

    Returns:
        DONE if it has the same parent sequence and the actions legal[:count], else the
        status that says what is different.
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
    """Whether actions[:count] are different, ascending, and in 0 .. stop - 1."""
    last = np.int64(-1)
    k = 0
    while k < count and actions[k] > last:
        last = actions[k]
        k += 1
    return k >= count and last < stop


@jit
def differ(outcomes, count, stop):
    """Whether outcomes[:count] are different and in 0 .. stop - 1.

    Chance may list its outcomes in any order, though nearly every game has them ascend,
    which is seen at once.
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
    """Whether key[1:length] keeps to the sizes that its game declares."""
    k = 1
    while k < length and 0 <= key[k] < key_sizes[k - 1]:
        k += 1
    return k >= length


@jit
def sum_up(probs, count, cdf):
    """Writes the running sums of probs[:count] into cdf.

    The sums from the last possible outcome on are set to exactly 1, so that rounding
    cannot leave a gap into which a draw might fall.

    Returns:
        Whether probs[:count] is a distribution.
    """
    total = 0.0
    last = 0
    for k in range(count):
        if not probs[k] >= 0.0:
            return False
        if probs[k] > 0.0:
            last = k
        total += probs[k]
        cdf[k] = total
    for k in range(last, count):
        cdf[k] = 1.0
    return abs(total - 1.0) <= 1e-6


def no_recall(player: int, where: str) -> GameError:
    """The error for a player who reaches an information state after different pasts.

    Args:
        player: that player.
        where: the information state and the game, in words.
    """
    return GameError(
        f"Player {player} reaches {where} after different own pasts (own moves or what "
        "was seen between them): the game has imperfect recall, for which these "
        f"solvers have no guarantee. {RECALL_WAY_OUT}"
    )


def complaint(status: int, rules: BoundRules, state: np.ndarray, longest: int) -> str:
    """Says what is wrong where a walk stopped, and what to do about it.

    Args:
        status: one of the constants above.
        rules: the game's.
        state: the state there.
        longest: the moves of the longest history, for TOO_LONG.
    """
    game = rules.description.short_name
    words = rules.description.words.state(rules.parameters, state)
    where = f"{brief(game)} at the state {words!r}"
    if status == TOO_LONG:
        return (
            f"{where}: the history is longer than Sizes.max_moves + "
            f"Sizes.max_chance_moves = {longest}."
        )
    player = rules.acting(state)
    if status == NO_ACTIONS and player == CHANCE:
        return (
            f"{where}: chance has no outcomes. legal_actions lists them, as it lists "
            "players' actions; chance_probs gives their probabilities."
        )
    if status == NO_ACTIONS:
        return f"{where}: player {player} has no legal action."
    if status == BAD_PLAYER:
        return f"{where}: player {player} acts, neither a player, CHANCE nor TERMINAL."
    if status == OVERRUN:
        return (
            f"{where}: legal_actions returns more than the {rules.sizes.max_children} "
            "actions that Sizes.num_actions and Sizes.max_chance_outcomes allow, and "
            "so writes outside of its memory."
        )
    if status == BAD_ACTIONS:
        stop, size = rules.sizes.num_actions, "num_actions"
        order = " ascending,"
        if player == CHANCE:
            stop, size = rules.sizes.max_chance_outcomes, "max_chance_outcomes"
            order = ""
        return (
            f"{where}: legal_actions lists {rules.legal_actions(state)}; they must be "
            f"different,{order} and in 0 .. {stop - 1} (Sizes.{size})."
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
    if status == NO_RECALL and rules.spell is not None:  # OpenSpiel's, not a user's
        its_game = brief(rules.description.long_name)
        return str(no_recall(player, f"the information state {string!r} of {its_game}"))
    where = f"{where} with the information state {string!r}"
    if status == BAD_KEY:
        return (
            f"{where}: the information key {key.tolist()} exceeds Sizes.key = "
            f"{rules.sizes.key} (at most {MAX_KEY_VALUES} values each)."
        )
    if status == OTHER_ACTIONS:
        return (
            f"{where}: other states with it have other legal actions than "
            f"{rules.legal_actions(state)}."
        )
    return (
        f"{where}: player {player} reaches it after different own pasts (own moves or "
        "what was seen between them): the game has imperfect recall, for which these "
        "solvers have no guarantee. Let info_key remember all that the player did and "
        "saw."
    )
