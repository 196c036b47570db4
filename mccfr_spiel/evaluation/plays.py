"""How good a policy is in a game too large to enumerate, estimated by playing it.

`sampled_returns` estimates what the players get, with a confidence interval. In games
with compiled rules, plays go over these, without OpenSpiel's states. The draws are
those of plays through pyspiel, in the same order: one for each move, of chance or of a
player. So the returns are the same, to the bit. What the policies of all players say is
found by hashes of 64 bits: of the player and the information key or, for a twin, of the
player and the information-state string. So it does not matter where a policy of
OpenSpiel's game has been learned.

In duplicate play each deal is played twice, with the seats swapped. What the cards are
worth is taken away by the second play, so differences between two players show in far
fewer plays.

The intervals rest on the central limit theorem. They can be trusted after many plays,
unless very rare payoffs dominate the mean.
"""

import copy
import functools
import itertools
import math
import os
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.rules import description
from mccfr_spiel.arenas.rules.following import PLAY_LAYOUT, play
from mccfr_spiel.arenas.rules.kernel import row_hash
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.arenas.tree.twin_choice import checked_twin, compiled_rules, known_twin
from mccfr_spiel.common import refusals
from mccfr_spiel.common.checkpoint import pack_strings
from mccfr_spiel.common.display import brief, line, never_raises, plus_minus
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.sampling import plain_draw_action, plain_draw_chance
from mccfr_spiel.kernels.tables import DONE, GROW
from mccfr_spiel.policies.names import MOST_OFF, Names
from mccfr_spiel.policies.policy import (
    Answers,
    PolicyBot,
    SequencePolicy,
    is_one_for_each,
    of_each_player,
)
from mccfr_spiel.solving.reading import load_policy

CONFIDENCE = 0.95

PASSIVE, ACTIVE = ("call", "check"), ("raise", "bet", "allin", "all-in")
"""What is in the names of moves that stay in the game, and of those that raise."""

_DRAWS = 1 << 16
"""Numbers drawn at a time in plays over compiled rules."""

_NO_LIMIT = 2**60


