"""How much memory this process may use: the smallest of the limits it runs under."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Version 1 of cgroups spells "no limit" as a number near 2^63.
UNLIMITED = 1 << 60
VERSION_2 = ("memory.max", "memory.high")
VERSION_1 = ("memory.limit_in_bytes",)


class MemoryLimit(NamedTuple):
    """A number of bytes, and what sets it."""

    bytes: int
    source: str


def process_limit(root: Path = Path("/")) -> MemoryLimit | None:
    """The smallest limit on the memory of this process, or None if none is known.

    Control groups (containers, Slurm, systemd; both versions, with the groups around them), the
    limits of the shell (`ulimit -v`, `ulimit -d`), and the memory of the machine.

    **Arguments:** `root`: where `proc` and `sys` are found; another one in tests.
    """
    limits = [*_control_groups(root), *_shell_limits(), *_physical()]
    return min(limits, default=None, key=lambda limit: limit.bytes)


def _control_groups(root: Path) -> Iterator[MemoryLimit]:
    mount = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":
            top, names = mount, VERSION_2
        elif "memory" in controllers.split(","):
            top, names = mount / "memory", VERSION_1
        else:
            continue
        folder = top / group.strip("/")
        # In a container the group can have another name than outside, or lie above what is seen.
        if not folder.is_relative_to(top) or ".." in folder.parts:
            folder = top
        for place in (folder, *folder.parents):
            for name in names:
                number = _number(_text(place / name))
                if number is not None:
                    yield MemoryLimit(number, f"control group ({name})")
            if place == top:
                break


def _number(text: str) -> int | None:
    """The bytes that a file of a control group holds; None for `max`, which is no limit."""
    text = text.strip()
    return int(text) if text.isdecimal() and 0 < int(text) < UNLIMITED else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _shell_limits() -> Iterator[MemoryLimit]:
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, source in (("RLIMIT_AS", "ulimit -v"), ("RLIMIT_DATA", "ulimit -d")):
        if hasattr(resource, name):
            soft, _ = resource.getrlimit(getattr(resource, name))
            if soft != resource.RLIM_INFINITY and 0 < soft < UNLIMITED:
                yield MemoryLimit(soft, source)


def _physical() -> Iterator[MemoryLimit]:
    number = _windows_memory() if sys.platform == "win32" else _pages()
    if number:
        yield MemoryLimit(number, "memory of the machine")


def _pages() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def _windows_memory() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("total", ctypes.c_ulonglong),
            ("rest", ctypes.c_ulonglong * 6),
        )

    status = Status(length=ctypes.sizeof(Status))
    found = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # pyright: ignore[reportAttributeAccessIssue]
    return int(status.total) if found else 0
