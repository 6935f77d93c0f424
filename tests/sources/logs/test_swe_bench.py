"""Reports, results and details of SWE-bench: what is read of them, and what is refused."""

import json
from pathlib import Path

import pytest

import jaxbench
from jaxbench.errors import BadRequest
from outcome_files import noted
from outcome_files import refuse as refused

IDS = ("django__django-1", "django__django-2", "sympy__sympy-3", "sympy__sympy-4")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(path: Path, content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=4))
    return path


def report(total=None, **lists) -> dict:
    """A report of the harness: lists of ids, and the counts that belong to them."""
    named = ("resolved", "unresolved", "error", "empty_patch", "incomplete")
    ids = {name: list(lists.get(name, ())) for name in named}
    submitted = lists.get("submitted", [i for n in named[:4] for i in ids[n]])
    return {
        "total_instances": len(submitted) if total is None else total,
        "submitted_instances": len(submitted),
        "completed_instances": len(ids["resolved"]) + len(ids["unresolved"]),
        **{f"{name}_instances": len(ids[name]) for name in named[:4]},
        "completed_ids": [*ids["resolved"], *ids["unresolved"]],
        "submitted_ids": list(submitted),
        **{f"{name}_ids": ids[name] for name in named},
        "schema_version": 2,
    }


@pytest.fixture
def items(tmp_path):
    return str(write(tmp_path / "items.txt", "\n".join(IDS)))


def test_a_report(tmp_path):
    content = report(resolved=IDS[:1], unresolved=IDS[1:2], error=IDS[2:3], empty_patch=IDS[3:])
    benchmark = jaxbench.read(write(tmp_path / "gpt-4.1.run_1.json", content))
    assert benchmark.models == ("gpt-4.1",)
    assert benchmark.items == IDS
    assert benchmark.item_tasks == ("django/django",) * 2 + ("sympy/sympy",) * 2
    assert benchmark.scores.tolist() == [[1, 0, 0, 0]]
    assert benchmark.prompt_hashes == IDS


def test_runs_of_a_model_are_repeats(tmp_path):
    for run, right in (("r1", IDS[:2]), ("r2", IDS[1:2]), ("r3", IDS[:2])):
        wrong = [i for i in IDS if i not in right]
        write(tmp_path / "runs" / f"m.{run}.json", report(resolved=right, unresolved=wrong))
    write(tmp_path / "runs" / "n.r1.json", report(resolved=IDS))
    benchmark = jaxbench.read(tmp_path / "runs")
    assert benchmark.models == ("m", "n")
    assert benchmark.denominator == 3
    assert benchmark.counts.tolist() == [[2, 3, 0, 0], [3, 3, 3, 3]]
    noted(benchmark, "each score is the mean of 1 to 3 runs")


def test_a_report_named_results_is_named_after_its_run(tmp_path):
    for run in ("one", "two"):
        write(tmp_path / "logs" / run / "results.json", report(resolved=IDS))
    assert jaxbench.read(tmp_path / "logs").models == ("one", "two")


@pytest.mark.parametrize("key", ["resolved", "unresolved", "error", "empty_patch", "submitted",
                                 "completed"])  # fmt: skip
def test_counts_and_lists_disagree(key, tmp_path):
    content = report(resolved=IDS[:1], unresolved=IDS[1:]) | {f"{key}_instances": 17}
    path = write(tmp_path / "m.r.json", content)
    refused(path, f"{key}_instances is 17, but {key}_ids holds")


def test_counts_alone_are_no_outcomes(tmp_path):
    content = {k: v for k, v in report(resolved=IDS).items() if k.endswith("_instances")}
    path = write(tmp_path / "m.r.json", content)
    refused(path, "resolved_instances is 4, but resolved_ids holds 0 ids")
    refused(write(tmp_path / "n.r.json", report()), "lists no instance")


def test_an_id_under_two_outcomes(tmp_path):
    path = write(tmp_path / "m.r.json", report(resolved=IDS[:2], unresolved=IDS[1:]))
    refused(path, f"{IDS[1]} stands under two outcomes")
    twice = write(tmp_path / "n.r.json", report(resolved=[IDS[0], IDS[0]]))
    refused(twice, f"resolved_ids names '{IDS[0]}' twice")
    other = write(tmp_path / "o.r.json", report() | {"resolved_ids": "all"})
    refused(other, "resolved_ids is not a list of ids")


