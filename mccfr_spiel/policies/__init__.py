"""Policies as vectors over sequences, the files they are saved in, and bots."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
