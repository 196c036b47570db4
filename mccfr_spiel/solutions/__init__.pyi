from .race import solve
from .solution import Solution, Step

__all__ = ["Solution", "Step", "solve"]
