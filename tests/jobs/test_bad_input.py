"""Bad input: one clear line, exit status 2, nothing left behind."""

import json
import os
import re
import shlex

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from commands import QUICK, answer, elsewhere, everything_below, refused
from jaxbench.errors import BadRequest
from jaxbench.jobs import attack_command
from jaxbench.options.table import ATTACK, KNOWN
from pairs import item_frame, score_frame, write_pair


@pytest.fixture
def here(tmp_path):
    with elsewhere(tmp_path) as folder:
        yield folder


@pytest.fixture
def refuse(capsys, here):
    """Refused as `jaxbench attack` refuses, with these words."""

    def check(*arguments, words, lines=1):
        return refused(capsys, here, ("attack", *arguments), *words, lines=lines)

    return check


@pytest.fixture
def refuse_job(here):
    """Refused by the job itself, without Hydra, which takes a tenth of a second."""

    def check(*words, **options):
        before = everything_below(here)
        with pytest.raises(BadRequest) as refusal:
            attack_command.run(options, "jaxbench attack")
        assert everything_below(here) == before
        message = str(refusal.value)
        assert len(message.splitlines()) == 1
        for word in words:
            assert word in message, (word, message)
        return message

    return check


@pytest.fixture
def refuse_pair(refuse_job, here):
    """Refused because of what stands in the tables of `path=`."""

    def check(*words, items=None, scores=None, **options):
        write_pair(here / "data", items, scores)
        return refuse_job(*words, path="data", **options)

    return check


# Values of options

WHOLE = "expected a whole number"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[]", ["at least one budget"]),
        ("[0]", ["0", ">= 1"]),
        ("0", ["0", ">= 1"]),
        ("[1,-2]", ["-2", ">= 1"]),
        ("[4,2]", ["[4,2]", "rise", "2 follows 4"]),
        ("[1,8,8]", ["[1,8,8]", "8 is repeated"]),
        ("[1,1.5]", ["1.5", WHOLE]),
        ("[1,2.0]", ["2.0", WHOLE]),
        ("[1,many]", ["many", WHOLE]),
        ("many", ["many", WHOLE]),
        ("[1,true]", ["true", WHOLE]),
        ("[[1,2]]", ["[1,2]", WHOLE]),
        ("[1,null]", [WHOLE]),
        ("'1,2'", ["1,2", WHOLE]),
        ("{a:1}", ["a", WHOLE]),
        ("", [WHOLE]),
    ],
)
def test_budgets(value, words, refuse):
    refuse(f"budgets={value}", words=["budgets", *words])


@pytest.mark.parametrize(
    "option",
    [
        *(f"trials={value}" for value in ("0", "-3", "1.5", "abc", "true", "[1]", "'7'", "")),
        "banks=0",
        "banks=many",
        "resamples=0",
    ],
)
def test_counts(option, refuse):
    refuse(option, words=[option.replace("'", ""), WHOLE, ">= 1"])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("split_seed_base=abc", [WHOLE]),
        ("split_seed_base=1.5", [WHOLE]),
        ("split_seed_base='202609230000'", [WHOLE]),
        ("bootstrap_seed=abc", [WHOLE]),
        ("bootstrap_seed=-1", [WHOLE, ">= 0"]),
        ("bootstrap_seed=false", [WHOLE]),
        ("routing_seed=''", ["expected text"]),
        ("save_trials=maybe", ["true or false"]),
        ("save_trials=1", ["true or false"]),
        ("overwrite=maybe", ["true or false"]),
        ("out=[a]", ["quoted"]),
        ("path=", ["expected"]),
        ("endpoints=[]", ["at least one", "top5", "full_frontier"]),
        ("endpoints=[top5,top5]", ["[top5,top5]", "repeated"]),
        ("interface=[]", ["at least one", "task"]),
    ],
)
def test_other_values(option, words, refuse):
    name = option.split("=")[0]
    refuse(option, words=[f"{name}=", *words], lines=2 if words == ["quoted"] else 1)


