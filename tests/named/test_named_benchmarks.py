"""The named benchmarks themselves: small ones in the source's form, and the real ones."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml

import jaxbench
from commands import QUICK, answer, elsewhere
from jaxbench import named
from jaxbench.errors import BadRequest
from jaxbench.named.downloadable import SWE_PRO, SWE_VERIFIED, TERMINAL_BENCH_2
from jaxbench.options import Protocol
from jaxbench.sources.downloaded import load_downloaded
from pairs import write_pair
from serving import serving, whole

PAIRS = {
    "swe_verified": "swebench_verified_submissions",
    "swe_pro": "swebench_pro_14",
    "terminal_bench_2": "terminal_bench_2",
}


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("JAXBENCH_DATA", "JAXBENCH_MIRROR"):
        monkeypatch.delenv(name, raising=False)


def pinned(entry, *contents, **shape):
    """The entry, pinned to other contents of its files."""
    files = tuple(
        replace(file, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        for file, content in zip(entry.files, contents, strict=True)
    )
    return replace(entry, files=files, **shape)


def put(folder, entry, *contents):
    for file, content in zip(entry.files, contents, strict=True):
        path = folder / entry.name / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


# Small ones in the source's form


def small_terminal(tasks=("x", "y", "z")):
    shares = {"b": [(4, 5), (0, 5), (1, 3)], "a": [(5, 5), (1, 1), (0, 6)]}
    answers = lines(
        {
            "subject_id": system,
            "responses": {
                item: {"successes": s, "trials": t}
                for item, (s, t) in zip(("x", "y", "z"), row, strict=True)
            },
            "metadata": {"detail_url": "https://example.org"},
        }
        for system, row in shares.items()
    )
    statements = lines(
        {"task_id": task, "problem_statement": f"do  {task}", "patch": "", "tags": [],
         "category": "left" if task < "z" else "right", "difficulty": "easy"}
        for task in tasks
    )  # fmt: skip
    return answers, statements


def test_terminal_bench_in_the_form_of_the_source(tmp_path, monkeypatch):
    contents = small_terminal((*"xyz", "unanswered"))
    entry = pinned(TERMINAL_BENCH_2, *contents, models=2, items=3, tasks=2)
    put(tmp_path, entry, *contents)
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path))
    benchmark = load_downloaded(entry)
    assert benchmark.models == ("a", "b")
    assert benchmark.items == ("x", "y", "z")
    assert benchmark.item_tasks == ("left", "left", "right")
    assert benchmark.categories == ("easy",) * 3
    found = [[Fraction(int(n), benchmark.denominator) for n in row] for row in benchmark.counts]
    assert found == [[1, 1, 0], [Fraction(4, 5), 0, Fraction(1, 3)]]
    assert benchmark.prompt_hashes[0] == hashlib.sha256(b"do x").hexdigest()
    assert "each score is the mean of 1 to 6 runs" in benchmark.provenance
    assert any("1 of the 4 tasks" in note for note in benchmark.provenance)


def test_another_shape_than_the_catalogues_is_refused(tmp_path, monkeypatch):
    contents = small_terminal()
    entry = pinned(TERMINAL_BENCH_2, *contents)
    put(tmp_path, entry, *contents)
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path))
    with pytest.raises(BadRequest, match="2 models x 3 items in 2 tasks, where terminal_bench_2"):
        load_downloaded(entry)


def small_swe():
    items = [f"{owner}__{owner}-{n}" for owner in ("one", "two") for n in range(4)]
    content = lines(
        {"subject_id": model, "responses": {item: (i + m) % 2 for i, item in enumerate(items)}}
        for m, model in enumerate(("p", "q"))
    )
    return pinned(SWE_VERIFIED, content, models=2, items=8, tasks=2), content


def test_a_download_is_loaded_and_its_notes_are_told(tmp_path, monkeypatch):
    entry, content = small_swe()
    with serving() as server:
        monkeypatch.setenv("JAXBENCH_MIRROR", server.address)
        server.serve(entry.files[0], whole(content))
        benchmark = load_downloaded(entry)
        again = load_downloaded(entry)
    assert len(server.asked) == 1
    assert again.digest() == benchmark.digest()
    assert again.provenance == benchmark.provenance
    assert benchmark.protocol == Protocol()
    assert benchmark.tasks == ("one/one", "two/two")
    told = [note for note in benchmark.provenance if note.startswith("note: ")]
    assert told == [f"note: {note}" for note in entry.notes]
    assert any(entry.files[0].sha256 in note for note in benchmark.provenance)
    # What is pinned does not depend on where it was read.
    assert not any("127.0.0.1" in n or str(tmp_path) in n for n in benchmark.provenance)


def test_a_pair_of_another_shape_says_so(tmp_path, monkeypatch):
    write_pair(tmp_path / "swe_pro")
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path))
    benchmark = jaxbench.load("swe_pro")
    (note,) = (n for n in benchmark.provenance if "not pinned" in n)
    assert note.startswith("note: ")
    assert "3 models x 12 items in 2 tasks" in note
    assert "14 models x 730 items in 11 tasks" in note


def test_names_are_replaced_on_request(data):
    masked, plain = (jaxbench.load("swe_pro", anonymise=a) for a in (True, False))
    assert np.array_equal(masked.counts, plain.counts)
    spoken = " ".join((*masked.models, *masked.items, *masked.provenance))
    assert not any(name in spoken for name in (*plain.models, *plain.items))


# The real ones


@pytest.fixture
def data(shared, monkeypatch):
    """The offline folder of real data."""
    folder = shared / "data"
    monkeypatch.setenv("JAXBENCH_DATA", str(folder))
    return folder


def percent(benchmark):
    """The mean of every model in percent."""
    means = benchmark.counts.mean(axis=1) / benchmark.denominator * 100
    return dict(zip(benchmark.models, means.tolist(), strict=True))


@pytest.mark.parametrize("name", PAIRS)
def test_shapes_and_notes(name, data):
    entry, benchmark = named.find(name), jaxbench.load(name)
    found = (len(benchmark.models), len(benchmark.items), len(benchmark.tasks))
    assert found == (entry.models, entry.items, entry.tasks)
    assert benchmark.name == name
    assert benchmark.protocol == Protocol()
    (unpinned,) = (n for n in benchmark.provenance if "not pinned" in n)
    assert "public source" in unpinned
    assert "it holds" not in unpinned
    assert {f"note: {note}" for note in entry.notes} <= set(benchmark.provenance)


def test_means_of_swe_verified(data):
    check = pd.read_csv(data / PAIRS["swe_verified"] / "check.csv")
    stated = dict(zip(check["model"], check["computed"], strict=True))
    found = percent(jaxbench.load("swe_verified"))
    assert found.keys() == stated.keys()
    # Both are sums of 500 zeros and ones: only the last bits differ.
    assert max(abs(found[model] - stated[model]) for model in found) < 1e-9


def test_means_of_swe_pro(data):
    text = (data / PAIRS["swe_pro"] / "PROVENANCE.md").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("- Means (%): "))
    stated = {}
    for entry in line.removeprefix("- Means (%): ").rstrip(".").split("; "):
        model, _, mean = entry.rpartition(" ")
        stated[model] = mean
    found = percent(jaxbench.load("swe_pro"))
    assert len(stated) == 14
    assert {model: f"{mean:.2f}" for model, mean in found.items()} == stated


def test_the_best_system_of_terminal_bench(data):
    found = percent(jaxbench.load("terminal_bench_2"))
    best = max(found, key=found.__getitem__)
    assert best == "factory_droid_gpt-5_2_at_openai"
    assert f"{found[best]:.1f}" == "64.5"


def as_responses(pair):
    """A pair of zeros and ones as the lines that the public source publishes."""
    long = pd.read_parquet(pair / "scores.parquet")
    return lines(
        {
            "subject_id": model,
            "responses": dict(zip(rows["item_id"], rows["score"].astype(int), strict=True)),
        }
        for model, rows in long.groupby("model", observed=True)
    )


@pytest.mark.parametrize("entry", [SWE_VERIFIED, SWE_PRO], ids=lambda entry: entry.name)
def test_the_published_file_is_rebuilt_downloaded_and_equal(entry, data, monkeypatch):
    """The lines of the pair have the very bytes that are pinned, so the real thing is tested."""
    pair = jaxbench.load(entry.name)
    content = as_responses(data / PAIRS[entry.name])
    (file,) = entry.files
    assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size, file.sha256)
    monkeypatch.delenv("JAXBENCH_DATA")
    with serving() as server:
        monkeypatch.setenv("JAXBENCH_MIRROR", server.address)
        server.serve(file, whole(content))
        benchmark = jaxbench.load(entry.name)
    assert benchmark.digest() == pair.digest()
    assert not any("not pinned" in note for note in benchmark.provenance)
    assert named.state(entry) == "cached"


def test_terminal_bench_in_the_form_of_the_source_gives_the_scores_of_the_pair(
    data, tmp_path, monkeypatch
):
    """Its statements are not at hand, so all but the prompt hashes is compared."""
    pair = jaxbench.load("terminal_bench_2")
    items = pd.read_parquet(data / "terminal_bench_2" / "items.parquet")
    responses = {}
    for model, row in zip(pair.models, pair.counts.tolist(), strict=True):
        shares = [Fraction(count, pair.denominator) for count in row]
        responses[model] = {
            item: {"successes": share.numerator, "trials": share.denominator}
            for item, share in zip(pair.items, shares, strict=True)
        }
    contents = (
        lines({"subject_id": model, "responses": row} for model, row in responses.items()),
        lines(
            {"task_id": item, "problem_statement": item, "category": task, "difficulty": level}
            for item, task, level in zip(
                items["item_id"], items["task"], items["category"], strict=True
            )
        ),
    )
    entry = pinned(TERMINAL_BENCH_2, *contents)
    put(tmp_path, entry, *contents)
    monkeypatch.setenv("JAXBENCH_DATA", str(tmp_path))
    benchmark = load_downloaded(entry)
    assert np.array_equal(benchmark.scores, pair.scores)
    for part in ("models", "items", "item_tasks", "categories"):
        assert getattr(benchmark, part) == getattr(pair, part)


def test_an_attack_by_name(data, tmp_path, capsys):
    with elsewhere(tmp_path) as here:
        words = ("benchmark=swe_verified", "min_task_items=10", *QUICK, "out=run")
        found = answer(capsys, "attack", *words)
        assert (found.status, found.err) == (0, "")
        config = yaml.safe_load((here / "run/config.yaml").read_text())
        assert config["benchmark"] == "swe_verified"
        assert (config["preset"], config["routing_seed"]) == ("published", "jaxbench")
        record = json.loads((here / "run/run.json").read_text())
    said = " ".join(found.out.split())
    for note in SWE_VERIFIED.notes:
        assert f"note: {note}" in said
        assert f"note: {note}" in record["benchmark"]["provenance"]
