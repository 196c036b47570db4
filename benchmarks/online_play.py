"""Average regret of the online outcome-sampling bot, hand by hand.

    python benchmarks/online_play.py --hands=100000 --output_dir=results/online

The bot (seat 0) plays Kuhn and Leduc poker against opponents it does not know: one that
plays uniformly, one that always bets, raises or else takes its last legal action, and
one that learns as the bot does. Every hand's policies are recorded, so the regret is
exact: with g^t the gradient that the opponent's policy of hand t gave,

    R(T) / T = (max_x <sum g^t, x> - sum <g^t, x^t>) / T,

once for the bot's policy b (what the theorems bound) and once for what it played, b
mixed with epsilon of the uniform policy. Prints a table; writes a CSV and a PNG.
"""

import argparse
import csv
import pathlib
import random
import time
from collections.abc import Callable

import numpy as np
import pyspiel

from mccfr_spiel.offline.sequence_form import (
    SequenceForm,
    best_response_value,
    policy_to_plan,
    sequence_form,
)
from mccfr_spiel.online_bot import OnlineOutcomeSamplingBot

GAMES = ("kuhn_poker", "leduc_poker")
OPPONENTS = ("uniform", "always_bet", "adapting")
SEAT, OTHER = 0, 1


class Seat:
    """A player's policy over its own sequences, kept up to date as it learns."""

    def __init__(self, form: SequenceForm, player: int, fixed: str | None) -> None:
        plex = form.treeplexes[player]
        self.plex = plex
        self.policy = np.ones(plex.num_sequences)
        self.policy[1:] = np.repeat(1 / plex.num_actions, plex.num_actions)
        if fixed == "always_bet":
            self.policy[1:] = 0
            self.policy[plex.first_sequence + plex.num_actions - 1] = 1
        names = [form.tree.info_state(infoset) for infoset in plex.infosets]
        self.start = dict(zip(names, plex.first_sequence.tolist(), strict=True))
        self.plan = policy_to_plan(plex, self.policy)

    def learn(self, bot: OnlineOutcomeSamplingBot, met: list[str]) -> None:
        """Takes over the bot's policy at the infosets met in the last hand."""
        for info_state in met:
            policy = bot.policy_at(info_state)
            assert policy is not None
            start = self.start[info_state]
            self.policy[start : start + len(policy)] = list(policy.values())
        self.plan = policy_to_plan(self.plex, self.policy)

    def played(self, epsilon: float) -> np.ndarray:
        """The plan of the policy mixed with epsilon of the uniform one."""
        share = np.repeat(epsilon / self.plex.num_actions, self.plex.num_actions)
        mixed = (1 - epsilon) * self.policy
        mixed[1:] += share
        return policy_to_plan(self.plex, mixed)

    def draw(self, state: pyspiel.State, rng: random.Random) -> int:
        """An action of a policy that does not learn."""
        actions = state.legal_actions()
        start = self.start[state.information_state_string()]
        weights = self.policy[start : start + len(actions)].tolist()
        return rng.choices(actions, weights)[0]


def play_hand(
    game: pyspiel.Game,
    act: tuple[Callable[[pyspiel.State], int], Callable[[pyspiel.State], int]],
    rng: random.Random,
) -> tuple[list[float], tuple[list[str], list[str]]]:
    """Plays a hand; returns the payoffs and the information states met by each seat."""
    state = game.new_initial_state()
    met: tuple[list[str], list[str]] = ([], [])
    while not state.is_terminal():
        player = state.current_player()
        if player == pyspiel.PlayerId.CHANCE:
            outcomes, probs = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, probs)[0])
            continue
        met[player].append(state.information_state_string())
        state.apply_action(act[player](state))
    return state.returns(), met


