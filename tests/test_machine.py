"""The memory that this process may use."""

import os
import resource
import subprocess
import sys

import pytest

from jaxbench import machine
from jaxbench.machine import MemoryLimit, process_limit

GIB = 1 << 30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system of files; the machine has 64 GiB and the shell sets no limit."""
    monkeypatch.setattr(machine, "_shell_limits", lambda: iter(()))
    monkeypatch.setattr(machine, "_pages", lambda: 64 * GIB)

    def make(cgroup=None, **files):
        if cgroup is not None:
            files["proc/self/cgroup"] = cgroup
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return process_limit(tmp_path)

    return make


def group(path, name, value):
    return {f"sys/fs/cgroup/{path}{name}": f"{value}\n"}


MACHINE = MemoryLimit(64 * GIB, "memory of the machine")


def test_without_control_groups_it_is_the_memory_of_the_machine(system):
    assert system() == MACHINE


@pytest.mark.parametrize("value", ["max", "", "0", "-1", "9223372036854771712", "no number"])
def test_what_is_no_limit(value, system):
    assert system("0::/job\n", **group("job/", "memory.max", value)) == MACHINE


def test_version_2(system):
    limit = system("0::/slurm/job\n", **group("slurm/job/", "memory.max", 8 * GIB))
    assert limit == MemoryLimit(8 * GIB, "control group (memory.max)")


def test_version_2_where_memory_is_taken_back(system):
    files = group("job/", "memory.max", 8 * GIB) | group("job/", "memory.high", 6 * GIB)
    assert system("0::/job\n", **files) == MemoryLimit(6 * GIB, "control group (memory.high)")


def test_the_groups_around_a_group_count(system):
    files = group("a/b/c/", "memory.max", "max") | group("a/", "memory.max", 4 * GIB)
    assert system("0::/a/b/c\n", **files).bytes == 4 * GIB


@pytest.mark.parametrize("path", ["/", "/docker/0123", "/../../user.slice"])
def test_a_container_whose_group_has_another_name_outside(path, system):
    assert system(f"0::{path}\n", **group("", "memory.max", 3 * GIB)).bytes == 3 * GIB


def test_files_outside_of_the_control_groups_are_not_read(system):
    files = {"sys/fs/memory.max": "1000\n", "sys/fs/x/memory.max": "1000\n"}
    files |= group("", "memory.max", "max")
    assert system("0::/../x\n", **files) == MACHINE


def test_version_1(system):
    lines = "12:cpu,cpuacct:/other\n9:memory:/slurm/uid_0/job_7\n0::/\n"
    files = group("memory/slurm/uid_0/", "memory.limit_in_bytes", 5 * GIB)
    files |= group("memory/other/", "memory.limit_in_bytes", GIB)
    assert system(lines, **files) == MemoryLimit(
        5 * GIB, "control group (memory.limit_in_bytes)"
    )  # fmt: skip


def test_limits_of_the_shell(monkeypatch, tmp_path):
    limits = {resource.RLIMIT_AS: 2 * GIB, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], 7))
    monkeypatch.setattr(machine, "_pages", lambda: 64 * GIB)
    assert process_limit(tmp_path) == MemoryLimit(2 * GIB, "ulimit -v")
    limits[resource.RLIMIT_DATA] = GIB
    assert process_limit(tmp_path) == MemoryLimit(GIB, "ulimit -d")


def test_this_machine():
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < process_limit().bytes <= physical


def test_a_limit_of_this_shell():
    code = (
        "import sys; from jaxbench.machine import process_limit; print(process_limit().bytes, "
        "[m for m in ('jax', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        ["sh", "-c", f'ulimit -v 900000; exec "{sys.executable}" -c "{code}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    number, rest = done.stdout.split(maxsplit=1)
    assert int(number) <= 900000 * 1024
    assert rest == "[]\n"


def test_a_machine_that_tells_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_shell_limits", lambda: iter(()))

    def unknown(_):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert process_limit(tmp_path) is None
