"""Exact expected returns, NashConv and best responses.

The results equal those of OpenSpiel's functions up to differences of 1e-12.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyspiel

from mccfr_spiel.arenas.evaluating import full_pass, read_policy
from mccfr_spiel.arenas.request import Game
from mccfr_spiel.common import refusals
from mccfr_spiel.common.budget import MaxMemory
from mccfr_spiel.common.display import brief
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.policies.vectors import sequences_of


def _read(
    game: Game,
    policy: Any,
    max_memory: MaxMemory,
    twin: bool | None,
    store: str,
) -> tuple[Any, np.ndarray]:
    """Returns the tree and the policy vector `[S]` for the arguments of a function.

    Raises:
        ValueError: the policy is missing, for example because the user passed a solver
            in place of the game and the policy; or see `read_policy`.
    """
    if policy is None:
        raise ValueError(
            f"policy=None with {game!r}: expected a game and a policy. For a solver "
            "give solver.tree and solver.average_policy()."
        )
    return read_policy(game, policy, max_memory, twin, store)


def expected_returns(
    game: Game,
    policy: Any = None,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
) -> np.ndarray:
    """`[P]` the players' expected returns when all players follow the policy.

    Args:
        game: a game, its load string, or its tree. With a tree, the game need not be
            expanded in each call. A tree that a solver has grown stays unchanged; an
            expanded copy is cached together with it.
        policy: one policy for all players, or a list `[P]` with one policy per player;
            see `policy_vector` for the accepted types. A policy for another game object
            with the same load string is looked up by information-state strings, as in
            OpenSpiel.
        max_memory: memory limit of the call, including the trees that it expands, in
            bytes or as text such as "4GiB". If `game` is a tree, the limit with which
            this tree was made applies instead.
        threads: largest number of threads; None for one per core. Results do not depend
            on it. Small trees use fewer threads.
        twin: whether to expand the game with its twin, which is this package's compiled
            version of an OpenSpiel game, see `GameTree`.
        store: how to traverse the game. "tree" stores all nodes. "worlds" passes over
            the worlds that a game declares, which are far fewer than its histories (see
            `rules.Description`); phantom_ttt and python_dark_hex are such games. Worlds
            are cached until the process ends. "none" replays all histories with the
            compiled rules of the game or its twin, and stores infosets only. It is slow
            and meant for games without worlds and with at most some billion histories.
            "auto" means "tree", or "worlds" if the tree does not fit into memory.

    Raises:
        TreeFullError, MemoryBudgetError: (both ValueError) the tree is too large. Use
            `sampled_returns` or `learned_response` instead, which need no tree.
        ValueError: see `GameTree` and `policy_vector`.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    return full_pass(tree, threads).values(vector)[0]


class NashConvReturn(NamedTuple):
    """NashConv and its parts, with the field names of OpenSpiel's `nash_conv`.

    Attributes:
        nash_conv: sum of the players' gains.
        player_improvements: `[P]` gain of each player from a best response.
    """

    nash_conv: float
    player_improvements: np.ndarray


@overload
def nash_conv(
    game: Game,
    policy: Any = None,
    return_only_nash_conv: Literal[True] = True,
    use_cpp_br: bool = False,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
    tremble: float = 0.0,
) -> float: ...
@overload
def nash_conv(
    game: Game,
    policy: Any,
    return_only_nash_conv: Literal[False],
    use_cpp_br: bool = False,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
    tremble: float = 0.0,
) -> NashConvReturn: ...
def nash_conv(
    game: Game,
    policy: Any = None,
    return_only_nash_conv: bool = True,
    use_cpp_br: bool = False,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
    tremble: float = 0.0,
) -> float | NashConvReturn:
    """NashConv: the sum over all players of the gain from a best response.

    The gain of a player is the return of a best response to the policies of the other
    players, minus the player's return with the own policy. In a two-player zero-sum
    game, NashConv equals the saddle-point gap, and is twice `exploitability`.

    The arguments that are not listed here, and the errors, are those of
    `expected_returns`.

        gains = ms.nash_conv(game, policy, return_only_nash_conv=False)
        gains.player_improvements  # [gain of player 0, gain of player 1]

    Args:
        game: a game, its load string, or its tree.
        policy: one policy for all players, or a list `[P]` with one policy per player.
        return_only_nash_conv: False returns a `NashConvReturn`, which also contains the
            gain of each player.
        use_cpp_br: ignored, because best responses are always computed by compiled
            code. OpenSpiel's function has this argument.
        tremble: if positive, NashConv of the game in which every action has at least
            this probability, see `Minimizer.trembling`. Best responses tremble, too. A
            policy that violates the trembles is replaced by one that does not.
    """
    only_sum = refusals.flag(return_only_nash_conv, "return_only_nash_conv")
    refusals.flag(use_cpp_br, "use_cpp_br")
    tremble = refusals.tremble(tremble)
    tree, vector = _read(game, policy, max_memory, twin, store)
    passes = full_pass(tree, threads)
    gains = passes.gains_within(vector, tremble) if tremble else passes.gains(vector)
    return float(gains.sum()) if only_sum else NashConvReturn(float(gains.sum()), gains)


def exploitability(
    game: Game,
    policy: Any = None,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
) -> float:
    """NashConv / 2, for two-player constant-sum games.

    Arguments are those of `expected_returns`.

    Raises:
        ValueError: the game is not a two-player constant-sum game; or see
            `expected_returns`.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    if not is_two_player_constant_sum(tree.game):
        raise ValueError(
            f"exploitability needs a two-player constant-sum game, and "
            f"{brief(tree.source)} is not one: use nash_conv instead."
        )
    return full_pass(tree, threads).nash_conv(vector) / 2


def is_two_player_constant_sum(game: pyspiel.Game) -> bool:
    """Whether the game has two players and a type that declares a constant sum."""
    utility = game.get_type().utility
    return game.num_players() == 2 and utility in (
        pyspiel.GameType.Utility.ZERO_SUM,
        pyspiel.GameType.Utility.CONSTANT_SUM,
    )


def best_response_policy(
    game: Game,
    policy: Any,
    player: int,
    *,
    max_memory: MaxMemory = None,
    threads: int | None = 1,
    twin: bool | None = None,
    store: str = "auto",
) -> SequencePolicy:
    """Returns `policy`, in which one player plays a best response to the other players.

    Arguments except `player` are those of `expected_returns`.

    Args:
        game: a game, its load string, or its tree.
        policy: one policy for all players, or a list `[P]` with one policy per player.
        player: the player who plays the best response.

    Raises:
        ValueError: `player` is out of range; or see `expected_returns`.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    player = refusals.player(player, tree.num_players)
    passes = full_pass(tree, threads)
    response = passes.respond(vector, player)
    vector = vector.copy()
    vector[sequences_of(tree, player)] = 0
    vector[response.choice[tree.infosets["player"] == player]] = 1
    return SequencePolicy(tree, vector)
