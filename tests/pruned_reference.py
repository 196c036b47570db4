"""The textbook of regret-based pruning (Brown, Sandholm 2015 and 2017).

It remembers every plan that a player has met, and works out from all of them, by
recursion over the game, what the player could have got.
"""

from __future__ import annotations

from tests.reference import (
    EMPTY,
    Draw,
    Gradient,
    Infoset,
    Node,
    Sequence,
    Textbook,
    dot,
    normalized,
)

FOLLOWED, SKIPPED, RESUMED = "followed", "skipped", "resumed"


def returns_below(node: Node, player: int) -> list[float]:
    """What all leaves at and below a node pay a player."""
    if node.returns:
        return [node.returns[player]]
    return [one for child in node.children for one in returns_below(child, player)]


class PrunedTextbook(Textbook):
    """CFR of two players with `prune="regret"`.

    Attributes:
        met: player -> the other one's plans in all updates of the player.
        state: (player, sequence) -> what the next update does with it.
        best: (player, sequence) -> what a best response would have got, or more.
        got: (player, info_state) -> what the player has got there.
        seen: all states that sequences have had.
    """

    def __init__(self, *arguments, **more) -> None:
        super().__init__(*arguments, **more)
        self.met: dict[int, list[Gradient]] = {0: [], 1: []}
        self.best, self.got = {}, dict.fromkeys(self.infosets, 0.0)
        self.state: dict = {(0, EMPTY): FOLLOWED, (1, EMPTY): FOLLOWED}
        for infoset in self.infosets.values():
            for s in infoset.sequences:
                self.state[infoset.player, s] = FOLLOWED
        self.seen = set()
        self.step = {
            (infoset.player, s): self.longest_step(infoset, k)
            for infoset in self.infosets.values()
            for k, s in enumerate(infoset.sequences)
        }

    def histories(self, infoset: Infoset) -> list[tuple[Node, float, Sequence]]:
        """The nodes of an infoset, chance's probability of each, and the other
        player's last sequence before it."""
        found = []

        def visit(node: Node, prob: float, other: Sequence) -> None:
            if node.infoset is infoset:
                found.append((node, prob, other))
            for k, child in enumerate(node.children):
                if node.infoset is None:
                    visit(child, prob * node.probs[k], other)
                elif node.infoset.player != infoset.player:
                    visit(child, prob, node.infoset.sequences[k])
                else:
                    visit(child, prob, other)

        visit(self.root, 1.0, EMPTY)
        return found

    def longest_step(self, infoset: Infoset, k: int) -> float:
        """The most by which an iteration can change best - got of action number k."""
        nodes, player = self.histories(infoset), infoset.player
        if all(node.children[k].returns for node, _, _ in nodes):
            return float("inf")
        return sum(
            prob
            * (
                max(returns_below(node.children[k], player))
                - min(returns_below(node, player))
            )
            for node, prob, _ in nodes
        )

    def leaves(self, player: int, plans: list[Gradient]) -> Gradient:
        """What leaves have paid after each sequence of `player`, given the plans of the
        other one."""
        paid = dict.fromkeys([s for p, s in self.state if p == player], 0.0)

        def visit(node: Node, prob: float, own: Sequence, other: Sequence) -> None:
            if node.returns:
                reach = sum(plan[other] for plan in plans)
                paid[own] += prob * reach * node.returns[player]
            for k, child in enumerate(node.children):
                if node.infoset is None:
                    visit(child, prob * node.probs[k], own, other)
                elif node.infoset.player == player:
                    visit(child, prob, node.infoset.sequences[k], other)
                else:
                    visit(child, prob, own, node.infoset.sequences[k])

        visit(self.root, 1.0, EMPTY, EMPTY)
        return paid

    def estimate(self, player: int, draw: Draw) -> Gradient:
        """What an update reads; here it only counts the nodes that it touches."""
        self.met[player].append(self.plan(1 - player))
        plan = self.met[player][-1]

        def visit(node: Node, own: Sequence, other: Sequence) -> None:
            state = self.state[player, own]
            # What is resumed is visited whole, the rest where the other one plays to.
            self.nodes_touched += state == RESUMED or plan[other] > 0
            for k, child in enumerate(node.children):
                if node.infoset is None:
                    visit(child, own, other)
                elif node.infoset.player != player:
                    visit(child, own, node.infoset.sequences[k])
                elif self.state[player, node.infoset.sequences[k]] != SKIPPED:
                    visit(child, node.infoset.sequences[k], other)
                elif plan[other] > 0:
                    self.nodes_touched += 1

        visit(self.root, EMPTY, EMPTY)
        return {}

    def update(self, player: int, gradient: Gradient) -> None:
        """Moves the policy and decides what the next update leaves out."""
        plan = self.met[player][-1]
        now = self.leaves(player, [plan])
        total = self.leaves(player, self.met[player])
        for infoset in reversed(self.infosets.values()):
            if infoset.player == player:
                self.update_infoset(infoset, plan, now, total)
        for key, infoset in self.infosets.items():
            if infoset.player != player:
                continue
            above = self.state[player, infoset.parent]
            for b, s in zip(self.policy[key], infoset.sequences, strict=True):
                entry = player, s
                if above != FOLLOWED:
                    self.state[entry] = above
                elif b == 0 and self.best[entry] + self.step[entry] <= self.got[key]:
                    self.state[entry] = SKIPPED
                else:
                    was_skipped = self.state[entry] == SKIPPED
                    self.state[entry] = RESUMED if was_skipped else FOLLOWED
                self.seen.add(self.state[entry])

    def update_infoset(self, infoset, plan, now, total) -> None:
        """Moves the policy at an infoset; those below it have moved.

        Args:
            infoset: the infoset.
            plan: the other player's.
            now, total: sequence -> what was paid after it in this iteration, in all.
                Those above get the value of the infoset, and the best one.
        """
        key, player, sequences = infoset.key, infoset.player, infoset.sequences
        above = self.state[player, infoset.parent]
        if above == SKIPPED:
            return
        states = [self.state[player, s] for s in sequences]
        for k, s in enumerate(sequences):
            if states[k] != SKIPPED:
                self.best[player, s] = total[s]
                continue
            for node, prob, other in self.histories(infoset):
                most = max(returns_below(node.children[k], player))
                self.best[player, s] += prob * plan[other] * most
        best = [self.best[player, s] for s in sequences]
        total[infoset.parent] += max(best)
        if above == RESUMED:  # as if the best response had been played all the time
            self.got[key] = max(best)
            self.memory[key] = [one - max(best) for one in best]
            self.policy[key] = normalized([0.0] * len(best))
            return
        gradient = [
            now[s] if state == FOLLOWED else 0.0
            for s, state in zip(sequences, states, strict=True)
        ]
        value = dot(self.policy[key], gradient)
        now[infoset.parent] += value
        self.got[key] += value
        memory = self.memory[key]
        for k, state in enumerate(states):
            if state == FOLLOWED:
                memory[k] += gradient[k] - value
            else:
                memory[k] = best[k] - self.got[key]
                assert memory[k] < 1e-9  # why it was right to leave it out
        positive = [max(regret, 0.0) for regret in memory]
        followed = [float(state != SKIPPED) for state in states]
        self.policy[key] = normalized(positive if sum(positive) > 0 else followed)
