from .cards import (
    RangeError,
    hand,
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
    load_endgame,
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
