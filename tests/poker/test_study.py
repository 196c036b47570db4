"""Studies of subgames. Oracles: published numbers, hand calculation, enumeration."""

import concurrent.futures
import csv
import os
import time
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.hand_sweeps import HandSweeps
from mccfr_spiel.poker.cards import HAND_NAMES, HANDS

ENDGAME = os.environ.get("LIBRATUS_ENDGAME")
"""Path of subgame 3 of the Libratus endgames (Brown, Sandholm 2017)."""


def river(**more):
    given = {
        "board": "2s3h4d6c7c",
        "pot": 20,
        "stacks": 10,
        "ranges": ("AsAh,QsQh", "KsKh"),
        "bets": "a",
        "raises": "",
    }
    return ms.poker.subgame(**{**given, **more})


def in_words(decision):
    return [HAND_NAMES[hand] for hand in decision.hands]


def mixed(game, seed):
    """A random policy as a vector, and the same as a dictionary of strings."""
    tree = complete_table(game, store="worlds")
    generator, vector = np.random.default_rng(seed), np.ones(tree.num_sequences)
    table = {}
    for number, infoset in enumerate(tree.infosets):
        start, count = int(infoset["first_sequence"]), int(infoset["num_actions"])
        row = generator.dirichlet(np.ones(count))
        vector[start : start + count] = row
        actions = tree.actions[start : start + count].tolist()
        table[tree.info_state(number)] = dict(zip(actions, row.tolist(), strict=True))
    return ms.SequencePolicy(tree, vector), table


@pytest.mark.compiled
def test_libratus_river_has_published_exploitability():
    if ENDGAME is None:
        pytest.skip("LIBRATUS_ENDGAME does not name the file of the endgame.")
    game = ms.poker.subgame(
        **ms.poker.load_endgame(ENDGAME),
        bets="50%,100%,a",
        raises="100%,a",
        min_bet=100,
    )
    total = 0.903092117303302  # published numbers are not divided by it
    assert game.subgame.total == pytest.approx(total, rel=1e-12)
    solver = ms.Solver(game, ms.CFR_PLUS)

    def gain():
        return ms.exploitability(game, solver.average_policy()) / 100 * total

    assert gain() == pytest.approx(27.68653003726562, rel=1e-11)
    returns = ms.expected_returns(game, solver.average_policy())
    assert returns[1] * total == pytest.approx(-398.42087065, rel=1e-10)
    for more, published in (
        (10, 1.9572046917),
        (90, 0.2645547685),
        (900, 0.0109579269),
    ):
        solver.iterate(more)
        assert gain() == pytest.approx(published, rel=0.02)
    study = ms.poker.Study(game, solver.average_policy())
    assert (study.values * game.subgame.deals).sum() == pytest.approx(500)


@pytest.mark.compiled
def test_small_flop_has_the_value_of_other_solvers():
    game = ms.poker.subgame(
        board="9s8h3s",
        pot=100,
        stacks=100,
        ranges=(
            "AA,KK,QQ,AK,AQs,A5s",
            "QQ,JJ,TT,99,AKo,AQ,AJs,ATs,KQs,KJs,KTs,QJs,JTs,T9s",
        ),
        bets="50%,a",
        raises="50%,a",
    )
    solver = ms.Solver(game, ms.DCFR)
    rows = solver.run(until_pot_percent=0.4)
    assert rows[-1]["pot_percent"] <= 0.4 < rows[-2]["pot_percent"]
    returns = ms.expected_returns(game, solver.average_policy())
    assert returns == pytest.approx([19.0, -19.0], abs=0.1)


@pytest.mark.interpreted
def test_equities_equal_enumeration():
    board, ranges = "9s8h3s2d", ("AhKh:0.5,QhQd", "JhJd,Th9h:0.25,KhQh")
    game = pyspiel.load_game(str(river(board=board, ranges=ranges, bets="")))
    won = np.zeros(2)
    first, second = np.zeros((2, 1326)), np.zeros((2, 1326))
    state = game.new_initial_state()
    for one, chance in state.chance_outcomes():
        for other, after in state.child(one).chance_outcomes():
            showdown = state.child(one).child(other)
            for _ in range(2):
                showdown.apply_action(1)
            for card, odds in showdown.chance_outcomes():
                last = showdown.child(card)
                last.apply_action(1)
                last.apply_action(1)
                share = np.array(last.returns()) / game.pot + 0.5
                weight = chance * after * odds
                won += weight * share
                for player, hand in enumerate((one, other)):
                    first[player, hand] += weight * share[player]
                    second[player, hand] += weight
    assert ms.poker.equity(board, ranges) == pytest.approx(won)
    expected = np.divide(first, second, out=np.zeros_like(first), where=second > 0)
    assert ms.poker.equities(board, ranges) == pytest.approx(expected)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", [0, 1])
