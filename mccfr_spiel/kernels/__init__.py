"""All loops over nodes and infosets that run compiled, in named pieces.

    tables.py      what compiled code reads and changes, in one specification
    sampling.py    how actions and outcomes are drawn, picked, pruned and stacked
    minimizers.py  the table of the local rules, and how their tables start
    regret_rules.py, entropy_rules.py  the rules, one function each, and how their
                   parameters change; exact discounts in sampled walks
    baselines.py   control variates for walks that follow one history
    walk.py        the walk, and the loop for algorithms that sample
    apply.py       the update after walks, and the lazy average
    stored.py      stored trees as the source of a walk's nodes
    passes.py      the loop for algorithms that do not sample, in one or several threads
    regret_pruning.py  that loop, leaving out actions of very negative regret
    evaluation.py  what a policy gets, and what best responses get
    shared_walks.py  walks on complete trees by several threads or processes
    jit.py         how functions are compiled, and where their code is kept
    frame.py       the arrays of a loop as one array of their addresses
    randomness.py  draws, each a function of a place
    teams.py       threads that share work, and the tickets they take
    interruptions.py  signals that wait until a compiled loop returns

A kernel never raises and never calls Python: it returns a status and leaves its state
in the arrays, so that it can be called again to go on. The switches of an algorithm are
constants of the factories, so each combination compiles to its own code. No indexing
error is checked; the shell (solving/, evaluation/) passes arrays that fit.
"""
