"""Games played world by world, although their trees are too large to store.

A *world* is a fact that both players share, although neither knows all of it: in
phantom games, the stones in the order in which they were placed. Everything else that a
player knows is private, such as the rejected attempts and their times. Given the world
the players are independent: every private past of player 0 that is possible in the
world occurs together with every private past of player 1. These private pasts are the
*entries* of the world: a world is stored as two lists of entries, one per player. Hence
a sum over all histories of a world is a product of two sums, over the entries of player
0 and over those of player 1.

The *path* is the world, node or history that a walk currently visits, together with its
ancestors. An *edge* leads from a world to a successor world. A *step* is a sequence of
the acting player along an edge, one for each entry that takes the edge.

Compiled walks over worlds, depth first:

    world_traversal.py the loop and the helpers that all walks share
    sliced_walk.py     runs a walk in slices from Python; memory, progress bar
    position_graph.py  the graph of positions, which replaces calls of the rules
    graph_walk.py      the walk along that graph
    entries.py         entries and secret deals, for games without such a graph
    search.py          the search for worlds where a game ends
    world_walks.py     both walks as Python classes
    histories.py       the walk over single histories, for games without worlds

Lists and the passes over them:

    world_lists.py     lists of worlds or leaves, and their gradients
    world_passes.py    the loop over a solver's iterations

Search and checks:

    finding.py         finds worlds, and caches them per game
    checking.py        cheap checks of every list
    independence.py    proof by enumeration that worlds are declared correctly

Games of cards:

    public_tree.py         the public tree as plain data
    public_tree_reader.py  reads the public tree of OpenSpiel's games
    hand_deals.py          how chance deals the private hands
    hand_strength.py       strengths of hands
    hand_boards.py         the hands of each board
    hand_lists.py          numbers and infosets of a public tree
    hand_segments.py       cuts a public tree into segments between deals
    hand_blocks.py         the layout of tables and hands for kernels/hand_sweep.py
"""