def test_evs_equal_enumeration(seed):
    """Oracle: a recursive walk over all histories."""
    game = river(
        board="9s8h3s2d",
        ranges=("AhKh:0.5,QhQd", "JhJd,Th9h:0.25,KhQh"),
        stacks=40,
        bets="50%,a",
        raises="a",
        rake=(0.05, 1),
        first=1,
    )
    policy, table = mixed(game, seed)
    study = ms.poker.Study(game, policy)
    history = ["Bet 10", "Call", "Kc", "Check"] if seed else ["Check", "Check", "Qs"]
    decision = study.decision(history)
    assert decision.words == (
        "Bet 10, Call / Kc: Check" if seed else "Check, Check / Qs:"
    )
    player = decision.player
    worth, seen, by_action = np.zeros((2, 1326)), np.zeros((2, 1326)), {}
    node_worth, node_seen, node_total = np.zeros((2, 1326)), np.zeros((2, 1326)), []

    def walk(state, chance, reach, path):
        """Returns below a state; records them per hand and action."""
        if state.is_terminal():
            return np.array(state.returns())
        if state.is_chance_node():
            odds = dict(state.chance_outcomes())
        else:
            acting = state.current_player()
            odds = table[state.information_state_string(acting)]
        total, names = np.zeros(2), path
        for action, p in odds.items():
            if len(state.history()) >= 2:
                names = (*path, state.action_to_string(action))
            below = np.array(reach)
            if not state.is_chance_node():
                below[state.current_player()] *= p
            above = chance * (p if state.is_chance_node() else 1.0)
            got = walk(state.child(action), above, below, names)
            if names[:-1] == tuple(history) and not state.is_chance_node():
                hand = state.history()[player]
                weight = above * reach[1 - player]
                note = by_action.setdefault((hand, action), [0.0, 0.0])
                note[0] += weight * got[player]
                note[1] += weight
            total += p * got
        if path == tuple(history) and not state.is_chance_node():
            node_total.append((chance * reach[0] * reach[1], total))
            for one, dealt in enumerate(state.history()[:2]):
                weight = chance * reach[1 - one]
                node_worth[one, dealt] += weight * total[one]
                node_seen[one, dealt] += weight
        if len(state.history()) == 2:
            for one, dealt in enumerate(state.history()):
                worth[one, dealt] += chance * total[one]
                seen[one, dealt] += chance
        return total

    returns = walk(game.new_initial_state(), 1.0, (1.0, 1.0), ())
    assert study.evs == pytest.approx(returns + 10)
    expected = np.divide(worth, seen, out=np.zeros_like(worth), where=seen > 0)
    expected[seen > 0] += 10
    assert study.values == pytest.approx(expected)
    assert ms.poker.values(game, policy) == pytest.approx(expected)
    assert len(decision.hands) * len(decision.actions) == len(by_action)
    at_node = np.full((2, 1326), np.nan)
    np.divide(node_worth, node_seen, out=at_node, where=node_seen > 0)
    assert decision.hand_evs == pytest.approx(at_node + 10, nan_ok=True)
    weights, totals = map(np.array, zip(*node_total, strict=True))
    assert decision.node_evs() == pytest.approx(weights @ totals / weights.sum() + 10)
    as_text = study.decision(", ".join(history))
    assert as_text.words == study.decision(decision.words).words == decision.words
    for at, hand in enumerate(decision.hands.tolist()):
        numbers = sorted(action for one, action in by_action if one == hand)
        found = [by_action[hand, action] for action in numbers]
        evs = [sum_of / weight + 10 for sum_of, weight in found]
        assert decision.action_evs[at] == pytest.approx(evs)
        mean = decision.frequencies[at] @ evs
        assert decision.evs[at] == pytest.approx(mean)