class Estimate(NamedTuple):
    """The mean of many plays, and how far from it the truth may be.

    Attributes:
        mean: the mean of the plays.
        half_width: half the width of the confidence interval around the mean.
        plays: the number of plays.
    """

    mean: float
    half_width: float
    plays: int

    @property
    def low(self) -> float:
        """The lower end of the confidence interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the confidence interval."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        return plus_minus(self.mean, self.half_width)

    @never_raises
    def __repr__(self) -> str:
        return line(self, str(self), f"{self.plays:,} plays")


def sampled_returns(
    game: pyspiel.Game | str,
    policies: Any,
    *,
    plays: int = 10_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    twin: bool | None = None,
) -> list[Estimate]:
    """`[P]` what each player gets on average, estimated by playing.

    Args:
        game: any game that lists its chance outcomes; it may have simultaneous moves.
        policies: one policy for all players, or a list `[P]` with one for each. They
            are OpenSpiel policies (Python's or pyspiel's), such as a SequencePolicy, or
            dictionaries information-state string -> action -> probability.
        plays: how often the game is played, at least 2.
        seed: the seed of the plays.
        confidence: the probability with which each interval, taken alone, holds the
            truth.
        twin: whether plays go over the game's compiled twin, where all policies are
            SequencePolicies of the game. By default they do in games with a tree of
            more than about half a million nodes. True uses it in smaller games, too,
            False never. It changes the time, and no result.

    Raises:
        ValueError: an argument is out of range, or a policy gives no distribution, or
            `twin` is True and the game has none.
        GameError: returns are not as the game declares.
    """
    loaded = loading.load_game(game)
    asked = of_each_player(policies, loaded)
    plays = refusals.integer(plays, "plays", 2)  # an interval needs two
    _check_confidence(confidence)
    seed, twin = refusals.integer(seed, "seed", 0), checked_twin(twin, loaded)
    declared, each = description.declared_by(loaded), [one.policy for one in asked]
    returns = returns_by_rules(loaded, each, plays, seed, twin)
    try:
        for row in [] if returns is None else np.unique(returns, axis=0).tolist():
            description.check_returns(declared, row)
    except description.GameError:  # below it is told with its history
        returns = None
    if returns is None:
        if any(one.needs_turns() for one in asked):
            loaded = loading.turn_based(loaded)
        generator = np.random.Generator(np.random.PCG64(seed))
        act = functools.partial(_draw_moves, asked, generator)
        how = declared, ChanceMoves(), generator, act
        returns = np.array([_play(loaded, *how) for _ in range(plays)])
    return [_estimate_of(column, confidence) for column in returns.T]


def _check_confidence(confidence: Any) -> None:
    refusals.number(confidence, "confidence", 0, 1, open_low=True)
    if confidence == 1:
        raise ValueError(f"confidence={confidence} is not between 0 and 1.")


def _estimate_of(values: np.ndarray, confidence: float) -> Estimate:
    """The estimate from `[plays]` independent values, at least two."""
    quantile = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    deviation = values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(float(values.mean()), float(quantile * deviation), len(values))


# --- plays through pyspiel ------------------------------------------------------------


class ChanceMoves:
    """Draws moves of chance in plays of one game.

    It keeps the outcomes of the node with which all plays begin, since OpenSpiel may
    take a second to list them: a deal of two hands of hold'em has 1,624,350.
    """

    _FEW = 1_000

    def __init__(self) -> None:
        self._first: tuple[np.ndarray, np.ndarray] | None = None

    def draw(self, state: pyspiel.State, draw: float) -> int:
        """The move of chance at a state that a number in [0, 1) stands for."""
        begins = not state.history()
        if not begins or self._first is None:
            actions, probs = zip(*state.chance_outcomes(), strict=True)
            if not begins or len(actions) <= self._FEW:
                return actions[plain_draw_action(probs, 0, len(probs), draw)]
            known = np.array(probs)
            possible = known > 0
            sums = np.cumsum(known[possible])
            sums[-1] = 1.0
            self._first = np.array(actions)[possible], sums
        moves, sums = self._first
        return int(moves[plain_draw_chance(sums, 0, len(sums), draw)])


def _play(
    game: pyspiel.Game,
    declared: description.Declared,
    chance: ChanceMoves,
    generator: np.random.Generator,
    act: Callable[[pyspiel.State], None],
) -> tuple[float, ...]:
    """Plays the game once and returns the players' returns, checked.

    Args:
        game, declared: the game, and what it says of returns.
        chance, generator: chance draws one number for each of its moves.
        act: makes the move of everybody who acts in a state.
    """
    state = game.new_initial_state()
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    is_sequential = game.get_type().dynamics != simultaneous
    try:
        while not state.is_terminal():
            loading.check_length(game, state.move_number())
            if state.is_chance_node():
                state.apply_action(chance.draw(state, generator.random()))
            elif is_sequential and state.current_player() < 0:
                raise description.no_such_player(declared, state.current_player())
            else:
                act(state)
        returns = description.returns_of(state)
        description.check_returns(declared, returns)
    except Exception as error:
        description.tell_history(error, state)
        raise
    return returns


def _draw_moves(
    asked: Sequence[Answers], generator: np.random.Generator, state: pyspiel.State
) -> None:
    """Draws the move of everybody who acts in a state and makes it."""
    if state.is_simultaneous_node():
        players = range(len(asked))
        state.apply_actions([_drawn(asked, state, p, generator) for p in players])
    else:
        action = _drawn(asked, state, state.current_player(), generator)
        state.apply_action(action)


def _drawn(
    asked: Sequence[Answers],
    state: pyspiel.State,
    player: int,
    generator: np.random.Generator,
) -> int:
    legal = set(state.legal_actions(player))
    if not legal:
        return 0  # OpenSpiel's sign, at a simultaneous node, for nothing to do
    probs = asked[player].action_probabilities(state, player)
    actions, odds = list(probs), list(probs.values())
    is_legal = all(prob == 0 or action in legal for action, prob in probs.items())
    if not (is_legal and abs(sum(odds) - 1) < MOST_OFF and min(odds) >= 0):
        raise ValueError(
            f"Player {player}'s policy gives {probs} at the state {state}, whose legal "
            f"actions are {sorted(legal)}."
        )
    return actions[plain_draw_action(odds, 0, len(odds), generator.random())]


# --- plays over compiled rules --------------------------------------------------------


class Layer(NamedTuple):
    """What a policy says at some infosets.

    Attributes:
        infosets: `[I]` of dtype INFOSET.
        hashes: `[I]` uint64, see `hashes_of`.
        actions: `[S]` the action of each sequence.
        probs: `[S]` its probability.
    """

    infosets: np.ndarray
    hashes: np.ndarray
    actions: np.ndarray
    probs: np.ndarray


def layers_of(policy: Any, game: pyspiel.Game) -> list[Layer] | None:
    """What a policy says, in layers of which the first that has an infoset counts; None
    if it cannot be told from tables of this game alone."""
    if not isinstance(policy, SequencePolicy):
        found = getattr(policy, "layers", None)
        return None if found is None else found(game)
    tree = policy.tree
    if isinstance(tree, Names) or tree.abstraction is not None:
        return None
    if not (tree.source is game or loading.same_game(tree.source, game)):
        return None
    hashes = hashes_of(tree, policy.num_infosets)
    if hashes is None:
        return None
    infosets, probs = tree.infosets[: policy.num_infosets], policy.vector
    sums = np.add.reduceat(probs, infosets["first_sequence"])
    if not ((abs(sums - 1) < MOST_OFF).all() and (probs >= 0).all()):
        return None  # plays through pyspiel tell in words what is wrong
    return [Layer(infosets, hashes, tree.actions[: len(probs)], probs)]


def hashes_of(tree: InfosetTable, count: int) -> np.ndarray | None:
    """`[count]` the hashes by which plays find the first infosets of a tree; None if
    there are none: the game has no twin, or the tree does not use the game's rules."""
    if description.rules_of(tree.game) is not None:
        uses_rules = getattr(tree, "rules", None) is not None
        return tree.infosets["place"][:count] if uses_rules else None
    if known_twin(tree.game) is None:
        return None
    packed = pack_strings(itertools.islice(tree.infoset_names, count))
    players = tree.infosets["player"][:count].astype(np.uint8)
    hashes = np.zeros(count, np.uint64)
    _hash_strings(packed["text"], packed["ends"], players, hashes)
    return hashes


