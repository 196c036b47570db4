"""The compiled loops over nodes and infosets, and their compilation.

| file | content |
|---|---|
| tables.py | arrays that compiled code reads and writes |
| walk.py, iterations.py | sampled walks, and the loop over iterations |
| source.py, stored.py | interface of sources of nodes; stored trees as a source |
| switches.py, progress.py | compile-time switches; constants and counters of a walk |
| stack.py, children.py | nodes to visit later; choice among children |
| recording.py | payoffs of leaves, infosets met |
| sampling.py, selection.py | draws; average-strategy sampling, skipped actions |
| randomness.py | draws as a function of seed, iteration, player and place |
| sobol.py | chance draws that are correlated between walks |
| baselines.py | control variates for walks |
| visits.py | walks and updates of players with imperfect recall |
| apply.py, lazy_average.py | updates after walks; the average policy |
| batches.py | numbers of walks per iteration |
| shared_walks.py, logs.py | batches of walks shared by threads or processes |
| minimizers.py | the table of local rules |
| regret_rules.py, entropy_rules.py | the local rules |
| own_rules.py | rules from users' functions |
| discounts.py | discounts of regrets |
| passes.py, plans.py | the loop without sampling; realization plans |
| blocks.py | blocks of infosets for threads |
| regret_pruning.py | passes that skip actions of very negative regret |
| evaluation.py | expected returns and best responses |
| traversal.py | depth-first traversals of a complete tree |
| teams.py, tickets.py, atomics.py | threads that share work |
| jit.py, drafts.py | decorators that compile functions |
| code_cache.py, sources.py | the disk cache of compiled functions |
| compile_time.py | clocks that exclude compilation |
| frame.py, prefetching.py | arrays passed by address; memory prefetches |
| interruptions.py | signals deferred in code that must not be interrupted |

A kernel never raises and never calls Python, except for users' functions. It returns a
status and leaves its state in the arrays, so the next call can continue. The options of
an algorithm are constants of factories, so each combination compiles to its own code.
Kernels do not check indices; solving/ and evaluation/ pass arrays that fit.
"""