@pytest.mark.parametrize("kind", ["incomplete", "infra", "ambiguous", "ambiguous alone", "none"])
def test_what_has_no_verdict_is_missing(kind, tmp_path):
    content = report(resolved=IDS[:1], unresolved=IDS[1:3], submitted=IDS)
    if kind == "incomplete":
        content["incomplete_ids"] = [IDS[3]]
    elif kind == "infra":
        content |= {"infra_failure_ids": [IDS[3]], "infra_failure_instances": 1}
    elif kind == "ambiguous":
        # The harness leaves such an instance among the unresolved ones.
        content = report(resolved=IDS[:1], unresolved=IDS[1:])
        content |= {"ambiguous_failure_ids": [IDS[3]], "ambiguous_failure_instances": 1}
    elif kind == "ambiguous alone":
        content |= {"ambiguous_failure_ids": [IDS[3]]}
    path = write(tmp_path / "m.r.json", content)
    refused(path, f"misses 1 of 4: '{IDS[3]}'")
    benchmark = jaxbench.read(path, missing="drop_items")
    assert benchmark.items == IDS[:3]
    assert benchmark.scores.tolist() == [[1, 0, 0]]
    if kind in ("infra", "ambiguous"):
        noted(benchmark, f"missing: instances of {kind}_failure_ids, without a verdict")


def test_a_resolved_instance_is_no_failure(tmp_path):
    content = report(resolved=IDS) | {"infra_failure_ids": [IDS[0]]}
    path = write(tmp_path / "m.r.json", content)
    refused(path, f"'{IDS[0]}' stand under resolved_ids and infra_failure_ids")


def test_a_total_larger_than_what_is_listed(tmp_path, items):
    path = write(tmp_path / "m.r.json", report(resolved=IDS[:1], unresolved=IDS[1:3], total=500))
    noted(jaxbench.read(path), "missing: 497 of 500 instances")
    refused(path, f"misses 1 of 4: '{IDS[3]}'", items=items)


def test_submissions_in_a_tree(tmp_path, items):
    """As SWE-bench/experiments lies on disk: results among predictions, logs and counts."""
    tree = tmp_path / "evaluation" / "verified"
    for name, resolved in (("20240402_a", IDS[:2]), ("20240620_b", IDS[1:2]), ("20250101_c", ())):
        home = tree / name
        results = {"resolved": list(resolved), "no_generation": [IDS[3]], "no_logs": []}
        write(home / "results" / "results.json", results)
        write(home / "results" / "resolved_by_repo.json",
              {"django/django": {"resolved": len(resolved), "total": 2}})  # fmt: skip
        write(home / "results" / "resolved_by_time.json", {"2023": {"resolved": 1, "total": 4}})
        prediction = {"instance_id": IDS[0], "model_patch": "diff", "model_name_or_path": name}
        write(home / "all_preds.jsonl", json.dumps(prediction) + "\n")
        instance = {"patch_is_None": False, "patch_exists": True, "resolved": True,
                    "tests_status": {"FAIL_TO_PASS": {"success": []}}}  # fmt: skip
        write(home / "logs" / IDS[0] / "report.json", {IDS[0]: instance})
        write(home / "trajs" / "x.json", {"trajectory": [], "info": {"exit_status": "ok"}})
        write(home / "trajs" / "empty.json", "")
    with pytest.raises(BadRequest, match=r"holds only successes.*items=FILE"):
        jaxbench.read(tree)
    benchmark = jaxbench.read(tree, items=items)
    assert benchmark.models == ("20240402_a", "20240620_b", "20250101_c")
    assert benchmark.items == IDS
    assert benchmark.scores.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    noted(benchmark, "not read: 18 files")
    # A damaged stranger is no reason to stop, even where the format is named.
    assert jaxbench.read(tree, items=items, format="swe_bench").digest() == benchmark.digest()


