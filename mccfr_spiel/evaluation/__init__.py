"""The quality of policies: exact values, sampled estimates, and theoretical bounds.

| file | contents |
|---|---|
| exact.py | expected returns, NashConv, exploitability, best responses |
| metrics.py | functions that measure a running solver; bounds on the game's value |
| estimates.py, plays.py, rule_plays.py | expected returns estimated by playing |
| duplicate_play.py | two policies against each other; deals are played in both seats |
| responses.py, learning.py | learned responses: lower bounds on best responses |
| local_responses.py, poker_moves.py | local best responses in poker |
| play_reports.py | a report of sampled estimates, for games that are too large |
| theory.py | quantities and bounds of the convergence theorems |
| recommending.py, league.csv | recommends an algorithm for a game |
| rule_checks.py | tests for local rules that users write |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
