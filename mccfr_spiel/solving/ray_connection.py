"""The connection of this process to a Ray cluster (the extra `ray`)."""

import os
from typing import Any


def connected_ray(address: str | None, cores: int | None) -> tuple[Any, bool]:
    """Connects to Ray; returns the module, and whether this call made the connection.

    Args:
        address: the address for `ray.init`; None starts a cluster on this machine. An
            existing connection is used regardless of the address.
        cores: cores of a cluster that is started here; None for all.

    Raises:
        ValueError: Ray is not installed, or the address has no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ValueError(
            f"A cluster needs Ray: pip install 'mccfr_spiel[ray]'. ({error})"
        ) from error
    if ray.is_initialized():
        return ray, False
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {"num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(**where, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"Unknown Ray cluster at {address or 'this machine'}: {error}"
        ) from error
    return ray, True
