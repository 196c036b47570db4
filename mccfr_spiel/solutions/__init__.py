"""`ms.solve`: from a game and a target to a policy with a certificate.

| module | contents |
|---|---|
| `targets.py` | the target NashConv and the limits of a search |
| `contenders.py` | the algorithms that suit a game, by its features |
| `racers.py` | one algorithm on a game: progress so far and forecast of the rest |
| `race.py` | the race between algorithms that compute NashConv exactly |
| `sampled_search.py` | the search on games that only sampled walks can enter |
| `solution.py` | the result: policy, bounds on the value, trace, text, files |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
