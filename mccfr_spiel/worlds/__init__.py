"""Games solved and evaluated world by world, though nobody could store their trees.

Two players share a *world*: in phantom games, the stones in the order in which they
were put. What a player knows besides is private: which cells were tried in vain, and
when. Given the world the two are independent, since every private past of one player
that fits the world occurs with every one of the other. Hence a sum over all histories
at a world is a product of two sums, one over each player's private pasts (*entries*).

search.py and finding.py find the worlds by a game's compiled rules and `world_key`;
entries.py has the rows in which a search keeps entries, and listing.py the lists that
it leaves for passes. passes.py makes gradients, and the iterations of a solver, of
them; independence.py proves by enumeration that a `world_key` is right. histories.py
makes the same gradients of games without worlds, history by history.
"""
