"""The loop over a solver's iterations for lists of worlds, leaves or hands."""

from typing import Any

from mccfr_spiel.arenas.worlds.hand_gradients import Hands, add_hand_gradient
from mccfr_spiel.arenas.worlds.world_lists import (
    Leaves,
    Worlds,
    add_gradient,
    add_leaf_gradient,
)
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.minimizers import Rule, for_rule
from mccfr_spiel.kernels.passes import WAY, make_loop, make_piece
from mccfr_spiel.kernels.tables import LAYOUT, Passes, Tables, Task, tree_in
from mccfr_spiel.kernels.tickets import (
    share,
)

AnyWorlds = Worlds | Leaves | Hands
"""Lists from which a pass can compute gradients."""

LAYOUTS: dict[type, Layout] = {
    kind: Layout(*LAYOUT.kinds, kind) for kind in (Worlds, Leaves, Hands)
}
"""Layout of the frame of `make_world_iterate` per kind of list. The `Passes` record has
no rows.
"""

ACROSS = 2
"""Direction of a pass that delivers gradients; see `kernels.passes.WAY` for the others.
"""

GRADIENTS: dict[type, Any] = {
    Worlds: add_gradient,
    Leaves: add_leaf_gradient,
    Hands: add_hand_gradient,
}
"""The function that adds a gradient, per kind of list."""


@for_rule
def make_world_iterate(rule: Rule, kind: type) -> Any:
    """Makes the loop of `kernels.passes.make_loop` for gradients from lists of worlds.
    An update counts every step of the lists as a touched node.

    Args:
        rule: the minimizer's rule.
        kind: kind of the lists, a key of LAYOUTS.
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
    def share_pieces(frame, desk, first, end):
        # `share` calls functions of a frame only, hence the direction is part of
        # `desk`.
        desk[WAY] = ACROSS
        share(do_piece, frame, desk, first, end)

    @inlined
    def deliver(frame, desk, tables, first, end):
        passes, task = views(frame, Passes), views(frame, Task)
        num_blocks = len(views(frame, Hands).cuts) - 1 if has_blocks else 1
        share_pieces(frame, desk, first * num_blocks, end * num_blocks)
        if looks_ahead:
            infosets = tree_in(frame, task.job).infosets
            for m in range(passes.member_ends[first], passes.member_ends[end]):
                start = infosets[passes.members[m]]["first_sequence"]
                count = infosets[passes.members[m]]["num_actions"]
                for s in range(start, start + count):
                    tables.ahead[s] += tables.gradient[s]
        return (end - first) * len(views(frame, kind).steps)

    return make_loop(rule, do_piece, deliver)
