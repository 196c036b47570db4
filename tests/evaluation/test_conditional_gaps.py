"""Conditional gaps, against a recursion over OpenSpiel's states."""

import itertools
from collections import defaultdict

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.loading import load_game
from tests.small_games import leaf, move, small_game

GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "kuhn_poker(players=4)",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(dice_sides=2)",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,"
    "points_order=random))",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,players=3,"
    "points_order=descending))",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,"
    "points_order=descending,returns_type=total_points))",
    "turn_based_simultaneous_game(game=matrix_pd())",
    "first_sealed_auction(max_value=4)",
    "first_sealed_auction(max_value=3,players=3)",
    "sheriff(num_rounds=1,max_items=2,max_bribe=1)",
)
WORLDS = (
    "kuhn_poker",
    "leduc_poker",
    "python_one_card_poker(cards=5)",
    "liars_dice(dice_sides=2)",
    "python_dark_hex(num_rows=2,num_cols=2)",
)


class Recursion:
    """Conditional gaps by recursion over states. Infosets are pairs of player, string.

    Attributes:
        policy: infoset -> action -> probability, trembled where necessary.
        reach: infoset -> probability that chance and the other players play to it.
        gap: infoset -> conditional gap; NaN without beliefs.
        values: infoset -> action -> value of the action under a best response.
    """

    def __init__(self, game, policy, eps=0.0):
        self.eps, self.policy = eps, {}
        for key, row in policy.items():
            floor = min(eps, 0.5 / len(row))
            if min(row.values()) < floor:
                mixed = 1 - len(row) * floor
                row = {a: floor + mixed * p for a, p in row.items()}
            self.policy[key] = row
        self.nodes, self.choice, self.found = defaultdict(list), {}, {}
        self._list(game.new_initial_state(), np.ones(game.num_players() + 1))
        self.reach = {key: sum(w for _, w in at) for key, at in self.nodes.items()}
        self.gap, self.values = {}, {}
        for key in self.nodes:
            self._respond(key)

    def _list(self, state, reach):
        if state.is_terminal():
            return
        player = state.current_player()  # -1 of chance is the last entry of `reach`
        if player >= 0:
            others = np.prod(np.delete(reach, player))
            self.nodes[self._key(state)].append((state, others))
        for action, probability in self._moves(state):
            below = reach.copy()
            below[player] *= probability
            self._list(state.child(action), below)

    def _key(self, state):
        player = state.current_player()
        return player, state.information_state_string(player)

    def _moves(self, state):
        if state.is_chance_node():
            return state.chance_outcomes()
        return self.policy[self._key(state)].items()

    def value(self, state, player, responds):
        """The player's expected return from a state on."""
        if state.is_terminal():
            return state.returns()[player]
        memo = player, responds, *state.history()
        if memo not in self.found:
            if responds and state.current_player() == player:
                key = self._key(state)
                values = {
                    a: self.value(state.child(a), player, True)
                    for a in self.policy[key]
                }
                self.found[memo] = self._trembled(values, self._respond(key))
            else:
                self.found[memo] = sum(
                    p * self.value(state.child(a), player, responds)
                    for a, p in self._moves(state)
                )
        return self.found[memo]

    def _trembled(self, values, chosen):
        floor = min(self.eps, 0.5 / len(values))
        rest = 1 - len(values) * floor
        return floor * sum(values.values()) + rest * values[chosen]

    def _respond(self, key):
        """The best action at an infoset; stores the infoset's gap."""
        if key not in self.choice:
            player, nodes = key[0], self.nodes[key]
            values = {
                action: sum(
                    w * self.value(state.child(action), player, True)
                    for state, w in nodes
                )
                for action in self.policy[key]
            }
            self.choice[key] = max(values, key=values.__getitem__)
            best = self._trembled(values, self.choice[key])
            played = sum(w * self.value(state, player, False) for state, w in nodes)
            total = sum(w for _, w in nodes)
            self.gap[key] = (best - played) / total if total > 0 else np.nan
            self.values[key] = values
        return self.choice[key]


