"""Plays of policies over a game's compiled rules, without OpenSpiel's states.

The draws are those of plays through pyspiel, in the same order: one for each move, of
chance or of a player. So the returns are the same, to the bit. What the policies of all
players say is found by hashes of 64 bits: of the player and the information key or, for
a twin, of the player and the information-state string. So it does not matter where a
policy of OpenSpiel's game has been learned.

Compiled rules of the game that one player faces while the others follow policies.

The moves of the others are moves of chance there, with the probabilities that their
policies give. So walks over rules (rules/played.py) learn a response as they learn
anything else.

The rules are those of the game, each with a function around it. A rule gets nothing but
`settings` and the state, so the settings of these rules are no numbers: their bits are
a frame (compiled/frame.py) of the addresses of all that the functions need, `Fixed`.
"""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyspiel
from numba.extending import overload

from mccfr_spiel.compiled.frame import Entry, Layout
from mccfr_spiel.compiled.jit import IS_COMPILED, jit
from mccfr_spiel.kernels.sampling import draw_action
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.rules.description import (
    CHANCE,
    SPARE,
    TERMINAL,
    BoundRules,
    Rules,
    compiled,
    rules_of,
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
    row_hash,
)
from mccfr_spiel.storage.checkpoint import pack_strings
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import same_game
from mccfr_spiel.tree.twin_trees import known_twin
from mccfr_spiel.twins.twin import BoundTwin

_DRAWS = 1 << 16
"""Numbers drawn at a time."""

_DONE, _NO_DRAWS, _ODD = range(3)


class Layer(NamedTuple):
    """What a policy says at some infosets.

    Attributes:
        infosets: `[I]` of dtype INFOSET.
        hashes: `[I]` uint64, see `hashes_of`.
        actions: `[S]` the action of each sequence.
        probs: `[S]` its probability.
    """

    infosets: np.ndarray
    hashes: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


class Rows(NamedTuple):
    """Layers joined.

    Attributes:
        hashes: `[I]` uint64, see `hashes_of`, ascending.
        starts, counts: `[I]` int64, where its actions begin, and how many it has.
        actions, probs: `[S]` int64 and float64.
    """

    hashes: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


def rules_to_play(game: pyspiel.Game, twin: bool | None) -> BoundRules | None:
    """The compiled rules over which plays may go: the game's, or its twin's if the tree
    is large or the twin is wanted; None if there are none."""
    return GameTree(game, twin=twin).rules_for_walks()


def layers_of(policy: Any, game: pyspiel.Game) -> list[Layer] | None:
    """What a policy says, the layers that go first before others; None if it cannot be
    told from tables of this game alone."""
    if not isinstance(policy, SequencePolicy):
        found = getattr(policy, "layers", None)
        return None if found is None else found(game)
    tree = policy.tree
    if not isinstance(tree, GameTree) or tree.abstraction is not None:
        return None
    if not (tree.source is game or same_game(tree.source, game)):
        return None
    hashes = hashes_of(tree, policy.num_infosets)
    if hashes is None:
        return None
    infosets, actions = tree.infosets, tree.actions
    return [
        Layer(
            infosets=infosets[: policy.num_infosets],
            hashes=hashes,
            actions=actions[: len(policy.vector)],
            probs=policy.vector,
        )
    ]


def hashes_of(tree: GameTree, count: int) -> np.ndarray | None:
    """`[count]` the hashes by which plays find the first infosets of a tree; None if
    there are none: the game has no twin, or the tree does not use the game's rules."""
    if rules_of(tree.game) is not None:
        return None if tree.rules is None else tree.infosets["place"][:count]
    if known_twin(tree.game) is None:
        return None
    packed = pack_strings(itertools.islice(tree.infoset_names, count))
    players = tree.infosets["player"][:count].astype(np.uint8)
    hashes = np.zeros(count, np.uint64)
    _hash_strings(packed["text"], packed["ends"], players, hashes)
    return hashes