FRACTION = ("exact fraction", "0 and 1")


@pytest.mark.parametrize("value", ["0", "1", "0/3", "3/2", "-1/3", "1/0", "1/2/3", "abc", "2/x"])
def test_holdout_fraction(value, refuse_job):
    refuse_job(f"holdout_fraction={value}", *FRACTION, holdout_fraction=value)


@pytest.mark.parametrize("value", ["0/3/2", "3/2", "2", "nan", "inf", "true", ""])
def test_holdout_fraction_as_hydra_reads_it(value, refuse):
    refuse(f"holdout_fraction={value}", words=[f"holdout_fraction={value}", *FRACTION])


# Names of the contract that are not built yet

UNBUILT_OPTIONS = [option.name for option in ATTACK if not option.built]


@pytest.mark.parametrize("name", UNBUILT_OPTIONS)
def test_options_that_are_not_built_yet(name, refuse):
    refuse(f"{name}=1", words=[f"option {name}", "not built yet"])


@pytest.mark.parametrize("name", [*KNOWN, "benchmark"])
def test_values_that_do_not_exist(name, refuse_job):
    refuse_job(name, "'zzz'", "known: ", **{name: "zzz"})


# Where outcomes come from


def test_benchmark_together_with_path(refuse, here):
    write_pair(here / "data")
    refuse(
        "benchmark=terminal_science",
        "path=data",
        words=["benchmark=terminal_science", "path=data", "one of the two"],
    )


def test_benchmark_together_with_path_in_a_sweep(refuse, here):
    write_pair(here / "data")
    refuse(
        "-m",
        "benchmark=terminal_science",
        "path=data,data",
        words=["benchmark=terminal_science", "path=data"],
        lines=2,
    )


def test_path_that_is_not_there(refuse):
    refuse("path=nowhere", words=["path=nowhere", "no such file or folder"])


def test_a_table_without_rows(refuse, here):
    (here / "scores.csv").write_text("model,item_id,score\n")
    refuse("path=scores.csv", words=["scores.csv", "no rows"])


@pytest.mark.parametrize("file", ["items.parquet", "scores.parquet"])
def test_missing_file(file, refuse, here):
    (write_pair(here / "data") / file).unlink()
    refuse("path=data", words=[f"data/{file}", "is missing"])


@pytest.mark.parametrize("file", ["items.parquet", "scores.parquet"])
@pytest.mark.parametrize(
    "content",
    [b"", b"item_id,task\n", b"PAR1 and no more PAR1"],
    ids=["empty", "CSV", "damaged"],
)
def test_file_that_is_no_parquet(file, content, refuse, here):
    (write_pair(here / "data") / file).write_bytes(content)
    refuse("path=data", words=[f"data/{file}", "cannot be read as Parquet"])


def test_folder_in_place_of_a_file(refuse, here):
    file = write_pair(here / "data") / "items.parquet"
    file.unlink()
    file.mkdir()
    refuse("path=data", words=["data/items.parquet", "not a regular file"])


@pytest.mark.parametrize(
    ("file", "column"),
    [("items", "item_id"), ("items", "task"), ("scores", "model"), ("scores", "score")],
)
def test_missing_column(file, column, refuse_pair):
    tables = {"items": item_frame(), "scores": score_frame()}
    tables[file] = tables[file].rename(columns={column: "something_else"})
    refuse_pair(f"data/{file}.parquet", repr(column), "missing", "something_else", **tables)


# Words with `=`, `,` and the like

SPECIAL = ["a=b", "a,b", "a b", "a(b)", "a[0]", "a{b}", "a:b", "a#b", "a;b", "it's", 'say "x"']
SPECIAL += ["back\\slash", "end\\", "ä", "~tilde", "a&b", "$a"]


