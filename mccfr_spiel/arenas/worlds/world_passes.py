"""The loop over iterations for lists of worlds, leaves or hands."""

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
from mccfr_spiel.kernels.teams import share

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
