"""How good a policy is, computed exactly; equal to OpenSpiel's routines to 1e-12."""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyspiel

from mccfr_spiel.arenas.choosing import Game
from mccfr_spiel.arenas.evaluating import full_pass, read_policy
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MaxMemory
from mccfr_spiel.policies.names import sequences_of
from mccfr_spiel.policies.policy import SequencePolicy


def _read(
    game: Game,
    policy: Any,
    max_memory: MaxMemory,
    twin: bool | None,
    store: str,
) -> tuple[Any, np.ndarray]:
    """Reads a policy by `read_policy`; raises ValueError if a solver stands for both
    the game and the policy."""
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
    """`[P]` what each player gets on average when all follow the policy.

    Args:
        game: a game, its load string, or its tree, which saves making one at each call.
            A tree that a solver has grown is left as it is; a whole one is kept beside
            it.
        policy: one policy for all players, or a list `[P]` with one for each; see
            `policy_vector` for what a policy can be. A policy that was made for another
            game with the same load string is read by its information-state strings, as
            OpenSpiel does.
        max_memory: bytes, or words such as "4GiB", that the call may take, a tree that
            it makes included, see `GameTree`. A tree that is passed in has a limit of
            its own.
        threads: how many threads may share the work; None for one for each core. They
            change no bit of the result, and a small tree has fewer.
        twin: whether the game's compiled twin may expand a tree that the call makes,
            see `GameTree`.
        store: "tree" makes the whole tree. "worlds" takes the game world by world,
            which is exact as well, for games that declare worlds (see
            `rules.Description`), such as phantom_ttt and python_dark_hex. Their worlds
            are found once and kept as long as the process lives. "auto" does so where
            the whole tree does not fit. "none" goes over all histories by the game's
            compiled rules, or its twin's, and keeps the infosets only: this is slow, so
            it is for games without worlds of up to some billion histories.

    Raises:
        TreeFullError, MemoryBudgetError: the game's whole tree is too large. Both are
            ValueErrors. `sampled_returns` and `learned_response` need no tree.
        ValueError: see `GameTree` and `policy_vector`.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    return full_pass(tree, threads).values(vector)[0]


class NashConvReturn(NamedTuple):
    """The fields of the named tuple that OpenSpiel's `nash_conv` returns.

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
) -> float | NashConvReturn:
    """NashConv: the sum over players of each one's gain from a best response.

    In a two-player zero-sum game this is the saddle-point gap and twice
    `exploitability`. The other arguments, and the errors, are those of
    `expected_returns`.

        gains = ms.nash_conv(game, policy, return_only_nash_conv=False)
        gains.player_improvements  # [gain of player 0, gain of player 1]

    Args:
        game: a game, its load string, or its tree.
        policy: one policy for all players, or a list `[P]` with one for each.
        return_only_nash_conv: False returns a `NashConvReturn`, which also has the gain
            of each player.
        use_cpp_br: accepted because OpenSpiel's function has it, and ignored: best
            responses are always compiled.
    """
    only_sum = refusals.flag(return_only_nash_conv, "return_only_nash_conv")
    refusals.flag(use_cpp_br, "use_cpp_br")
    tree, vector = _read(game, policy, max_memory, twin, store)
    gains = full_pass(tree, threads).gains(vector)
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
    """NashConv / 2, for two-player constant-sum games only.

    Arguments and errors are those of `expected_returns`, and:

    Raises:
        ValueError: the game is not a two-player constant-sum game.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    if not is_two_player_constant_sum(tree.game):
        raise ValueError(
            f"{brief(tree.source)} is not a two-player constant-sum game, for which "
            "alone exploitability is defined; use nash_conv."
        )
    return full_pass(tree, threads).nash_conv(vector) / 2


def is_two_player_constant_sum(game: pyspiel.Game) -> bool:
    """Whether the game has two players and a constant sum, as exploitability needs."""
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
    """The policy with the player's part replaced by a best response to the others.

    Arguments and errors are those of `expected_returns`, and:

    Raises:
        ValueError: there is no such player.
    """
    tree, vector = _read(game, policy, max_memory, twin, store)
    player = refusals.player(player, tree.num_players)
    passes = full_pass(tree, threads)
    response = passes.respond(vector, player)
    vector = vector.copy()
    vector[sequences_of(tree, player)] = 0
    vector[response.choice[tree.infosets["player"] == player]] = 1
    return SequencePolicy(tree, vector)
