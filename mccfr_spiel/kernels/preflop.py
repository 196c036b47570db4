"""Showdowns on all boards of five cards, for equities before the flop.

Boards that an exchange of suits maps onto each other have the same showdowns up to that
exchange, so only the smallest board of each orbit is played, with the size of the orbit
as its weight.
"""

import numpy as np

from mccfr_spiel.kernels.jit import inlined, jit


@inlined
def orbit_of(board, exchanges, moved):
    """The size of a board's orbit under exchanges of suits; 0 unless the board is the
    smallest of the orbit.

    Args:
        board: `[5]` cards in ascending order.
        exchanges: `[24, 52]` cards after each exchange.
        moved: `[5]` space for a board.
    """
    same = 0
    for k in range(len(exchanges)):
        for c in range(5):
            moved[c] = exchanges[k, board[c]]
        moved.sort()
        for c in range(5):
            if moved[c] < board[c]:
                return 0
            if moved[c] > board[c]:
                break
        else:
            same += 1
    return len(exchanges) // same


@inlined
def strength_of(ranks, tops, straights):
    """The strength of seven cards, see `arenas.worlds.hand_strength.strengths`.

    Args:
        ranks: `[4]` for each suit the set of ranks, a number of 13 bits.
        tops: `[6, 8192]` the highest ranks of each set.
        straights: `[8192]` the best straight of each set.
    """
    unit = 1 << 26
    s, h, d, c = ranks[0], ranks[1], ranks[2], ranks[3]
    once = s | h | d | c
    twice = (s & h) | (d & c) | ((s | h) & (d | c))
    thrice = (s & h & (d | c)) | (d & c & (s | h))
    quads = s & h & d & c
    flush = 0
    for k in range(4):
        if tops[5, ranks[k]] != tops[4, ranks[k]]:  # five ranks or more
            flush = ranks[k]
    if straights[flush] > 0:
        return 8 * unit + (straights[flush] << 13)
    if quads > 0:
        return 7 * unit + (quads << 13) + tops[1, once & ~quads]
    trips = tops[1, thrice]
    if trips > 0 and twice & ~trips > 0:
        return 6 * unit + (trips << 13) + tops[1, twice & ~trips]
    if flush > 0:
        return 5 * unit + (tops[5, flush] << 13)
    if straights[once] > 0:
        return 4 * unit + (straights[once] << 13)
    if trips > 0:
        return 3 * unit + (trips << 13) + tops[2, once & ~trips]
    pairs = tops[2, twice]
    if pairs != tops[1, twice]:
        return 2 * unit + (pairs << 13) + tops[1, once & ~pairs]
    if twice > 0:
        return unit + (twice << 13) + tops[3, once & ~twice]
    return tops[5, once]


@jit(nogil=True)
def play_all_boards(hands, weights, exchanges, tops, straights, wins, totals):
    """Adds the showdowns of all hands on all boards.

    Args:
        hands: `[n, 2]` cards of the hands.
        weights: `[2, n]` weights of the hands of both players, which exchanges of suits
            preserve.
        exchanges, tops, straights: see `orbit_of` and `strength_of`.
        wins: `[2, n]` receives the weight of beaten hands and half of that of ties.
        totals: `[2, n]` receives the weight of all compatible hands.
    """
    board, moved = np.zeros(5, np.int64), np.zeros(5, np.int64)
    ranks, sets = np.zeros(4, np.int64), np.zeros(4, np.int64)
    held, strengths = np.zeros(len(hands), np.int64), np.zeros(len(hands), np.int64)
    below, tied, every = np.zeros(53), np.zeros(53), np.zeros(53)
    for a in range(52):
        for b in range(a + 1, 52):
            for c in range(b + 1, 52):
                for d in range(c + 1, 52):
                    for e in range(d + 1, 52):
                        board[0], board[1], board[2], board[3], board[4] = a, b, c, d, e
                        orbit = orbit_of(board, exchanges, moved)
                        if orbit == 0:
                            continue
                        sets[:] = 0
                        taken = 0
                        for card in board:
                            sets[card % 4] |= 1 << (card // 4)
                            taken |= 1 << card
                        count = 0
                        for k in range(len(hands)):
                            x, y = hands[k, 0], hands[k, 1]
                            if taken & (1 << x | 1 << y) != 0:
                                continue
                            ranks[:] = sets
                            ranks[x % 4] |= 1 << (x // 4)
                            ranks[y % 4] |= 1 << (y // 4)
                            held[count] = k
                            strengths[count] = strength_of(ranks, tops, straights)
                            count += 1
                        order = np.argsort(strengths[:count])
                        for p in range(2):
                            weight = weights[1 - p]
                            _add(
                                hands,
                                weight,
                                held,
                                strengths,
                                order,
                                (below, tied, every),
                                orbit,
                                wins[p],
                                totals[p],
                            )


@inlined
def _add(hands, weight, held, strengths, order, sums, orbit, wins, totals):
    """Adds the showdowns of one player's hands on one board.

    The arrays of `sums` have the weight of the opponent's hands per card, and of all
    hands in the last entry: of weaker hands, of equal hands, and of all hands.
    """
    below, tied, every = sums
    below[:], every[:] = 0.0, 0.0
    for position in order:
        k = held[position]
        every[hands[k, 0]] += weight[k]
        every[hands[k, 1]] += weight[k]
        every[52] += weight[k]
    first = 0
    # An iteration handles the hands of equal strength `order[first:stop]`. Invariant:
    # `below` has the sums of the weaker hands.
    while first < len(order):
        stop, tied[:] = first, 0.0
        while stop < len(order) and (strengths[order[stop]] == strengths[order[first]]):
            k = held[order[stop]]
            tied[hands[k, 0]] += weight[k]
            tied[hands[k, 1]] += weight[k]
            tied[52] += weight[k]
            stop += 1
        for position in range(first, stop):
            k = held[order[position]]
            x, y = hands[k, 0], hands[k, 1]
            # A hand shares both cards with itself, and ties with itself.
            lost = below[52] - below[x] - below[y]
            equal = tied[52] - tied[x] - tied[y] + weight[k]
            wins[k] += orbit * (lost + equal / 2)
            totals[k] += orbit * (every[52] - every[x] - every[y] + weight[k])
        below += tied
        first = stop
