"""Gradients, best responses and a solver's iterations by passes over worlds.

What is found of a game is one of three lists. Of most games it is the mover's *steps*
along each edge between worlds (`Worlds`). Where returns depend on what is private, it
is the worlds where the game ends (`Leaves`). Returns depend there on the *class* of
each entry, a small number: how many dice match the bid, which ships are sunk. Of a game
of cards it is the leaves of a public tree, with vectors of hands (`Hands`).

A pass reads its list once, from the beginning to the end.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry, Layout
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.minimizers import Rule, for_rule
from mccfr_spiel.kernels.passes import WAY, make_loop, make_piece
from mccfr_spiel.kernels.tables import (
    FLAG,
    FLOAT,
    INT,
    LAYOUT,
    LONG,
    Passes,
    Tables,
    Task,
    tree_in,
)
from mccfr_spiel.kernels.teams import share

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

MOST_CLASSES = 64
"""The classes of one player's entries at a leaf."""


class Worlds(NamedTuple):
    """The worlds of a game, depth first; those where the game ends are edges only.

    An edge's steps are the mover's sequences along it.

    Attributes:
        steps: sequences along the edges.
        lengths: how many steps an edge has.
        ends: whether the game ends there.
        returns: the returns if it does.
        actors: who acts at a world.
        edges: how many edges it has.
        height: the most worlds on a path.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[T]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[E]")]
    ends: Annotated[np.ndarray, Entry(FLAG, "[E]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[E, 2]")]
    actors: Annotated[np.ndarray, Entry(FLAG, "[W]")]
    edges: Annotated[np.ndarray, Entry(FLAG, "[W]")]
    height: Annotated[np.ndarray, Entry(LONG, "[1]")]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.edges)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns[self.ends > 0], axis=0)


class Leaves(NamedTuple):
    """The worlds where a game ends. Z is how many, T how many entries they have.

    Of each world player 0's entries come first, and of its pairs of classes those of
    player 0's first class.

    Attributes:
        steps: the last sequences of the entries.
        classes: the classes of the entries.
        weights: how chance deals the entries.
        lengths: the players' entries there.
        sizes: one more than their classes.
        returns: what pairs of classes pay.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[T]")]
    classes: Annotated[np.ndarray, Entry(FLAG, "[T]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[T]")]
    lengths: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    sizes: Annotated[np.ndarray, Entry(INT, "[Z, 2]")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[R, 2]")]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.lengths)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns, axis=0)


# --- worlds and leaves ----------------------------------------------------------------


@inlined
def sum_of(plan, steps, begin, length):
    """The sum of a plan over the steps of an edge."""
    total, k, stop = 0.0, np.uint64(begin), np.uint64(begin + length)
    while k < stop:  # unsigned, see `kernels.passes.add_rows`
        total += plan[np.uint64(steps[k])]
        k += np.uint64(1)
    return total


@inlined
def pay(gradient, steps, begin, length, value):
    """Adds a value at all steps of an edge."""
    k, stop = np.uint64(begin), np.uint64(begin + length)
    while k < stop:
        gradient[np.uint64(steps[k])] += value
        k += np.uint64(1)


@jit(nogil=True, views_only=False)
def add_gradient(
    worlds: Worlds, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a player's utility gradient at the leaves, given the other's plan `[S]`.

    Down to each world it carries the other player's *reach*: the sum of the plan over
    the steps of the last edge along which the other moved. What the leaves below pay is
    *owed* to the player's last sequences. It is paid to each of them once, on the way
    back over their edge.

    Each pass of the loop is at one world. It enters the world and reads the edges that
    end the game, if it has not done so; then it goes along the next edge or, if there
    is none, back to the world before. `where` has, by level, where the steps of each
    edge begin.
    """
    steps, lengths, ends, returns, actors, edges, heights = worlds
    height = heights[0] + 1
    where = np.zeros((height, MOST_ACTIONS), np.int64)
    first, here = np.zeros(height, np.int64), np.zeros(height, np.int64)
    stop, is_mine = np.zeros(height, np.int64), np.zeros(height, np.bool_)
    reach, owed = np.ones(height), np.zeros(height)
    world, edge, at, level, enters = 0, 0, 0, 0, True
    while True:
        if enters:
            enters = False
            first[level] = here[level] = edge
            stop[level] = edge + np.int64(edges[world])
            is_mine[level] = actors[world] == player
            owed[level] = 0.0
            world += 1
            while edge < stop[level]:
                where[level, edge - first[level]] = at
                paid = returns[edge, player]
                if ends[edge] and paid != 0.0:
                    if is_mine[level]:
                        value = paid * reach[level]
                        pay(gradient, steps, at, lengths[edge], value)
                    else:
                        owed[level] += paid * sum_of(plan, steps, at, lengths[edge])
                at += lengths[edge]
                edge += 1
        while here[level] < stop[level] and ends[here[level]]:
            here[level] += 1
        if here[level] < stop[level]:
            along, below = here[level], reach[level]
            if not is_mine[level]:
                begin = where[level, along - first[level]]
                below = sum_of(plan, steps, begin, lengths[along])
            level += 1
            reach[level] = below
            enters = True
            continue
        below = owed[level]
        if level == 0:
            gradient[player] += below
            return
        level -= 1
        along = here[level]
        here[level] += 1
        if not is_mine[level]:
            owed[level] += below
        elif below != 0.0:
            begin = where[level, along - first[level]]
            pay(gradient, steps, begin, lengths[along], below)


@jit(nogil=True, views_only=False)
def add_leaf_gradient(
    leaves: Leaves, player: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """As `add_gradient`: at each leaf the other player's entries are summed by class,
    then each of the player's own gets what its class is paid for these sums."""
    reach, pays = np.zeros(MOST_CLASSES), np.zeros(MOST_CLASSES)
    at, row = 0, 0
    for leaf in range(len(leaves.lengths)):
        num_first = np.int64(leaves.lengths[leaf, 0])
        middle, end = at + num_first, at + num_first + leaves.lengths[leaf, 1]
        num_rows, num_columns = leaves.sizes[leaf, 0], leaves.sizes[leaf, 1]
        own, others = (at, middle), (middle, end)
        if player == 1:
            own, others = others, own
        reach[:], pays[:] = 0.0, 0.0
        for k in range(others[0], others[1]):
            reach[leaves.classes[k]] += leaves.weights[k] * plan[leaves.steps[k]]
        for first in range(num_rows):
            for second in range(num_columns):
                mine, theirs = (first, second) if player == 0 else (second, first)
                pays[mine] += leaves.returns[row, player] * reach[theirs]
                row += 1
        for k in range(own[0], own[1]):
            gradient[leaves.steps[k]] += leaves.weights[k] * pays[leaves.classes[k]]
        at = end


# --- vectors of hands -----------------------------------------------------------------

LIST, FIRST, STRIDE, ROW, IS_SHOWDOWN, GROUP_SIZE = range(6)
"""The columns of `Hands.groups`: the list of hands at the group's board; the other
player's sequences, as in `Hands.steps`; and whether hands are compared."""

_CANCELLED = 1e-6
"""If so small a part of a sum is left after hands were taken away from it, the hands
that are left are added up one by one: differences would be rounding errors."""


CARD, PLACE = np.dtype(np.uint16), np.dtype(np.uint32)
"""Unsigned: of a signed index each use asks whether it counts from the end."""


class Hands(NamedTuple):
    """What a pass over a public tree reads.

    A player's gradient at a leaf needs, for each own hand, the sum of the other
    player's reach over all hands that share no card with it. That is the sum over all
    hands, less the sums over those that hold the one card and the other, and plus the
    hand with both cards, which was taken away twice. At a showdown the same sums are
    made of the weaker hands, and of those that are not stronger, as they stand while
    the hands are read in the order of their strength (Johanson, Waugh, Bowling,
    Zinkevich 2011).

    All leaves at one board that the other player reaches by the same sequence share
    these sums; they are a *group*. Each leaf of a group is an *entry*, which says at
    which of the own sequences it pays, and how much for each of the three sums.

    E is how many entries there are, G how many groups, L how many lists of hands (one
    for each board), T how many hands they have together, D how many cards there are.
    Ends are such that group g has the entries `ends[g] .. ends[g + 1] - 1`; the groups
    that pay player p in block b are those of the piece p B + b. Blocks are those of
    kernels/passes.py.

    An entry's steps are its first own sequence, how far those of two infosets are
    apart, and where its row begins in `places`. It pays for all hands, the weaker ones,
    those not stronger; the factor of what these add up to comes last, so that equal
    hands get the same.

    The hands of a list ascend in strength. The second card is D for hands of one card.
    A hand that a player does not hold has weight 0. A *row* of places says for the
    hands of a list at which of a player's infosets at a decision each is; such a hand
    has any.

    Attributes:
        steps: where an entry pays.
        pays: what an entry pays.
        entry_ends: the entries of groups.
        groups: see GROUP_SIZE.
        group_ends: the groups of pieces.
        cuts: the blocks' infosets.
        list_ends: where lists of hands end.
        levels: the strengths of hands.
        cards: the cards of hands.
        weights: the weights of hands.
        places: rows of places, one by one.
        num_cards: D.
        payoffs: all returns, each once.
    """

    steps: Annotated[np.ndarray, Entry(INT, "[E, 3]")]
    pays: Annotated[np.ndarray, Entry(FLOAT, "[E, 4]")]
    entry_ends: Annotated[np.ndarray, Entry(LONG, "[G + 1]")]
    groups: Annotated[np.ndarray, Entry(INT, "[G, 5]")]
    group_ends: Annotated[np.ndarray, Entry(LONG, "[2 B + 1]")]
    cuts: Annotated[np.ndarray, Entry(LONG, "[B + 1]")]
    list_ends: Annotated[np.ndarray, Entry(LONG, "[L + 1]")]
    levels: Annotated[np.ndarray, Entry(INT, "[T]")]
    cards: Annotated[np.ndarray, Entry(CARD, "[T, 2]")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[2, T]")]
    places: Annotated[np.ndarray, Entry(PLACE, "[R]")]
    num_cards: Annotated[np.ndarray, Entry(LONG, "[1]")]
    payoffs: Annotated[np.ndarray, Entry(FLOAT, "[U, 2]")]

    @property
    def num_blocks(self) -> int:
        """B. Pieces pay to different sequences, so they may be done at once."""
        return len(self.cuts) - 1

    @property
    def num_worlds(self) -> int:
        """How many leaves there are, of which each is an entry of both players."""
        return len(self.steps) // 2


LANES = 4
"""The groups at one board that are summed side by side, since one alone would wait for
each of its sums. Each has a column, a *lane*, of the arrays below."""


@inlined
def _gather(plan, first, stride, places, weights, reach, lane):
    """Writes how a player reaches a group with each hand; returns the sum."""
    total, begin = 0.0, np.uint64(first)
    for k in range(len(weights)):
        reach[k, lane] = weights[k] * plan[begin + np.uint64(stride) * places[k]]
        total += reach[k, lane]
    return total


@inlined
def _add(seen, cards, k, same, reach):
    """Adds a hand to the sums of its cards. `same` is 0 if hands have one card."""
    one, two = cards[k, 0], cards[k, 1]
    for lane in range(LANES):
        seen[one, lane] += reach[k, lane]
        seen[two, lane] += same * reach[k, lane]


@inlined
def _sum_of_all(cards, same, reach, total, seen, every, least):
    """Writes for each hand the sum over all that fit it; and the least of each lane."""
    least[:] = np.inf
    for k in range(len(cards)):
        one, two = cards[k, 0], cards[k, 1]
        for lane in range(LANES):
            found = total[lane] - seen[one, lane] - seen[two, lane]
            every[k, lane] = found + same * reach[k, lane]
            least[lane] = min(least[lane], every[k, lane])


@inlined
def _sum_by_strength(cards, levels, same, reach, now, seen, weaker, up_to):
    """Adds all hands to the sums of their cards, and writes for each hand the sums over
    those that are weaker, and over those that are not stronger, as far as they fit it.
    """
    count, first = len(cards), 0
    now[:] = 0.0
    # One pass of this loop is at one hand. Hands that tie are added together, when the
    # last of them has come.
    for k in range(count):
        one, two = cards[k, 0], cards[k, 1]
        for lane in range(LANES):
            weaker[k, lane] = now[lane] - seen[one, lane] - seen[two, lane]
        if k + 1 < count and levels[k + 1] == levels[k]:
            continue
        for tied in range(first, k + 1):
            for lane in range(LANES):
                now[lane] += reach[tied, lane]
            _add(seen, cards, tied, same, reach)
        for tied in range(first, k + 1):
            one, two = cards[tied, 0], cards[tied, 1]
            for lane in range(LANES):
                left = now[lane] - seen[one, lane] - seen[two, lane]
                up_to[tied, lane] = left + same * reach[tied, lane]
        first = k + 1


@inlined
def _sum_what_is_left(cards, levels, weights, none, least, lane, reach, held, sums):
    """Makes a lane's sums again, without differences, where less than `least` is left
    of them. A hand that fits no hand of the other player gets exactly 0."""
    count, (every, weaker, up_to) = 0, sums
    for k in range(len(cards)):
        if reach[k, lane] > 0.0:
            held[count] = k
            count += 1
    for k in range(len(cards)):
        if weights[k] == 0.0 or every[k, lane] >= least:
            continue
        one, two = cards[k, 0], cards[k, 1]
        every[k, lane], weaker[k, lane], up_to[k, lane] = 0.0, 0.0, 0.0
        for m in range(count):
            other = held[m]
            if cards[other, 0] == one or cards[other, 0] == two:
                continue
            if cards[other, 1] == one or (cards[other, 1] == two and two != none):
                continue
            every[k, lane] += reach[other, lane]
            if levels[other] <= levels[k]:
                up_to[k, lane] += reach[other, lane]
                if levels[other] < levels[k]:
                    weaker[k, lane] += reach[other, lane]


@inlined
def _pay(hands, entry, weights, compares, lane, sums, gradient):
    """Adds what an entry pays to the gradient at its sequences."""
    begin, stride = np.uint64(hands.steps[entry, 0]), np.uint64(hands.steps[entry, 1])
    row, (every, weaker, up_to) = hands.steps[entry, 2], sums
    places = hands.places[row : row + len(weights)]
    of_all, of_weaker = hands.pays[entry, 0], hands.pays[entry, 1]
    of_rest, factor = hands.pays[entry, 2], hands.pays[entry, 3]
    for k in range(len(weights)):
        got = of_all * every[k, lane]
        if compares:
            got += of_weaker * weaker[k, lane] + of_rest * up_to[k, lane]
        gradient[begin + stride * places[k]] += weights[k] * got * factor


@inlined
def _end_of_batch(groups, first, end):
    """The end of the groups from the first on, at most LANES, that have its list, and
    compare hands or not as it does."""
    stop = first + 1
    while (
        stop < min(end, first + LANES)
        and groups[stop, LIST] == groups[first, LIST]
        and groups[stop, IS_SHOWDOWN] == groups[first, IS_SHOWDOWN]
    ):
        stop += 1
    return stop


@jit(nogil=True, views_only=False)
def add_hand_gradient(
    hands: Hands, piece: int, plan: np.ndarray, gradient: np.ndarray
) -> None:
    """Adds a piece of a player's utility gradient at the leaves, given the other's plan
    `[S]`."""
    player = piece // (len(hands.cuts) - 1)
    longest = np.int64(0)
    for one in range(len(hands.list_ends) - 1):
        longest = max(longest, hands.list_ends[one + 1] - hands.list_ends[one])
    reach = np.zeros((longest, LANES))
    sums = np.zeros_like(reach), np.zeros_like(reach), np.zeros_like(reach)
    every, weaker, up_to = sums
    none, held = hands.num_cards[0], np.zeros(longest, np.int64)
    seen = np.zeros((none + 1, LANES))
    total, now, least = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    same = 1.0 if hands.cards[0, 1] < none else 0.0
    first, end = hands.group_ends[piece], hands.group_ends[piece + 1]
    # One pass of this loop is at up to LANES groups, each of which has its lane. Lanes
    # that are left hold what was there before.
    while first < end:
        begin, first = first, _end_of_batch(hands.groups, first, end)
        board = hands.groups[begin, LIST]
        compares = hands.groups[begin, IS_SHOWDOWN] != 0
        start, stop = hands.list_ends[board], hands.list_ends[board + 1]
        cards, levels = hands.cards[start:stop], hands.levels[start:stop]
        size = stop - start
        own = hands.weights[player, start:stop]
        others = hands.weights[1 - player, start:stop]
        for lane in range(first - begin):
            group = hands.groups[begin + lane]
            places = hands.places[group[ROW] : group[ROW] + size]
            total[lane] = _gather(
                plan, group[FIRST], group[STRIDE], places, others, reach, lane
            )
        seen[:] = 0.0
        if compares:
            _sum_by_strength(cards, levels, same, reach, now, seen, weaker, up_to)
        else:
            for k in range(size):
                _add(seen, cards, k, same, reach)
        _sum_of_all(cards, same, reach, total, seen, every, least)
        for lane in range(first - begin):
            if total[lane] == 0.0:
                continue
            limit = _CANCELLED * total[lane]
            if least[lane] < limit:
                _sum_what_is_left(
                    cards, levels, own, none, limit, lane, reach, held, sums
                )
            g = begin + lane
            for entry in range(hands.entry_ends[g], hands.entry_ends[g + 1]):
                _pay(hands, entry, own, compares, lane, sums, gradient)


# --- iterations -----------------------------------------------------------------------

AnyWorlds = Worlds | Leaves | Hands
"""What may be found of a game."""

LAYOUTS: dict[type, Layout] = {
    kind: Layout(*LAYOUT.kinds, kind) for kind in (Worlds, Leaves, Hands)
}
"""What a frame of `make_world_iterate` holds. Its `Passes` have no rows."""

ACROSS = 2
"""The way in which a pass delivers gradients; see `kernels.passes.WAY` for the others.
"""

GRADIENTS: dict[type, Any] = {
    Worlds: add_gradient,
    Leaves: add_leaf_gradient,
    Hands: add_hand_gradient,
}
"""What adds a gradient, by what was found of a game."""


@for_rule
def make_world_iterate(rule: Rule, kind: type) -> Any:
    """Makes the loop of `kernels.passes.make_loop` for passes over worlds, which
    deliver the gradient. The nodes that an update touches are the steps.

    Args:
        rule: the local rule.
        kind: of what was found, a key of LAYOUTS.
    """
    views, add, has_blocks = LAYOUTS[kind].viewer(), GRADIENTS[kind], kind is Hands
    looks_ahead, move = rule.looks_ahead, make_piece(rule, has_rows=False)

    @inlined
    def do_piece(frame, desk, piece):
        if desk[WAY] == ACROSS:
            tables = views(frame, Tables)
            add(views(frame, kind), piece, tables.plan, tables.gradient)
        else:
            move(frame, desk, piece)

    @inlined
    def share_pieces(frame, desk, first, end):  # `share` needs one without records
        desk[WAY] = ACROSS
        share(do_piece, frame, desk, first, end)

    @inlined
    def deliver(frame, desk, tables, first, end):
        passes, task = views(frame, Passes), views(frame, Task)
        each = len(views(frame, Hands).cuts) - 1 if has_blocks else 1
        share_pieces(frame, desk, first * each, end * each)
        if looks_ahead:
            infosets = tree_in(frame, task.job).infosets
            for m in range(passes.member_ends[first], passes.member_ends[end]):
                start = infosets[passes.members[m]]["first_sequence"]
                count = infosets[passes.members[m]]["num_actions"]
                for s in range(start, start + count):
                    tables.ahead[s] += tables.gradient[s]
        return (end - first) * len(views(frame, kind).steps)

    return make_loop(rule, do_piece, deliver)
