"""The commands `play`, a game in the terminal against a policy, and `explore`, which
opens a page in the browser."""

import pathlib
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pyspiel
from absl import flags
from open_spiel.python.policy import Policy

from mccfr_spiel.algorithms import ALGORITHMS
from mccfr_spiel.command_line.running import imported_games
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.folders import load_string
from mccfr_spiel.evaluation.plays import duplicate_returns
from mccfr_spiel.evaluation.responses import local_best_response
from mccfr_spiel.experiments.algorithm_names import value_of
from mccfr_spiel.exploring.opening import explore, export
from mccfr_spiel.exploring.subjects import Subject
from mccfr_spiel.exploring.visits import Hand
from mccfr_spiel.policies.names import said_at, said_info_state
from mccfr_spiel.solving.reading import load_policy
from mccfr_spiel.solving.solver import Solver
from mccfr_spiel.tree.cache import cached_tree
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game, turn_based


class Own:
    """The flags that only this command has.

    Attributes:
        seat: Your seat: 0 is the first player.
        policy: The policy of the others: a file, or a folder of results. Without it,
            the game is solved just before.
        algorithm: What solves the game, without --policy.
        iterations: How long, without --policy.
        seed: Seed of all draws; a new one each time if not given.
        against: In place of you, a second player whom the policy meets by duplicate
            deals, each played twice with the seats swapped: uniform, call, raise, the
            file or folder of a policy, or, in poker, lbr, a local best response, whose
            winnings are a lower bound on the policy's exploitability.
        deals: How many, with --against.
    """

    seat: int = 0
    policy: str | None = None
    algorithm: Annotated[str, (*ALGORITHMS,)] = "external_sampling"
    iterations: Annotated[int, 0] = 100_000
    seed: int | None = None
    against: str | None = None
    deals: Annotated[int, 2] = 1_000


def take_policy(values: flags.FlagValues, words: list[str]) -> list[str]:
    """Takes a word that is a file or a folder as --policy; returns the other words."""
    paths = [word for word in words if pathlib.Path(word).exists()]
    for word in words:
        is_path = "(" not in word and pathlib.Path(word).name != word
        if word not in paths and (is_path or word.endswith((".json", ".bin"))):
            raise ValueError(f"no such file: {word}")
    if values.policy is None and len(paths) == 1:
        values.policy = paths[0]
        return [word for word in words if word not in paths]
    return words


def run(values: flags.FlagValues, game: str) -> int:
    """Plays until the user has had enough; returns the exit code."""
    imported_games()
    policy = None
    if values.policy is not None:
        given = load_string(game, values.players) if values["game"].present else None
        told = values.abstraction
        abstraction = None if told is None else value_of(told)
        policy = load_policy(values.policy, given, abstraction=abstraction)
        loaded = turn_based(policy.game)
    else:
        loaded = turn_based(load_game(load_string(game, values.players)))
    seat, players = values.seat, loaded.num_players()
    if not 0 <= seat < players:
        raise ValueError(f"--seat={seat} is none of 0 to {players - 1}.")
    if policy is None:
        policy = _solved(loaded, values)
    if values.against is not None:
        name, how = values.against, {"deals": values.deals, "seed": values.seed or 0}
        if name == "lbr":
            found = local_best_response(policy.game, policy, **how)
            words = "A local best response, no more than a best response, gets "
        else:
            found = duplicate_returns(policy.game, policy, name, **how)
            words = f"Against {name}: "
        print(f"{words}{found} a play, 95% interval, {values.deals:,} deals.")
        return 0
    generator = random.Random(values.seed)
    print(f"You are player {seat} of {players}. Answer with a move's number or name,")
    print("? to see what the policy would do, or q to leave.")
    total, count = 0.0, 0
    for result in _games(loaded, policy, seat, generator):
        count, total = count + 1, total + result
        print(f"You got {result:+g}; {total:+g} in {count} games.\n")
    return 0


def _solved(game: pyspiel.Game, values: flags.FlagValues) -> Policy:
    print(f"Solving {brief(game)} by {values.algorithm} ...", flush=True)
    solver = Solver(game, ALGORITHMS[values.algorithm], seed=values.seed or 0)
    solver.iterate(values.iterations)
    return solver.average_policy()


