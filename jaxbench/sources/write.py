"""Benchmarks as files: the native pair, and Every Eval Ever. What is written reads back equal."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jaxbench.benchmark import Benchmark, provenance
from jaxbench.benchmark.anonymous import NAMELESS
from jaxbench.errors import BadRequest, unknown
from jaxbench.sources.tables.native import DENOMINATOR, ITEMS, SCORES

SCHEMA_VERSION = "0.3.0"


def write(benchmark: Benchmark, folder: str | Path, format: str = "native") -> Path:
    """Write a benchmark into a new folder; the folder.

    **Arguments:** `format`: `native` (`items.parquet` and `scores.parquet`) or `every_eval_ever`
    (per model an aggregate and a samples file, schema 0.3.0).

    What is written is complete: where something fails, there is no folder. A benchmark without
    names is written with new hashes of its prompts, since item ids may have stood for them.

    **Errors:** `BadRequest` for another format, a folder that is there and not empty, or where
    nothing can be written.
    """
    if format not in WRITERS:
        raise unknown("format", format, WRITERS)
    target = Path(folder)
    try:
        _check_free(target)
        with _complete_or_absent(target) as scratch:
            WRITERS[format](_without_ids(benchmark), scratch)
    except OSError as error:
        raise BadRequest(f"{folder}: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeEncodeError, pa.ArrowException) as error:
        raise BadRequest(f"{folder}: a name cannot be written as UTF-8: {error}") from None
    return target


def _without_ids(benchmark: Benchmark) -> Benchmark:
    """The benchmark, with hashes that say nothing about its items if it has no names."""
    if NAMELESS not in benchmark.provenance:
        return benchmark
    salt = benchmark.digest()
    hidden = (hashlib.sha256(f"{salt}|{h}".encode()).hexdigest() for h in benchmark.prompt_hashes)
    return replace(benchmark, prompt_hashes=tuple(hidden))


def _check_free(target: Path) -> None:
    if Path.cwd().is_relative_to(target.resolve()):
        raise BadRequest(f"{target} is the current folder or above it; name a new folder")
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise BadRequest(f"{target} is there already; name a new folder")


@contextlib.contextmanager
def _complete_or_absent(target: Path) -> Iterator[Path]:
    """A folder beside `target` that becomes it when the block ends well, and vanishes if not."""
    made = [parent for parent in target.absolute().parents if not parent.exists()]
    scratch = target.absolute().with_name(f".{target.name[:80]}-{os.getpid()}.partial")
    try:
        scratch.mkdir(parents=True)
        yield scratch
        if target.is_dir():
            # Empty, as was checked; some systems do not rename onto it.
            target.rmdir()
        scratch.rename(target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def _hashes(benchmark: Benchmark) -> tuple[str, ...] | None:
    """The hashes of the prompts, or None where item ids stand for them."""
    return None if benchmark.prompt_hashes == benchmark.items else benchmark.prompt_hashes


def _native(benchmark: Benchmark, folder: Path) -> None:
    items = {
        "item_id": benchmark.items,
        "task": benchmark.item_tasks,
        "category": benchmark.categories,
        "prompt_sha256": _hashes(benchmark),
        "subtask": benchmark.subtasks,
        "chance": None if benchmark.chances is None else [str(c) for c in benchmark.chances],
    }
    pq.write_table(
        pa.table({name: pa.array(v) for name, v in items.items() if v is not None}), folder / ITEMS
    )
    models, columns = benchmark.counts.shape
    scores = pa.table(
        {
            "model": np.repeat(np.array(benchmark.models, dtype=object), columns),
            "item_id": np.tile(np.array(benchmark.items, dtype=object), models),
            "score": benchmark.scores.ravel(),
        },
    )
    runs = provenance.runs(benchmark.provenance)
    if runs is not None and runs[0] == runs[1]:
        scores = scores.append_column("repeats", pa.array(np.full(scores.num_rows, runs[0])))
    scores = scores.replace_schema_metadata({DENOMINATOR: str(benchmark.denominator)})
    pq.write_table(scores, folder / SCORES)


def _every_eval_ever(benchmark: Benchmark, folder: Path) -> None:
    digest, tasks = benchmark.digest(), benchmark.item_tasks
    for row, model in enumerate(benchmark.models):
        developer, _, short = model.rpartition("/")
        where = folder / _slug(developer or "unknown") / _slug(short)
        where.mkdir(parents=True, exist_ok=True)
        # The same outcomes get the same names of files.
        stem = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{digest}/{model}"))
        evaluation = f"{benchmark.name}/{model}/{stem}"
        lines = "".join(
            json.dumps(
                _sample(benchmark, row, column, tasks[column], evaluation), ensure_ascii=False
            )
            + "\n"
            for column in range(len(benchmark.items))
        ).encode()
        samples = where / f"{stem}_samples.jsonl"
        samples.write_bytes(lines)
        aggregate = _aggregate(benchmark, row, evaluation)
        aggregate["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": samples.relative_to(folder).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(lines).hexdigest(),
            "total_rows": len(benchmark.items),
        }
        spelled = json.dumps(aggregate, indent=2, ensure_ascii=False)
        (where / f"{stem}.json").write_bytes(f"{spelled}\n".encode())


def _sample(
    benchmark: Benchmark, row: int, column: int, task: str, evaluation: str
) -> dict[str, object]:
    score = float(benchmark.counts[row, column] / benchmark.denominator)
    facts = {
        "prompt_hash": _hashes(benchmark),
        "category": benchmark.categories,
        "subtask": benchmark.subtasks,
        "chance": benchmark.chances,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "model_id": benchmark.models[row],
        "evaluation_name": task,
        "evaluation_result_id": task,
        "sample_id": benchmark.items[column],
        "sample_hash": None,
        "interaction_type": "single_turn",
        # Outcomes only: jaxbench holds no prompts and no answers.
        "input": {"raw": "", "reference": []},
        "output": {"raw": []},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        "metadata": {key: str(values[column]) for key, values in facts.items() if values},
    }


def _aggregate(benchmark: Benchmark, row: int, evaluation: str) -> dict[str, object]:
    model = benchmark.models[row]
    counts = benchmark.counts[row]
    results = []
    for index, task in enumerate(benchmark.tasks):
        mean = float(counts[benchmark.task_index == index].mean() / benchmark.denominator)
        results.append(
            {
                "evaluation_result_id": task,
                "evaluation_name": task,
                "source_data": {"dataset_name": benchmark.name, "source_type": "other"},
                "metric_config": {
                    "metric_id": "score", "metric_name": "score", "metric_kind": "accuracy",
                    "metric_unit": "proportion", "lower_is_better": False,
                    "score_type": "continuous", "min_score": 0.0, "max_score": 1.0,
                },
                "score_details": {"score": mean},
            }
        )  # fmt: skip
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        # No clock: the same outcomes make the same files.
        "retrieved_timestamp": "0",
        "source_metadata": {
            "source_name": "jaxbench",
            "source_type": "evaluation_run",
            "source_organization_name": "jaxbench",
            "evaluator_relationship": "third_party",
            "additional_details": {"jaxbench_denominator": str(benchmark.denominator)},
        },
        "eval_library": {"name": "jaxbench", "version": "unknown"},
        "model_info": {
            "name": model, "id": model, "developer": model.rpartition("/")[0] or "unknown",
        },
        "evaluation_results": results,
    }  # fmt: skip


def _slug(name: str) -> str:
    """A name as a folder: no separators, no dots in front, and no two names alike."""
    plain = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip(".")[:80]
    if plain == name:
        return plain
    return f"{plain or 'model'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


WRITERS: dict[str, Callable[[Benchmark, Path], None]] = {
    "native": _native, "every_eval_ever": _every_eval_ever,
}  # fmt: skip
