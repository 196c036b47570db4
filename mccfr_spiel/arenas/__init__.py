"""What a solver plays in: one class for each kind of arena, and the choice of one.

    arena.py          the interface of arenas, and that of the engines of solvers
    choosing.py       choose_arena: the table of candidates and every refusal
    needs.py          what an algorithm needs of its arena
    tree_arenas.py    growing and whole trees: two views of a GameTree
    rule_arena.py     walks over compiled rules; rule_growth.py makes room for them
    world_arenas.py   worlds, worlds made again by each pass, and histories
    hand_arena.py     hands of cards over a public tree
    full_pass.py      plans, gradients and best responses over all of a game
    sharing.py        walks that several threads share
    evaluating.py     the arena in which a policy is evaluated
    policy_vectors.py any policy as a vector over an arena's sequences

The rooms below have the mechanisms:

    tree/             stored trees: expansion, growth, leaves, trees on disk
    worlds/           games played world by world, hand by hand or history by history
    infosets/         a game's identity and the table of its information sets
    rules/            compiled rules; twins/ has OpenSpiel's own games as such
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
