"""The command `play`: a game in the terminal against a policy, or policy vs. policy."""

import contextlib
import pathlib
import random
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pyspiel
from absl import flags
from open_spiel.python.policy import Policy

from mccfr_spiel.algorithms import ALGORITHMS
from mccfr_spiel.arenas.infosets.loading import load_game, turn_based
from mccfr_spiel.arenas.infosets.phrases import said_at
from mccfr_spiel.command_line.program_flags import import_given
from mccfr_spiel.command_line.terminal import show
from mccfr_spiel.common import refusals
from mccfr_spiel.common.checkpoint import (
    CheckpointError,
)
from mccfr_spiel.common.display import brief, player_name
from mccfr_spiel.common.game_files import is_game_file
from mccfr_spiel.evaluation.duplicate_play import (
    duplicate_returns,
)
from mccfr_spiel.evaluation.local_responses import (
    local_best_response,
)
from mccfr_spiel.experiments.importing import import_object
from mccfr_spiel.experiments.load_strings import (
    load_string,
)
from mccfr_spiel.experiments.setting_tables import Setting
from mccfr_spiel.exploring.played_game import PlayedGame
from mccfr_spiel.exploring.views import words_known_to
from mccfr_spiel.solving.reading import load_policy, policy_file_in
from mccfr_spiel.solving.solver import Solver

PLAY_FLAGS = (
    Setting("seat", int, 0, "Your seat; 0 is the first player."),
    Setting(
        "policy",
        str,
        None,
        "Policy of the other players: a file or a folder of results (default: solve "
        "the game first).",
    ),
    Setting(
        "algorithm",
        str,
        "external_sampling",
        "Algorithm that solves the game, without --policy.",
        choices=(*ALGORITHMS,),
    ),
    Setting(
        "iterations",
        int,
        100_000,
        "Number of iterations of the solver, without --policy.",
        least=0,
    ),
    Setting(
        "seed", int, None, "Seed of all random draws (default: a new seed each time)."
    ),
    Setting(
        "against",
        str,
        None,
        "Instead of you, a second player that meets the policy in duplicate deals, "
        "where each deal is played twice with swapped seats: uniform, call, raise, or "
        "the file or folder of a policy. In poker also lbr, a local best response, "
        "whose winnings are a lower bound on the exploitability of the policy.",
    ),
    Setting("deals", int, 1_000, "Number of deals with --against.", least=2),
)


def take_policy(values: flags.FlagValues, words: list[str]) -> list[str]:
    """Takes a word that is a file or folder as --policy; returns the other words."""
    paths = [word for word in words if _is_policy(word)]
    for word in words:
        if is_game_file(word):
            continue
        is_path = "(" not in word and pathlib.Path(word).name != word
        if word not in paths and (is_path or word.endswith((".json", ".bin"))):
            raise ValueError(f"File or folder not found: {word}.")
    if values.policy is None and len(paths) == 1:
        values.policy = paths[0]
        return [word for word in words if word not in paths]
    return words


def _is_policy(word: str) -> bool:
    """Whether a word is a file or a folder, and neither a game file nor a game with a
    folder of its name."""
    if is_game_file(word):
        return False
    path = pathlib.Path(word)
    if path.is_dir() and word in pyspiel.registered_names():
        return policy_file_in(path) is not None
    return path.exists()


def given_game(values: flags.FlagValues) -> str | None:
    """The game of --game and --players; None if the policy's file names the game."""
    if values["game"].present:
        return load_string(str(values["game"].value), values.players)
    if values.players is not None:
        raise ValueError(
            f"--players={values.players} needs --game. Without --game, the file of the "
            "policy names the game."
        )
    return None


def run_play(values: flags.FlagValues, game: str) -> int:
    """Plays until the user quits, or all deals of --against; returns the exit code."""
    _refuse_unused(values)
    import_given()
    policy, abstraction = None, None
    if values.abstraction is not None:
        abstraction = import_object(values.abstraction)
    if values.policy is not None:
        policy = load_policy(values.policy, given_game(values), abstraction=abstraction)
        loaded = turn_based(policy.game)
    else:
        loaded = turn_based(load_game(load_string(game, values.players)))
    players = loaded.num_players()
    seat = refusals.player(values.seat, players, "--seat")
    if policy is None:
        show(f"Solving {brief(loaded)} with {values.algorithm} ...")
        solver = Solver(
            loaded,
            ALGORITHMS[values.algorithm],
            seed=values.seed or 0,
            abstraction=abstraction,
        )
        solver.iterate(values.iterations)
        policy = solver.average_policy()
    if values.against is not None:
        show(_played_against(values, policy, abstraction))
        return 0
    results, total = _games(loaded, policy, seat, random.Random(values.seed)), 0.0
    with contextlib.suppress(BrokenPipeError):  # the reader has quit, as in `| head`
        you = player_name(loaded, seat, f"player {{}} of {players}")
        print(f"You are {you}. Enter the number or the name of a")
        print("move, ? to see the policy's probabilities, or q to quit.")
        for count, result in enumerate(results, 1):
            total += result
            print(f"Your return: {result:+g}. Total: {total:+g} in {count} games.\n")
    return 0


