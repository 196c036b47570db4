"""Compiled rules of the game that one player faces while the others follow policies.

The moves of the others are moves of chance there, with the probabilities that their
policies give. So walks over rules (rules/played.py) learn a response as they learn
anything else.

The rules are those of the game, each with a function around it. A rule gets nothing but
`settings` and the state, so the settings of these rules are no numbers: their bits are
a frame (compiled/frame.py) of the addresses of all that the functions need, `Fixed`.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba.extending import overload

from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.evaluation.rule_plays import Rows, infoset_to_ask, is_odd
from mccfr_spiel.rules.description import (
    CHANCE,
    SPARE,
    BoundRules,
    Rules,
    compiled,
)
from mccfr_spiel.rules.kernel import (
    ACTING,
    APPLY_ACTION,
    CHANCE_PROBS,
    INFO_KEY,
    LEGAL_ACTIONS,
    RETURNS,
    SPELL,
    call,
    callable_rules,
)
from mccfr_spiel.twins.twin import BoundTwin

_LONG = np.dtype(np.int64)
_FLOAT, _UNSIGNED = np.dtype(np.float64), np.dtype(np.uint64)


class Fixed(NamedTuple):
    """What the functions around the rules need; I and S count what policies know."""

    settings: Annotated[np.ndarray, Entry(_FLOAT, "[K]", "of the game")]
    called: Annotated[np.ndarray, Entry(_LONG, "[SPELL + 1]", "see `_rules_at`")]
    player: Annotated[np.ndarray, Entry(_LONG, "[1]", "who follows no policy")]
    moves: Annotated[np.ndarray, Entry(_LONG, "[A]", "a buffer for a player's moves")]
    key: Annotated[np.ndarray, Entry(_LONG, "[K + 1]", "a buffer for a key")]
    text: Annotated[np.ndarray, Entry(np.dtype(np.uint8), "[T]", "see `new_text`")]
    hashes: Annotated[np.ndarray, Entry(_UNSIGNED, "[I]", "see Rows")]
    starts: Annotated[np.ndarray, Entry(_LONG, "[I]", "see Rows")]
    counts: Annotated[np.ndarray, Entry(_LONG, "[I]", "see Rows")]
    actions: Annotated[np.ndarray, Entry(_LONG, "[S]", "see Rows")]
    probs: Annotated[np.ndarray, Entry(_FLOAT, "[S]", "see Rows")]


_LAYOUT = Layout(Fixed)
views = _LAYOUT.viewer()

_plain: dict[int, Any] = {}
"""With the JIT off, the functions that stand for addresses, by these."""


def rules_at(called: Any) -> Any:
    """The rules as `call` takes them, of their addresses `[SPELL + 1]`."""
    return tuple(_plain.get(address, 0) for address in called.tolist())


@overload(rules_at)
def _compiled_rules_at(called):
    return lambda called: (
        called[0],
        called[1],
        called[2],
        called[3],
        called[4],
        called[5],
        called[6],
        called[7],
    )


@compiled
def _start(settings, state):
    """Never called: the first state is the game's."""


@compiled
def _acting(settings, state):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    acting = call(rules[ACTING], ACTING, (fixed.settings, state))
    return CHANCE if acting >= 0 and acting != fixed.player[0] else acting


@compiled
def _legal_actions(settings, state, actions):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    asked = fixed.settings, state, actions
    return call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, asked)


@compiled
def _chance_probs(settings, state, probs):
    """Those of chance, or of the policy of the player who acts; no distribution at all
    if the policy does not fit the state."""
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    acting = call(rules[ACTING], ACTING, (fixed.settings, state))
    if acting < 0:
        call(rules[CHANCE_PROBS], CHANCE_PROBS, (fixed.settings, state, probs))
        return
    asked = fixed.settings, state, fixed.moves
    count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, asked)
    rows = Rows(
        hashes=fixed.hashes,
        starts=fixed.starts,
        counts=fixed.counts,
        actions=fixed.actions,
        probs=fixed.probs,
    )
    number = infoset_to_ask(
        rules,
        fixed.settings,
        state,
        acting,
        fixed.key,
        fixed.text,
        rows,
    )
    fits = number == -1 or (
        number >= 0 and not is_odd(rows, number, fixed.moves, count)
    )
    for k in range(count):
        if not fits:
            probs[k] = np.nan
        elif number < 0:  # what holds where no policy has met the state
            probs[k] = 1.0 / count
        else:
            probs[k] = rows.probs[rows.starts[number] + k]


@compiled
def _apply_action(settings, state, action):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    call(rules[APPLY_ACTION], APPLY_ACTION, (fixed.settings, state, action))


@compiled
def _info_key(settings, state, player, key):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    return call(rules[INFO_KEY], INFO_KEY, (fixed.settings, state, player, key))


@compiled
def _returns(settings, state, returns):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    call(rules[RETURNS], RETURNS, (fixed.settings, state, returns))


@compiled
def _spell(settings, player, key, length, text):
    fixed = views(settings.view(np.int64), Fixed)
    rules = rules_at(fixed.called)
    asked = fixed.settings, player, key, length, text
    return call(rules[SPELL], SPELL, asked)


_RULES = Rules(
    start=_start,
    acting=_acting,
    legal_actions=_legal_actions,
    chance_probs=_chance_probs,
    apply_action=_apply_action,
    info_key=_info_key,
    returns=_returns,
)


class FixedRules(BoundRules):
    """Rules of a game in which all players but one follow policies."""

    def __init__(self, rules: BoundRules, player: int, rows: Rows) -> None:
        """Puts functions around a game's rules.

        Args:
            rules: the game's.
            player: who follows no policy.
            rows: what the policies of the others say.
        """
        sizes = rules.sizes
        self._rules = rules  # keeps the code that is called alive
        called = callable_rules(rules)
        addresses = [*called]
        if not IS_COMPILED:
            addresses = [id(rule) for rule in called]
            _plain.update(zip(addresses, called, strict=True))
        key_size = len(sizes.key) + 1
        self._fixed = Fixed(
            rules.settings,
            np.array(addresses, np.int64),
            np.array([player]),
            np.zeros(sizes.max_children + SPARE, np.int64)[: sizes.max_children],
            np.zeros(key_size + SPARE, np.int64)[:key_size],
            rules.new_text(),
            *rows,
        )
        self.description = rules.description._replace(rules=_RULES)
        self.parameters = rules.parameters
        self.sizes = sizes._replace(max_chance_outcomes=sizes.max_children)
        self.settings = _LAYOUT.frame_of(self._fixed).view(np.float64)
        self.spell = None if rules.spell is None else _spell
        self.text_size = rules.text_size

    def start(self) -> np.ndarray:
        """The first state."""
        return self._rules.start()


class FixedTwin(FixedRules, BoundTwin):
    """The same for a twin, whose infosets have the strings of OpenSpiel's game."""

    def __init__(self, rules: BoundTwin, player: int, rows: Rows) -> None:
        """As `FixedRules`."""
        FixedRules.__init__(self, rules, player, rows)
        self.twin = rules.twin._replace(spell=_spell)


def fixed_rules(rules: BoundRules, player: int, rows: Rows) -> FixedRules:
    """The rules of the game that a player faces, see `FixedRules`."""
    if isinstance(rules, BoundTwin):
        return FixedTwin(rules, player, rows)
    return FixedRules(rules, player, rows)
