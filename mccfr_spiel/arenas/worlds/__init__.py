"""Games solved and evaluated world by world, though nobody could store their trees.

Two players share a *world*: in phantom games, the stones in the order in which they
were put. What a player knows besides is private: which cells were tried in vain, and
when. Given the world the two are independent, since every private past of one player
that fits the world occurs with every one of the other. Hence a sum over all histories
at a world is a product of two sums, one over each player's private pasts (*entries*).

finding.py finds the worlds by a game's compiled rules, and proves by enumeration that a
`world_key` is right. The walk that it makes is that of search.py where chance deals in
secret or returns depend on what is private, and that of places.py in other games, which
can also make worlds again whose lists do not fit. passes.py has the lists that are left
for passes; gradients and the iterations of a solver are made of them. histories.py
makes the same gradients of games without worlds, history by history, and has what all
of these walks share. public_tree.py and hand_lists.py do for games of cards what the
searches do for others.
"""