def measure(
    name: str, opponent: str, hands: int, epsilon: float, seed: int
) -> list[dict]:
    """Plays; returns a row for each of about 40 numbers of hands."""
    form = sequence_form(name)
    game = form.tree.game
    rng = random.Random(seed)
    bot = OnlineOutcomeSamplingBot(game, SEAT, epsilon=epsilon, seed=seed)
    learner = Seat(form, SEAT, None)
    other = Seat(form, OTHER, opponent)
    rival = None
    if opponent == "adapting":
        rival = OnlineOutcomeSamplingBot(game, OTHER, epsilon=epsilon, seed=seed + 1)
    act = (bot.step, rival.step if rival else lambda state: other.draw(state, rng))
    checkpoints = set(np.unique(np.geomspace(10, hands, 40).round().astype(int)))
    total = np.zeros(learner.plex.num_sequences)
    gained = gained_played = payoff = 0.0
    rows = []
    begin = time.perf_counter()
    gradient = form.payoffs @ other.plan
    for hand in range(1, hands + 1):
        if rival:
            gradient = form.payoffs @ other.played(epsilon)
        total += gradient
        gained += gradient @ learner.plan
        gained_played += gradient @ learner.played(epsilon)
        returns, met = play_hand(game, act, rng)
        bot.observe_outcome(returns[SEAT])
        learner.learn(bot, met[SEAT])
        if rival:
            rival.observe_outcome(returns[OTHER])
            other.learn(rival, met[OTHER])
        payoff += returns[SEAT]
        if hand in checkpoints:
            best = best_response_value(learner.plex, total)
            rows.append(
                {
                    "game": name,
                    "opponent": opponent,
                    "epsilon": epsilon,
                    "seed": seed,
                    "hands": hand,
                    "regret": (best - gained) / hand,
                    "regret_played": (best - gained_played) / hand,
                    "payoff": payoff / hand,
                    "best_in_hindsight": best / hand,
                    "seconds": time.perf_counter() - begin,
                }
            )
    return rows


def slope(rows: list[dict], key: str) -> float:
    """Log-log slope of the second half of a curve."""
    late = [row for row in rows if row["hands"] >= rows[-1]["hands"] ** 0.5]
    logs = np.log([[row["hands"], max(row[key], 1e-12)] for row in late])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def table(curves: list[list[dict]]) -> str:
    """The last rows as markdown."""
    lines = [
        (
            "| game | opponent | hands | regret of b | slope | regret as played | "
            "payoff a hand | best in hindsight | seconds |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for rows in curves:
        row = rows[-1]
        lines.append(
            f"| {row['game']} | {row['opponent']} | {row['hands']} | "
            f"{row['regret']:.4f} | {slope(rows, 'regret'):.2f} | "
            f"{row['regret_played']:.4f} | {row['payoff']:.4f} | "
            f"{row['best_in_hindsight']:.4f} | {row['seconds']:.1f} |"
        )
    return "\n".join(lines)


def draw(curves: list[list[dict]], path: pathlib.Path) -> None:
    """Regret over hands, one panel for each game, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(GAMES), figsize=(10, 4), squeeze=False)
    for panel, name in zip(panels[0], GAMES, strict=True):
        for rows in curves:
            if rows[0]["game"] != name:
                continue
            hands = [row["hands"] for row in rows]
            panel.loglog(
                hands, [row["regret"] for row in rows], label=rows[0]["opponent"]
            )
        ends = np.array(panel.get_xlim())
        top = panel.get_ylim()[1]
        panel.loglog(
            ends, top * np.sqrt(ends[0] / ends), "k:", label="slope of 1 / sqrt(T)"
        )
        panel.set(title=name, xlabel="hands", ylabel="average regret of b")
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Plays all pairs and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hands", type=int, default=100_000)
    parser.add_argument("--epsilon", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=pathlib.Path, default="results/online")
    options = parser.parse_args()
    curves = [
        measure(name, opponent, options.hands, options.epsilon, options.seed)
        for name in GAMES
        for opponent in OPPONENTS
    ]
    options.output_dir.mkdir(parents=True, exist_ok=True)
    with open(options.output_dir / "online_play.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, curves[0][0])
        writer.writeheader()
        writer.writerows(row for rows in curves for row in rows)
    draw(curves, options.output_dir / "online_play.png")
    print(table(curves))


if __name__ == "__main__":
    main()