@jit
def _hash_strings(text, ends, players, hashes):
    """Hashes each player with the string behind it."""
    start = 0
    for infoset in range(len(ends)):
        row = np.empty(1 + ends[infoset] - start, np.uint8)
        row[0] = players[infoset]
        row[1:] = text[start : ends[infoset]]
        hashes[infoset] = row_hash(row, len(row))
        start = ends[infoset]


def returns_by_rules(
    game: pyspiel.Game,
    policies: Sequence[Any],
    plays: int,
    seed: int,
    twin: bool | None = None,
) -> np.ndarray | None:
    """`[plays, P]` the returns of plays.

    Args:
        game: which is played.
        policies: `[P]` the policy of each player.
        plays: how many.
        seed: of numpy's PCG64.
        twin: see `compiled_rules`.

    Returns:
        None if `rules_faced` gives none, or something about a play is odd, which plays
        through pyspiel tell in words.
    """
    rules = rules_faced(game, policies, -1, twin)
    if rules is None:
        return None
    store = RuleStore(rules, Budget(_NO_LIMIT))
    path, tree = store.new_path(), store.tree_of_node()
    results = np.zeros((plays + description.SPARE, len(policies)))[:plays]
    frame = PLAY_LAYOUT.frame_of(tree, store.game, store.known, path)
    generator = np.random.Generator(np.random.PCG64(seed))
    draws, cursor, status = np.zeros(0), np.zeros(2, np.int64), GROW
    # Each pass plays until fewer draws are left than the longest history takes.
    while status == GROW:
        more = generator.random(max(_DRAWS, len(path.history)))
        draws = np.concatenate([draws[cursor[1] :], more])
        cursor[1] = 0
        status = play(frame, store.called, draws, cursor, results)
    return results if status == DONE else None


