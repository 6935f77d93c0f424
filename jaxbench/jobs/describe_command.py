"""The command: a card, a table of models, and what the terminal shows of both."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

from jaxbench import report
from jaxbench.card import Card
from jaxbench.jobs.describe import describe
from jaxbench.jobs.opening import benchmark_record, check_apart, open_benchmark, source_config
from jaxbench.jobs.record import check_device, machine_record
from jaxbench.jobs.run_directory import run_directory
from jaxbench.jobs.start import Start, wide_console
from jaxbench.options.attack import JOB_OPTIONS


def run(options: Mapping[str, object], command: str, several: bool = False) -> None:
    """Run `jaxbench describe` with these options.

    **Arguments:** `command`: the command line, for the record; `several`: this is one run of
    several, and says which.

    **Errors:** `BadRequest`; nothing is written then.
    """
    start = Start.of("describe", options)
    check_device()
    benchmark = open_benchmark(options, keep_shared_prompts=True)
    check_apart(start.target, options)
    asked = {name: value for name, value in options.items() if name not in JOB_OPTIONS}
    begun = time.perf_counter()
    card = describe(benchmark, **asked)
    seconds = time.perf_counter() - begun
    with run_directory(start.target, start.overwrite) as folder:
        _write(folder, card)
        config = source_config(options, benchmark) | card.request.as_options()
        (folder / "config.yaml").write_text(
            yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8"
        )
        record = {
            "job": "describe",
            "command": command,
            "benchmark": benchmark_record(benchmark),
            "seeds": {"seed": card.request.seed},
            **machine_record(),
            "seconds": {"run": round(seconds, 3),
                        "total": start.seconds},
        }  # fmt: skip
        (folder / "run.json").write_text(
            json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    if several:
        print(command)
    report.print_card(wide_console(), card.to_dict())
    # Plain: rich would turn a name like :smile: into a picture.
    print(start.target)


def _write(folder: Path, card: Card) -> None:
    card.summary().to_csv(folder / "summary.csv", index=False)
    (folder / "card.txt").write_text(str(card), encoding="utf-8")
    (folder / "card.json").write_text(spelled(card.to_dict()) + "\n", encoding="utf-8")


def spelled(value: object, indent: str = "") -> str:
    """JSON with one entry a line, and lists of plain values on one line however long."""
    within = indent + " "
    if isinstance(value, dict) and value:
        lines = [
            f"{json.dumps(key, ensure_ascii=False)}: {spelled(entry, within)}"
            for key, entry in value.items()
        ]
        ends = "{}"
    elif isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        lines = [spelled(entry, within) for entry in value]
        ends = "[]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    body = f",\n{within}".join(lines)
    return f"{ends[0]}\n{within}{body}\n{indent}{ends[1]}"
