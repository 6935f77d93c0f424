"""The benchmark that a command line names, and how the record says where it came from."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxbench import sources
from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from jaxbench.options import ReadOptions
from jaxbench.options.parse import text
from jaxbench.options.reading import check_reading

DEFAULT_BENCHMARK = "terminal_science"


def open_benchmark(
    options: Mapping[str, object], *, keep_shared_prompts: bool = False
) -> Benchmark:
    """The benchmark that `benchmark=` or `path=` names.

    **Arguments:** `keep_shared_prompts`: take a prompt in two tasks where the options do not say
    what to do about it.

    **Errors:** `BadRequest` where both are given, neither can be found, or it cannot be read.
    """
    check_reading(options)
    reading = ReadOptions.of(_reading(options))
    name, path = options.get("benchmark"), options.get("path")
    if path is None:
        name = DEFAULT_BENCHMARK if name is None else text("benchmark", name)
        return sources.load(name, anonymise=reading.anonymise)
    if keep_shared_prompts and reading.shared_prompts == "refuse":
        reading = replace(reading, shared_prompts="keep")
    return sources.read_as(text("path", path), reading)


def source_config(options: Mapping[str, object], benchmark: Benchmark) -> dict[str, object]:
    """What `config.yaml` says about where the outcomes came from."""
    reading = ReadOptions.of(_reading(options)).as_options()
    path = options.get("path")
    if path is None:
        return {"benchmark": benchmark.name, **reading}
    if "items" in reading:
        reading["items"] = str(Path(str(reading["items"])).absolute())
    return {"path": str(Path(str(path)).absolute()), **reading}


def benchmark_record(benchmark: Benchmark) -> dict[str, object]:
    """What `run.json` says about the outcomes."""
    return {
        "name": benchmark.name,
        "sha256": benchmark.digest(),
        "models": len(benchmark.models),
        "items": len(benchmark.items),
        "tasks": len(benchmark.tasks),
        "denominator": benchmark.denominator,
        "provenance": list(benchmark.provenance),
    }


def check_apart(target: Path, options: Mapping[str, object]) -> None:
    """Refuse results in the folder that the outcomes come from, or around it.

    **Errors:** `BadRequest`.
    """
    for name in ("path", "items"):
        if options.get(name) is None:
            continue
        source, results = Path(str(options[name])).resolve(), target.resolve()
        if source.is_relative_to(results):
            raise BadRequest(
                f"out={target} holds {name}={source}; name another folder for the results"
            )


def _reading(options: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value for name, value in options.items() if name in ReadOptions.__dataclass_fields__
    }
