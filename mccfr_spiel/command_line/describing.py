"""The command `info`: what a game is, what can run on it, and what that takes."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from absl import flags

from mccfr_spiel.algorithms import ALGORITHMS, CFR_PLUS, EXTERNAL_SAMPLING, Algorithm
from mccfr_spiel.command_line.running import imported_games
from mccfr_spiel.display import brief
from mccfr_spiel.evaluation.exact import nash_conv
from mccfr_spiel.experiments.single_run import show
from mccfr_spiel.limits import NODE_BYTES, Forecast, TreeFullError, forecast, in_words
from mccfr_spiel.offline.methods import OFFLINE_METHODS
from mccfr_spiel.offline.sequence_form import sequence_form
from mccfr_spiel.solver import Solver
from mccfr_spiel.solving.state import needs_whole_tree
from mccfr_spiel.storage.results_folder import load_string
from mccfr_spiel.tree.game_tree import GameTree

_COUNTED = 3_000_000
"""A tree that is surely not larger is expanded and counted; rules do ten times more."""

_NO_LIMIT = 1e300

_WALKS = 10
"""Random histories of each player that tell how many nodes a walk meets."""

_TRIED = 20_000
"""Nodes that are expanded to see how long one takes."""

_NANOSECONDS = 3.0
"""What CFR takes for a node and a player, on a tree that does not fit the caches."""

_SECONDS = 0.3
"""How long each algorithm is tried, about."""


class Size(NamedTuple):
    """How large a tree is.

    Attributes:
        tree: the whole tree, or None if it was only estimated.
        forecast: the estimates, if it was not counted.
        seconds: of expanding it, or an estimate.
        seconds_of_node: of expanding one node.
        fits: whether it may fit the memory.
    """

    tree: GameTree | None
    forecast: Forecast
    seconds: float
    seconds_of_node: float
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
    found = forecast(
        tree.new_state,
        longest=tree.longest_history,
        per_infoset=tree.budget.per_infoset,
        most_nodes=_NO_LIMIT,  # so that many histories are followed in any case
    )
    if found.endless is not None:
        tree.check_length(found.endless)
    most = _COUNTED * (10 if tree.offers_rules else 1)
    nodes = statistics.fmean(found.nodes)
    fits = nodes * NODE_BYTES < tree.budget.limit and nodes < tree.max_nodes
    began = time.perf_counter()
    try:
        tree.expand_all(most=most if nodes < 3 * most else _TRIED)
    except TreeFullError:
        took = time.perf_counter() - began
        tried = most if nodes < 3 * most else _TRIED
        each = took / tried
        return Size(None, found, each * max(nodes, tried), each, fits)
    took = time.perf_counter() - began
    return Size(tree, found, took, took / tree.num_nodes, True)


def _lines_of_size(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    if size.tree is None:
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
        note = ", compilation included" if tree.offers_rules else ""
        yield "", f"expanding it took {_duration(size.seconds)}{note}"
    yield "memory", f"{in_words(tree.budget.limit)} may be taken"
    if size.tree is not None:
        solver = Solver(tree, CFR_PLUS)
        yield "", f"{in_words(solver.tree.budget.taken)} for the tree and CFR+"


# --- algorithms ------------------------------------------------------------------


def _lines_of_algorithms(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    whole = [name for name, one in ALGORITHMS.items() if needs_whole_tree(one)]
    growing = [name for name in ALGORITHMS if name not in whole]
    if size.fits:
        yield "algorithms", ", ".join(growing)
        yield "", ", ".join(whole)
    else:
        yield "algorithms", ", ".join(growing)
        yield "", f"not {', '.join(whole)}: the whole tree does not fit"
    offline = ", ".join(OFFLINE_METHODS)
    problem = _why_not_offline(size, tree)
    yield "offline", f"not {offline}: {problem}" if problem else offline
    how = "exact" if size.fits else "by play (--evaluate=sampled)"
    yield "evaluation", how


def _why_not_offline(size: Size, tree: GameTree) -> str:
    """Why linear programs and first-order methods cannot run; empty if they can."""
    if size.tree is None:
        zero_sum = pyspiel.GameType.Utility.ZERO_SUM
        constant = pyspiel.GameType.Utility.CONSTANT_SUM
        kind = tree.source.get_type().utility
        if tree.num_players != 2 or kind not in (zero_sum, constant):
            return "they are for two players and a constant sum"
        return "" if size.fits else "the whole tree does not fit"
    try:
        sequence_form(size.tree)
    except ValueError as error:
        return str(error).partition(";")[0]
    return ""


# --- time ------------------------------------------------------------------------


def _lines_of_time(size: Size, tree: GameTree) -> Iterator[tuple[str, str]]:
    tried = {"external_sampling": EXTERNAL_SAMPLING}
    tried["outcome_sampling"] = ALGORITHMS["outcome_sampling"]
    if size.tree is not None:
        tried = {"cfr_plus": CFR_PLUS, **tried}
    heading = "time"
    for name, algorithm in tried.items():
        nodes = _nodes_of_walks(tree, algorithm)
        if size.tree is None and nodes > _TRIED:
            seconds, note = nodes * size.seconds_of_node, " at first, a forecast"
        else:
            seconds, note = _seconds_of_iteration(size, tree, algorithm)
        yield heading, f"{name}: {_duration(seconds)} an iteration{note}"
        heading = ""
    if size.tree is not None:
        vector = np.array(Solver(tree, CFR_PLUS).average_vector())
        took = _timed(lambda: nash_conv(tree, vector))
        yield heading, f"NashConv: {_duration(took)}"
    elif size.fits:
        nodes = statistics.fmean(size.forecast.nodes)
        cfr = nodes * tree.num_players * _NANOSECONDS * 1e-9
        yield heading, f"cfr_plus: about {_duration(cfr)} an iteration (a forecast)"


def _seconds_of_iteration(
    size: Size, tree: GameTree, algorithm: Algorithm
) -> tuple[float, str]:
    """The seconds that an iteration takes, as tried on the game; and a remark."""
    game = tree if size.tree is not None else tree.source
    Solver("kuhn_poker", algorithm).iterate(1)  # compiles it
    solver = Solver(game, algorithm, max_memory=tree.budget.limit)
    end = time.perf_counter() + _SECONDS
    count = 1
    # Each pass runs as many iterations as all before it, until time is up.
    while time.perf_counter() < end and solver.num_iterations < 10_000_000:
        solver.iterate(count)
        count = solver.num_iterations
    note = "" if size.tree is not None else " at first, while the tree grows"
    return solver.seconds / solver.num_iterations, note


def _nodes_of_walks(tree: GameTree, algorithm: Algorithm) -> float:
    """About how many nodes an iteration meets, estimated by random histories.

    Where a walk follows all moves, a node of the history stands for as many nodes as
    there are moves.
    """
    sampling = algorithm.sampling
    generator = random.Random(0)
    total = 0.0
    for player in [*range(tree.num_players)] * _WALKS:
        state, weight = tree.new_state(), 1.0
        while not state.is_terminal():
            total += weight
            if state.is_chance_node():
                moves = [move for move, _ in state.chance_outcomes()]
                is_sampled = sampling.chance
            else:
                moves = state.legal_actions()
                is_own = state.current_player() == player
                is_sampled = sampling.player != "all" if is_own else sampling.opponents
            weight *= 1 if is_sampled else len(moves)
            state.apply_action(generator.choice(moves))
    return total / _WALKS


def _timed(function: Callable[[], object]) -> float:
    function()  # compiles
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def _duration(seconds: float) -> str:
    """Seconds for readers."""
    if seconds >= 1e9:
        return "more than 30 years"
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "s")):
        if seconds >= 2 * unit or (unit == 1 and seconds >= 1):
            count = seconds / unit
            return f"{count:,.0f} {name}" if count >= 100 else f"{count:.3g} {name}"
    for unit, name in ((1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"
