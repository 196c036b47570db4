"""Players who forget: what is updated and averaged is what the docstrings define."""

import pickle
import re
from collections import defaultdict

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.policy import Policy

import mccfr_spiel as ms
from mccfr_spiel import GameTree, SequencePolicy, Solver
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.kernels.randomness import (
    ROOT_PLACE,
    child_place,
    infoset_place,
    stream_key,
    uniform,
)
from tests.policies.test_policy import states_of
from tests.reference import choose, normalized, turn_based
from tests.small_games import chance, leaf, move, small_game
from tests.vectors import LEDUC

ROUNDS = [
    "repeated_game(stage_game=matrix_rps(),num_repetitions=2)",
    "repeated_game(stage_game=matrix_mp(),num_repetitions=2)",
    "repeated_game(stage_game=matrix_brps(),num_repetitions=1)",
    "oshi_zumo(coins=3,horizon=3)",
]
"""Symmetric or fair zero-sum games of value 0 in which players move simultaneously."""

SAMPLINGS = (
    ms.FULL,
    ms.algorithms.full(prune=True),
    ms.CHANCE,
    ms.OPPONENT,
    ms.EXTERNAL,
    ms.OUTCOME,
)
MINIMIZERS = (ms.regret_matching(), ms.regret_matching_plus())


def identity(state, player):
    return state.information_state_string(player)


def without_first_round(state, player):
    """In Leduc's second round, neither the first one's bets nor the pot are known."""
    name = state.information_state_string(player)
    if "[Round 2]" in name:
        name = re.sub(r"\[(Round1|Pot|Money):[^\]]*\]", "", name)
    return name


def jack_or_queen(state, player):
    """In Kuhn poker, the two lower cards look alike."""
    return re.sub("^[01]", "low ", state.information_state_string(player))


def random_game(num_players):
    """Three cards; 0 moves, the others see how and move, 0 moves again. No two payoffs
    agree, so that rounding decides nothing."""
    payoffs = np.random.default_rng(5)

    def again(name):
        ends = (leaf(*payoffs.normal(size=num_players)) for _ in range(3))
        return move(0, name, *ends)

    def others(player, name):
        if player == num_players:
            return again(name)
        seen = f"{player} sees {name[1:]}"
        return move(player, seen, *(others(player + 1, name + b) for b in "xy"))

    def begin(card):
        return move(0, card, *(others(1, card + a) for a in "abc"))

    root = chance((0.5, begin("J")), (0.3, begin("Q")), (0.2, begin("K")))
    return small_game(root, num_players)


def own_first_move(state, player):
    """In `random_game`, player 0 forgets it."""
    name = state.information_state_string(player)
    return f"{name[0]}?{name[2:]}" if player == 0 else name


class Textbook:
    """CFR of players who forget, by recursion over histories and no laziness at all."""

    def __init__(self, game, algorithm, abstraction, seed):
        self.game = turn_based(game)
        self.algorithm = algorithm
        self.abstraction = abstraction
        self.seed = seed
        self.policy = {}
        self.regrets = {}
        self.sums = {}
        self.iteration = 0
        self._explore(self.game.new_initial_state())

    def _explore(self, state):
        if state.is_terminal():
            return
        if not state.is_chance_node():
            key = self.key(state)
            count = len(state.legal_actions())
            self.policy[key] = [1 / count] * count
            self.regrets[key] = [0.0] * count
            self.sums[key] = [0.0] * count
        for action in state.legal_actions():
            self._explore(state.child(action))

    def key(self, state):
        player = state.current_player()
        return player, self.abstraction(state, player)

    @np.errstate(over="ignore")
    def run(self, iterations):
        num_players = self.game.num_players()
        turns = [list(range(num_players))]
        if self.algorithm.alternating:
            turns = [[player] for player in range(num_players)]
        for _ in range(iterations):
            self.iteration += 1
            for players in turns:
                found = [self.regrets_of_walk(player) for player in players]
                for found_regrets in found:
                    self.update(found_regrets)

    def regrets_of_walk(self, player):
        sampling = self.algorithm.sampling
        num_players = self.game.num_players()
        stream = np.uint64(
            stream_key(np.uint64(self.seed), self.iteration, player, num_players)
        )
        regrets = defaultdict(lambda: defaultdict(float))

        def walk(state, place, weight):
            """The value for `player`, times the weight."""
            if state.is_terminal():
                return weight * state.returns()[player]
            actions = state.legal_actions()
            key = None
            followed = range(len(actions))
            if state.is_chance_node():
                probs = [prob for _, prob in state.chance_outcomes()]
                if sampling.chance:
                    followed = [choose(probs, uniform(stream, place))]
                    probs = [1.0] * len(probs)
            else:
                key = self.key(state)
                probs = self.policy[key]
                if key[0] != player:
                    share = self.iteration**self.algorithm.averaging.gamma
                    for k, b in enumerate(probs):
                        self.sums[key][k] += share * weight * b
                draw = uniform(stream, np.uint64(infoset_place(*key)))
                if key[0] != player and sampling.opponents:
                    followed = [choose(probs, draw)]
                    probs = [1.0] * len(probs)
                elif key[0] != player and sampling.prune:
                    followed = [k for k in followed if probs[k] > 0]
                elif key[0] == player and sampling.player == "epsilon":
                    epsilon = sampling.epsilon
                    probs = [(1 - epsilon) * b + epsilon / len(probs) for b in probs]
                    followed = [choose(probs, draw)]
                    probs = [1 / q for q in probs]
                elif key[0] == player:
                    probs = [1.0] * len(probs)
            values = [0.0] * len(actions)
            for k in followed:
                below = np.uint64(child_place(place, k))
                values[k] = walk(state.child(actions[k]), below, weight * probs[k])
            if key is None or key[0] != player:
                return sum(values)
            mean = sum(b * v for b, v in zip(self.policy[key], values, strict=True))
            for k, value in enumerate(values):
                regrets[key][k] += value - mean
            return mean

        walk(self.game.new_initial_state(), ROOT_PLACE, 1.0)
        return regrets

    def update(self, found):
        for key, regrets in found.items():
            mine = self.regrets[key]
            for k, regret in regrets.items():
                mine[k] += regret
            if self.algorithm.minimizer.rule == "regret_matching_plus":
                mine[:] = [max(regret, 0.0) for regret in mine]
            self.policy[key] = normalized([max(regret, 0.0) for regret in mine])


