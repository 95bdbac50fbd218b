"""Memory that a process may have."""

import os
from collections.abc import Iterator
from pathlib import Path

# No library that is at hand reads them: psutil and joblib know the computer's memory
# and the processors of a group.
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def memory_limit() -> float:
    """Bytes of memory available to this process."""
    # The least of the computer's memory and of the limits of the control groups that
    # the process is in, those of containers and of batch systems; inf on a system that
    # reports neither.
    try:
        physical = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        physical = float("inf")
    return min([physical, *_group_limits()])


def format_bytes(n_bytes: float) -> str:
    """Format a number of bytes in a suitable unit."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes:,.0f} bytes"


def _group_limits() -> Iterator[float]:
    """Limits of the groups of the process and of all above, of version 1 and 2."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = _GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = _GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        # Inside of a container the group may be called by what it is outside.
        group = top / path.lstrip("/")
        for index in [group, *group.parents]:
            if index == top.parent:
                break
            try:
                yield float((index / name).read_text())
            except (OSError, ValueError):  # no file, or no limit: "max"
                continue
