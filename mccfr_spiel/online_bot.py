"""Outcome sampling as an online learner (Lanctot, Waugh, Zinkevich, Bowling 2009).

Outcome sampling needs of a hand only the player's own information states, the
probabilities with which it chose its own actions, and the payoff: everybody else's
probabilities cancel. So it can learn while it plays against opponents it does not know.
"""

import numpy as np
import pyspiel

from mccfr_spiel.game_tree import load_game
from mccfr_spiel.randomness import infoset_place, plain_stream_key, plain_uniform


class _Infoset:
    """What the bot knows of one of its infosets: arrays over its actions `[A]`."""

    __slots__ = ("actions", "average", "paid", "parent", "place", "policy", "regret")

    def __init__(
        self, place: int, actions: list[int], parent: "tuple[_Infoset, int] | None"
    ) -> None:
        self.place = place
        self.actions = actions
        self.parent = parent
        self.regret = [0.0] * len(actions)
        self.policy = [1 / len(actions)] * len(actions)
        self.average = [0.0] * len(actions)
        self.paid = 0.0


class OnlineOutcomeSamplingBot(pyspiel.Bot):
    """Plays one seat and learns by outcome sampling with regret matching.

    It sees its own information states and the payoff of each hand, nothing else; the
    game may be hidden, stochastic, have any number of players. At an infoset it plays
    its policy mixed with the uniform one, `(1 - epsilon) b + epsilon / |A|`. After a
    hand with payoff u, the value of the j-th action taken is u times the probability
    b of the own actions after it over that q with which all own actions were drawn, and
    the regrets move at the infosets met.

    The average policy is that of the exact sum of its plans: an infoset is paid, when
    it is met, what the parent sequence's sum grew by since.

    Drive it as any OpenSpiel bot and call `observe_outcome` after each hand;
    `restart()` drops a hand without an outcome. Draws are a pure function of (seed,
    hand, information state), so a run repeats if the opponents do.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        player_id: int,
        *,
        epsilon: float = 0.6,
        seed: int = 0,
    ) -> None:
        """A bot that has seen nothing and plays uniformly.

        Args:
            game: to read the number of players from; not its rules.
            player_id: the seat.
            epsilon: share of the uniform policy in what is played. Lanctot et al. use
                0.6 where only the average counts; it is paid for in play.
            seed: any integer; taken modulo 2^64.

        Raises:
            ValueError: no such seat, or epsilon not in (0, 1].
        """
        pyspiel.Bot.__init__(self)
        self.num_players: int = load_game(game).num_players()
        if not 0 <= player_id < self.num_players:
            raise ValueError(
                f"player_id={player_id} is not in 0 .. {self.num_players - 1}."
            )
        if not 0 < epsilon <= 1:
            raise ValueError(
                f"epsilon={epsilon} is not in (0, 1]: without exploration the "
                "estimates of the actions it stopped playing are biased."
            )
        self._player_id = player_id
        self.epsilon = epsilon
        self.seed = seed
        self.num_hands = 0
        self._infosets: dict[str, _Infoset] = {}
        self._hand: list[tuple[_Infoset, int, float]] = []
        self._stream = 0
        self.restart()

    # --- what OpenSpiel calls ----------------------------------------------

    def player_id(self) -> int:
        """The seat."""
        return self._player_id

    def provides_policy(self) -> bool:
        """Whether `get_policy` and `step_with_policy` work: they do."""
        return True

    def restart(self) -> None:
        """Begins a hand; one without an outcome is forgotten."""
        self._hand.clear()
        hand = self.num_hands + 1
        self._stream = plain_stream_key(
            self.seed, hand, self._player_id, self.num_players
        )

    def restart_at(self, state: pyspiel.State) -> None:
        """As `restart`; the state is not looked at."""
        self.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Other players' actions are not looked at."""

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """(action, probability) as it would be played here, exploration included."""
        actions = state.legal_actions(self._player_id)
        known = self._infosets.get(state.information_state_string(self._player_id))
        policy = known.policy if known else [1 / len(actions)] * len(actions)
        return list(zip(actions, self._explore(policy), strict=True))

    def step_with_policy(
        self, state: pyspiel.State
    ) -> tuple[list[tuple[int, float]], int]:
        """What `get_policy` gives, and the action drawn from it."""
        policy = self.get_policy(state)
        return policy, self.step(state)

    def step(self, state: pyspiel.State) -> int:
        """Draws an action at one of its own decisions and remembers it."""
        info_state = state.information_state_string(self._player_id)
        actions = state.legal_actions(self._player_id)
        infoset = self._meet(info_state, actions)
        probabilities = self._explore(infoset.policy)
        draw = plain_uniform(self._stream, infoset.place)
        chosen = len(actions) - 1
        for index, q in enumerate(probabilities):
            draw -= q
            if draw < 0:
                chosen = index
                break
        self._hand.append((infoset, chosen, probabilities[chosen]))
        return actions[chosen]

    # --- learning ----------------------------------------------------------

    def observe_outcome(self, payoff: float) -> None:
        """Ends a hand: learns from its payoff to this player.

        Raises:
            ValueError: the payoff is not finite.
        """
        if not np.isfinite(payoff):
            raise ValueError(f"payoff={payoff} is not a finite number.")
        for infoset, _, _ in self._hand:
            self._pay(infoset)
        self.num_hands += 1
        reach = 1.0
        for _, _, q in self._hand:
            reach *= q
        value = payoff / reach  # of the sequence taken, passed up
        for infoset, chosen, _ in reversed(self._hand):
            policy, regret = infoset.policy, infoset.regret
            below = policy[chosen] * value
            for index in range(len(regret)):
                regret[index] -= below
            regret[chosen] += value
            total = sum(r for r in regret if r > 0)
            if total > 0:
                infoset.policy = [max(r, 0.0) / total for r in regret]
            else:
                infoset.policy = [1 / len(regret)] * len(regret)
            value = below
        self.restart()

    def _explore(self, policy: list[float]) -> list[float]:
        share = self.epsilon / len(policy)
        return [(1 - self.epsilon) * b + share for b in policy]

    def _meet(self, info_state: str, actions: list[int]) -> _Infoset:
        parent = self._hand[-1][:2] if self._hand else None
        infoset = self._infosets.get(info_state)
        if infoset is None:
            place = infoset_place(self._player_id, info_state)
            infoset = _Infoset(place, actions, parent)
            self._infosets[info_state] = infoset
        elif infoset.actions != actions or infoset.parent != parent:
            raise ValueError(
                f"Player {self._player_id} meets the information state {info_state!r} "
                "with other legal actions or after other own moves than before; "
                "outcome sampling needs perfect recall."
            )
        return infoset

    def _pay(self, infoset: _Infoset) -> None:
        """Adds to an infoset's average what it owes; its ancestors are paid."""
        if infoset.parent is None:
            mass = float(self.num_hands + 1)
        else:
            before, taken = infoset.parent
            mass = before.average[taken]
        # The policy of this hand, before its update, counts too.
        debt = mass - infoset.paid
        infoset.paid = mass
        for index, b in enumerate(infoset.policy):
            infoset.average[index] += debt * b

    # --- what it learned ---------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """How many own infosets it has met."""
        return len(self._infosets)

    def policy_at(self, info_state: str) -> dict[int, float] | None:
        """Action -> b at one information state, None if it was never met."""
        infoset = self._infosets.get(info_state)
        if infoset is None:
            return None
        return dict(zip(infoset.actions, infoset.policy, strict=True))

    def current_policy(self) -> dict[str, dict[int, float]]:
        """Information state -> action -> b, without exploration; a snapshot.

        Information states never met are left out; it would play uniformly there.
        """
        return {
            info_state: dict(zip(infoset.actions, infoset.policy, strict=True))
            for info_state, infoset in self._infosets.items()
        }

    def average_policy(self) -> dict[str, dict[int, float]]:
        """The average of the policies of all hands, weighted by own reach; as above."""
        sums: dict[int, list[float]] = {}
        policy = {}
        for info_state, infoset in self._infosets.items():  # ancestors come first
            if infoset.parent is None:
                mass = float(self.num_hands)
            else:
                before, taken = infoset.parent
                mass = sums[id(before)][taken]
            debt = mass - infoset.paid
            pairs = zip(infoset.average, infoset.policy, strict=True)
            sums[id(infoset)] = average = [a + debt * b for a, b in pairs]
            total = sum(average)
            size = len(average)
            shares = [a / total for a in average] if total > 0 else [1 / size] * size
            policy[info_state] = dict(zip(infoset.actions, shares, strict=True))
        return policy
