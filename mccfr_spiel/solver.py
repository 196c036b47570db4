"""Solver: owns the state of an algorithm on a game and runs it."""

import contextlib
import math
import operator
import os
import time
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel import checkpoint, kernels
from mccfr_spiel.algorithms import (
    EXTERNAL_SAMPLING,
    Algorithm,
    Averaging,
    Minimizer,
    Sampling,
)
from mccfr_spiel.frame import frame_of
from mccfr_spiel.full_pass import full_pass
from mccfr_spiel.game_tree import (
    DEFAULT_MAX_NODES,
    Abstraction,
    GameTree,
    TreeFullError,
    load_game,
    reserve,
)
from mccfr_spiel.growth import Growth
from mccfr_spiel.memory import Memory, memory_of
from mccfr_spiel.policy import SequencePolicy

_SLICE_SECONDS = 0.25
"""A compiled call hears no signal; it is cut so that it lasts about this long."""

_MOST_NODES_AHEAD = 20_000_000
"""Compiled rules expand as much in seconds, before the first walk needs it."""

_ENDLESS = 2**62

_PER_INFOSET = ("paid", "weight", "is_met")
"""The fields of kernels.Tables over infosets; the others are over sequences."""


class Solver:
    """Runs an algorithm on a game: `iterate`, then ask for a policy.

        solver = Solver("leduc_poker", EXTERNAL_SAMPLING, seed=0)
        solver.iterate(100_000)
        solver.average_policy()

    Attributes:
        tree: the game's tree: whole, or what walks met so far.
        algorithm, seed: as given.
        seconds: time spent in `iterate`, before a checkpoint included.
    """

    def __init__(
        self,
        game: pyspiel.Game | str | GameTree,
        algorithm: Algorithm = EXTERNAL_SAMPLING,
        *,
        seed: int = 0,
        max_nodes: int = DEFAULT_MAX_NODES,
        abstraction: Abstraction | None = None,
    ) -> None:
        """Prepares the algorithm; all policies are uniform.

        With an abstraction, players may forget, and no theorem holds. What is done: at
        each history that a walk meets, regrets are those of its information set had
        nobody forgotten; they are added up for all histories of one string, whose
        common policy moves once after the walk. The average policy of a string weighs
        the policy of each iteration by the sum, over the player's own ways to the
        string, of its own probability to go that way. That is exact on a complete tree
        (`GameTree(...).expand_all()`); on one that grows, a way met late is counted as
        if the string had had all along the policy it has then.

        Args:
            game: any OpenSpiel game that gives information-state strings and lists its
                chance outcomes, its load string, or its GameTree. Simultaneous moves
                become turns.
            algorithm: what to run, see algorithms.py.
            seed: any integer; with the game and the algorithm it determines everything.
            max_nodes: how many nodes are kept. Sampling algorithms drop them when they
                are too many and meet them again; others raise ValueError. Not used with
                a GameTree, which has its own.
            abstraction: what replaces the information-state strings, see `GameTree`;
                for regret matching and regret matching+, with any sampling but the
                balanced. A GameTree has its own.

        Raises:
            ValueError: the game cannot be solved (see `GameTree`), or not by this.
        """
        if not isinstance(algorithm, Algorithm):
            raise ValueError(f"{algorithm!r} is not an Algorithm.")
        self.algorithm = algorithm
        self.seed = int(seed)
        self.seconds = 0.0
        sampling, minimizer, averaging, _ = algorithm
        if not isinstance(game, GameTree):
            self.tree = GameTree(game, max_nodes=max_nodes, abstraction=abstraction)
        elif abstraction in (None, game.abstraction):
            self.tree = game
        else:
            raise ValueError("The tree was made without this abstraction; give it one.")
        is_abstract = self.tree.abstraction is not None
        if is_abstract:
            _check_supports_abstraction(algorithm)
        if _needs_whole_tree(algorithm):
            self.tree.expand_all()
        elif self.tree.offers_rules and not self.tree.num_infosets:
            with contextlib.suppress(TreeFullError):  # else it grows with the walks
                self.tree.expand_all(most=_MOST_NODES_AHEAD)
        self._rule = kernels.RULES[minimizer.rule]
        self._settings = np.array(
            [
                sampling.epsilon,
                minimizer.step_size,
                averaging.gamma,
                minimizer.initial_regret,
            ],
            np.float64,
        )
        self._job = np.zeros(kernels.JOB_SIZE, np.uint64)
        self._job[kernels.SEED] = self.seed % 2**64
        self._job[kernels.ALTERNATING] = algorithm.alternating
        self._job_fields = self._job.data  # quicker to read and write
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = (None,)  # what it is of, as far as that changes
        self._slice = 100_000
        self._tables = self._new_tables()
        self._walk = _new_walk()
        self._counts = self._walk.cursor.data  # the same memory, quicker to read
        self._start_infosets()
        self._iterate = kernels.make_iterate(
            sampling.chance,
            sampling.opponents,
            sampling.player,
            sampling.prune,
            self._rule,
            is_abstract,
        )
        self._walks = sampling.is_sampled or sampling.prune
        self._growth = Growth(self.tree, sampling)
        self._whole: tuple[np.ndarray, ...] = ()  # kernels.Passes and the plans
        if not self._walks:
            passes = full_pass(self.tree)
            self._whole = *passes.arrays, passes.plan(self._tables.policy)

    def memory(self) -> Memory:
        """The bytes that the solver and its tree take now.

        What grows on is foreseen from `bytes_per_node`, up to `max_nodes`, and
        `bytes_per_sequence`.
        """
        return memory_of(self.tree, self._tables, self._walk, self._whole)

    # --- running -----------------------------------------------------------

    @property
    def num_iterations(self) -> int:
        """Iterations done; in one of them every player is updated once."""
        return self._counts[kernels.ITERATION] - self._is_midway

    @property
    def nodes_touched(self) -> int:
        """Nodes visited by all walks, chance and terminal ones included; a pass over
        the full tree counts all its nodes for each player."""
        return self._counts[kernels.NODES_TOUCHED]

    @property
    def _is_midway(self) -> bool:
        """Whether an error or Ctrl-C left an iteration unfinished."""
        return bool(self._counts[kernels.PLAYER] or self._counts[kernels.TOP])

    def iteration(self) -> None:
        """Runs one iteration."""
        self.iterate(1)

    def iterate(self, num_iterations: int) -> None:
        """Runs some iterations.

        After Ctrl-C (KeyboardInterrupt) the solver can be used on; it finishes the
        iteration it was in when it is called again.

        Args:
            num_iterations: how many, at least 0.

        Raises:
            ValueError: `num_iterations` is negative or no integer, or a state of the
                game is met that cannot be handled (see `GameTree.expand`), or a
                history too unlikely for outcome sampling.
        """
        if not num_iterations >= 0 or num_iterations % 1:  # nor NaN, nor infinity
            raise ValueError(f"num_iterations={num_iterations} is not an integer >= 0.")
        done = self.num_iterations
        last = min(done + int(num_iterations), _ENDLESS)
        while done < last:
            self._run(last)
            done = self.num_iterations

    def iterate_until(self, nodes_touched: float) -> None:
        """Runs iterations until at least so many nodes have been touched in all.

        The last iteration is run to its end. Errors as in `iterate`.
        """
        if not math.isfinite(nodes_touched):
            raise ValueError(f"nodes_touched={nodes_touched} is not finite.")
        enough = max(0, math.ceil(nodes_touched))
        while self.nodes_touched < enough or self._is_midway:
            self._run(_ENDLESS, enough)

    def _run(self, last: int, most_nodes: int = _ENDLESS) -> None:
        """Runs one slice of the iterations up to number `last`, none of which begins
        with `most_nodes` nodes touched."""
        began = time.perf_counter()
        job = self._job_fields
        job[kernels.LAST_ITERATION] = last
        job[kernels.NODE_LIMIT] = min(self.nodes_touched + self._slice, most_nodes)
        while (status := self._call_kernel()) != kernels.DONE:
            if status == kernels.GROW:
                self._growth.grow(self._tables, self._walk, self.seed)
            elif status == kernels.STACK_FULL:
                self._raise_stack()
            elif status == kernels.TOO_UNLIKELY:
                raise ValueError(
                    f"Games of {self.tree.source} are so long that outcome sampling "
                    "met a history of a probability below "
                    f"{1 / kernels.MAX_WEIGHT:.0e}: an unbiased estimate no longer "
                    "fits a floating-point number. Use a shorter game."
                )
        seconds = time.perf_counter() - began
        self.seconds += seconds
        if seconds < _SLICE_SECONDS / 2:
            self._slice = min(2 * self._slice, 2**40)
        elif seconds > 2 * _SLICE_SECONDS:
            self._slice = max(self._slice // 2, 1)

    def _call_kernel(self) -> int:
        """Calls the kernel with all arrays as they are now; returns its status."""
        self._fit_tables()  # others may have expanded the tree meanwhile
        tree, job = self.tree, self._job_fields
        job[kernels.NUM_NODES] = tree.num_nodes
        job[kernels.NUM_INFOSETS] = tree.num_infosets
        moving = (*tree.storage, self._tables, self._walk)
        if not all(map(operator.is_, moving, self._framed)):
            arrays = (*tree.storage, *self._tables, *self._walk, *self._whole)
            self._frame = frame_of((self._job, self._settings, *arrays), kernels.FRAME)
            self._framed = moving  # last: Ctrl-C may come in between
        return self._iterate(self._frame)

    # --- policies ----------------------------------------------------------

    def current_vector(self) -> np.ndarray:
        """`[S]` the policy that the next iteration uses, over the tree's sequences."""
        self._start_infosets()
        return self._tables.policy[: self.tree.num_sequences].copy()

    def average_vector(self) -> np.ndarray:
        """`[S]` the average policy, over the tree's sequences."""
        self._start_infosets()
        infosets, tables = self.tree.infosets, self._tables
        average = tables.average[: self.tree.num_sequences].copy()
        if self._walks:  # on copies, so that asking never changes a later bit
            kernels.settle_average(infosets, tables.policy, average, tables.paid)
        kernels.join_averages(infosets, self.tree.ties, average)
        average[: self.tree.num_players] = 1
        kernels.normalize(infosets, average)
        return average

    def current_policy(self) -> SequencePolicy:
        """A snapshot of the policy that the next iteration uses."""
        return SequencePolicy(self.tree, self.current_vector())

    def average_policy(self) -> SequencePolicy:
        """A snapshot of the average policy, which approaches an equilibrium in
        two-player zero-sum games. Uniform before the first iteration."""
        return SequencePolicy(self.tree, self.average_vector())

    # --- saving ------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all of the solver's state into a file; `load` resumes exactly.

        The file appears whole or not at all. An older one is kept as `path` +
        ".previous". An iteration that Ctrl-C left unfinished is finished first.

        Raises:
            OSError: it cannot be written; then an older file is as it was.
        """
        checkpoint.save(path, self._contents())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: pyspiel.Game | str | GameTree | None = None,
        *,
        abstraction: Abstraction | None = None,
    ) -> "Solver":
        """Reads what `save` wrote, to go on as if nothing had happened.

        Args:
            path: the file.
            game: the game, if its load string is not enough to make it; or its complete
                GameTree, such as `cached_tree` gives, to use that.
            abstraction: the solver's, if it had one; no file has a function in it.

        Raises:
            CheckpointError: the file is damaged, of another game or version, of a
                solver with an abstraction where there is none or the reverse, or the
                game's rules are not those it was saved with.
            ValueError: its game cannot be loaded, or the tree is not complete.
            OSError: the file cannot be read.
        """
        return cls._from_contents(checkpoint.load(path), game, abstraction)

    @classmethod
    def load_newest(
        cls,
        path: str | os.PathLike[str],
        game: pyspiel.Game | str | GameTree | None = None,
        *,
        abstraction: Abstraction | None = None,
    ) -> "Solver":
        """Reads the newest good one of the files that `save` wrote to a path.

        If the file is damaged or missing, that is the one before, `path` +
        ".previous"; a damaged one is renamed to `path` + ".damaged". Arguments and
        errors as in `load`.
        """
        contents = checkpoint.load_newest(path)
        return cls._from_contents(contents, game, abstraction)

    def __reduce__(self) -> tuple[Any, ...]:
        data = checkpoint.to_bytes(self._contents())
        return _unpickle, (type(self), data, self.tree.abstraction)

    def _contents(self) -> checkpoint.Contents:
        while self._is_midway:
            self._run(int(self._walk.cursor[kernels.ITERATION]))
        self._start_infosets()
        tree = self.tree
        is_whole = _needs_whole_tree(self.algorithm) or tree.is_repeatable
        header = {
            "version": checkpoint.VERSION,
            "game": str(tree.source),
            "algorithm": _to_json(self.algorithm),
            "seed": self.seed,
            "seconds": self.seconds,
            "max_nodes": tree.max_nodes,
            "rules": tree.digest(),
            "abstracted": tree.abstraction is not None,
        }
        arrays = {
            name: table[: tree.num_infosets if name in _PER_INFOSET else None]
            for name, table in self._tables._asdict().items()
        }
        for name in ("policy", "memory", "gradient", "average"):
            arrays[name] = arrays[name][: tree.num_sequences]
        arrays["cursor"] = self._walk.cursor
        if not is_whole:
            arrays |= checkpoint.pack_strings(tree.names)
            arrays |= {"infosets": tree.infosets, "actions": tree.actions}
        if self._whole:
            arrays["plan"] = self._whole[-1]
        return checkpoint.Contents(header, arrays)

    @classmethod
    def _from_contents(
        cls,
        contents: checkpoint.Contents,
        game: pyspiel.Game | str | GameTree | None,
        abstraction: Abstraction | None = None,
    ) -> "Solver":
        with checkpoint.odd_contents_in_words():
            return cls._restore(contents, game, abstraction)

    @classmethod
    def _restore(
        cls,
        contents: checkpoint.Contents,
        game: pyspiel.Game | str | GameTree | None,
        abstraction: Abstraction | None,
    ) -> "Solver":
        header, arrays = contents
        tree = _tree_of(contents, game, abstraction)
        solver = cls(tree, _from_json(header["algorithm"]), seed=header["seed"])
        if tree.digest() != header["rules"]:
            raise checkpoint.CheckpointError(
                f"The rules of {tree.source} are not those that the checkpoint was "
                "made with: its information states or actions have changed."
                + _grown_hint(arrays, game)
            )
        fresh = solver._tables._asdict() | {"cursor": solver._walk.cursor}
        if solver._whole:
            fresh["plan"] = solver._whole[-1]
        for name, table in fresh.items():
            if arrays[name].dtype != table.dtype or arrays[name].shape != table.shape:
                raise checkpoint.DamagedError(
                    f"The checkpoint's table {name!r} is {arrays[name].dtype} "
                    f"{arrays[name].shape}, not {table.dtype} {table.shape}."
                )
            table[:] = arrays[name]
        cursor = solver._walk.cursor
        if solver._is_midway or cursor[kernels.NUM_MET] or (cursor < 0).any():
            raise checkpoint.DamagedError(
                f"The checkpoint's cursor {cursor.tolist()} is not that of a solver "
                "between two iterations."
            )
        solver.seconds = float(header["seconds"])
        return solver

    # --- tables ------------------------------------------------------------

    def _new_tables(self) -> kernels.Tables:
        tree = self.tree
        num_infosets, num_sequences = tree.num_infosets, tree.num_sequences
        weight = np.zeros(0)
        if self.algorithm.minimizer.rule in ("ftrl", "omd"):
            weight = np.zeros(num_infosets)
            if self.algorithm.minimizer.weights == "kroer":
                kernels.dilate(tree.infosets, np.zeros(num_sequences), weight)
        balance = np.zeros(0)
        if self.algorithm.sampling.player == "balanced":
            balance = np.ones(num_sequences)
            kernels.count_sequences(tree.infosets, balance)
            kernels.normalize(tree.infosets, balance)
        policy = np.zeros(num_sequences)
        policy[: tree.num_players] = 1
        return kernels.Tables(
            policy=policy,
            memory=np.zeros(num_sequences),
            gradient=np.zeros(num_sequences),
            average=np.zeros(num_sequences),
            paid=np.zeros(num_infosets),
            weight=weight,
            balance=balance,
            is_met=np.zeros(num_infosets, np.uint8),
        )

    def _start_infosets(self) -> None:
        """Gives the infosets that the tree has met since the last time their tables."""
        self._fit_tables()
        kernels.start_infosets(
            self.tree.infosets,
            int(self._walk.known[0]),
            self._tables,
            self._rule,
            self._job[kernels.SEED],
            self.algorithm.minimizer.initial_regret,
        )
        kernels.join_policies(
            self.tree.infosets,
            self.tree.ties,
            int(self._walk.known[0]),
            self._tables.policy,
        )
        self._walk.known[0] = self.tree.num_infosets

    def _fit_tables(self) -> None:
        """Makes room for the infosets that the tree has met."""
        num_infosets, num_sequences = self.tree.num_infosets, self.tree.num_sequences
        if (
            num_infosets <= len(self._walk.met)
            and num_infosets <= len(self._tables.paid)
            and num_sequences <= len(self._tables.policy)
        ):
            return
        tables = self._tables._asdict()
        for name, table in tables.items():
            used = name != "balance" and (name != "weight" or self._rule >= 2)
            if used:
                size = num_infosets if name in _PER_INFOSET else num_sequences
                tables[name] = reserve(table, size)
        self._tables = kernels.Tables(**tables)
        self._walk = self._walk._replace(met=reserve(self._walk.met, num_infosets))

    def _raise_stack(self) -> None:
        walk = self._walk
        height = 2 * len(walk.node) + 2**16
        self._walk = walk._replace(
            node=reserve(walk.node, height),
            sequence=reserve(walk.sequence, height),
            weight=reserve(walk.weight, height),
            place=reserve(walk.place, height),
        )


def _needs_whole_tree(algorithm: Algorithm) -> bool:
    sampling, minimizer, *_ = algorithm
    whole = not sampling.is_sampled or sampling.player == "balanced"
    return whole or minimizer.weights == "kroer"


def _tree_of(
    contents: checkpoint.Contents,
    game: pyspiel.Game | str | GameTree | None,
    abstraction: Abstraction | None,
) -> GameTree:
    """A tree that numbers infosets as the checkpoint's does, or the one given."""
    header, arrays = contents
    if isinstance(game, GameTree):
        tree = game
        abstraction = tree.abstraction
    else:
        source = load_game(header["game"] if game is None else game)
        tree = GameTree(source, max_nodes=header["max_nodes"], abstraction=abstraction)
    if str(tree.source) != header["game"]:
        raise checkpoint.CheckpointError(
            f"The checkpoint is of {header['game']}, not of {tree.source}."
        )
    checkpoint.check_abstracted(header["abstracted"], abstraction)
    if tree is game:
        if not tree.is_complete:
            raise ValueError(
                f"The tree of {tree.source} is not complete; call its expand_all() "
                "first, or give the game."
            )
    elif "infosets" in arrays:
        names = checkpoint.unpack_strings(arrays["text"], arrays["ends"])
        if abstraction is None and len(set(names)) != len(names):
            raise checkpoint.DamagedError("The checkpoint has a string twice.")
        checkpoint.check_infosets(
            len(names), arrays["infosets"], arrays["actions"], tree.num_players
        )
        tree.recall(names, arrays["infosets"], arrays["actions"])
        _check_tied_alike(tree)
    else:
        tree.expand_all()
    return tree


def _grown_hint(arrays: dict[str, np.ndarray], game: Any) -> str:
    if "infosets" not in arrays or not isinstance(game, GameTree):
        return ""
    return (
        " Or only their numbers: the checkpoint is of a tree that grew with the walks; "
        "give the game instead of its tree."
    )


def _check_supports_abstraction(algorithm: Algorithm) -> None:
    rule = algorithm.minimizer.rule
    if rule not in ("regret_matching", "regret_matching_plus"):
        raise ValueError(
            f"{rule} regularizes the plans of players who forget nothing; with an "
            "abstraction use regret_matching or regret_matching_plus."
        )
    if algorithm.sampling.player == "balanced":
        raise ValueError(
            "The balanced strategy counts the sequences of players who forget nothing; "
            "with an abstraction use outcome(epsilon)."
        )


def _check_tied_alike(tree: GameTree) -> None:
    """Raises DamagedError unless tied infosets can share a policy."""
    if tree.abstraction is None:
        return
    mine, leaders = tree.infosets, tree.infosets[tree.ties[:, 0]]
    for field in ("place", "num_actions", "player"):
        if (mine[field] != leaders[field]).any():
            raise checkpoint.DamagedError("The checkpoint's ties do not fit together.")


def _unpickle(
    cls: type[Solver], data: bytes, abstraction: Abstraction | None
) -> Solver:
    return cls._from_contents(checkpoint.from_bytes(data), None, abstraction)


def _to_json(algorithm: Algorithm) -> dict[str, Any]:
    return {
        "sampling": algorithm.sampling._asdict(),
        "minimizer": algorithm.minimizer._asdict(),
        "averaging": algorithm.averaging._asdict(),
        "alternating": algorithm.alternating,
    }


def _from_json(values: dict[str, Any]) -> Algorithm:
    return Algorithm(
        Sampling(**values["sampling"]),
        Minimizer(**values["minimizer"]),
        Averaging(**values["averaging"]),
        values["alternating"],
    )


def _new_walk() -> kernels.Walk:
    height = 256
    return kernels.Walk(
        node=np.zeros(height, np.int32),
        sequence=np.zeros(height, np.int32),
        weight=np.zeros(height),
        place=np.zeros(height, np.uint64),
        met=np.zeros(16, np.int32),
        known=np.zeros(1, np.int64),
        cursor=np.zeros(kernels.CURSOR_SIZE, np.int64),
    )
