"""Where benchmarks come from: the bundled snapshots and the reader of the native form."""

from pathlib import Path

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from jaxbench.sources.bundled import bundled_names as bundled_names
from jaxbench.sources.bundled import load as load
from jaxbench.sources.native import read_native


def read(path: str | Path) -> Benchmark:
    """Your own outcomes: a folder with `items.parquet` and `scores.parquet`.

    **Errors:** `BadRequest` for whatever is wrong with the folder or the files (see
    `jaxbench.sources.native`).
    """
    if not isinstance(path, str | Path):
        raise BadRequest(f"path={path}: expected a folder's name")
    folder = Path(path)
    if not folder.exists():
        raise BadRequest(f"path={path}: no such file or folder")
    if not folder.is_dir():
        raise BadRequest(
            f"path={path} is a file; expected a folder with items.parquet and scores.parquet"
        )
    return read_native(folder, name=folder.resolve().name)
