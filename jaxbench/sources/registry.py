"""The registry: which reader reads what, and how a file or folder finds its reader."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxbench.errors import BadRequest, counted
from jaxbench.options import ReadOptions
from jaxbench.sources.logs.every_eval_ever import read_every_eval_ever
from jaxbench.sources.logs.inspect_logs import read_inspect
from jaxbench.sources.logs.lm_eval import read_lm_eval
from jaxbench.sources.logs.responses import read_response_files
from jaxbench.sources.logs.swe_bench import read_swe_bench
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.sniff import SUFFIXES, UNSCORED, Sniffed, describe, sniff
from jaxbench.sources.tables.long_table import read_long
from jaxbench.sources.tables.native import ITEMS, SCORES, read_pair
from jaxbench.sources.tables.wide_table import read_wide

# Files that can be of few formats only, so that a damaged one is no stranger's (None: not said).
_TABLES = (None, "native", "long", "wide")
OWN_SUFFIX = {".eval": (None, "inspect"), ".parquet": _TABLES, ".pq": _TABLES}
# Options that say how the columns of a table are read, and who reads them.
BY_COLUMN = {"columns": ("native", "long", "wide"), "where": ("native", "long", "wide", "lm_eval"),
             "max_score": ("native", "long", "wide", "lm_eval", "inspect")}  # fmt: skip

PACKED = frozenset((".gz", ".bz2", ".xz", ".zst", ".zip", ".7z"))

Reader = Callable[[Sequence[Sniffed], ReadOptions], Outcomes]


@dataclass(frozen=True)
class Format:
    """A format: its name, what it is, and its reader."""

    name: str
    summary: str
    read: Reader


def _parts(files: Sequence[Sniffed], part: str) -> list[Path]:
    return [file.path for file in files if file.part == part]


def _paths(files: Sequence[Sniffed]) -> list[Path]:
    return [file.path for file in files]


READERS = {
    reader.name: reader
    for reader in (
        Format("native", f"{ITEMS} and {SCORES} in one folder",
               lambda f, o: read_pair(f[0].path.parent, o)),
        Format("long", "a table with a row per score", lambda f, o: read_long(_paths(f), o)),
        Format("wide", "a table with a column per model", lambda f, o: read_wide(_paths(f), o)),
        Format("lm_eval", "samples_*.jsonl of lm-evaluation-harness",
               lambda f, o: read_lm_eval(_parts(f, "samples"), _parts(f, "results"), o)),
        Format("inspect", "logs of Inspect", lambda f, o: read_inspect(_paths(f), o)),
        Format("swe_bench", "reports and results of SWE-bench", read_swe_bench),
        Format("every_eval_ever", "aggregates and samples of Every Eval Ever",
               lambda f, o: read_every_eval_ever(
                   _parts(f, "samples"), _parts(f, "aggregate"), o)),
        Format("responses", "one JSON object per model and line, as py-irt takes them",
               lambda f, o: read_response_files(_paths(f), o)),
    )
}  # fmt: skip


def read_outcomes(path: Path, options: ReadOptions) -> Outcomes:
    """Find the format of a file or folder, and read it.

    **Errors:** `BadRequest` where nothing is recognised, a folder mixes formats, or the file is
    not of the format that was asked for.
    """
    if path.is_dir():
        files, others = _folder(path, options)
    else:
        files, others = [_single(path, options)], []
    chosen = READERS[str(files[0].format)]
    for option, formats in BY_COLUMN.items():
        if getattr(options, option) and chosen.name not in formats:
            raise BadRequest(
                f"{path}: {option} means nothing for format={chosen.name}; it is for "
                f"{', '.join(formats)}"
            )
    try:
        outcomes = chosen.read(files, options)
    except BadRequest as refusal:
        if str(refusal).startswith((str(path), *(str(file.path) for file in files))):
            raise
        raise BadRequest(f"{path}: {refusal}") from None
    told = f"format {chosen.name}: {chosen.summary}"
    notes = [Note(told if len(files) == 1 else f"{told}; {len(files)} files")]
    if others:
        names = tuple(str(other.path.relative_to(path)) for other in others)
        notes.append(Note(f"not read: {counted(len(others), 'file')}", names, shown=True))
    return Outcomes(**{**vars(outcomes), "notes": (*notes, *outcomes.notes)})


def _single(path: Path, options: ReadOptions) -> Sniffed:
    if path.name in (ITEMS, SCORES) and options.format in (None, "native"):
        other = path.with_name(SCORES if path.name == ITEMS else ITEMS)
        if other.is_file() or options.format == "native":
            return Sniffed(path, "native", "pair", "one of a native pair")
    found = sniff(path, options)
    wanted = options.format
    if wanted in ("long", "wide") and found.format in (None, "long", "wide"):
        return Sniffed(path, wanted, "table", found.seen)
    if found.part == UNSCORED and wanted is None:
        return Sniffed(path, "long", "table", found.seen)
    if found.format is None:
        raise BadRequest(f"{path} is none of the formats that are read ({found.seen}): {_known()}")
    if wanted not in (None, found.format):
        raise BadRequest(
            f"{path} does not look like format={wanted}, but like {found.format} ({found.seen})"
        )
    return found


def _folder(path: Path, options: ReadOptions) -> tuple[list[Sniffed], list[Sniffed]]:
    """The files of one format in a folder, and the others that were looked at."""
    if options.format in (None, "native"):
        pair = [path / ITEMS, path / SCORES]
        if options.format == "native" or any(p.exists() for p in pair):
            return [Sniffed(pair[0], "native", "pair", "a native pair")], []
    found, unread = [], []
    broken: dict[Path, BadRequest] = {}
    for file in _results_in(path):
        try:
            sniffed = sniff(file, options)
        except BadRequest as refusal:
            # Of one file alone this would be the answer; here it may be any file of the user's.
            if options.format in OWN_SUFFIX.get(file.suffix.lower(), ()):
                raise
            broken[file] = refusal
            sniffed = Sniffed(file, None, "", "cannot be read")
        if options.format in ("long", "wide") and sniffed.format in ("long", "wide"):
            sniffed = Sniffed(file, options.format, "table", sniffed.seen)
        (found if sniffed.format else unread).append(sniffed)
    by_format: dict[str, list[Sniffed]] = {}
    for file in found:
        by_format.setdefault(str(file.format), []).append(file)
    if options.format:
        files = by_format.pop(options.format, [])
        if not files:
            raise BadRequest(
                f"{path} holds no file of format={options.format}: {_seen(found, unread)}"
            )
        return files, [*unread, *(f for others in by_format.values() for f in others)]
    if len(by_format) > 1:
        kinds = ", ".join(f"{len(files)} {name}" for name, files in sorted(by_format.items()))
        raise BadRequest(f"{path} holds several formats ({kinds}); choose one with format=")
    if not by_format:
        raise BadRequest(f"{path}: {_seen(found, unread)}; {_known()}")
    files = next(iter(by_format.values()))
    for file, refusal in broken.items():
        # Among its likes it is one of the results, cut off: to go on without would lose a model.
        if file.stat().st_size and file.suffix in {f.path.suffix for f in files}:
            raise refusal
    return files, unread


def _results_in(folder: Path) -> list[Path]:
    """Files that could be results, below a folder; hidden ones are passed over.

    **Errors:** `BadRequest` for a folder that may not be read, or a packed file of results.
    """

    def refuse(error: OSError) -> None:
        raise BadRequest(f"{error.filename} cannot be read: {(error.strerror or '').lower()}")

    found: list[Path] = []
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        here = os.path.realpath(place)
        # Links may lead round in circles.
        folders[:] = [] if here in seen else [f for f in folders if not f.startswith(".")]
        if here in seen:
            continue
        seen.add(here)
        for name in files:
            file = Path(place, name)
            if name.startswith(".") or not file.is_file():
                continue
            packed = [s.lower() for s in file.suffixes[-2:]]
            if packed and packed[-1] in PACKED and (len(packed) == 1 or packed[0] in SUFFIXES):
                raise BadRequest(f"{file} is packed; unpack it first, or take it out of the folder")
            if file.suffix.lower() in SUFFIXES:
                found.append(file)
    return sorted(found)


def _seen(found: Sequence[Sniffed], unread: Sequence[Sniffed]) -> str:
    files = [*found, *unread]
    if not files:
        return f"no file of results ({', '.join(SUFFIXES)})"
    return f"none of {len(files)} files is one that is read ({describe(files)})"


def _known() -> str:
    return "; ".join(f"{f.name}: {f.summary}" for f in READERS.values())
