"""Algorithms as values: sampling, local rule and average.

Any regret minimizer can be combined with any gradient estimator (Farina, Kroer,
Sandholm 2020). So an algorithm names its parts and contains no code.

| file | content |
|---|---|
| algorithm.py | the class Algorithm, and the named algorithms |
| samplings.py | what walks sample |
| minimizer.py, rules.py | the local rules and their base class |
| averages.py | weights of the average policy |
| own_parts.py | rules, estimators and averages written by users |
| part.py | the base class of parts |
| validation.py | algorithms by name; checks of combinations |
| algorithm_text.py | algorithms from the text of `repr` |

Parts validate their fields and raise ValueError when they are created. The repr of an
algorithm or a part is the code that creates it. `str` of an algorithm is the name that
papers use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