@pytest.mark.parametrize(
    ("option", "name"),
    [*(("path", name) for name in SPECIAL), *(("out", name) for name in SPECIAL[:3])],
)
def test_unquoted_name_gets_a_line_that_works(option, name, refuse, capsys):
    error = refuse(f"{option}={name}", words=[f"{option}={name}", "quoted"], lines=2)
    words = shlex.split(error.splitlines()[1])
    assert words[:2] == ["jaxbench", "attack"]
    found = answer(capsys, *words[1:], "--cfg", "job")
    assert (found.status, found.err) == (0, "")
    assert yaml.safe_load(found.out)[option] == name


@pytest.mark.parametrize("name", ["plain", "../up-1/x_y.z", "100%", "a@b", "x+y"])
def test_plain_names_need_no_quotes(name, refuse):
    refuse(f"path={name}", words=[f"path={name}: no such file or folder"])


@pytest.mark.parametrize("name", ["007", "1e3", "1_000", "true", "0x10"])
def test_names_that_look_like_numbers_stay_names(name, refuse, here):
    refuse(f"path={name}", words=[f"path={name}: no such file or folder"])
    (here / name).write_text("")
    refuse(f"out={name}", words=[f"out={name} is not a folder"])


def test_quoted_path_is_read(capsys, here):
    write_pair(here / "run=1,model=x")
    found = answer(capsys, "attack", 'path="run=1,model=x"', *QUICK, "out=run")
    assert (found.status, found.err) == (0, "")
    record = json.loads((here / "run/run.json").read_text())
    assert record["benchmark"]["name"] == "run=1,model=x"


# Scores


def with_score(value) -> pd.DataFrame:
    """The good scores, that of the third model on the fifth item aside."""
    scores = score_frame()
    scores.loc[2 * 12 + 4, "score"] = value
    return scores


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (1.2, "1.2"),
        (-0.1, "-0.1"),
        (1.001, "1.001"),
        (85.0, "85.0"),
        (1e300, "1e+300"),
    ],
)
def test_score_that_is_no_number_in_0_1(value, shown, refuse_pair):
    refuse_pair(shown, "'model c'", "'item 04'", "[0, 1]", scores=with_score(value))


def test_empty_score(refuse_pair):
    table = pa.Table.from_pandas(with_score(float("nan")), preserve_index=False)
    assert table["score"].null_count == 1
    refuse_pair("'model c'", "'item 04'", "[0, 1]", scores=table)


def test_several_bad_scores_are_counted(refuse_pair):
    scores = score_frame()
    scores["score"] *= 100
    bad = int((scores["score"] > 1).sum())
    refuse_pair("score 50.0", "'item 00'", f"{bad} such scores", scores=scores)


@pytest.mark.parametrize("value", ["0.5", [0.5], pd.Timestamp("2026-01-01")], ids=str)
def test_score_that_is_no_number_at_all(value, refuse_pair):
    scores = score_frame()
    scores["score"] = [value] * len(scores)
    refuse_pair("data/scores.parquet", "'score'", "expected numbers", scores=scores)


def test_two_scores_for_one_model_and_item(refuse_pair):
    scores = pd.concat([score_frame(), score_frame().iloc[[4]]])
    refuse_pair("data/scores.parquet", "'model a'", "2 scores", "'item 04'", scores=scores)


def test_model_that_misses_items(refuse_pair):
    refuse_pair(
        "data/scores.parquet",
        "1 of 3 models",
        "'model b' misses 4 of 12",
        "'item 00'",
        "1 more",
        scores=score_frame().drop(index=range(12, 16)),
    )


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_models(count, refuse_pair):
    words = ["found 1 model", "at least two"] if count else ["data/scores.parquet", "no rows"]
    refuse_pair(*words, scores=_typed(score_frame()[: 12 * count]))


def test_no_items_at_all(refuse_pair):
    refuse_pair("data/items.parquet", "no rows", items=_typed(item_frame()[:0]))