def test_an_instance_that_is_not_in_the_list(tmp_path, items):
    results = {"resolved": ["flask__flask-9"], "no_generation": [], "no_logs": []}
    path = write(tmp_path / "sub" / "results" / "results.json", results)
    refused(path, "not in the list of items: 'flask__flask-9'", items=items)
    both = {"resolved": [IDS[0]], "no_generation": [IDS[0]]}
    path = write(tmp_path / "other" / "results" / "results.json", both)
    refused(path, f"'{IDS[0]}' stand under resolved and under another outcome", items=items)


def details(resolved):
    return {i: {"cost": 0.5, "api_calls": 3, "resolved": i in resolved} for i in IDS}


def test_details(tmp_path):
    tree = tmp_path / "bash-only"
    write(tree / "sub_a" / "per_instance_details.json", details(IDS[:1]))
    write(tree / "sub_b" / "per_instance_details.json", details(IDS))
    benchmark = jaxbench.read(tree)
    assert benchmark.models == ("sub_a", "sub_b")
    assert benchmark.scores.tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    alone = write(tmp_path / "mine.json", details(IDS[:2]))
    assert jaxbench.read(alone).models == ("mine",)
    broken = details(IDS) | {IDS[2]: {"cost": 1}}
    path = write(tmp_path / "broken.json", broken)
    refused(path, f"{IDS[2]} has no `resolved` that is true or false")


def test_reports_results_and_details_in_one_tree(tmp_path, items):
    tree = tmp_path / "tree"
    write(tree / "m.r.json", report(resolved=IDS[:3], unresolved=IDS[3:]))
    write(tree / "s" / "results" / "results.json", {"resolved": list(IDS[:2])})
    write(tree / "d" / "per_instance_details.json", details(IDS[:1]))
    benchmark = jaxbench.read(tree, items=items)
    assert benchmark.models == ("d", "m", "s")
    assert benchmark.scores.sum(axis=1).tolist() == [1, 3, 2]


def test_a_submission_with_results_and_details(tmp_path):
    home = tmp_path / "tree" / "sub"
    write(home / "per_instance_details.json", details(IDS[:2]))
    results = write(home / "results" / "results.json", {"resolved": list(IDS[:2])})
    # The details hold every instance, so no list of items is needed.
    assert jaxbench.read(tmp_path / "tree").scores.tolist() == [[1, 1, 0, 0]]
    write(results, {"resolved": list(IDS[:1])})
    refused(tmp_path / "tree", "disagree on", IDS[1])


def test_one_submission_on_two_boards(tmp_path):
    for board in ("lite", "verified"):
        write(tmp_path / board / "sub" / "per_instance_details.json", details(IDS))
    refused(tmp_path, "'sub' has 2 scores", "/lite/sub/", "/verified/sub/", "leave out all but one")


@pytest.mark.parametrize(
    ("instance", "repository"),
    [
        ("scikit-learn__scikit-learn-10297", "scikit-learn/scikit-learn"),
        (f"instance_NodeBB__NodeBB-{COMMIT}-v{COMMIT}", "NodeBB/NodeBB"),
        (f"instance_element-hq__element-web-{COMMIT}-vnan", "element-hq/element-web"),
        (f"protonmail__webclients-{COMMIT}", "protonmail/webclients"),
        ("some-task", "all"),
    ],
)
def test_the_task_is_the_repository(instance, repository, tmp_path):
    path = write(tmp_path / "m.r.json", report(resolved=[instance]))
    assert jaxbench.read(path).tasks == (repository,)


def test_a_report_of_one_instance_says_what_it_is(tmp_path):
    content = {IDS[0]: {"patch_is_None": False, "patch_exists": True, "resolved": False}}
    refused(write(tmp_path / "report.json", content), "the report of one instance")


def test_files_of_another_shape(tmp_path):
    refused(write(tmp_path / "m.r.json", "[]"))
    path = write(tmp_path / "n.r.json", report(resolved=IDS))
    path.write_bytes(path.read_bytes()[:-30])
    refused(path, "no JSON at line", "cut off")
    refused(path, "does not look like format=lm_eval, but like swe_bench", format="lm_eval")
    refused(path, "where means nothing for format=swe_bench", where={"a": "b"})
