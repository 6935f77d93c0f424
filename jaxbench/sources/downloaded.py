"""Benchmarks that are downloaded, or lie in the offline folder."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from jaxbench import named
from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from jaxbench.options import Protocol, ReadOptions
from jaxbench.sources.assembly.assemble import assemble
from jaxbench.sources.logs.item_tables import (
    swe_pro_items,
    swe_verified_items,
    terminal_bench_items,
)
from jaxbench.sources.logs.responses import read_responses
from jaxbench.sources.outcomes import Note, Outcomes
from jaxbench.sources.tables.native import read_pair


def load_downloaded(entry: named.Named, *, anonymise: bool = False) -> Benchmark:
    """A benchmark of the catalogue that is not bundled, with the published defaults as protocol.

    Licence, citation and known disagreements with published figures are notes of its provenance.

    **Errors:** `BadRequest` where its files cannot be had or read, or hold another benchmark.
    """
    found = named.obtain(entry)
    if found.pair is None:
        benchmark = _from_files(entry, found.files)
    else:
        outcomes, options = read_pair(found.pair, ReadOptions()), ReadOptions()
        benchmark = assemble(
            outcomes, options, name=entry.name, source=str(found.pair), protocol=Protocol()
        )
        note = f"read from {found.pair} (JAXBENCH_DATA), which is not pinned to the public source"
        if _shape(benchmark) != _expected(entry):
            note += f"; it holds {_shape(benchmark)}, the public source {_expected(entry)}"
        benchmark = _with_notes(benchmark, [note])
    return _with_notes(benchmark, [*entry.notes, *(() if anonymise else entry.on_models)])


def _from_files(entry: named.Named, paths: tuple[Path, ...]) -> Benchmark:
    """The benchmark from the source's own files, whose hashes were checked."""
    long = read_responses(paths[0])
    ids = sorted(long["item_id"].unique())
    items, notes = _items(entry, ids, paths)
    provenance = [f"{file.path} of {file.repository}, sha256 {file.sha256}" for file in entry.files]
    benchmark = assemble(
        Outcomes(long, items=items, notes=tuple(map(Note, provenance))),
        ReadOptions(),
        name=entry.name,
        source=str(paths[0]),
        protocol=Protocol(),
    )
    if _shape(benchmark) != _expected(entry):
        raise BadRequest(
            f"{paths[0]} holds {_shape(benchmark)}, where {entry.name} has {_expected(entry)}"
        )
    return _with_notes(benchmark, notes)


def _items(
    entry: named.Named, ids: list[str], paths: tuple[Path, ...]
) -> tuple[pd.DataFrame, list[str]]:
    if entry.name == "terminal_bench_2":
        return terminal_bench_items(ids, paths[1])
    build = {"swe_verified": swe_verified_items, "swe_pro": swe_pro_items}[entry.name]
    return build(ids), []


def _with_notes(benchmark: Benchmark, notes: list[str]) -> Benchmark:
    """The benchmark with sentences that are printed after every run on it."""
    told = (Note(note, shown=True).spell(anonymise=False) for note in notes)
    return replace(benchmark, provenance=(*benchmark.provenance, *told))


def _shape(benchmark: Benchmark) -> str:
    models, items, tasks = map(len, (benchmark.models, benchmark.items, benchmark.tasks))
    return f"{models} models x {items} items in {tasks} tasks"


def _expected(entry: named.Named) -> str:
    return f"{entry.models} models x {entry.items} items in {entry.tasks} tasks"
