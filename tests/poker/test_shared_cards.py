"""Random subgames with shared cards. Oracles: enumeration, linear programs."""

import numpy as np
import pyspiel
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

import mccfr_spiel as ms
from mccfr_spiel.poker.cards import DECK, HAND_NAMES, HANDS

pytestmark = pytest.mark.compiled


def linear_program_value(game):
    """Player 0's value of a zero-sum game: von Stengel's (1996) program in scipy.

    The program is built from OpenSpiel's states alone.
    """
    sequences = [{(): 0}, {(): 0}]
    parents: list[dict] = [{}, {}]  # infoset -> number of its parent sequence
    payoffs: dict[tuple[int, int], float] = {}
    stack = [(game.new_initial_state(), [0, 0], 1.0)]
    while stack:
        state, last, reach = stack.pop()
        if state.is_terminal():
            key = last[0], last[1]
            payoffs[key] = payoffs.get(key, 0.0) + reach * state.returns()[0]
        elif state.is_chance_node():
            stack += [
                (state.child(action), last, reach * probability)
                for action, probability in state.chance_outcomes()
            ]
        else:
            player = state.current_player()
            infoset = state.information_state_string(player)
            parents[player][infoset] = last[player]
            for action in state.legal_actions():
                numbers = sequences[player]
                number = numbers.setdefault((infoset, action), len(numbers))
                after = [number if p == player else last[p] for p in (0, 1)]
                stack.append((state.child(action), after, reach))
    first, second = (
        flow_constraints(*pair) for pair in zip(sequences, parents, strict=True)
    )
    rows, columns = np.array([*payoffs]).T
    shape = len(sequences[0]), len(sequences[1])
    payoff = csr_array(([*payoffs.values()], (rows, columns)), shape=shape)
    # Maximize q[0] subject to F' q <= A' x, E x = e, x >= 0.
    num_plan, num_dual = shape[0], second.shape[0]
    inequality = hstack((-payoff.T, second.T))
    equality = hstack((first, csr_array((first.shape[0], num_dual))))
    result = linprog(
        np.append(np.zeros(num_plan), -np.eye(1, num_dual)[0]),
        A_ub=inequality,
        b_ub=np.zeros(shape[1]),
        A_eq=equality,
        b_eq=np.eye(1, first.shape[0])[0],
        bounds=[(0, None)] * num_plan + [(None, None)] * num_dual,
    )
    assert result.success
    return -result.fun


def flow_constraints(sequences, parents):
    """`[1 + I, S]` rows: the empty sequence is 1, an infoset's sum is its parent's."""
    place = {infoset: row for row, infoset in enumerate(parents, 1)}
    entries = [(0, 0, 1)]
    entries += [(place[infoset], above, -1) for infoset, above in parents.items()]
    entries += [(place[key[0]], number, 1) for key, number in sequences.items() if key]
    rows, columns, values = zip(*entries, strict=True)
    return csr_array((values, (rows, columns)), (1 + len(parents), len(sequences)))


def uniform_returns(game):
    """Expected returns of uniform play over all of OpenSpiel's histories."""
    total, stack = np.zeros(2), [(game.new_initial_state(), 1.0)]
    while stack:
        state, reach = stack.pop()
        if state.is_terminal():
            total += reach * np.array(state.returns())
        elif state.is_chance_node():
            stack += [(state.child(a), reach * p) for a, p in state.chance_outcomes()]
        else:
            actions = state.legal_actions()
            stack += [(state.child(a), reach / len(actions)) for a in actions]
    return total


def random_spot(seed):
    """A subgame in which all hands of one player contain the same card."""
    rng = np.random.default_rng(seed)
    board = rng.choice(52, 3 if seed % 25 == 0 else 4, replace=False)
    left = np.setdiff1d(np.arange(52), board)
    # Often the highest card left: after a board with this card the player has no hand.
    shared = left[-1] if seed % 2 else rng.choice(left)
    most = 1 if len(board) == 3 else 3
    fits = ~np.isin(HANDS, board).any(axis=1)
    with_card = np.flatnonzero(fits & (shared == HANDS).any(axis=1))
    others = np.flatnonzero(fits)
    sizes = rng.integers(1, most + 1, 2)
    ranges = [
        ",".join(HAND_NAMES[hand] for hand in rng.choice(hands, size, replace=False))
        for hands, size in zip((with_card, others), sizes, strict=True)
    ]
    if rng.random() < 0.5:
        ranges.reverse()
    return {
        "board": "".join(DECK[card] for card in board),
        "pot": 20,
        "stacks": int(rng.choice([5, 20, 60])),
        "ranges": tuple(ranges),
        "bets": "a",
        "raises": "none",
    }


def has_deals(spot):
    try:
        ms.poker.subgame(**spot)
    except ValueError:
        return False
    return True


SPOTS = [spot for seed in range(72) if has_deals(spot := random_spot(seed))][:55]


def test_number_of_random_subgames():
    assert len(SPOTS) >= 50
    assert sum(len(spot["board"]) == 6 for spot in SPOTS) >= 2


@pytest.mark.parametrize("spot", SPOTS, ids=lambda spot: spot["board"])
def test_returns_and_values_equal_enumeration(spot):
    game = ms.poker.subgame(**spot)
    solver = ms.Solver(game, ms.CFR_PLUS)
    returns = ms.expected_returns(solver.tree, solver.current_vector())
    assert returns == pytest.approx(uniform_returns(game), abs=1e-9)
    solver.iterate(2000)
    bounds = ms.metrics.game_value(game, solver.average_policy())
    value = linear_program_value(game)
    assert bounds.low - 1e-6 <= value <= bounds.high + 1e-6
    assert bounds.high - bounds.low < 0.02


@pytest.mark.parametrize(
    ("ranges", "value"),
    [(("AhAs", "KdKs"), 24.75)],
)
def test_nash_conv_with_a_shared_card(ranges, value):
    game = ms.poker.subgame(
        board="JsAd6hAc", pot=2, stacks=33, ranges=ranges, bets="a", raises="none"
    )
    uniform = pyspiel.UniformRandomPolicy(game)
    assert ms.nash_conv(game, uniform) == pytest.approx(value, abs=1e-9)


def test_evs_with_a_shared_card_equal_linear_program():
    game = ms.poker.subgame(
        board="Jc7c2d5h",
        pot=20,
        stacks=30,
        ranges=("AcKc,AcQc,AcTc", "77,22,55"),
        bets="a",
        raises="none",
    )
    assert linear_program_value(game) == pytest.approx(-10, abs=1e-9)
    solver = ms.Solver(game, ms.CFR_PLUS)
    solver.iterate(3000)
    study = ms.poker.Study(game, solver.average_policy())
    assert study.evs == pytest.approx([0, 20], abs=0.002)
