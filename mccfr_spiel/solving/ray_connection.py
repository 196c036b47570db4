"""Connects this process to a Ray cluster (needs the extra `ray` of the package)."""

import os
from typing import Any


def connected_ray(address: str | None, cores: int | None) -> tuple[Any, bool]:
    """Connects this process to Ray, unless it is connected already.

    Args:
        address: the address for `ray.init`; None starts a cluster on this machine. An
            existing connection is used regardless of the address.
        cores: number of cores of a cluster that this call starts; None for all.

    Returns:
        The module `ray`, and whether this call made the connection.

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
