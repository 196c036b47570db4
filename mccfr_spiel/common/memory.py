"""Sizes in bytes, the free memory, and the number of cores of this process."""

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
    """Converts a number or a string such as "4GiB", "500 MB" or "2e9" to bytes.

    KB, MB, GB and TB are powers of 1000. KiB, MiB, GiB, TiB, and K, M, G, T alone, are
    powers of 1024.

    Raises:
        ValueError: `size` is not a size of at least one byte.
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
        f"max_memory={size!r} must be a positive size in bytes, such as 2_000_000_000 "
        'or "4GiB".'
    )


def in_words(size: float) -> str:
    """Formats a number of bytes with three digits and a unit."""
    if size >= 9.995e14:
        return f"10^{math.log10(size) - 9:.0f} GB"
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= 0.9995 * unit:  # else the text would be 1e+03 of the smaller unit
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


# --- the machine ----------------------------------------------------------------


def num_cores() -> int:
    """The number of cores that this process may use."""
    with contextlib.suppress(AttributeError, OSError):  # not on every system
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def free_memory() -> int:
    """The number of bytes that this process can still allocate.

    This is the minimum of three numbers: the available memory of the machine, the
    memory left by the control groups (containers) of the process, and the rest of the
    process's limit of address space (RLIMIT_AS).
    """
    free = [psutil.virtual_memory().available, *cgroups_free(_MEMBERSHIP, _CGROUPS)]
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free.append(limit - psutil.Process().memory_info().vms)
    return max(min(free), 0)


def cgroups_free(membership: pathlib.Path, mount: pathlib.Path) -> list[int]:
    """The free bytes of this process's control groups (version 2) that have a limit.

    The limit of a group also applies to the groups inside it, so all groups up to the
    root are read. Inside a container, the path in `membership` often does not exist;
    `mount` is then the folder of the container's group. Inactive file caches count as
    free, because the kernel drops them when memory is needed.

    Args:
        membership: the file /proc/self/cgroup.
        mount: the folder /sys/fs/cgroup.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    path = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = mount / path.lstrip("/")
    above = [folder, *folder.parents]
    groups = above[: above.index(mount) + 1] if mount in above else [mount]
    return [left for left in map(_group_leaves, groups) if left is not None]


def _group_leaves(folder: pathlib.Path) -> int | None:
    """The free bytes of a control group; None if it has no readable limit."""
    try:
        limit = int((folder / "memory.max").read_text())  # ValueError for "max"
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    dropped = 0
    with contextlib.suppress(OSError, ValueError):
        fields = (folder / "memory.stat").read_text().split()
        dropped = int(fields[fields.index("inactive_file") + 1])
    return max(limit - used + dropped, 0)


def resident() -> int:
    """The number of bytes of this process that are in physical memory."""
    # psutil reads the same file through a Python file object. If Ctrl-C interrupts it,
    # the object is not closed, and Python shows a ResourceWarning. This is likely,
    # because walks call this function often.
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return psutil.Process().memory_info().rss
    try:
        pages = int(os.read(descriptor, 256).split()[1])
    finally:
        os.close(descriptor)
    return pages * mmap.PAGESIZE
