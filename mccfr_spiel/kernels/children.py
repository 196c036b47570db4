"""Stages of the walk that draw, select, push and follow children of a node."""

# pyright: reportPossiblyUnboundVariable=false
# (numba removes branches that compile-time constants exclude)

from typing import Any

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE
from mccfr_spiel.kernels.baselines import control
from mccfr_spiel.kernels.jit import inlined
from mccfr_spiel.kernels.progress import Progress
from mccfr_spiel.kernels.randomness import (
    COUNTED_PLACES,
    NO_PLACES,
    place_below,
    uniform,
)
from mccfr_spiel.kernels.sampling import draw_action, draw_chance, draw_explored
from mccfr_spiel.kernels.selection import push_kept, push_picked
from mccfr_spiel.kernels.sobol import correlated_draw
from mccfr_spiel.kernels.source import Source
from mccfr_spiel.kernels.stack import (
    Choice,
    Spot,
    push_other_children,
    push_weighted_children,
)
from mccfr_spiel.kernels.switches import Switches
from mccfr_spiel.kernels.tables import EPSILON


def make_draw(switches: Switches, source: Source) -> Any:
    """Builds `draw_at`, which returns the random number in [0, 1) that selects a child.

    The number is 0 at nodes where the algorithm does not draw a single child.
    """
    place_at, draws_own = source.place_at, switches.draws_own
    chance, opponents = switches.samples_chance, switches.samples_opponents
    correlates = switches.correlates

    @inlined
    def draw_at(task, nodes, trip, spot, moves):
        draw = 0.0
        if moves.acting == CHANCE_NODE:
            if correlates:
                draw = correlated_draw(
                    task.points, trip.player, trip.serial, trip.stream, spot.place
                )
            elif chance:
                draw = uniform(trip.stream, spot.place)
        elif draws_own if moves.acting == trip.player else opponents:
            draw = uniform(trip.stream, place_at(nodes, moves.infoset))
        return draw

    return draw_at


def make_choose(switches: Switches, source: Source) -> Any:
    """Builds `choose`, which selects the child to follow.

    It pushes the other children that the walk must visit, and returns the height of the
    stack and a `Choice`.
    """
    choose_own = make_choose_own(switches, source)
    keep, policy_at, fetch = source.keep, source.policy_at, source.fetch
    chance, opponents = switches.samples_chance, switches.samples_opponents
    draws_own, prunes = switches.draws_own, switches.prunes
    places = switches.places
    has_debts, pushes_all = switches.has_debts, not (chance and opponents)

    @inlined
    def choose(task, nodes, tables, walk, trip, spot, moves, draw, height):
        is_chance, child = moves.acting == CHANCE_NODE, 0
        if trip.is_large and (draws_own or (chance and is_chance)):
            fetch(nodes, moves)  # before the draw is known
        if moves.acting == trip.player:
            return choose_own(
                task, nodes, tables, walk, trip, spot, moves, draw, height
            )
        if opponents and not is_chance:
            policy, row = policy_at(nodes, tables, moves)
            child = draw_action(policy, row, moves.count, draw)
        elif chance and is_chance:
            child = draw_chance(nodes.chance_cdf, moves.start, moves.count, draw)
        elif pushes_all:
            keep(nodes, moves)
            probs, row = nodes.chance_probs, moves.start
            if not is_chance:
                probs, row = policy_at(nodes, tables, moves)
            height = push_weighted_children(
                probs, row, walk, height, spot, moves,
                prunes and not is_chance, places, has_debts,
            )  # fmt: skip
            return height, Choice(False, 0, spot.sequence, spot.weight, 0.0)
        return height, Choice(True, child, spot.sequence, spot.weight, 0.0)

    return choose


def make_choose_own(switches: Switches, source: Source) -> Any:
    """Builds `choose_own`, which `choose` calls at nodes of the updated player."""
    keep, place_at, policy_at = source.keep, source.place_at, source.policy_at
    draws_own, explores = switches.draws_own, switches.explores
    picks_own, skips = switches.picks_own, switches.skips
    is_weighted, has_debts = switches.is_weighted, switches.has_debts
    places = switches.places
    follows = not picks_own

    @inlined
    def choose_own(task, nodes, tables, walk, trip, spot, moves, draw, height):
        child, weight, likelihood = 0, spot.weight, 1.0
        # If only one child is visited, the walk never returns to this node, so the
        # source need not save it.
        if picks_own or (moves.count > 1 and not draws_own):
            keep(nodes, moves)
        if picks_own:
            own = place_at(nodes, moves.infoset)
            height = push_picked(
                tables, walk, height, spot, moves,
                task.settings, trip.stream, own, places,
            )  # fmt: skip
        elif draws_own:
            policy, row = policy_at(nodes, tables, moves)
            # Outcome sampling draws from a mixture of the policy and the uniform policy
            # (Lanctot et al. 2009), balanced outcome sampling from the balanced
            # strategy (Farina, Kroer, Sandholm 2020, section 4.2.1).
            odds = policy if explores else tables.balance
            epsilon = task.settings[EPSILON] if explores else 0.0
            child, likelihood = draw_explored(odds, row, moves.count, epsilon, draw)
            weight /= likelihood
        elif skips:
            height, weight = push_kept(
                tables, walk, height, spot, moves, trip.poor, places
            )
        else:
            height = push_other_children(
                walk, height, spot, moves, is_weighted, places, has_debts
            )
        return height, Choice(follows, child, moves.slots + child, weight, likelihood)

    return choose_own


def make_follow(switches: Switches, source: Source) -> Any:
    """Builds `follow`, which moves to the selected child and returns it as a `Spot`."""
    descend, places = source.descend, switches.places

    @inlined
    def follow(nodes, spot, moves, choice):
        node = descend(nodes, moves, choice.child)
        place = spot.place
        if places != NO_PLACES:
            place = place_below(place, choice.child, places)
        if places == COUNTED_PLACES:
            place += np.uint64(moves.acting == CHANCE_NODE)
        return Spot(node, choice.sequence, choice.weight, place, spot.debt)

    return follow


def make_correct(switches: Switches) -> Any:
    """Builds `correct`, which adds the control variate of a node to the gradient.

    See baselines.py. `correct` returns the counters (`Progress`).
    """
    branches, forgets = switches.branches, switches.forgets

    @inlined
    def correct(tables, walk, trip, spot, moves, choice, progress):
        height, num_met, num_touched, num_notes, num_leaves, num_forks = progress
        gradient = walk.gain if forgets else tables.gradient
        num_notes = control(
            tables, gradient, walk, num_notes, spot, moves, choice,
            trip.player, branches, num_touched > trip.passed,
        )  # fmt: skip
        return Progress(height, num_met, num_touched, num_notes, num_leaves, num_forks)

    return correct
