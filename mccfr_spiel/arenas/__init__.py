"""What a solver plays in: the choice of an arena, on top of the rooms of each kind.

Each room's own page says more:

    tree/      stored trees: loading, expansion, growth, whole passes, the cache
    worlds/    games played world by world, hand by hand or history by history
    rules/     compiled rules, and walks over them that keep no tree; twins/ has
               OpenSpiel's own games as compiled rules
"""