@jit
def _hash_strings(text, ends, players, hashes):
    """Hashes each player with the string behind it."""
    start = 0
    for infoset in range(len(ends)):
        row = np.empty(1 + ends[infoset] - start, np.uint8)
        row[0] = players[infoset]
        row[1:] = text[start : ends[infoset]]
        hashes[infoset] = row_hash(row, len(row))
        start = ends[infoset]


def rows_of(
    game: pyspiel.Game, policies: Sequence[Any], players: Sequence[int]
) -> Rows | None:
    """What the policies of some players say; None if one is no table of this game.

    Args:
        game: to which the policies belong.
        policies: `[P]` the policy of each player.
        players: those who are asked for.
    """
    layers: list[Layer] = []
    for player in players:
        found = layers_of(policies[player], game)
        if found is None:
            return None
        layers += [_of_player(layer, player) for layer in found]
    return _joined(layers)


def returns_by_rules(
    game: pyspiel.Game,
    policies: Sequence[Any],
    plays: int,
    seed: int,
    twin: bool | None = None,
) -> np.ndarray | None:
    """`[plays, P]` the returns of plays.

    Args:
        game: which is played.
        policies: `[P]` the policy of each player.
        plays: how many.
        seed: of numpy's PCG64.
        twin: see `rules_to_play`.

    Returns:
        None if the game has no compiled rules, a policy is no table, or something about
        a play is odd, which plays through pyspiel tell in words.
    """
    rows = rows_of(game, policies, range(len(policies)))
    rules = None if rows is None else rules_to_play(game, twin)
    if rows is None or rules is None:
        return None
    return _played(rules, rows, plays, np.random.Generator(np.random.PCG64(seed)))


def _of_player(layer: Layer, player: int) -> Layer:
    is_its = layer.infosets["player"] == player
    return layer._replace(infosets=layer.infosets[is_its], hashes=layer.hashes[is_its])


def _joined(layers: list[Layer]) -> Rows:
    sizes = [len(layer.probs) for layer in layers]
    offsets = np.cumsum([0, *sizes[:-1]])
    hashes = np.concatenate([layer.hashes for layer in layers])
    hashes, first = np.unique(hashes, return_index=True)  # in the first layer with it
    starts = [
        layer.infosets["first_sequence"].astype(np.int64) + offset
        for layer, offset in zip(layers, offsets, strict=True)
    ]
    counts = [layer.infosets["num_actions"].astype(np.int64) for layer in layers]
    return Rows(
        hashes=hashes,
        starts=np.concatenate(starts)[first],
        counts=np.concatenate(counts)[first],
        actions=np.concatenate([layer.actions for layer in layers]),
        probs=np.concatenate([layer.probs for layer in layers]),
    )


def _played(
    rules: BoundRules, rows: Rows, plays: int, generator: np.random.Generator
) -> np.ndarray | None:
    """The returns of plays, `[plays, P]`; None if one is odd."""
    called = callable_rules(rules)
    sizes, players = rules.sizes, rules.num_players
    most, longest = sizes.max_children, sizes.max_moves + sizes.max_chance_moves
    results = np.zeros((plays + 1, max(players, SPARE)))[:plays]
    start = rules.start()
    state = np.zeros(sizes.state + SPARE, np.int64)[: sizes.state]
    key = np.zeros(len(sizes.key) + 1 + SPARE, np.int64)[: len(sizes.key) + 1]
    moves = np.zeros(most + SPARE, np.int64)[:most]
    probs = np.zeros(most + SPARE)[:most]
    text = rules.new_text()
    cursor, status = np.zeros(2, np.int64), _NO_DRAWS
    draws = np.zeros(0)
    # Each pass plays until fewer draws are left than the longest history takes.
    while status == _NO_DRAWS:
        left = draws[cursor[1] :]
        draws = np.concatenate([left, generator.random(max(_DRAWS, longest))])
        cursor[1] = 0
        status = _play(
            called,
            rules.settings,
            players,
            longest,
            start,
            state,
            key,
            moves,
            probs,
            text,
            rows,
            draws,
            cursor,
            results,
        )
    return None if status == _ODD else results[:, :players]


