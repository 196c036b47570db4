"""The command `info`: what a game is, what can run on it, and what that takes."""

import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from absl import flags

from mccfr_spiel.algorithms import ALGORITHMS, CFR_PLUS
from mccfr_spiel.command_line.running import imported_games
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common import limits
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folders import load_string
from mccfr_spiel.evaluation.exact import is_two_player_constant_sum, nash_conv
from mccfr_spiel.offline.methods import OFFLINE_METHODS
from mccfr_spiel.offline.sequence_form import sequence_form
from mccfr_spiel.solving.preparing import needs_whole_tree
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.tree.game_tree import GameTree

_COUNTED = 3_000_000
"""A tree that is surely not larger is expanded and counted; rules do ten times more."""

_NO_LIMIT = 1e300

_TRIED = 20_000
"""Nodes that are expanded to see how long one takes."""

_SECONDS = 0.3
"""How long each algorithm is tried, about."""


class Size(NamedTuple):
    """How large a tree is.

    Attributes:
        is_counted: whether the tree is whole, not only estimated.
        forecast: the estimates.
        seconds: of expanding it, or an estimate.
        fits: whether it may fit the memory.
    """

    is_counted: bool
    forecast: limits.Forecast
    seconds: float
    fits: bool


class Own:
    """The flags that only this command has.

    Attributes:
        measure: Run algorithms for a moment to see how long an iteration takes.
    """

    measure: bool = True


def run(values: flags.FlagValues, game: str) -> int:
    """Prints what there is to know of a game; returns the exit code."""
    imported_games()
    if not values["game"].present:
        raise ValueError("Which game? As in: mccfr-spiel info leduc_poker")
    tree = GameTree(load_string(game, values.players), max_memory=values.max_memory)
    for name, text in _lines(tree, measure=values.measure):
        show(f"{name:<12}{text}".rstrip())
    return 0


def _lines(tree: GameTree, *, measure: bool) -> Iterator[tuple[str, str]]:
    kind = tree.source.get_type()
    yield "game", f"{kind.long_name}, {brief(tree.source)}"
    yield "kind", ", ".join(_words_of_kind(tree.source))
    size = _size(tree)
    yield from _lines_of_size(size, tree)
    times = []
    if measure:
        try:
            times = [*_lines_of_time(size, tree)]
        except ValueError as error:  # met where walks went beyond what was expanded
            yield "algorithms", f"none: {error}"
            return
    yield from _lines_of_algorithms(size, tree)
    yield from times


def _words_of_kind(game: pyspiel.Game) -> Iterator[str]:
    kind = game.get_type()
    yield f"{game.num_players()} players"
    for value in (kind.utility, kind.information, kind.dynamics):
        yield value.name.lower().replace("_", " ")
    deterministic = pyspiel.GameType.ChanceMode.DETERMINISTIC
    yield "no chance" if kind.chance_mode == deterministic else "chance"


# --- size ------------------------------------------------------------------------


def _size(tree: GameTree) -> Size:
    found = limits.forecast(
        tree.new_state,
        longest=tree.longest_history,
        per_infoset=tree.budget.per_infoset,
        most_nodes=_NO_LIMIT,  # so that many histories are followed in any case
    )
    if found.endless is not None:
        tree.check_length(found.endless)
    most = _COUNTED * (10 if tree.rules is not None else 1)
    nodes = statistics.fmean(found.nodes)
    fits = nodes * limits.NODE_BYTES < tree.budget.limit and nodes < tree.max_nodes
    began = time.perf_counter()
    tried = most if nodes < 3 * most else _TRIED
    try:
        tree.expand_all(most=tried)
    except limits.TreeFullError:
        took = time.perf_counter() - began
        return Size(False, found, took / tried * max(nodes, tried), fits)
    return Size(True, found, time.perf_counter() - began, True)


