"""Arenas: the representations of a game in which solvers run.

Words that all files of this folder use:

    compiled rules   a game implemented as functions that numba compiles; they need no
                     pyspiel states
    twin             compiled rules, part of this package, of one of OpenSpiel's games
    walk             traversal of the histories that a sampling scheme selects; it
                     estimates the gradient of one player, the updated player
    pass             traversal of the whole game, which computes exact gradients
    infosets met     information sets that walks have visited; walks number infosets
                     in the order of their first visits
    world            facts shared by both players, given which their private
                     information is independent, see worlds/
    kernel           compiled loop over iterations

Files:

    arena.py          interface of arenas and of the engines that run iterations
    choosing.py       choose_arena and its table of candidates
    request.py        input of the candidates: game, needs, limits
    why_not.py        reasons why a candidate does not suit
    building.py       builds the chosen arena
    needs.py          requirements of an algorithm
    tree_arenas.py    growing and whole trees, both backed by a GameTree
    rule_arena.py     walks over compiled rules; rule_growth.py enlarges their tables
    world_arenas.py   worlds in lists, worlds recomputed in each pass, histories
    hand_arena.py     hands of cards on a public tree
    hand_sweeps.py    passes over blocks of hands
    hand_pass.py      gradients over sequences, by these passes
    block_values.py   values of a policy in blocks at public nodes
    hand_cost.py      estimated memory and time of a hand arena
    full_pass.py      plans, gradients and best responses over the whole game
    tree_pass.py      full passes that read the leaves of a complete tree
    sharing.py        walks on a complete tree in several threads
    grouped_walks.py  walks over compiled rules in several threads
    evaluating.py     chooses the arena in which a policy is evaluated
    policy_vectors.py converts any policy to a vector over sequences

Folders:

    tree/             stored trees: expansion, growth, leaves, trees on disk
    worlds/           passes over worlds, hands of cards or histories
    infosets/         identity of games, tables of information sets, locks
    rules/            compiled rules; rules/twins/ contains the twins
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
