"""How good a policy is: exactly, by sampling, and by the theory's bounds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
