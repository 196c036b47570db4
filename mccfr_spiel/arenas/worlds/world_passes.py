"""The loop over a solver's iterations for lists of worlds or leaves."""

from typing import Any

from mccfr_spiel.arenas.worlds.world_lists import GRADIENTS, Leaves, Worlds
from mccfr_spiel.kernels.frame import Layout
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.minimizers import Rule, for_rule
from mccfr_spiel.kernels.passes import WAY, make_loop, make_piece
from mccfr_spiel.kernels.tables import LAYOUT, Passes, Tables, Task, tree_in
from mccfr_spiel.kernels.tickets import (
    share,
)

LAYOUTS: dict[type, Layout] = {
    kind: Layout(*LAYOUT.kinds, kind) for kind in (Worlds, Leaves)
}
"""Per kind of list, the layout of the frame for the loop of `make_world_iterate`. The
`Passes` record in this frame has no rows of leaves.
"""

ACROSS = 2
"""Value of `desk[WAY]` while gradients are added. The values of the other two passes
over infosets are `kernels.passes.UPWARD` and DOWNWARD.
"""


@for_rule
def make_world_iterate(rule: Rule, kind: type) -> Any:
    """Compiles the loop over iterations that reads gradients from lists of worlds.

    It is the loop of `kernels.passes.make_loop`, which describes the arguments and
    statuses of the result. The gradient is computed from the list before each pass over
    the infosets, instead of from the rows of `Passes`. An update counts every step in
    the list as a touched node.

    Threads share the pieces of a pass. The *desk* is their shared array of counters
    (kernels/tickets.py); `desk[WAY]` tells all threads which pass is running.

    Args:
        rule: the minimizer's rule.
        kind: kind of the list, a key of LAYOUTS.
    """
    views, add = LAYOUTS[kind].viewer(), GRADIENTS[kind]
    looks_ahead, move = rule.looks_ahead, make_piece(rule, has_rows=False)

    @inlined
    def do_piece(frame, desk, piece):
        """Adds a piece of the gradient, or processes its infosets; see `desk[WAY]`."""
        if desk[WAY] == ACROSS:
            tables = views(frame, Tables)
            add(views(frame, kind), piece, tables.plan, tables.gradient)
        else:
            move(frame, desk, piece)

    @inlined
    def share_pieces(frame, desk, first, end):
        """Adds the gradients of the pieces first .. end - 1, shared by all threads."""
        # This is not part of `deliver`, because `share` is a `pasted` helper: numba
        # inlines it into its caller. A caller that makes records by `views`, as
        # `deliver` does, would then be compiled wrongly, see `kernels.jit.pasted`.
        desk[WAY] = ACROSS
        share(do_piece, frame, desk, first, end)

    @inlined
    def deliver(frame, desk, tables, first, end):
        """Adds the gradients of the players first .. end - 1; returns the number of
        touched nodes.

        If the rule predicts the next gradient, the payoffs are also added to `ahead`.
        """
        passes, task = views(frame, Passes), views(frame, Task)
        share_pieces(frame, desk, first, end)
        if looks_ahead:
            infosets = tree_in(frame, task.job).infosets
            for m in range(passes.member_ends[first], passes.member_ends[end]):
                start = infosets[passes.members[m]]["first_sequence"]
                count = infosets[passes.members[m]]["num_actions"]
                for s in range(start, start + count):
                    tables.ahead[s] += tables.gradient[s]
        return (end - first) * len(views(frame, kind).steps)

    return make_loop(rule, do_piece, deliver)
