"""Compiled loops of the solvers, in named pieces, and the code that compiles them.

| walks | |
|---|---|
| `walk.py` | loop over the nodes of a walk; overview of the concepts |
| `source.py` | interface of sources, which supply nodes |
| `stored.py` | stored trees as a source |
| `switches.py` | compile-time switches of walks |
| `progress.py` | constants and counters of a walk |
| `stack.py` | nodes to visit later |
| `recording.py` | payoffs of leaves, infosets met |
| `children.py` | choice among the children of a node |
| `sampling.py` | draws of actions and outcomes |
| `selection.py` | average-strategy sampling; actions skipped by regret |
| `randomness.py` | draws as a function of seed, iteration, player and place |
| `baselines.py` | control variates |
| `visits.py` | players with imperfect recall |
| `logs.py`, `shared_walks.py` | walks shared by threads or processes |

| iterations and updates | |
|---|---|
| `iterations.py` | loop over iterations of sampling algorithms |
| `apply.py` | update after walks, and the lazy average |
| `minimizers.py` | table of local rules (regret minimizers); initial tables |
| `regret_rules.py`, `entropy_rules.py` | one function for each rule |
| `passes.py` | loop over iterations of full-width algorithms |
| `regret_pruning.py` | full-width loop that skips actions of very negative regret |
| `evaluation.py` | values and best responses of policies |

| foundations | |
|---|---|
| `tables.py` | records of arrays, marks and statuses |
| `frame.py` | arrays passed to compiled code by address |
| `jit.py` | compilation and its disk cache |
| `teams.py` | threads that share work |
| `interruptions.py` | signals deferred until a compiled loop returns |

A kernel neither raises nor calls Python. It returns a status and leaves its state in
the arrays, so that another call resumes. The switches of an algorithm are constants of
the factories, so each combination has machine code of its own. Indices are not checked:
the Python layer passes arrays that fit.
"""
