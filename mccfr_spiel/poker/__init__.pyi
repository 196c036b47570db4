from .cards import (
    hand,
)
from .decision import (
    Decision,
    HandDecision,
)
from .endgames import (
    load_endgame,
)
from .ranges import (
    RangeError,
)
from .reports import (
    report,
)
from .showdowns import (
    equities,
    equity,
)
from .study import (
    Study,
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
    "HandDecision",
    "RangeError",
    "Study",
    "cost",
    "equities",
    "equity",
    "hand",
    "load_endgame",
    "report",
    "subgame",
    "values",
]
