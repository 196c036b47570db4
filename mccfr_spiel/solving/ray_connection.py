"""The connection of this process to a Ray cluster (the extra `ray`)."""

import os
from typing import Any


def connected_ray(address: str | None, cores: int | None) -> tuple[Any, bool]:
    """The module of Ray, connected to a cluster, and whether that was done only now.

    Args:
        address: of the cluster, as `ray.init` takes it; None starts one on this
            machine. A Ray that is connected already is used whatever the address.
        cores: of a cluster that is started here; None for all.

    Raises:
        ValueError: Ray is not installed, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ValueError(
            "A cluster takes Ray, which is not installed: pip install "
            f"'mccfr_spiel[ray]'. ({error})"
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
            f"There is no Ray cluster at {address or 'this machine'}: {error}"
        ) from error
    return ray, True
