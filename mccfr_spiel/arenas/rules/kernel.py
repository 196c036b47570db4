"""What compiled loops over rules check, and what they say of rules that are wrong.

**Calls.** Numba can take functions as arguments, but it asks Python for their addresses
at each call, where Ctrl-C may interrupt it. A loop that is called often takes the
addresses of the rules' machine code instead, as a tuple of integers, and calls a rule
by `call`.

**The hash table** holds rows of numbers, each different one once. Walks over compiled
rules look up the keys of infosets in it. The expansion of a whole tree also keeps the
chance distributions and the vectors of returns in such tables, as the bits of their
numbers.

Most slots that a walk looks at are not in the processor's caches, so a lookup should
touch few lines of memory. A slot holds half of the key's hash beside the infoset's
number. Other keys are told by it without a look at them, and a key that is new costs a
single line. The same half of the hash names the slot, so a larger table is filled from
the slots of a smaller one alone, almost in their order.

**Spelling.** Functions that spell strings, such as `put`, write at a position of `text`
and return the position behind what they have written. The text must be long enough:
`BoundRules.text_size` says how long.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    MAX_KEY_VALUES,
    SIGNATURES,
    SPARE,
    SPELL_SIGNATURE,
    WORLD_SIGNATURES,
    BoundRules,
    GameError,
)
from mccfr_spiel.common.arrays import MAX_CHILDREN, reserve
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.refusals import RECALL_WAY_OUT
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.jit import IS_COMPILED, PASTED, inlined, jit, why_not
from mccfr_spiel.kernels.randomness import ROOT_PLACE, child_place, mix

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

INFOSETS, SEQUENCES, CURSOR_SIZE = range(3)
"""How many infosets and sequences have been met: the entries of `played.Known.counts`.
"""

ROW = np.dtype([("hash", "<u8"), ("start", "<i8")])
"""A row of numbers: its `row_hash`, and where its values start, see RowTable."""


@jit
def row_hash(row, length):
    """A hash of 64 bits that depends on each of the first `length` entries of a row."""
    place = ROOT_PLACE
    for k in range(length):
        place = child_place(place, row[k])
    return mix(place)


def key_place(player: int, key: np.ndarray) -> int:
    """The place (see kernels/randomness.py) of the infoset with an information key.

    Games with compiled rules use it instead of `infoset_place`, because it needs no
    string. Both ways of making their tree do so and hence draw the same numbers.
    """
    row = np.array([player, *key], np.int64)
    return int(row_hash(row, len(row)))


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


# --- calls of a game's rules by the addresses of their machine code -------------------


ACTING, LEGAL_ACTIONS, APPLY_ACTION, INFO_KEY, RETURNS, CHANCE_PROBS = range(6)
"""The places of the rules in `Rules`."""

SPELL = 7
"""The place of `BoundRules.spell` behind them."""

WORLD_KEY, LEAF_CLASS, CLASS_RETURNS, POSITION_KEY, HEARD = range(8, 13)
"""The places of these functions of a Description behind that."""


def callable_rules(rules: BoundRules, *, with_worlds: bool = False) -> tuple[Any, ...]:
    """The rules as compiled loops take them for `call`.

    They are addresses, or, with the JIT off, the functions; 0 stands for each that is
    missing. Behind the rules comes the function that spells strings and, if they are
    wanted, those that tell of worlds. Whoever uses them keeps the rules alive.

    Raises:
        ValueError: a function is not `compiled`, or does not have the right type.
    """
    description = rules.description
    functions = {**description.rules._asdict(), "spell": rules.spell}
    if with_worlds:
        functions |= {name: getattr(description, name) for name in WORLD_SIGNATURES}
    return tuple(address_of(*named) for named in functions.items())


def address_of(name: str, function: Any) -> Any:
    """The address of a `compiled` function, or, with the JIT off, the function; 0 if
    there is none.

    Args:
        name: its key in `_SIGNATURES`.
        function: the function, or None.

    Raises:
        ValueError: it is not `compiled`, or does not have that type.
    """
    if function is None:
        return 0
    if not IS_COMPILED:
        return function
    signature = _SIGNATURES[name]
    if not isinstance(function, CPUDispatcher):
        raise ValueError(f"The rule {name} must be decorated by rules.compiled.")
    try:
        result = function.get_compile_result(signature)
    except TypingError as error:
        raise ValueError(
            f"The rule {name} cannot be compiled: {why_not(error, function.py_func)}. "
            "rules.Rules says what it gets and returns."
        ) from error
    made = types.unliteral(result.signature.return_type)
    if made != signature.return_type:
        raise ValueError(
            f"The rule {name} returns {made}; it must return "
            f"{signature.return_type} on every path."
        )
    wrapper = result.fndesc.llvm_cfunc_wrapper_name
    return int(result.library.get_pointer_to_function(wrapper))


def call(rules: Any, number: int, arguments: tuple[Any, ...]) -> Any:
    """Calls a rule.

    Args:
        rules: what `callable_rules` gave.
        number: the rule's place there; a constant.
        arguments: its arguments.
    """
    return rules[number](*arguments)


@overload(call, prefer_literal=True, jit_options=PASTED)
def _compiled_call(rules, number, arguments):
    place = number.literal_value
    if isinstance(rules.types[place], types.Dispatcher):
        return lambda rules, number, arguments: rules[place](*arguments)
    emit: Any = _EMITTERS[place]
    return lambda rules, number, arguments: emit(rules[place], arguments)


def _make_emitter(signature: Any) -> Any:
    """The intrinsic that calls a function of that signature by its address."""

    def emit(context: Any, rule: Any, arguments: Any) -> Any:
        def generate(context, builder, types, values):
            kinds = [context.get_value_type(kind) for kind in signature.args]
            result = context.get_value_type(signature.return_type)
            address, given = values
            function = ir.FunctionType(result, kinds).as_pointer()
            items = [
                context.cast(
                    builder, builder.extract_value(given, k), types.args[1][k], kind
                )
                for k, kind in enumerate(signature.args)
            ]
            return builder.call(builder.inttoptr(address, function), items)

        return signature.return_type(rule, arguments), generate

    return intrinsic(emit)


_SIGNATURES = SIGNATURES._asdict() | {"spell": SPELL_SIGNATURE} | WORLD_SIGNATURES
_EMITTERS = [_make_emitter(signature) for signature in _SIGNATURES.values()]


# --- different rows of numbers, numbered by first visit -------------------------------


SLOT = np.dtype(np.uint64)
"""A slot: the upper half of the `row_hash` of a key, and the number of its row + 1 in
the lower half; 0 if it is free."""

MOST_USED = 0.75
"""The largest share of slots in use. Looking up a new key then reads about 8 slots,
which lie in one or two lines."""

_HALF, _LOWER, _FREE, _ONE = (np.uint64(x) for x in (32, 2**32 - 1, 0, 1))


class RowTable(NamedTuple):
    """Different rows of numbers, numbered by first visit.

    Attributes:
        values: `[V]` the rows, one after the other.
        rows: `[R + 1]` ROW; row r is values[rows[r].start : rows[r + 1].start].
        table: `[a power of two]` SLOT.
    """

    values: np.ndarray
    rows: np.ndarray
    table: np.ndarray


def new_row_table(dtype: Any, longest: int) -> RowTable:
    """No rows, and room for some of at most a length."""
    return RowTable(np.zeros(longest, dtype), np.zeros(2, ROW), np.zeros(2, SLOT))


def with_room(kept: RowTable, count: int, longest: int) -> RowTable:
    """Rows with room for one more of at most a length, in arrays that may be others."""
    table = kept.table
    if count + 1 > MOST_USED * len(table):
        table = larger_table(table, count + 1)
    values = reserve(kept.values, int(kept.rows["start"][count]) + longest)
    return RowTable(values, reserve(kept.rows, count + 2), table)


def key_of(keys: RowTable, infoset: int) -> tuple[int, np.ndarray]:
    """The player and the information key of an infoset, if the rows are keys."""
    start, stop = keys.rows["start"][infoset : infoset + 2]
    row = keys.values[start:stop].astype(np.int64)
    return int(row[0]), row[1:]


@inlined
def ask_for_slot(table, hashed):
    """Starts to load the slot where `find_key` will begin."""
    prefetch(table, np.int64(hashed >> _HALF) & (len(table) - 1))


@jit
def find_key(values, rows, table, hashed, key, length):
    """Looks up key[:length].

    Each pass looks at one slot, from the one that the hash names onwards, until it
    finds the key or a free slot.

    Args:
        values, rows: the keys, as in `RowTable`.
        table: `[a power of two]` SLOT, with free slots.
        hashed: the key's `row_hash`.
        key: int64.
        length: how many of its numbers count.

    Returns:
        The number of its row. If there is none, -1 - the free slot where it belongs.
    """
    mask = len(table) - 1
    half = hashed >> _HALF
    slot = np.int64(half) & mask
    while True:
        entry = table[slot]
        if entry == _FREE:
            return -1 - slot
        if entry >> _HALF == half:
            number = np.int64(entry & _LOWER) - 1
            start = rows[number]["start"]
            if rows[number + 1]["start"] - start == length:
                difference = np.int64(0)
                for k in range(length):
                    difference |= np.int64(values[start + k]) ^ key[k]
                if difference == 0:
                    return number
        slot = (slot + 1) & mask


@jit
def enter_key(table, found, hashed, number):
    """Enters a new row.

    Args:
        table: of `find_key`, which has gained a row.
        found: what `find_key` returned.
        hashed: the key's `row_hash`.
        number: of the row.
    """
    table[-1 - found] = (hashed >> _HALF) << _HALF | (np.uint64(number) + _ONE)


@jit
def number_row(values, rows, table, count, hashed, row, length):
    """The number of row[:length]; a new row is entered and gets the number `count`.

    Returns -1 if the row is new and `with_room` must come first.
    """
    found = find_key(values, rows, table, hashed, row, length)
    if found >= 0:
        return found
    start = rows[count]["start"]
    if (
        count + 1 >= len(rows)
        or start + length > len(values)
        or count >= MOST_USED * len(table)
    ):
        return np.int64(-1)
    for k in range(length):
        values[start + k] = row[k]
    rows[count + 1]["start"] = start + length
    rows[count]["hash"] = hashed
    enter_key(table, found, hashed, count)
    return count


@jit
def _fill(table, slots):
    """Puts what is in some slots into those of an empty table."""
    mask = len(table) - 1
    for entry in slots:
        if entry != _FREE:
            slot = np.int64(entry >> _HALF) & mask
            while table[slot] != _FREE:
                slot = (slot + 1) & mask
            table[slot] = entry


def larger_table(slots: np.ndarray, count: int) -> np.ndarray:
    """A table with free slots for `count` rows in all, of which some have slots already
    in a smaller table, or in any order."""
    table = np.zeros(1 << int(count / MOST_USED).bit_length(), SLOT)
    _fill(table, slots)
    return table


# --- strings that are spelled from information keys, byte by byte ---------------------


_BATCH = 1 << 24
"""The bytes that the strings spelled in one pass may take."""


def word(text: str) -> np.ndarray:
    """A constant text (ASCII) in the form that `put` takes, `[length]` uint8."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