def assert_like_textbook(solver, textbook):
    for table, policy in (
        (textbook.policy, solver.current_policy()),
        ({k: normalized(v) for k, v in textbook.sums.items()}, solver.average_policy()),
    ):
        rows = policy.to_dict()
        for (player, name), probs in table.items():
            row = rows.get(f"player {player}: {name}", rows.get(name))
            assert row is not None
            assert list(row.values()) == pytest.approx(probs, abs=1e-9)


@pytest.mark.parametrize(
    ("players", "sampling", "minimizer"),
    [
        (2 + (k + first) % 2, sampling, minimizer)
        for first, minimizer in enumerate(MINIMIZERS)
        for k, sampling in enumerate(SAMPLINGS)
    ],
)
def test_a_solver_is_the_textbook(players, sampling, minimizer):
    game = random_game(players)
    for alternating in (True, False):
        algorithm = ms.Algorithm(sampling, minimizer, ms.LINEAR, alternating)
        tree = GameTree(game, abstraction=own_first_move).expand_all()
        solver = Solver(tree, algorithm, seed=3)
        textbook = Textbook(game, algorithm, own_first_move, 3)
        for _ in range(2):
            solver.iterate(5)
            textbook.run(5)
            assert_like_textbook(solver, textbook)


# --- saved ---------------------------------------------------------------------


def test_a_saved_solver_asks_for_its_abstraction(tmp_path):
    path = tmp_path / "solver"
    Solver(LEDUC, ms.CFR, abstraction=without_first_round).save(path)
    with pytest.raises(CheckpointError, match=r"with an abstraction.*give it again"):
        Solver.load(path)
    with pytest.raises(CheckpointError, match="source has changed"):
        Solver.load(path, abstraction=identity)
    Solver(LEDUC).save(path)
    with pytest.raises(CheckpointError, match="without abstraction"):
        Solver.load(path, abstraction=without_first_round)


def test_a_saved_policy_answers_through_the_abstraction(tmp_path):
    solver = Solver(LEDUC, seed=2, abstraction=without_first_round)
    solver.iterate(100)
    policy = solver.average_policy()
    path = tmp_path / "policy"
    policy.save(path)
    loaded = SequencePolicy.load(path, abstraction=without_first_round)
    copy = pickle.loads(pickle.dumps(policy))
    for state in states_of(pyspiel.load_game(LEDUC)):
        row = policy.action_probabilities(state)
        assert loaded.action_probabilities(state) == row
        assert copy.action_probabilities(state) == row
    assert loaded.to_dict() == copy.to_dict() == policy.to_dict()
    with pytest.raises(CheckpointError, match="give it again"):
        SequencePolicy.load(path)


# --- refused -------------------------------------------------------------------


