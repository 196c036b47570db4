"""The compiled loops over nodes and infosets, and their compilation.

| file | content |
|---|---|
| tables.py | arrays that compiled code reads and writes |
| walk.py | sampled walks: visits to nodes that estimate one player's gradient |
| iterations.py | the loop over iterations of walks and updates |
| source.py, stored.py | where walks get nodes from; stored trees as such a source |
| switches.py, progress.py | compile-time switches; constants and counters of a walk |
| stack.py, children.py | nodes that a walk visits later; choice among children |
| recording.py | how a walk records payoffs of leaves, and infosets to update |
| sampling.py, selection.py | draws; average-strategy sampling, skipped actions |
| randomness.py | draws as hashes of seed, iteration, player, and infoset or history |
| sobol.py | chance draws that are correlated between walks |
| baselines.py | control variates for walks |
| visits.py | walks and updates of players with imperfect recall |
| apply.py | updates of the policies after walks |
| lazy_average.py | the average policy |
| batches.py | number of walks per iteration |
| shared_walks.py, logs.py | batches of walks shared by threads or processes |
| minimizers.py | list of the local rules, which update the policy of one infoset |
| regret_rules.py, entropy_rules.py | these rules |
| own_rules.py | local rules from users' functions |
| discounts.py | discounts of regrets |
| passes.py, plans.py | the loop without sampling; realization plans |
| blocks.py | partition of the infosets into blocks that threads process |
| regret_pruning.py | passes that skip actions of very negative regret |
| evaluation.py | expected returns and best responses |
| traversal.py | depth-first traversals of a complete tree |
| teams.py, tickets.py, atomics.py | threads that share work |
| jit.py, drafts.py | decorators that compile functions |
| code_cache.py, sources.py | the disk cache of compiled functions |
| compile_time.py | clocks that exclude compilation |
| frame.py, prefetching.py | arrays passed by address; memory prefetches |
| interruptions.py | signals deferred in code that must not be interrupted |

A kernel never raises and never calls Python, except for users' functions. The loops
over iterations return a status and leave their state in arrays, so the next call can
continue. Functions named `make_...` build kernels. They treat the options of an
algorithm as compile-time constants, so each combination compiles to its own code.
Kernels do not check indices. Their callers in solving/ and evaluation/ must pass arrays
of matching sizes.
"""
