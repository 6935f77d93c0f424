"""Where benchmarks come from: names of the catalogue, and readers of files."""

from pathlib import Path

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.sources.by_name import load as load
from jaxbench.sources.native import read_native


def read(path: str | Path, **options: object) -> Benchmark:
    """Your own outcomes: a file or a folder, in any of the formats of `jaxbench.options.reading`.

    **Arguments:** `options`: those of the command line that say how files are read.

    **Errors:** `BadRequest` for whatever is wrong with the options or the files.
    """
    if not isinstance(path, str | Path):
        raise BadRequest(f"path={path}: expected the name of a file or folder")
    if unknown := set(options) - set(ReadOptions.__dataclass_fields__):
        raise BadRequest(f"unknown option {sorted(unknown)[0]!r} of read")
    return read_as(path, ReadOptions.of(options))


def read_as(path: str | Path, options: ReadOptions) -> Benchmark:
    """`read`, with options that are checked already."""
    folder = Path(path)
    if not folder.exists():
        raise BadRequest(f"path={path}: no such file or folder")
    if not folder.is_dir():
        raise BadRequest(
            f"path={path} is a file; expected a folder with items.parquet and scores.parquet"
        )
    return read_native(folder, name=folder.resolve().name)
