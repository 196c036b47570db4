from .cards import (
    hand,
)
from .endgames import (
    load_endgame,
)
from .ranges import (
    RangeError,
)
from .study import (
    Decision,
    Study,
    equities,
    equity,
    values,
)
from .subgames import (
    Cost,
    cost,
    subgame,
)

__all__ = [
    "Cost",
    "Decision",
    "RangeError",
    "Study",
    "cost",
    "equities",
    "equity",
    "hand",
    "load_endgame",
    "subgame",
    "values",
]