def _typed(frame: pd.DataFrame) -> pa.Table:
    """With its column types, which an empty table would lose."""
    full = {"score": pa.float64()}
    schema = pa.schema([(name, full.get(name, pa.string())) for name in frame.columns])
    return pa.Table.from_pandas(frame, schema=schema, preserve_index=False)


def test_score_of_an_unknown_item(refuse_pair):
    scores = score_frame()
    scores.loc[3, "item_id"] = "item 99"
    refuse_pair("data/scores.parquet", "row 4 of", "'item 99'", "items.parquet", scores=scores)


@pytest.mark.parametrize("value", [0, 1.5, -1, float("nan")])
def test_repeats(value, refuse_pair):
    scores = score_frame()
    scores["repeats"] = 3.0
    scores.loc[7, "repeats"] = value
    refuse_pair("data/scores.parquet", "row 8 of", "repeats", "whole number", scores=scores)


# Items


def test_item_named_twice(refuse_pair):
    items = pd.concat([item_frame(), item_frame()[:1]])
    refuse_pair("data/items.parquet", "item_id", "more than once", "'item 00'", items=items)


@pytest.mark.parametrize("value", [None, "", "  "], ids=repr)
@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("items", "item_id"),
        ("items", "task"),
        ("items", "prompt_sha256"),
        ("items", "category"),
        ("scores", "model"),
        ("scores", "item_id"),
    ],
)
def test_empty_names(file, column, value, refuse_pair):
    tables = {"items": item_frame(), "scores": score_frame()}
    tables["items"]["category"] = "all"
    tables[file][column] = [*tables[file][column][:2], value, *tables[file][column][3:]]
    refuse_pair(f"data/{file}.parquet", "row 3 of", f"empty {column}", **tables)


def test_prompt_in_two_tasks(refuse_pair):
    items = item_frame()
    items.loc[8, "prompt_sha256"] = items.loc[1, "prompt_sha256"]
    refuse_pair(
        f"{1:064x}", "two tasks", "'item 01'", "'left'", "'item 08'", "'right'", items=items
    )


def test_task_of_one_item(refuse_pair):
    items = item_frame()
    items["task"] = ["left"] * 11 + ["right"]
    refuse_pair("task 'right'", "1 item", items=items)


@pytest.mark.parametrize(("fraction", "side"), [("1/100", "held-out"), ("99/100", "reused")])
def test_fraction_that_empties_a_side(fraction, side, refuse_pair):
    refuse_pair("task 'left'", side, holdout_fraction=fraction)


def test_task_whose_prompts_cannot_be_split(refuse_pair):
    items = item_frame()
    items["prompt_sha256"] = ["one prompt"] * 6 + list(items["prompt_sha256"][6:])
    refuse_pair("task 'left'", "cannot be split", "4 of 6 items", items=items)


def test_advice_names_only_options_that_are_built(refuse_pair):
    items = item_frame()
    items["task"] = ["left"] * 11 + ["right"]
    error = refuse_pair("task 'right'", items=items)
    assert set(re.findall(r"[a-z]+_[a-z_]+", error)).isdisjoint(UNBUILT_OPTIONS)


def test_equal_category_without_categories(refuse_pair):
    refuse_pair("equal_category", "no categories", scoring="equal_category")


def test_equal_category_with_mixed_tasks(refuse_pair):
    items = item_frame()
    items["category"] = ["odd", "even"] * 6
    refuse_pair("equal_category", "'left'", "2 categories", items=items, scoring="equal_category")


# Where results go


def test_out_that_is_a_file(refuse, here):
    (here / "notes").write_text("mine")
    refuse("out=notes", words=["out=notes", "not a folder"])


def test_out_below_a_file(refuse, here):
    (here / "notes").write_text("mine")
    error = refuse("out=notes/run", words=["out=notes/run", "notes", "not a folder"])
    assert "permission" not in error


