"""Sizes in bytes: how users write them, how messages show them, and what is free."""

import contextlib
import math
import mmap
import os
import pathlib
import re

import psutil

_UNITS = ["", "k", "m", "g", "t"]
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)

_CGROUPS = pathlib.Path("/sys/fs/cgroup")
_MEMBERSHIP = pathlib.Path("/proc/self/cgroup")


def parse_bytes(size: int | float | str) -> int:
    """The bytes that a number or words such as "4GiB", "500 MB", "2e9" stand for.

    KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB, and K, M, G, T alone, are
    powers of 1024.

    Raises:
        ValueError: they stand for no size above 0.
    """
    try:
        match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
        if match:
            digits, unit, binary, byte = match.groups()
            base = 1000 if byte and not binary else 1024
            value = float(digits) * base ** _UNITS.index(unit.lower())
        else:
            value = math.nan if isinstance(size, bool) else float(size)
        if 1 <= value < math.inf:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"max_memory={size!r} is no size in bytes above 0, such as 2_000_000_000 or "
        '"4GiB".'
    )


def in_words(size: float) -> str:
    """Bytes for readers: three digits and a unit."""
    if size >= 9.995e14:
        return f"10^{math.log10(size) - 9:.0f} GB"
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= 0.9995 * unit:  # what would be 1e+03 of the unit below
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


# --- the machine ----------------------------------------------------------------


def num_cores() -> int:
    """The cores that this process may use."""
    with contextlib.suppress(AttributeError, OSError):  # not on every system
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def free_memory() -> int:
    """The bytes that this process may still take.

    That is the least of what the machine has available, what the control groups
    (containers) of the process leave, and what its own limit of address space
    (RLIMIT_AS) leaves.
    """
    free = [psutil.virtual_memory().available, *cgroups_free(_MEMBERSHIP, _CGROUPS)]
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free.append(limit - psutil.Process().memory_info().vms)
    return max(min(free), 0)


def cgroups_free(membership: pathlib.Path, mount: pathlib.Path) -> list[int]:
    """What each limited control group (version 2) of this process leaves.

    A group's limit also binds the groups inside it, so all groups from the process up
    to the root are asked. Inside a container the path that the kernel names often does
    not exist; then the mounted root is the container's own group. Memory of file caches
    counts as free, since the kernel drops them when needed.

    Args:
        membership: /proc/self/cgroup.
        mount: /sys/fs/cgroup.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    path = next((one[3:] for one in lines if one.startswith("0::")), "/")
    folder = mount / path.lstrip("/")
    above = [folder, *folder.parents]
    groups = above[: above.index(mount) + 1] if mount in above else [mount]
    return [left for left in map(_group_leaves, groups) if left is not None]


def _group_leaves(folder: pathlib.Path) -> int | None:
    """What one group leaves; None if it has no limit, or none that can be read."""
    try:
        most = int((folder / "memory.max").read_text())  # "max": no limit
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    dropped = 0
    with contextlib.suppress(OSError, ValueError):
        words = (folder / "memory.stat").read_text().split()
        dropped = int(words[words.index("inactive_file") + 1])
    return max(most - used + dropped, 0)


def resident() -> int:
    """The bytes of this process that are in memory now."""
    # psutil reads the same file through a Python file object. If Ctrl-C comes before
    # that is closed, it gives a ResourceWarning, and this is called in mid-walk.
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return psutil.Process().memory_info().rss
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * mmap.PAGESIZE