@pytest.mark.compiled
def test_river_solved_by_hand():
    """Aces always bet, queens bluff and kings fold a third of the time."""
    game = river()
    solver = ms.Solver(game, ms.CFR_PLUS, store="worlds")
    rows = solver.run(until_pot_percent=0.02)
    assert 0 < rows[-1]["pot_percent"] <= 0.02
    study = ms.poker.Study(game, solver.average_policy())
    assert study.evs == pytest.approx([40 / 3, 20 / 3], abs=0.01)
    assert study.best_evs == pytest.approx(study.evs, abs=0.01)
    root, kings = study.decision(), study.decision(["All-in 10"])
    assert (root.player, root.actions) == (0, ("Check", "All-in 10"))
    by_name = dict(zip(in_words(root), root.frequencies, strict=True))
    assert by_name["AhAs"][1] == pytest.approx(1, abs=0.01)
    assert by_name["QhQs"][1] == pytest.approx(1 / 3, abs=0.02)
    assert kings.frequencies[0] == pytest.approx([1 / 3, 2 / 3], abs=0.02)
    equities = dict(zip(in_words(root), root.equities(), strict=True))
    assert equities == {"AhAs": 1, "QhQs": 0}
    assert kings.equities() == pytest.approx([0.25], abs=0.01)


@pytest.mark.interpreted
def test_table_has_a_line_per_decision_hand_and_action(tmp_path):
    game = river()
    study = ms.poker.Study(game, UniformRandomPolicy(game))
    assert repr(study) == "<Study: 2s3h4d6c7c, EVs 11.2 and 8.75>"
    path = tmp_path / "river.csv"
    study.write_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + 2 + 4 + 2
    row = next(r for r in rows if r["before"] == "All-in 10" and r["action"] == "Call")
    assert row["hand"] == "KhKs"
    # Aces and queens are equally likely: 30 or -10 with equal weight.
    names = ("action_ev", "ev", "equity", "ev_share", "frequency")
    assert [float(row[name]) for name in names] == pytest.approx([10, 5, *[0.5] * 3])


@pytest.mark.interpreted
def test_threads_may_share_a_study(monkeypatch):
    game = river(board="2s3h4d6c", bets="50%")
    policy = UniformRandomPolicy(game)
    study, other = (ms.poker.Study(game, policy) for _ in range(2))
    histories = [f"Check, Check, {card}" for card in ("7c", "8c", "9c", "Tc")]
    expected = [study.decision(history).evs for history in histories]
    run = HandSweeps.run

    def slow(sweeps, *arguments):
        run(sweeps, *arguments)
        time.sleep(0.01)  # another thread may start before the buffers are read

    monkeypatch.setattr(HandSweeps, "run", slow)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = [*threads.map(other.decision, histories)]
    for decision, evs in zip(found, expected, strict=True):
        assert decision.evs.tolist() == evs.tolist()


@pytest.mark.interpreted
def test_invalid_histories_and_games_are_refused():
    game = river(board="2s3h4d6c", bets="50%")
    study = ms.poker.Study(game, UniformRandomPolicy(game))
    blocked = study.decision(["Check", "Check", "Kh", "Check"])
    assert len(blocked.hands) == len(blocked.equities()) == 0
    assert study.decision(["Check", "Check", "7c"]).board[-1] == 4 * 5 + 3
    refused: list[tuple[Any, str]] = [
        (["Check", "Check"], "Nobody acts after Check, Check"),
        (["Bet 11"], "'Bet 11', expected one of Check, All-in 10"),
        ([7], "Unknown action 7, expected one of"),
        (["Check", "Check", "2s"], "2s cannot be dealt"),
        (["Check", "Check", "7c7d"], "'7c7d' must be a single card"),
        (["Check", "Check", 52], "52 must be a single card"),
        (["All-in 10", "Fold", "Check"], "'Check' follows the end of the game"),
        (["All-in 10", "Fold", 1], "1 follows the end of the game"),
        ("Check, Check", r"Check, Check\. Add the next card, such as Qd"),
        ("All-in 10, Call", r"All-in 10, Call\. The history must end at a decision"),
        (None, "history=None must be a text"),
        (b"Check", "history=b'Check' must be a text"),
    ]
    for history, message in refused:
        with pytest.raises(ValueError, match=message):
            study.decision(history)
    with pytest.raises(ValueError, match=r"must be a game made by ms\.poker\.subgame"):
        ms.poker.Study("kuhn_poker", UniformRandomPolicy(game))
    with pytest.raises(ValueError, match="starts without a pot"):
        ms.Solver("kuhn_poker", ms.CFR).run(until_pot_percent=1)
    with pytest.raises(KeyError, match="KhKs here: Kh is on the board"):
        study.decision("Check, Check, Kh")["KhKs"]
    with pytest.raises(ValueError, match="hand='AKs' is a type of hands"):
        ms.poker.hand("AKs")
    with pytest.raises(ValueError, match="3 cards, expected two"):
        ms.poker.hand("AhKhQh")
    assert HANDS[ms.poker.hand("AsAh")].tolist() == [48, 49]