def _lines_of_size(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    if not size.is_counted:
        probes = len(size.forecast.nodes)
        histories = "history" if probes == 1 else "histories"
        yield "size", f"estimated by {probes:,} random {histories}:"
        yield "", f"{size.forecast.in_words()} for the whole tree"
        yield "", f"expanding it would take {_duration(size.seconds)}"
    else:
        players = range(tree.num_players)
        own = [int((tree.infosets["player"] == player).sum()) for player in players]
        yield "size", f"{tree.num_nodes:,} nodes, counted"
        each = " + ".join(f"{count:,}" for count in own)
        yield "", f"{tree.num_infosets:,} information sets ({each})"
        yield "", f"{tree.num_sequences:,} sequences"
        note = ", compilation included" if tree.rules is not None else ""
        yield "", f"expanding it took {_duration(size.seconds)}{note}"
    yield "memory", f"{limits.in_words(tree.budget.limit)} may be taken"
    if size.is_counted:
        solver = Solver(tree, CFR_PLUS)
        yield "", f"{limits.in_words(solver.tree.budget.taken)} for the tree and CFR+"


# --- algorithms ------------------------------------------------------------------


def _lines_of_algorithms(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    whole = [name for name, one in ALGORITHMS.items() if needs_whole_tree(one)]
    yield "algorithms", ", ".join(name for name in ALGORITHMS if name not in whole)
    words = ", ".join(whole)
    yield "", words if size.fits else f"not {words}: the whole tree does not fit"
    offline = ", ".join(OFFLINE_METHODS)
    problem = _why_not_offline(size, tree)
    yield "offline", f"not {offline}: {problem}" if problem else offline
    how = "exact" if size.fits else "by play (--evaluate=sampled)"
    yield "evaluation", how


def _why_not_offline(size: Size, tree: GameTree) -> str:
    """Why linear programs and first-order methods cannot run; empty if they can."""
    if not size.is_counted:
        if not is_two_player_constant_sum(tree.source):
            return "they are for two players and a constant sum"
        return "" if size.fits else "the whole tree does not fit"
    try:
        sequence_form(tree)
    except ValueError as error:
        return str(error).partition(";")[0]
    return ""


# --- time ------------------------------------------------------------------------


def _lines_of_time(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    """What iterations take, as tried on the game. Where the whole tree is not there,
    only outcome sampling is tried: a single walk of another may meet most of it."""
    names = "cfr_plus", "external_sampling", "outcome_sampling"
    for name in names if size.is_counted else names[2:]:
        algorithm = ALGORITHMS[name]
        Solver("kuhn_poker", algorithm).iterate(1)  # compiles it
        game = tree if size.is_counted else tree.source
        solver = Solver(game, algorithm, max_memory=tree.budget.limit)
        end = time.perf_counter() + _SECONDS
        # Each pass runs as many iterations as all before it, until time is up.
        while time.perf_counter() < end and solver.num_iterations < 10_000_000:
            solver.iterate(max(solver.num_iterations, 1))
        words = _duration(solver.seconds / solver.num_iterations)
        note = "" if size.is_counted else " at first, while the tree grows"
        heading = "time" if name == "cfr_plus" or not size.is_counted else ""
        yield heading, f"{name}: {words} an iteration{note}"
    if size.is_counted:
        vector, took = np.array(Solver(tree, CFR_PLUS).average_vector()), 0.0
        for _ in range(2):  # the first of which compiles it
            began = time.perf_counter()
            nash_conv(tree, vector)
            took = time.perf_counter() - began
        yield "", f"NashConv: {_duration(took)}"


def _duration(seconds: float) -> str:
    """Seconds for readers."""
    if seconds >= 1e9:
        return "more than 30 years"
    units = {"days": 86400, "hours": 3600, "minutes": 60, "s": 0.5}
    for name, unit in (units | {"ms": 1e-3, "us": 1e-6}).items():
        if seconds >= 2 * unit:
            count = seconds / (1.0 if name == "s" else unit)
            return f"{count:,.0f} {name}" if count >= 100 else f"{count:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"