def _games(
    game: pyspiel.Game, policy: Policy, seat: int, generator: random.Random
) -> Iterator[float]:
    """Plays one game after the other; yields what the user got in each."""
    while True:
        print("--- A new game.")
        hand, told = Hand(game, seat, policy.action_probabilities, generator), 0
        while True:
            for one in hand.log[told:]:
                if one["player"] not in (seat, pyspiel.PlayerId.CHANCE):
                    print(f"Player {one['player']}: {one['name'] or 'an unseen move'}")
            told = len(hand.log)
            if hand.state.is_terminal():
                break
            action = _ask(hand.state, policy)
            if action is None:
                return
            hand.move(action)
        print("--- The end.")
        print(_indented(str(hand.state)))
        yield hand.state.returns()[seat]


def _ask(state: pyspiel.State, policy: Policy) -> int | None:
    """Shows what the player knows and asks for a move; None if the user leaves."""
    player = state.current_player()
    actions = state.legal_actions()
    names = said_at(state, player, actions)
    known = state.information_state_string(player)
    print(f"You know: {said_info_state(state.get_game(), player, known)}")
    for number, name in enumerate(names, 1):
        print(f"  {number}  {name}")
    while True:
        try:
            answer = input("Your move: ").strip()
            if not sys.stdin.isatty():  # then no terminal has shown it
                print(answer)
        except EOFError:
            print()
            return None
        if answer.lower() in ("q", "quit", "exit"):
            return None
        if answer == "?":
            odds = policy.action_probabilities(state)
            _hint([odds.get(action, 0.0) for action in actions], names)
            continue
        chosen = _chosen(answer, names)
        if chosen is not None:
            return actions[chosen]
        print(f"{answer!r} is none of 1 to {len(names)}, and no move's name.")


def _chosen(answer: str, names: list[str]) -> int | None:
    """The place of the move that an answer means, by its number, name, or the only name
    that begins so; None if there is none."""
    if answer.isdecimal():
        return int(answer) - 1 if 1 <= int(answer) <= len(names) else None
    lowered = [name.lower() for name in names]
    if answer.lower() in lowered:
        return lowered.index(answer.lower())
    like = [i for i, name in enumerate(lowered) if name.startswith(answer.lower())]
    return like[0] if answer and len(like) == 1 else None


def _hint(probabilities: list[float], names: list[str]) -> None:
    for probability, name in zip(probabilities, names, strict=True):
        print(f"  {probability:7.1%}  {name}")


def _indented(text: Any) -> str:
    lines = str(text).strip("\n").splitlines()
    return "\n".join("  " + line for line in lines)


# --- the command `explore`: a page in the browser, or in a file -----------------------


class OfPage:
    """The flags that only this command has.

    Attributes:
        port: The port of the loopback address; 0 stands for any that is free.
        export: Write the page into this file, which needs no server, and open none. For
            games of up to 20,000 nodes.
        cached_tree: Take the game's whole tree from the cache, where it is made first
            if need be. A game of more than a million nodes has values only with its
            tree.
    """

    port: Annotated[int, 0] = 0
    export: str | None = None
    cached_tree: bool = False


def open_page(values: flags.FlagValues, words: Sequence[str]) -> int:
    """Opens the page, and keeps it until Ctrl-C; returns the exit code."""
    if not words:
        raise ValueError(
            "What is to be explored? A folder of results, or a file of a policy, as "
            "in: mccfr-spiel explore results/leduc_poker_external_sampling_seed0"
        )
    imported_games()
    game: Any = None
    if values["game"].present:
        game = load_string(str(values["game"].value), values.players)
    paths = [pathlib.Path(word) for word in words]
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path} is no folder of results and no file.")
    if values.abstraction is not None:
        made = value_of(values.abstraction)
        told = game or str(load_policy(paths[0], abstraction=made).game)
        game = GameTree(told, abstraction=made)
    elif values.cached_tree:
        game = cached_tree(game or str(load_policy(paths[0]).game))
    what: Any = paths[0] if len(paths) == 1 else {str(path): path for path in paths}
    if values.export is not None:
        export(
            Subject(what, game), values.export, lambda words: print(words, flush=True)
        )
        print(f"The page is in {values.export}")
        return 0
    page = explore(what, game, port=values.port)
    print(f"{page.subject.title}: open this link, which is for you alone.")
    print(f"  {page.url}")
    print("Ctrl-C ends it.", flush=True)
    try:
        page.wait()
    finally:
        page.stop()
    return 0
