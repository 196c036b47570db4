from .exploitation import exploit
from .exploitation_curve import Exploitation, ExploitationCurve
from .race import solve
from .solution import Solution, Step

__all__ = [
    "Exploitation",
    "ExploitationCurve",
    "Solution",
    "Step",
    "exploit",
    "solve",
]
