"""The tree on demand: expands the nodes on which a compiled walk stops.

The walk's draws are a pure function of the place, so Python knows where the walk will
go below the node on which it stopped, and expands all of that at once. A wrong guess
costs another stop, never a different result.
"""

import random
from typing import Any

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.algorithms import Sampling
from mccfr_spiel.game_tree import CHANCE_NODE, MAX_INDEX, GameTree, TreeFullError
from mccfr_spiel.randomness import (
    ROOT_PLACE,
    child_place,
    plain_child_place,
    plain_stream_key,
    plain_uniform,
    uniform,
)

_MANY = 2**13
"""After so many nodes met by one walk, its size is estimated."""

_PROBES = 25
_FACTOR = 10**7
"""Each probe's estimate is unbiased, so that it exceeds `_FACTOR` times the truth with
a probability of at most 1 / `_FACTOR` (Markov), and that any of them does so is as good
as impossible."""


class WalkTooLargeError(TreeFullError):
    """A single walk meets more nodes than the tree may have."""


class Growth:
    """Grows a tree for the walks of one kind of sampling."""

    def __init__(self, tree: GameTree, sampling: Sampling) -> None:
        self._tree = tree
        self._sampling = sampling
        self._follows_one = (
            sampling.chance and sampling.opponents and sampling.player != "all"
        )
        self._samples: list[list[bool]] = []  # who is sampled in the walk for each
        for player in range(tree.num_players):
            samples = [sampling.opponents] * tree.num_players
            samples[player] = sampling.player != "all"
            self._samples.append(samples)
        self._restarted: tuple[int, int] | None = None

    def grow(self, tables: kernels.Tables, walk: kernels.Walk, seed: int) -> None:
        """Expands the node on which the walk stopped and what it will visit below.

        If the tree is full, all its nodes are dropped and the walk begins again.

        Raises:
            WalkTooLargeError: one walk alone meets more than the tree's `max_nodes`;
                if more by far, that is known before the tree is full.
            ValueError: see `GameTree.expand`.
        """
        was_empty = self._tree.num_nodes == 1
        try:
            self._expand_ahead(tables, walk, seed)
        except WalkTooLargeError:
            raise
        except TreeFullError as error:
            this = tuple(walk.cursor[[kernels.ITERATION, kernels.PLAYER]].tolist())
            if was_empty or self._restarted == this:
                raise self._too_large("more") from error
            # In this order Ctrl-C may come in between.
            kernels.restart_walk(self._tree.infosets, tables, walk)
            self._tree.forget_nodes()
            self._restarted = this

    def _expand_ahead(
        self, tables: kernels.Tables, walk: kernels.Walk, seed: int
    ) -> None:
        tree, expand, cursor = self._tree, self._tree.expand, walk.cursor.tolist()
        iteration, player = cursor[kernels.ITERATION], cursor[kernels.PLAYER]
        stream = plain_stream_key(seed, iteration, player, tree.num_players)
        samples_chance, samples = self._sampling.chance, self._samples[player]
        # Games without chance need no places, which take time.
        has_places = samples_chance and len(tree.chance_cdf) > 0
        epsilon = self._sampling.epsilon
        policy, known = tables.policy.data, tree.num_sequences
        place = walk.place.item(cursor[kernels.TOP] - 1)
        node = cursor[kernels.NODE_TO_GROW]
        state, sequences = tree.state_at(node)
        limit = MAX_INDEX if self._follows_one else tree.num_nodes + _MANY
        stack: list[list[Any]] = []  # the child to come, the moves, and their node's
        while True:
            moves, acting, first, start, infoset = expand(node, state, sequences)
            if tree.num_nodes > limit:
                self._check_size(tables, player, np.uint64(stream))
                limit = MAX_INDEX
            is_last = True
            if acting >= 0 and samples[acting]:
                count = len(moves)
                draw = plain_uniform(stream, tree.infoset_place(infoset))
                child = int(draw * count)  # met just now: its policy is uniform
                if start < known:
                    share = epsilon if acting == player else 0.0
                    rest = share / count
                    for alternative in range(count):
                        b = (1.0 - share) * policy[start + alternative] + rest
                        if b > 0.0:
                            draw -= b
                            if draw < 0.0:
                                child = alternative
                                break
            elif acting == CHANCE_NODE and samples_chance:
                if not has_places:  # the first one: below it the walk stops again
                    return
                draw = plain_uniform(stream, place)
                cdf = tree.chance_cdf
                child = int(draw * len(moves))
                while child > 0 and draw < cdf[start + child - 1]:
                    child -= 1
                while draw >= cdf[start + child]:
                    child += 1
            else:
                if moves:
                    its = moves, acting, first, start, state, sequences, place
                    stack.append([0, *its])
                if not stack:
                    return
                child, moves, acting, first, start, state, sequences, place = stack[-1]
                is_last = child + 1 == len(moves)
                if is_last:
                    stack.pop()
                else:
                    stack[-1][0] = child + 1
            move = moves[child] if acting >= 0 else moves[child][0]
            if is_last:  # nobody needs the parent's any more
                state.apply_action(move)
            else:
                state = state.child(move)
                sequences = sequences.copy()
            if acting >= 0:
                sequences[acting] = start + child
            node = first + child
            if has_places:
                place = plain_child_place(place, child)

    def _follows_all(self, acting: int, player: int) -> bool:
        """Whether the walk for `player` visits all children of a node."""
        if acting == CHANCE_NODE:
            return not self._sampling.chance
        return not self._samples[player][acting]

    def _probs(
        self,
        tables: kernels.Tables,
        player: int,
        infoset: int,
        count: int,
        acting: int,
    ) -> list[float]:
        """By which probabilities the walk samples at an infoset; -1 if it is new."""
        probs = [0.0]
        if infoset >= 0:
            first = self._tree.infosets[infoset]["first_sequence"]
            probs = tables.policy[first : first + count].tolist()
        if not sum(probs) > 0:  # met just now
            probs = [1 / count] * count
        if acting == player:
            epsilon = self._sampling.epsilon
            probs = [(1 - epsilon) * b + epsilon / count for b in probs]
        return probs

    # --- walks that are too large ------------------------------------------

    def _check_size(
        self, tables: kernels.Tables, player: int, stream: np.uint64
    ) -> None:
        """Raises WalkTooLargeError if the present walk is too large by far."""
        generator = random.Random(0)
        most = _FACTOR * self._tree.max_nodes
        for _ in range(_PROBES):
            if self._probe(tables, player, stream, generator, most) > most:
                raise self._too_large("far more")

    def _probe(
        self,
        tables: kernels.Tables,
        player: int,
        stream: np.uint64,
        generator: random.Random,
        most: int,
    ) -> int:
        """An unbiased estimate of the number of nodes of a walk (Knuth 1975).

        It follows a random one of the walk's histories, until it is above `most`.
        """
        tree = self._tree
        state = tree.new_state()
        place = ROOT_PLACE
        size = share = 1
        while size <= most and not state.is_terminal():
            acting = state.current_player()
            if acting == CHANCE_NODE:
                actions, probs = zip(*state.chance_outcomes(), strict=True)
                draw = uniform(stream, place)
            else:
                actions = state.legal_actions()
                info_state = tree.string_of(state, acting)
                infoset = tree.find(info_state, acting)
                probs = self._probs(tables, player, infoset, len(actions), acting)
                draw = uniform(stream, np.uint64(tree.place(info_state, acting, state)))
            if self._follows_all(acting, player):
                share *= len(actions)
                child = generator.randrange(len(actions))
            else:
                child = _choose(probs, draw)
            size += share
            place = np.uint64(child_place(place, child))
            state.apply_action(actions[child])
        return size

    def _too_large(self, size: str) -> WalkTooLargeError:
        tree = self._tree
        return WalkTooLargeError(
            f"At most max_nodes={tree.max_nodes} nodes are kept, but a single walk "
            f"over {tree.source} meets {size}, since this sampling follows all of a "
            "player's actions. Use outcome sampling, which follows one history, or "
            "raise max_nodes if memory and time allow."
        )


def _choose(probs, draw):
    """The alternative on which a draw falls, in the kernels' order of subtractions."""
    chosen = 0
    for child, prob in enumerate(probs):
        if prob > 0:
            chosen = child
            draw -= prob
            if draw < 0:
                break
    return chosen
