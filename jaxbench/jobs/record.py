"""What every `run.json` says about the machine and the versions a run was made with."""

import os
import sys
from importlib.metadata import version

import jax

from jaxbench.errors import BadRequest

PACKAGES = ("jaxbench", "jax", "jaxlib", "numpy", "pandas", "equinox", "hydra-core")


def check_device() -> None:
    """Refuse a device that jax cannot find.

    **Errors:** `BadRequest`.
    """
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise BadRequest(f"jax finds no device (JAX_PLATFORMS={asked!r}): {reason}") from None


def machine_record() -> dict[str, object]:
    """`versions`, `python` and `device` of `run.json`."""
    device = jax.devices()[0]
    return {
        "versions": {package: version(package) for package in PACKAGES},
        "python": sys.version.split()[0],
        "device": {"platform": device.platform, "kind": device.device_kind,
                   "count": jax.device_count(), "cpus": os.cpu_count()},
    }  # fmt: skip