def random_policy(game, seed):
    """infoset -> action -> probability, with many zeros."""
    rng, policy, stack = np.random.default_rng(seed), {}, [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        player = state.current_player()
        if player >= 0:
            key, legal = (
                (player, state.information_state_string()),
                state.legal_actions(),
            )
            if key not in policy:
                row = rng.exponential(size=len(legal)) * (rng.random(len(legal)) < 0.6)
                row[rng.integers(len(legal))] += 0.5
                policy[key] = dict(zip(legal, row / row.sum(), strict=True))
        stack += [state.child(action) for action in state.legal_actions()]
    return policy


def in_seats(game, policy):
    """The policy as ms functions accept it: a dictionary of strings per player."""
    seats: list[dict] = [{} for _ in range(game.num_players())]
    for (player, string), row in policy.items():
        seats[player][string] = row
    return seats


def assert_equal_recursion(name, eps, store):
    game = load_game(name)
    policy = random_policy(game, seed=len(name))
    expected = Recursion(game, policy, eps)
    gaps = ms.evaluation.conditional_gaps(
        game, in_seats(game, policy), eps, store=store
    )
    keys = [*zip(gaps.player.tolist(), gaps.tree.info_states, strict=True)]
    assert sorted(keys) == sorted(expected.gap)
    own = own_reaches(game, expected.policy)
    for i, key in enumerate(keys):
        assert gaps.gap[i] == pytest.approx(expected.gap[key], abs=1e-10, nan_ok=True)
        assert gaps.others_reach[i] == pytest.approx(expected.reach[key], abs=1e-12)
        assert gaps.own_reach[i] == pytest.approx(own[key], abs=1e-12)
        values, best = expected.values[key], gaps.best_action[i]
        if np.isnan(expected.gap[key]):
            assert best == -1
        else:
            assert values[best] == pytest.approx(max(values.values()), abs=1e-10)
    known = np.array([gap for gap in expected.gap.values() if not np.isnan(gap)])
    assert gaps.num_without_beliefs == len(keys) - len(known)
    assert gaps.max == pytest.approx(known.max(), abs=1e-10)
    assert gaps.mean == pytest.approx(known.mean(), abs=1e-10)
    assert gaps.quantile(0.9) == pytest.approx(np.quantile(known, 0.9), abs=1e-10)
    assert known.max() > 0.01
    return gaps


def own_reaches(game, policy):
    """infoset -> product of the player's own probabilities before it."""
    found, stack = {}, [(game.new_initial_state(), (1.0,) * game.num_players())]
    while stack:
        state, plans = stack.pop()
        if state.is_terminal():
            continue
        player = state.current_player()
        if player >= 0:
            found[player, state.information_state_string()] = plans[player]
        for action in state.legal_actions():
            below = list(plans)
            if player >= 0:
                below[player] *= policy[player, state.information_state_string()][
                    action
                ]
            stack.append((state.child(action), tuple(below)))
    return found


@pytest.mark.parametrize(("name", "eps"), [*itertools.product(GAMES, (0.0, 0.15))])
def test_gaps_of_trees_equal_a_recursion_over_states(name, eps):
    gaps = assert_equal_recursion(name, eps, "tree")
    assert eps == 0.0 or gaps.num_without_beliefs == 0


@pytest.mark.parametrize(("name", "eps"), [*itertools.product(WORLDS, (0.0, 0.15))])
def test_gaps_of_worlds_and_hands_equal_a_recursion_over_states(name, eps):
    assert_equal_recursion(name, eps, "worlds")


def test_reaches_of_a_tree_without_memory_for_more_lists_are_equal(monkeypatch):
    policy = ms.Solver("kuhn_poker", seed=1)
    policy.iterate(20)
    full = ms.evaluation.conditional_gaps("kuhn_poker", policy.average_policy())

    def refuse(tree):
        raise ms.MemoryBudgetError("no room")

    monkeypatch.setattr(ms.GameTree, "list_chance", refuse)
    slow = ms.evaluation.conditional_gaps("kuhn_poker", policy.average_policy())
    assert slow.others_reach == pytest.approx(full.others_reach, abs=1e-15)


# --- values known by hand -------------------------------------------------------------


def ultimatum():
    """Player 0 ends the game or asks; player 1 may refuse, which costs both."""
    answer = move(1, "asked", leaf(-3.0, -3.0), leaf(2.0, 1.0))
    return small_game(
        move(0, "start", leaf(0.0, 0.0), answer),
        name="ultimatum",
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
    )


def test_an_empty_threat_has_a_gap_although_its_nash_conv_is_zero():
    threat = {"start": {0: 1.0, 1: 0.0}, "asked": {0: 1.0, 1: 0.0}}
    game = ultimatum()
    assert ms.nash_conv(game, threat) == 0
    gaps = ms.evaluation.conditional_gaps(game, threat)
    assert gaps.num_without_beliefs == 1  # nobody asks
    assert gaps.max == 0
    within = ms.evaluation.conditional_gaps(game, threat, 0.1)
    start, asked = within.worst(2)[::-1]
    # Accepting with probability 0.9 gives 0.6, refusing with 0.9 gives -2.6.
    assert (asked.info_state, asked.best_action) == ("asked", 1)
    assert asked.gap == pytest.approx(3.2)
    assert asked.others_reach == pytest.approx(0.1)
    # If player 1 refuses, the best answer of player 0 is not to ask.
    assert start.gap == pytest.approx(0.0)


def test_text_names_the_five_worst_infosets():
    policy = random_policy(pyspiel.load_game("kuhn_poker"), 1)
    game = pyspiel.load_game("kuhn_poker")
    gaps = ms.evaluation.conditional_gaps(game, in_seats(game, policy))
    heading, _, *rows = str(gaps).splitlines()
    assert repr(gaps) == str(gaps)
    assert f"largest conditional gap {gaps.max:.3g}" in heading
    assert f"mean {gaps.mean:.3g}" in heading
    assert f"{gaps.num_without_beliefs} without beliefs" in heading
    assert len(rows) == 5
    assert rows[0].endswith(("Bet", "Pass"))
    frame = gaps.to_pandas()
    assert [*frame.columns] == [*gaps.worst(1)[0]._fields]
    worst = frame.sort_values("gap", ascending=False, kind="stable").iloc[:5]
    assert worst["info_state"].tolist() == [row.info_state for row in gaps.worst()]
    assert len(frame) == len(gaps) == 12
    assert "<table>" in gaps._repr_html_()


def test_policy_table_shows_the_gaps():
    game = pyspiel.load_game("kuhn_poker")
    solver = ms.Solver(game, ms.OUTCOME_SAMPLING, seed=2)
    solver.iterate(300)
    policy = solver.average_policy()  # numbered by first visits
    gaps = ms.evaluation.conditional_gaps("kuhn_poker", policy)
    table = policy.table(gaps)
    exact = Recursion(
        game,
        {
            (row.player, row.info_state): dict(
                zip(row.actions, row.probabilities, strict=True)
            )
            for row in table
        },
    )
    for row in table:
        assert row.gap == pytest.approx(exact.gap[row.player, row.info_state])
    assert str(table).splitlines()[1].split()[-2:] == ["reach", "gap"]
    assert "gap" in table.to_pandas()
    assert "gap" not in str(policy.table())
    assert "gap" not in policy.table().to_pandas()
    with pytest.raises(ValueError, match=r"gaps=3 must be a result of ms\.evaluation"):
        policy.table(3)
    other = ms.evaluation.conditional_gaps(
        "leduc_poker", lambda _, legal, __: legal / legal.sum(1, keepdims=True)
    )
    with pytest.raises(ValueError, match="lacks the information state"):
        policy.table(other)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize("tremble", [-0.1, 0.5, 1, float("nan"), "much", None])
def test_wrong_trembles_are_refused(tremble):
    with pytest.raises(ValueError, match=r"tremble=.* must be (a number|less)"):
        ms.evaluation.conditional_gaps("kuhn_poker", {}, tremble)


def test_policies_without_some_infosets_are_refused():
    game = pyspiel.load_game("kuhn_poker")
    policy = {string: row for (_, string), row in random_policy(game, 0).items()}
    del policy["1pb"]
    with pytest.raises(ValueError, match="1pb"):
        ms.evaluation.conditional_gaps(game, policy)
    with pytest.raises(ValueError, match="None is not a policy"):
        ms.evaluation.conditional_gaps(game, None)
    with pytest.raises(ValueError, match="average_policy"):
        ms.evaluation.conditional_gaps(game, ms.Solver(game))


def test_games_whose_histories_are_recomputed_are_refused():
    policy = {s: r for (_, s), r in random_policy(load_game(GAMES[0]), 0).items()}
    with pytest.raises(ValueError, match="recomputes its histories"):
        ms.evaluation.conditional_gaps("kuhn_poker", policy, store="none")


# --- learned policies -----------------------------------------------------------------


@pytest.mark.compiled
def test_cfr_plus_loses_chips_off_the_path_of_leduc():
    solver = ms.Solver("leduc_poker", ms.CFR_PLUS)
    metrics = ["nash_conv", "conditional_gap", "mean_conditional_gap"]
    solver.run(3_000, metrics=[ms.metrics.METRICS[name] for name in metrics])
    nash_conv, largest, mean = (solver.history[-1][name] for name in metrics)
    assert nash_conv < 1e-4
    assert largest == pytest.approx(3.84, abs=0.02)
    assert mean == pytest.approx(0.125, abs=0.002)


@pytest.mark.compiled
def test_trembles_close_the_gaps_of_leduc():
    rule = ms.CFR_PLUS.minimizer.trembling(0.01)
    solver = ms.Solver("leduc_poker", ms.CFR_PLUS._replace(minimizer=rule))
    solver.iterate(3_000)
    assert ms.metrics.conditional_gap(solver, 0.01) <= 0.02
    assert ms.metrics.mean_conditional_gap(solver, 0.01) <= 0.0005
    assert ms.metrics.conditional_gap(solver) < 0.3
