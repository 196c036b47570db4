"""Arenas: the representations of a game in which solvers run.

    arena.py          interface of arenas and of the engines that run iterations
    choosing.py       choose_arena and its table of candidates
    request.py        input of the candidates: game, needs, limits
    why_not.py        reasons why a candidate does not suit
    building.py       builds the chosen arena
    needs.py          requirements of an algorithm
    tree_arenas.py    growing and whole trees, two views of a GameTree
    rule_arena.py     walks over compiled rules; rule_growth.py enlarges their tables
    world_arenas.py   listed worlds, remade worlds, histories
    hand_arena.py     hands of cards on a public tree; hand_cost.py estimates the effort
    full_pass.py      plans, gradients and best responses over the whole game
    tree_pass.py      the same on the leaves of a complete tree
    sharing.py        walks on a complete tree in several threads
    grouped_walks.py  walks over compiled rules in several threads
    evaluating.py     the arena in which a policy is evaluated
    policy_vectors.py converts any policy to a vector over sequences

Folders:

    tree/             stored trees: expansion, growth, leaves, trees on disk
    worlds/           games solved by worlds, by hands or by histories
    infosets/         identity of games, tables of information sets, locks
    rules/            compiled rules; twins/ implements OpenSpiel's own games as rules
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