def _refuse_unused(values: flags.FlagValues) -> None:
    """Raises ValueError if a flag has no effect with the others."""
    unused = {"algorithm": "--policy", "iterations": "--policy"}
    if values.policy is None:
        unused = {}
    if values.against is None:
        unused["deals"] = ""
    else:
        unused["seat"] = "--against"
    for name, other in unused.items():
        if values[name].present:
            reason = f"with {other}" if other else "without --against"
            raise ValueError(f"--{name} has no effect {reason}. Drop it.")


def _played_against(values: flags.FlagValues, policy: Any, abstraction: Any) -> str:
    """Plays the policy against --against; returns the result as a sentence."""
    name = values.against
    options = {"deals": values.deals, "seed": values.seed or 0}
    if name == "lbr":
        estimate = local_best_response(policy.game, policy, **options)
        start = "Local best response (a lower bound on the best response): "
    else:
        other: Any = name
        with contextlib.suppress(CheckpointError, OSError):  # not a file of a policy
            other = load_policy(name, policy.game, abstraction=abstraction)
        estimate = duplicate_returns(policy.game, policy, other, **options)
        start = f"Against {name}: "
    return f"{start}{estimate} per play, 95% interval, {values.deals:,} deals."


def _games(
    game: pyspiel.Game, policy: Policy, seat: int, generator: random.Random
) -> Iterator[float]:
    """Plays one game after the other; yields the user's return of each."""
    while True:
        print("--- A new game.")
        hand, shown = PlayedGame(game, seat, policy.action_probabilities, generator), 0
        while True:
            for move in hand.log[shown:]:
                if move["player"] not in (seat, pyspiel.PlayerId.CHANCE):
                    name = move["name"] or "a hidden move"
                    player = player_name(game, move["player"], "Player {}")
                    print(f"{player}: {name}")
            shown = len(hand.log)
            if hand.state.is_terminal():
                break
            action = _ask(hand.state, policy)
            if action is None:
                return
            hand.move(action)
        print("--- The end.")
        print(textwrap.indent(str(hand.state).strip("\n"), "  ", lambda _: True))
        yield hand.state.returns()[seat]


def _ask(state: pyspiel.State, policy: Policy) -> int | None:
    """Shows the player's information and asks for a move; None if the user quits."""
    player = state.current_player()
    actions = state.legal_actions()
    names = said_at(state, player, actions)
    print(f"You know: {words_known_to(state, player)}")
    for number, name in enumerate(names, 1):
        print(f"  {number}  {name}")
    while True:
        try:
            answer = input("Your move: ").strip()
            if not sys.stdin.isatty():  # no terminal has echoed the answer
                print(answer)
        except (EOFError, RuntimeError):  # standard input has ended or is closed
            print()
            return None
        if answer.lower() in ("q", "quit", "exit"):
            return None
        if answer == "?":
            odds = policy.action_probabilities(state)
            for action, name in zip(actions, names, strict=True):
                print(f"  {odds.get(action, 0.0):7.1%}  {name}")
            continue
        chosen = _chosen(answer, names)
        if chosen is not None:
            return actions[chosen]
        print(
            f"Unknown move {answer!r}. Enter a number from 1 to {len(names)} or a name."
        )


def _chosen(answer: str, names: list[str]) -> int | None:
    """The index of the move with that number, name or unique beginning, or None."""
    if answer.isdecimal():
        return int(answer) - 1 if 1 <= int(answer) <= len(names) else None
    lowered = [name.lower() for name in names]
    if answer.lower() in lowered:
        return lowered.index(answer.lower())
    like = [i for i, name in enumerate(lowered) if name.startswith(answer.lower())]
    return like[0] if answer and len(like) == 1 else None