def test_out_that_is_too_long(refuse):
    refuse(f"out={'x' * 300}", words=["out=x", "too long"])


@pytest.mark.parametrize("out", ["/proc/run", "/proc/new/run"])
def test_out_where_nothing_can_be_made(out, refuse):
    refuse(*QUICK, f"out={out}", words=["/proc"])


@pytest.mark.parametrize("overwrite", [(), ("overwrite=true",)], ids=" ".join)
def test_out_with_files_that_are_no_run(overwrite, refuse, here):
    (here / "thesis").mkdir()
    (here / "thesis/chapter.tex").write_text("mine")
    refuse("out=thesis", *overwrite, words=["out=thesis", "not a jaxbench run"])


@pytest.mark.parametrize("content", ["{}", "[]", "not JSON", '{"command": "python train.py"}'])
def test_a_run_json_of_another_program_is_no_run(content, refuse, here):
    (here / "other").mkdir()
    (here / "other/run.json").write_text(content)
    refuse(*QUICK, "out=other", "overwrite=true", words=["out=other", "not a jaxbench run"])


def test_out_that_is_the_current_folder(refuse, here):
    error = refuse(*QUICK, "out=.", words=["out=."])
    assert "holds files" not in error


def test_out_with_another_run(capsys, refuse, here):
    assert answer(capsys, "attack", *QUICK, "out=run").status == 0
    before = {name: (here / name).read_bytes() for name in everything_below(here) - {"run"}}
    refuse("out=run", words=["out=run", "another run", "overwrite=true"])
    assert {name: (here / name).read_bytes() for name in before} == before


def test_a_refused_request_keeps_the_run_it_would_have_replaced(capsys, refuse, here):
    assert answer(capsys, "attack", *QUICK, "out=run").status == 0
    before = {name: (here / name).read_bytes() for name in everything_below(here) - {"run"}}
    refuse("out=run", "overwrite=true", "trials=0", words=["trials=0"])
    assert {name: (here / name).read_bytes() for name in before} == before


# The same through a process: no import hook, no settings of the tests


def test_a_process_refuses_alike(run_cli, tmp_path):
    write_pair(tmp_path / "data", scores=with_score(float("inf")))
    before = everything_below(tmp_path)
    done = run_cli("attack", "path=data")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    for word in ("jaxbench attack: ", "score inf", "'model c'", "'item 04'", "[0, 1]"):
        assert word in line
    assert everything_below(tmp_path) == before


def test_a_pipe_is_not_waited_for(refuse, here):
    file = write_pair(here / "data") / "scores.parquet"
    file.unlink()
    os.mkfifo(file)
    refuse("path=data", words=["data/scores.parquet", "not a regular file"])


def test_the_name_of_the_attacks_own_router_is_taken(refuse_pair):
    scores = score_frame()
    scores.loc[scores["model"] == scores["model"].iloc[0], "model"] = "Final router"
    refuse_pair("'Final router'", "another name", scores=scores)


def test_percentages_get_a_hint(refuse_pair):
    scores = score_frame()
    scores["score"] = scores["score"] * 100
    refuse_pair("data/scores.parquet:", "max_score=100", scores=scores)


def test_results_do_not_go_where_the_outcomes_are(refuse, here):
    write_pair(here / "run/data")
    refuse("path=run/data", "out=run", words=["out=run", "name a"])
    refuse("path=run/data", "out=run/data", words=["out=run/data"])


def test_more_tasks_than_a_program_can_hold(refuse_pair):
    items, scores = [], []
    for i in range(2 * 257):
        items.append({"item_id": f"i{i}", "task": f"t{i // 2}"})
        scores += [{"model": m, "item_id": f"i{i}", "score": float(m == "a")} for m in "ab"]
    refuse_pair("257 tasks", "256", "min_task_items",
                items=pd.DataFrame(items), scores=pd.DataFrame(scores))  # fmt: skip