def test_what_cannot_forget_is_refused_in_words():
    def abstract(algorithm):
        return Solver("kuhn_poker", algorithm, abstraction=jack_or_queen)

    with pytest.raises(ValueError, match=r"ftrl is only for players .*regret_matching"):
        abstract(ms.Algorithm(ms.EXTERNAL, ms.ftrl(1.0)))
    with pytest.raises(ValueError, match="omd is only for players"):
        abstract(ms.Algorithm(ms.EXTERNAL, ms.omd(1.0)))
    with pytest.raises(ValueError, match=r"balanced strategy.*outcome\(epsilon\)"):
        abstract(ms.BALANCED_OUTCOME_SAMPLING)
    tree = GameTree("kuhn_poker", abstraction=jack_or_queen)
    with pytest.raises(ValueError, match="built without the abstraction"):
        Solver(tree, abstraction=identity)
    policy = Solver(tree).average_policy()
    for refused in (
        lambda: ms.nash_conv(tree, policy),
        lambda: ms.solve_lp(tree),
        lambda: ms.theory.m_values(tree),
    ):
        with pytest.raises(ValueError, match=r"has an abstraction.* Give the game"):
            refused()
    with pytest.raises(ValueError, match="to_tabular"):
        policy.to_pyspiel()


def abstracted(root, abstraction):
    GameTree(small_game(root), abstraction=abstraction).expand_all()


def test_wrong_abstractions_are_refused_in_words():
    once = move(0, "b", leaf(0, 0), leaf(1, -1))
    with pytest.raises(ValueError, match=r"'x'.*twice .absentmindedness"):
        abstracted(move(0, "a", once, once), lambda state, player: "x")
    other = move(0, "c", leaf(0, 0), leaf(0, 0), leaf(1, -1))
    root = chance((0.5, once), (0.5, other))
    with pytest.raises(ValueError, match=r"different legal actions: \[0, 1\] and"):
        abstracted(root, lambda state, player: "x")
    with pytest.raises(ValueError, match=r"gives 3, no string, for player 0"):
        abstracted(once, lambda state, player: 3)


def guaranteed(state, rows, player):
    """What a player gets at least, by enumeration, who plays `rows[(player, history)]`
    at each state of a game with simultaneous moves that all players see."""
    if state.is_terminal():
        return state.returns()[player]
    row = rows[player, state.history_str()]
    values = []
    for other in state.legal_actions(1 - player):
        value = 0.0
        for action, prob in row.items():
            child = state.clone()
            child.apply_actions([action, other] if player == 0 else [other, action])
            value += prob * guaranteed(child, rows, player)
        values.append(value)
    return min(values)


@pytest.mark.parametrize("game", ROUNDS)
def test_completed_rounds_solve_games_with_simultaneous_moves(game):
    solver = Solver(game, ms.CFR_PLUS, abstraction=ms.completed_rounds)
    solver.iterate(300)
    tree, vector = solver.tree, solver.average_vector()
    rows = {}
    for infoset, name in zip(tree.infosets, tree.info_states, strict=True):
        stop = infoset["first_sequence"] + infoset["num_actions"]
        here = slice(infoset["first_sequence"], stop)
        row = zip(tree.actions[here].tolist(), vector[here].tolist(), strict=True)
        rows[infoset["player"], name] = dict(row)
    start = pyspiel.load_game(game).new_initial_state()
    spread = tree.game.max_utility() - tree.game.min_utility()
    for player in range(2):
        assert guaranteed(start, rows, player) > -0.01 * spread


def test_moves_of_the_current_round_in_an_abstraction_make_another_game():
    def all_moves(state, player):
        return state.history_str()

    solver = Solver(ROUNDS[0], ms.CFR_PLUS, abstraction=all_moves)
    solver.iterate(100)
    start = solver.tree.game.new_initial_state()
    policies: list[Policy] = [solver.average_policy()] * 2
    values = policy_value(start, policies)
    assert values[0] < -1.9  # two rounds, each lost; with `completed_rounds` it is 0


def test_completed_rounds_are_all_moves_where_players_move_in_turn():
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(4)
    assert ms.completed_rounds(state, 1) == state.history_str() == "4"
    turns = pyspiel.load_game(
        "misere(game=turn_based_simultaneous_game(game=matrix_rps()))"
    )
    with pytest.raises(ValueError, match="cannot tell the rounds of misere"):
        ms.completed_rounds(turns.new_initial_state(), 0)


@pytest.mark.parametrize("game", ["markov_soccer", "backgammon"])
def test_the_advice_for_a_game_without_strings_solves_it(game):
    with pytest.raises(ValueError, match=r"abstraction=mccfr_spiel.completed_rounds"):
        Solver(game)
    solver = Solver(game, ms.OUTCOME_SAMPLING, abstraction=ms.completed_rounds)
    solver.iterate(3)
    assert solver.tree.num_infosets > 0
