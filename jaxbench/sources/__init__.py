"""Where benchmarks come from: names of the catalogue, and readers of files."""

from dataclasses import fields
from pathlib import Path

import pyarrow as pa

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest, nearest
from jaxbench.options import ReadOptions, parse
from jaxbench.sources.assembly.assemble import assemble
from jaxbench.sources.by_name import load as load
from jaxbench.sources.registry import read_outcomes
from jaxbench.sources.tables.universe import read_items
from jaxbench.sources.write import write as write


def read(path: str | Path, **options: object) -> Benchmark:
    """Your own outcomes: a file, or a folder that is one benchmark, in any format that is read.

    **Arguments:** `options`: those of the command line that say how files are read (the table in
    the README): `format`, `score`, `columns`, `where`, `items`, `missing`, `shared_prompts`,
    `max_score`, `mismatch`, `anonymise`.

    **Errors:** `BadRequest` for whatever is wrong with the options or the files.
    """
    if not isinstance(path, str | Path):
        raise BadRequest(f"path={path}: expected the name of a file or folder")
    known = [field.name for field in fields(ReadOptions)]
    for name in options:
        if name not in known:
            raise BadRequest(f"unknown option {name!r} of read; {nearest(name, known)}")
    return read_as(path, ReadOptions.of(options))


def read_as(path: str | Path, options: ReadOptions) -> Benchmark:
    """`read`, with options that are checked already."""
    parse.no_address("path", str(path))
    parse.no_address("items", options.items)
    place = Path(path)
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise BadRequest(f"path={path}: no such file or folder") from None
    except OSError as error:
        raise BadRequest(f"path={path}: {(error.strerror or '').lower()}") from None
    universe = None
    if options.items is not None:
        universe = read_items(Path(options.items))
    resolved = place.resolve()
    try:
        outcomes = read_outcomes(place, options)
    except BadRequest as refusal:
        if str(refusal).startswith(str(place)):
            raise
        raise BadRequest(f"{place}: {refusal}") from None
    except (OverflowError, UnicodeEncodeError, pa.ArrowException) as error:
        # Numbers of hundreds of digits, halves of characters, integers beyond 2^53.
        reason = str(error).splitlines()[0][:200]
        raise BadRequest(f"{place}: a value in it cannot be taken: {reason}") from None
    return assemble(
        outcomes,
        options,
        name=resolved.name if place.is_dir() else resolved.stem,
        source=str(path),
        universe=universe,
    )
