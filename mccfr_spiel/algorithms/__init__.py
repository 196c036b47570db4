"""Algorithms as values: sampling, local rule and average.

Any local rule (regret minimizer at each infoset) can be combined with any sampling
(estimator of the gradient; Farina, Kroer, Sandholm 2020). An `Algorithm` therefore only
lists its parts and their parameters. The code that runs them is in the kernels.

| file | content |
|---|---|
| algorithm.py | the class Algorithm, and the named algorithms |
| samplings.py | which moves walks sample |
| minimizer.py, rules.py | the base class of local rules, and the rules |
| averages.py | weights of the iterations in the average policy |
| own_parts.py | rules, estimators and averages written by users |
| part.py | the base class of parts |
| validation.py | algorithms by name; checks of combinations |
| algorithm_text.py | converts the text of a `repr` back to an algorithm |

Parts validate their fields and raise ValueError when they are created. The repr of an
algorithm or a part is the code that creates it. `str` of an algorithm is the name that
papers use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
