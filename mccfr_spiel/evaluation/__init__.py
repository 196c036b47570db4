"""How good a policy is: exactly, by sampling, and by the theory's bounds."""

from mccfr_spiel.common import listed_names

__all__, _, __getattr__, __dir__ = listed_names(__name__, __file__)
