"""A game of compiled rules that makes one mistake, and what is said of it.

A coin falls, player 0 sees it and acts, then player 1, who saw player 0's action. The
parameter `fault` says which mistake is made, after action 1 alone where that can be.
"""

import enum

import numpy as np

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    BoundRules,
    Parameter,
    Sizes,
    compiled,
    described,
)
from mccfr_spiel.arenas.rules.game import register

Fault = enum.IntEnum(
    "Fault",
    "NONE ZERO_SUM RANGE OVERFLOW TWICE BEYOND CHANCE_TWICE CHANCE_NONE MANY LONG_KEY "
    "STATE WORDS RECALL ACTIONS CHANCE_PROBS RETURNS PLAYER NO_ACTION LONG "
    "CHANCE_DESCENDS",
    start=0,
)
FAULTS = tuple(fault.name.lower() for fault in Fault)
FAULT = 0
COUNT, MOVES = 0, 1


@compiled
def start(settings, state):
    pass


@compiled
def acting(settings, state):
    fault = settings[FAULT]
    if state[COUNT] == 3 and not (fault == Fault.LONG and is_there(state)):
        return TERMINAL
    if fault == Fault.PLAYER and is_there(state):
        return 7
    if state[COUNT] == 3 or (fault == Fault.RECALL and state[COUNT] == 2):
        return 0
    return state[COUNT] - 1 if state[COUNT] else CHANCE


@compiled
def is_there(state):
    return state[COUNT] >= 2 and state[MOVES] == 1 and state[MOVES + 1] == 1


@compiled
def legal_actions(settings, state, actions):
    fault = settings[FAULT]
    actions[0] = 0
    actions[1] = 1
    if state[COUNT] == 0:
        if fault == Fault.CHANCE_TWICE:
            actions[0] = 1
        if fault == Fault.CHANCE_NONE:
            return 0
        if fault == Fault.CHANCE_DESCENDS:  # which is no fault
            actions[0] = 1
            actions[1] = 0
    if state[COUNT] == 2 and state[MOVES + 1] == 1:
        if fault == Fault.TWICE:
            actions[0] = 1
        if fault == Fault.BEYOND:
            actions[1] = 2
        if fault == Fault.MANY:
            return 3
        if fault == Fault.NO_ACTION:
            return 0
        if fault == Fault.ACTIONS and state[MOVES] == 1:
            return 1
    return 2


@compiled
def chance_probs(settings, state, probs):
    probs[0] = 0.5
    probs[1] = 0.75 if settings[FAULT] == Fault.CHANCE_PROBS else 0.5


@compiled
def apply_action(settings, state, action):
    state[MOVES + state[COUNT]] = action
    state[COUNT] += 1
    if settings[FAULT] == Fault.STATE and is_there(state):
        remember(state)


@compiled
def remember(state):
    state[4] = 1  # the first entry that Sizes.state does not have


@compiled
def info_key(settings, state, player, key):
    """Player 0 knows all, player 1 all but the coin."""
    length = 0
    for k in range(player, state[COUNT]):
        key[length] = state[MOVES + k]
        length += 1
    if settings[FAULT] == Fault.LONG_KEY and is_there(state):
        return 4
    if settings[FAULT] == Fault.RECALL and player == 0:
        key[1] = 0  # the own action
    return length


@compiled
def returns(settings, state, returns):
    fault = settings[FAULT]
    value = 1.0 if state[MOVES + 2] == 1 else -1.0
    returns[0] = value
    returns[1] = -value
    if is_there(state) and state[MOVES + 2] == 0:
        if fault == Fault.ZERO_SUM:
            returns[1] = 0.5
        if fault == Fault.RANGE:
            returns[0] = 3.0
            returns[1] = -3.0
        if fault == Fault.OVERFLOW:
            returns[0] = 1.7e308
            returns[1] = -1.7e308
        if fault == Fault.RETURNS:
            returns[0] = np.inf
            returns[1] = -np.inf


def sizes(parameters):
    most = 1.7e308 if parameters["fault"] == "overflow" else 1.0
    return Sizes(
        state=4,
        num_actions=2,
        max_chance_outcomes=2,
        max_moves=2,
        max_chance_moves=1,
        key=(2, 2, 2),
        min_utility=-most,
        max_utility=most,
    )


def info_state_words(parameters, player, key):
    shown = key[1:] if parameters["fault"] == "words" else key
    return f"of {len(key)}: {shown}"


def state_words(parameters, state):
    return f"moves {state[MOVES : MOVES + state[COUNT]]}"


def action_words(parameters, player, action):
    return f"{player} {action}"


def observation(parameters, state, player):
    return {}


MISTAKEN = described(
    "python_mistaken",
    "Mistaken",
    globals(),
    {"fault": Parameter("none", choices=FAULTS)},
)
register(MISTAKEN)

EXPANDED = {
    "zero_sum": (r"add up to 0, .*\[-1.0, 0.5\].*Description.utility_sum", [1, 1, 0]),
    "range": (r"declared range -1 .. 1", [1, 1, 0]),
    "overflow": (r"at most 1e\+100", [1, 1, 0]),
    "twice": (r"lists \[1, 1\]; they must be different, ascending", [0, 1]),
    "beyond": (r"lists \[0, 2\].*in 0 .. 1 \(Sizes.num_actions\)", [0, 1]),
    "chance_twice": (r"lists \[1, 1\].*\(Sizes.max_chance_outcomes\)", []),
    "chance_none": (r"chance has no outcomes. legal_actions lists them", []),
    "many": (r"more than the 2 actions", [0, 1]),
    "long_key": (r"exceeds Sizes.key", [1, 1]),
    "recall": (r"at the state 'moves .*imperfect recall", [0, 1]),
    "actions": (r"at the state 'moves .*other legal actions", [1, 1]),
    "chance_probs": (r"at the state 'moves .*no distribution", []),
    "returns": (r"the returns .*\[inf, -inf\]", [1, 1, 0]),
    "player": (r"at the state 'moves .*player 7 acts", [1, 1]),
    "no_action": (r"at the state 'moves .*has no legal action", [0, 1]),
    "long": (r"at the state 'moves .*longer than", [1, 1, 0]),
}
"""What the compiled loop says; of `words` and `state` it knows nothing."""

ON_SECOND_MEETING = ("recall", "actions")
"""These are seen where an infoset is met again, which walks do in an order of theirs.
"""


def of_fault(fault):
    return BoundRules(MISTAKEN, {"fault": fault})
