from . import cluster, drop_in

__all__ = ["cluster", "drop_in"]
