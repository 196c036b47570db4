"""How good a policy is: exactly, by sampling, and by the theory's bounds."""

from mccfr_spiel.common import listed_names

__all__, __getattr__ = listed_names(__name__, __file__)


def __dir__() -> list[str]:
    return __all__