@jit
def infoset_to_ask(rules, settings, state, acting, key, text, rows):
    """The infoset among rows of the player who acts.

    Args:
        rules: of `callable_rules`.
        settings: of the game.
        state: where the player acts.
        acting: the player.
        key, text: buffers.
        rows: the policies.

    Returns:
        Its number, -1 if no policy knows it, -2 if the key is too long.
    """
    key[0] = acting
    asked = settings, state, acting, key[1:]
    size = 1 + call(rules[INFO_KEY], INFO_KEY, asked)
    if not 0 < size <= len(key):
        return np.int64(-2)
    if len(text) == 0:
        hashed = row_hash(key, size)
    else:
        text[0] = acting
        spelled = settings, acting, key[1:], size - 1, text[1:]
        hashed = row_hash(text, 1 + call(rules[SPELL], SPELL, spelled))
    number = np.int64(np.searchsorted(rows.hashes, hashed))
    if number == len(rows.hashes) or rows.hashes[number] != hashed:
        return np.int64(-1)
    return number


@jit
def is_odd(rows, number, moves, count):
    """Whether an infoset has other actions, or its probabilities do not add up to 1."""
    if rows.counts[number] != count:
        return True
    start = rows.starts[number]
    total = 0.0
    for k in range(count):
        if rows.actions[start + k] != moves[k]:
            return True
        total += rows.probs[start + k]
    return not abs(total - 1.0) < 1e-6


@jit
def _play(
    rules,
    settings,
    players,
    longest,
    start,
    state,
    key,
    moves,
    probs,
    text,
    rows,
    draws,
    cursor,
    results,
):
    """Plays until all plays are done or draws are short.

    Args:
        rules: of `callable_rules`.
        settings, players: of the game.
        longest: the moves of its longest history.
        start: the first state.
        state, key, moves, probs, text, scratch: buffers.
        rows: the policies.
        draws: numbers in [0, 1).
        cursor: `[2]` the plays done, and the draws used; changes.
        results: `[plays, P or more]`, gets the returns.

    Returns:
        _DONE, _NO_DRAWS, or _ODD if something is wrong.
    """
    while cursor[0] < len(results):
        at = cursor[1]
        if at + longest > len(draws):
            return _NO_DRAWS
        for k in range(len(start)):
            state[k] = start[k]
        length = 0
        while True:
            acting = call(rules[ACTING], ACTING, (settings, state))
            if acting == TERMINAL:
                break
            arguments = settings, state, moves
            count = call(rules[LEGAL_ACTIONS], LEGAL_ACTIONS, arguments)
            is_wrong = acting != CHANCE and (acting < 0 or acting >= players)
            if is_wrong or not 0 < count <= len(moves) or length >= longest:
                return _ODD
            number = -1
            if acting == CHANCE:
                call(rules[CHANCE_PROBS], CHANCE_PROBS, (settings, state, probs))
            else:
                number = infoset_to_ask(rules, settings, state, acting, key, text, rows)
                if number < -1:
                    return _ODD
                for k in range(count):  # what holds where no policy has met the state
                    probs[k] = 1.0 / count
            draw = draws[at + length]
            if number < 0:
                chosen = draw_action(probs, 0, count, draw)
            elif is_odd(rows, number, moves, count):
                return _ODD
            else:
                chosen = draw_action(rows.probs, rows.starts[number], count, draw)
            arguments = settings, state, moves[chosen]
            call(rules[APPLY_ACTION], APPLY_ACTION, arguments)
            length += 1
        call(rules[RETURNS], RETURNS, (settings, state, results[cursor[0]]))
        cursor[0] += 1
        cursor[1] = at + length
    return _DONE


# --- compiled rules of the game that one player faces while the others follow policies


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