@inlined
def put(text, at, constant):
    """Writes a constant made by `word`."""
    # An unsigned index cannot count from the end, so several bytes are written at once.
    start = np.uint64(at)
    for k in range(len(constant)):
        text[start + np.uint64(k)] = constant[k]
    return at + len(constant)


@inlined
def put_labeled(text, at, constant, number):
    """Writes a constant made by `word` and behind it a number."""
    return put_number(text, put(text, at, constant), number)


@inlined
def put_number(text, at, number):
    """Writes an integer in decimal digits at a position; returns that behind it."""
    if 0 <= number < 10:
        text[at] = 48 + number
        return at + 1
    if 10 <= number < 100:
        tens = number // 10
        text[at] = 48 + tens
        text[at + 1] = 48 + number - 10 * tens
        return at + 2
    return _put_long(text, at, number)


@jit
def _put_long(text, at, number):
    """As `put_number`, for any number."""
    if number < 0:
        text[at] = 45  # a minus sign
        at += 1
        number = -number
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for k in range(digits):
        text[at + digits - 1 - k] = 48 + number % 10
        number //= 10
    return at + digits


@jit
def _spell_all(called, settings, values, rows, first, stop, key, text, ends):
    """Spells the strings of infosets first .. stop - 1, one behind the other."""
    at = 0
    for infoset in range(first, stop):
        start = rows[infoset]["start"]
        length = rows[infoset + 1]["start"] - start - 1
        for k in range(length):
            key[k] = values[start + 1 + k]
        arguments = settings, np.int64(values[start]), key, length, text[at:]
        at += call(called, SPELL, arguments)
        ends[infoset - first] = at


def spelled(rules: BoundRules, keys: RowTable, count: int) -> Iterator[str]:
    """The strings of the first `count` infosets.

    Args:
        rules: of a twin.
        keys: of the infosets, each with the player before it.
        count: how many.
    """
    called, size = callable_rules(rules), len(rules.new_text())
    key = np.zeros(len(rules.sizes.key) + SPARE, np.int64)
    # One pass spells a batch of strings, so that no more text is in memory.
    batch = max(_BATCH // size, 1)
    for first in range(0, count, batch):
        stop = min(first + batch, count)
        text = np.zeros((stop - first) * size, np.uint8)
        ends = np.zeros(stop - first, np.int64)
        numbers = keys.values, keys.rows, first, stop, key
        _spell_all(called, rules.settings, *numbers, text, ends)
        whole, start = text[: ends[-1]].tobytes().decode("ascii"), 0
        for end in ends.tolist():
            yield whole[start:end]
            start = end