def rules_faced(
    game: pyspiel.Game, policies: Sequence[Any], player: int, twin: bool | None
) -> description.BoundRules | None:
    """The rules of the game that a player faces while the others follow policies.

    Args:
        game: to which the policies belong.
        policies: `[P]` the policy of each player.
        player: the one who follows no policy; -1 if all do.
        twin: see `compiled_rules`.

    Returns:
        None if the game has no compiled rules, or is so small that its twin's would
        save no time; or if a policy is no table of this game.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    first_of_layer = 0
    for other in [one for one in range(len(policies)) if one != player]:
        layers = layers_of(policies[other], game)
        if layers is None:
            return None
        for infosets, hashes, actions, probs in layers:
            mine = infosets["player"] == other
            starts = infosets["first_sequence"][mine].astype(np.int64) + first_of_layer
            counts = infosets["num_actions"][mine].astype(np.int64)
            parts.append((hashes[mine], starts, counts, actions, probs))
            first_of_layer += len(probs)
    rules = compiled_rules(game, "walking", twin=twin) if parts else None
    if rules is None:  # also in a game of one player, where nobody is asked for
        return None
    hashes, starts, counts, *said = map(np.concatenate, zip(*parts, strict=True))
    hashes, first = np.unique(hashes, return_index=True)  # in the first layer with it
    rows = hashes, starts[first], counts[first], *said
    faced = copy.copy(rules)
    faced.faced = np.array([player]), rules.new_text(), *rows
    return faced


# --- duplicate play -------------------------------------------------------------------


def duplicate_returns(
    game: pyspiel.Game | str,
    first: Any,
    second: Any,
    *,
    deals: int = 1_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """What `first` gets against `second` a play, by duplicate deals.

        ms.evaluation.duplicate_returns(game, policy, "call", deals=5_000)

    Each deal is played twice with the seats swapped, and with the same draws for the
    first, second, ... move of chance. The interval is that of the mean over deals of
    both plays' mean.

    Args:
        game: a game of two players that lists its chance outcomes. Simultaneous moves
            become turns.
        first, second: a policy (see `sampled_returns`); the path of one, as
            `load_policy` takes it; a list of two of OpenSpiel's bots, one for each
            seat; "uniform"; or, in poker, "call" or "raise", which always do that
            where they can.
        deals: how many, at least 2.
        seed: of all draws, at least 0. Bots have their own.
        confidence: as in `sampled_returns`.

    Returns:
        The estimate; its `plays` counts deals.

    Raises:
        ValueError: an argument is out of range; the game has not two players; a policy
            is of another game, or is none.
    """
    source = loading.load_game(game)
    deals = refusals.integer(deals, "deals", 2)  # an interval needs two
    _check_confidence(confidence)
    seed = refusals.integer(seed, "seed", 0)
    loaded = loading.turn_based(source)
    bots = [bots_of(one, source, seed) for one in (first, second)]
    declared = description.declared_by(loaded)
    means, chance = np.zeros(deals), ChanceMoves()
    for deal in range(deals):
        for seat in range(2):
            seats = [bots[(seat + player) % 2][player] for player in range(2)]
            for bot in seats:
                bot.restart()
            generator = np.random.Generator(np.random.PCG64([seed, deal]))
            act = functools.partial(_step, seats)
            got = _play(loaded, declared, chance, generator, act)
            means[deal] += got[seat] / 2
    return _estimate_of(means, confidence)


def _step(bots: Sequence[pyspiel.Bot], state: pyspiel.State) -> None:
    """Makes the move of the bot whose turn it is, of which the other one hears."""
    player = state.current_player()
    action = bots[player].step(state)
    bots[1 - player].inform_action(state, player, action)
    state.apply_action(action)


def bots_of(given: Any, game: pyspiel.Game, seed: int) -> Sequence[pyspiel.Bot]:
    """A bot for each seat, of whatever `duplicate_returns` takes."""
    if game.num_players() != 2:
        raise ValueError(
            f"{brief(game)} has {game.num_players()} players; in duplicate play two "
            "swap seats."
        )
    given = [given] if isinstance(given, pyspiel.Bot) else given
    if is_one_for_each(given):
        if len(given) != 2 or not all(isinstance(one, pyspiel.Bot) for one in given):
            raise ValueError(f"{given!r} is no list of two bots, one for each seat.")
        return given
    if isinstance(given, str | os.PathLike):
        if given == "uniform":
            given = UniformRandomPolicy(game)
        elif given in ("call", "raise"):
            given = _Always(str(given))
        elif os.path.exists(given):
            given = load_policy(given)
        else:
            known = "uniform, call and raise"
            raise ValueError(f"{str(given)!r} is no file, and none of {known}.")
    its_game = given.game if isinstance(given, SequencePolicy) else game
    if not loading.same_name(*map(loading.turn_based, (its_game, game))):
        raise ValueError(
            f"The policy is for {brief(its_game)}, not for {brief(game)}, which is "
            "played."
        )
    return [PolicyBot(given, seat, seed=seed) for seat in range(2)]


class _Always:
    """A policy of poker that always calls, or always raises, where it can."""

    def __init__(self, word: str) -> None:
        self._raises = word == "raise"

    def action_probabilities(
        self, state: pyspiel.State, player_id: int | None = None
    ) -> dict[int, float]:
        """The move with probability 1."""
        if self._raises:
            for action, name in _names(state).items():
                if any(word in name for word in ACTIVE):
                    return {action: 1.0}
        return {passive_move(state): 1.0}


def _names(state: pyspiel.State) -> dict[int, str]:
    """The names of the moves of the player who acts."""
    player = state.current_player()
    legal = state.legal_actions()
    return {one: state.action_to_string(player, one).lower() for one in legal}


def passive_move(state: pyspiel.State) -> int:
    """The move that checks or calls, by its name. In Kuhn's betting that is Pass, or
    Bet after a Bet.

    Raises:
        ValueError: no move has a name of poker.
    """
    names = _names(state)
    for action, name in names.items():
        if any(word in name for word in PASSIVE):
            return action
    if sorted(names.values()) == ["bet", "pass"]:
        last = state.full_history()[-1]
        is_bet = last.player >= 0 and names.get(last.action) == "bet"
        return next(one for one in names if (names[one] == "bet") == is_bet)
    raise ValueError(
        f"No move of {[*names.values()]} has a name of poker ({', '.join(PASSIVE)}, or "
        "pass and bet), so nobody can tell what it is to call."
    )
