"""Settings and helpers that every test shares."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# Annotations are executed in tests only. The hook sees modules that are imported after it, and
# stays out of the processes that `run_cli` starts: those are timed and used as users use them.
if "jaxbench" in sys.modules:
    raise RuntimeError("jaxbench was imported before tests/conftest.py could hook it")
install_import_hook("jaxbench", "beartype.beartype")

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Tests compile hundreds of programs and run each for a moment: unoptimised they compile in half the
# time. Read once, when jax finds its devices; processes that tests start compile as users do, and
# so does CI's run of the slow tests (JAXBENCH_OPTIMISE=1).
if not os.environ.get("JAXBENCH_OPTIMISE"):
    with pytest.MonkeyPatch.context() as patch:
        flags = os.environ.get("XLA_FLAGS", "")
        patch.setenv("XLA_FLAGS", f"{flags} --xla_backend_optimization_level=0".strip())
        jax.devices()

# The first example of a shape compiles, which no deadline allows for.
settings.register_profile("jaxbench", deadline=None)
settings.load_profile("jaxbench")

ROOT = Path(__file__).parents[1]
MOST_MAPS = 20_000


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """The cache starts empty and the user's is left alone, here and in processes tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """A compiled program takes memory maps, of which a process has 65,530 (vm.max_map_count).

    One that runs out of them dies while it compiles. Programs of earlier tests are of no use.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text(encoding="utf-8").count("\n") > MOST_MAPS:
        jax.clear_caches()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data that lies beside the checkout; without it the test is skipped."""
    named = os.environ.get("JAXBENCH_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if not folder.is_dir():
        if named:
            pytest.fail(f"JAXBENCH_SHARED={named} is no folder")
        pytest.skip("no ../shared beside the checkout and JAXBENCH_SHARED is not set")
    return folder


@pytest.fixture
def run_cli(tmp_path):
    """Run `python -m jaxbench ARGS` in `cwd` (default: this test's own folder)."""

    def run(*args, cwd=tmp_path, env=None, timeout=300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jaxbench", *map(str, args)],
            cwd=cwd,
            env=os.environ | (env or {}),
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
