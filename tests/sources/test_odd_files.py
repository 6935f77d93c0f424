"""Odd files: refused in words that start with the path, or read as what they are; never run."""

import json
import os
import pickle
import warnings

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxbench
from commands import elsewhere, refused
from jaxbench.errors import BadRequest
from outcome_files import CSV, MATRIX, lines, put, refuse, scores

GOOD = pd.DataFrame({"model": list("aabb"), "item_id": [1, 2, 1, 2], "score": [1, 0, 0, 1]})
LIST = json.dumps(GOOD.to_dict("records"))
JSON_LINES = GOOD.to_json(orient="records", lines=True)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory) -> bytes:
    return put(tmp_path_factory.mktemp("parquet") / "x.parquet", GOOD).read_bytes()


# What is wrong is said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("is empty",)),
        (b" \r\n\t\n", ("is empty",)),
        (b"\xef\xbb\xbf", ("is empty",)),
        ("model,item_id,score\n", ("no rows",)),
        ("model,item_id,score", ("no rows",)),
        (CSV + "c,q1\n", ("row 7", "2 fields, expected 4", "c,q1")),
        (CSV + "c,q1,t,1,1\n", ("row 7", "5 fields, expected 4")),
        (CSV + "c," + "q" * 10**6 + "\n", ("row 7", "2 fields", "qqq...")),
        (CSV.replace("task", "model"), ("'model' stands more than once",)),
        (CSV.replace("b,q1", "b\0,q1"), ("zero byte",)),
        (CSV + "x" * 70000 + "\n\0", ("line 9 holds a zero byte",)),
        (CSV.encode("utf-16-le"), ("zero bytes", "UTF-8")),
        (CSV.encode("utf-32"), ("zero bytes", "UTF-8")),
        (CSV.encode("utf-16") + b"x", ("not UTF-16",)),
        (CSV.replace("b,q3", "é,q3").encode("latin-1"), ("line 7 is not UTF-8",)),
        ((CSV + "é,q1,t,1\n").encode() + "ü,q1,t,1\n".encode("latin-1"), ("line 9 is not UTF-8",)),
        (bytes(range(256)) * 300, ("zero bytes",)),
        (b"\x1f\x8b\x08\0\0\0\0\0", ("compressed", "unpack")),
        (b"PK\x03\x04 and no more", ("damaged zip archive",)),
        (b"PAR1", ("cannot be read as Parquet",)),
        (b"PAR1 and no more PAR1", ("cannot be read as Parquet",)),
        (b"\x93NUMPY\x01\0v\0{'descr': '|O'}", ("zero bytes",)),
        ("x" * 10**7, ("cannot be read as CSV", "field larger")),
        ("x" * 10**5, ("columns xxx",)),
        ('"' + "x" * 10**7, ("cannot be read as CSV",)),
        ("5", ("columns 5",)),
        ("[]", ("no columns",)),
        ("{}", ("no columns",)),
        ("[1, 2]", ("no columns",)),
        ('["a", "b"]', ("no columns",)),
        (LIST[:-5], ("no JSON at line 1", "cut off")),
        (LIST[:-20], ("no JSON at line 1", "cut off")),
        (LIST + "]", ("no JSON at line 1",)),
        (LIST[:-1] + ", 7]", ("entry 5 is no JSON object",)),
        (JSON_LINES[:-9], ("line 4 is no JSON", "cut off")),
        (JSON_LINES[:30], ("cut off",)),
        (JSON_LINES + "7\n", ("line 5 is no JSON object",)),
        (JSON_LINES.replace('"b"', '"é"').encode("latin-1"), ("line 3 is not UTF-8",)),
        (JSON_LINES * 5000 + '{"model', ("line 20001 is no JSON", "cut off")),
        ("[" * 10**5, ("nested too deeply",)),
        ('[{"model": "a", "item_id": ' + "[" * 10**5 + "]" * 10**5 + "}]", ("nested too deeply",)),
        ('{"model": "a", "item_id": ' + "[" * 10**5 + "]" * 10**5 + "}\n", ("line 1",)),
        ('[{"model": "a", "item_id": 1, "score": {"x": 1}}]', ("entry 1", "'score' holds dict")),
        ('[{"model": "a", "item_id": [1], "score": 1}]', ("entry 1", "'item_id' holds list")),
        ('[{"model": "a", "item_id": 1, "score": 1' + "0" * 5000 + "}]", ("no JSON", "digits")),
        ('[{"model": "a", "item_id": 1, "score": 1' + "0" * 30 + "}]", ("row 1", "score 1e+30")),
        ('[{"model": "\\ud800", "item_id": 1, "score": 1}]', ("entry 1", "'model'", "UTF-8")),
        ('[{"model": "a", "item_id": 1, "score": Infinity}]', ("row 1", "score inf")),
    ],
    ids=lambda value: None if isinstance(value, tuple) else repr(value[:30]),
)
@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_files_that_are_refused(content, words, name, tmp_path):
    error = refuse(put(tmp_path / name, content), *words)
    assert len(error) < 1200


def test_parquet_that_is_cut_off_or_damaged(parquet, tmp_path):
    for length in (5, 100, len(parquet) // 2, len(parquet) - 1):
        refuse(put(tmp_path / "x.csv", parquet[:length]), "cannot be read as Parquet")
    damaged = bytearray(parquet)
    damaged[20:60] = b"\xff" * 40
    refuse(put(tmp_path / "x.parquet", bytes(damaged)), "cannot be read as Parquet")


@given(data=st.data())
def test_no_damage_is_a_crash(data, parquet, tmp_path_factory):
    kinds = [CSV.encode(), LIST.encode(), JSON_LINES.encode(), parquet]
    content = data.draw(st.sampled_from(kinds))
    start = data.draw(st.integers(0, len(content)))
    put_in = data.draw(st.binary(max_size=6))
    cut = data.draw(st.integers(0, 40))
    path = tmp_path_factory.getbasetemp() / "damaged.csv"
    path.write_bytes(content[:start] + put_in + content[start + cut :])
    said = ""
    try:
        benchmark = jaxbench.read(path)
    except BadRequest as refusal:
        said = str(refusal)
    else:
        assert benchmark.counts.min() >= 0
        assert benchmark.counts.max() <= benchmark.denominator
    assert not said or said.startswith(str(path))


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.list_(pa.int64()), pa.struct([("x", pa.int64())])], ids=str
)
def test_names_that_are_no_text(kind, tmp_path):
    values = {pa.binary(): b"\xff", pa.list_(pa.int64()): [1]}.get(kind, {"x": 1})
    table = pa.table({"model": ["a"], "item_id": pa.array([values], kind), "score": [1]})
    refuse(put(tmp_path / "x.parquet", table), "'item_id' holds", "expected text")


# What is odd and right


def test_the_suffix_does_not_matter(parquet, tmp_path):
    right = {"a": {"1": 1, "2": 0}, "b": {"1": 0, "2": 1}}
    for name, content in (
        ("pq.csv", parquet), ("csv.json", GOOD.to_csv(index=False)), ("list.csv", LIST),
        ("lines.parquet", JSON_LINES), ("x.txt", LIST), ("x", parquet), (".hidden", JSON_LINES),
    ):  # fmt: skip
        assert scores(jaxbench.read(put(tmp_path / name, content))) == right


ODD = ["[red]x[/red]", "<script>alert(1)</script>", "a\nb", "\x1b[31mred", "=cmd()", "+1", "-1",
       "@x", "ünï", "模型", "😀", "\u202eabc", "a" * 5000, "../../x", "%s {x} $HOME", "'", '"',
       "\\", "a,b;c\td|e", "NaN", "None", "x\u2028y"]  # fmt: skip


def test_names_of_any_kind_stay_as_they_are(tmp_path):
    frame = pd.DataFrame([(m, i, len(m) % 2) for m in ODD for i in ODD[:3]],
                         columns=["model", "item_id", "score"])  # fmt: skip
    expected = tuple(sorted(ODD))
    for name, content in (
        ("x.csv", frame.to_csv(index=False)),
        ("x.parquet", frame),
        ("x.jsonl", frame.to_json(orient="records", lines=True)),
        ("x.json", frame.to_json(orient="records")),
    ):
        benchmark = jaxbench.read(put(tmp_path / name, content))
        assert benchmark.models == expected
        assert benchmark.items == tuple(sorted(ODD[:3]))
        assert [row[0] for row in benchmark.counts] == [len(m) % 2 for m in expected]


def test_columns_of_any_name(tmp_path):
    text = CSV.replace("task", '"=cmd();\n[red]"')
    path = put(tmp_path / "x.csv", text)
    benchmark = jaxbench.read(path, columns={"task": "=cmd();\n[red]"})
    assert benchmark.tasks == ("t", "u")
    assert benchmark.scores.tolist() == MATRIX


# Nothing is executed


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("name", ["x.pkl", "x.csv", "x.parquet"])
def test_pickled_objects_are_not_loaded(protocol, name, tmp_path):
    sprung = tmp_path / "sprung"
    content = pickle.dumps(Trap(sprung), protocol=protocol)
    assert b"open" in content
    refuse(put(tmp_path / name, content))
    refuse(put(tmp_path / "d" / name, content).parent, starts=tmp_path / "d")
    assert not sprung.exists()
    pickle.loads(content).close()
    assert sprung.exists()


def test_pickled_types_of_parquet_are_not_loaded(tmp_path):
    sprung = tmp_path / "sprung"
    meta = {b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": pickle.dumps(Trap(sprung))}  # fmt: skip
    table = pa.table({"model": ["a"], "item_id": ["1"], "score": [1]})
    table = table.set_column(1, pa.field("item_id", pa.string(), metadata=meta), table["item_id"])
    path = put(tmp_path / "x.parquet", table)
    with warnings.catch_warnings():
        # Some versions of pyarrow say that they do not.
        warnings.simplefilter("ignore", RuntimeWarning)
        assert jaxbench.read(path).items == ("1",)
    assert not sprung.exists()


# What is no file


def test_what_is_no_file(tmp_path):
    folder = tmp_path / "x.csv"
    folder.mkdir()
    refuse(folder, "no file of results")
    put(folder / "y.csv/z.csv", CSV)
    assert jaxbench.read(folder).scores.tolist() == MATRIX
    os.mkfifo(tmp_path / "pipe.csv")
    refuse(tmp_path / "pipe.csv", "not a regular file")
    os.mkfifo(folder / "pipe.csv")
    assert jaxbench.read(folder).scores.tolist() == MATRIX


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    put(tmp_path / "file", "x")
    for name, words in (
        ("loop.csv", "symbolic links"), ("gone.csv", "no such file"), ("a\0b", "no such file"),
        ("x" * 300, "too long"), ("file/x.csv", "no such file"),
    ):  # fmt: skip
        path = f"{tmp_path}/{name}"
        with pytest.raises(BadRequest) as refusal:
            jaxbench.read(path)
        assert str(refusal.value).startswith(f"path={path}")
        assert words in str(refusal.value)


def test_a_folder_that_holds_itself(tmp_path):
    put(tmp_path / "d/x.csv", CSV)
    (tmp_path / "d/again").symlink_to(tmp_path / "d")
    assert jaxbench.read(tmp_path / "d").scores.tolist() == MATRIX


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read(tmp_path):
    path = put(tmp_path / "x.csv", CSV)
    path.chmod(0)
    refuse(path, "permission denied")


def test_a_read_that_fails(tmp_path, monkeypatch):
    path = put(tmp_path / "x.csv", CSV)

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", denied)
    refuse(path, "cannot be read", "permission denied")


# Folders


def test_a_broken_file_among_results_is_not_left_out(tmp_path):
    put(tmp_path / "d/a.jsonl", JSON_LINES)
    put(tmp_path / "d/b.jsonl", JSON_LINES[:10])
    refuse(tmp_path / "d", "b.jsonl", "no JSON at line 1", "cut off")
    (tmp_path / "d/b.jsonl").write_text("")
    put(tmp_path / "d/notes.json", "{")
    benchmark = jaxbench.read(tmp_path / "d")
    assert "note: not read: 2 files: 'b.jsonl', 'notes.json'" in benchmark.provenance


# Through the command line: exit status 2, one line, nothing written


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CSV + "c,q1\n", "row 7 has 2 fields"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
        (bytes(range(256)), "zero bytes"),
        (CSV.replace("b,q1,t,0", '"b\n\x1b[31m[red]",q1,t,much'), "'much' is no score"),
        (lines("model,item_id,score", '"\x1b[31ma\nb",1,'), "no row has a score"),
    ],
)
def test_the_command_line(content, words, tmp_path, capsys):
    with elsewhere(tmp_path) as here:
        put(here / "x.csv", content)
        error = refused(capsys, here, ("attack", "path=x.csv"), "jaxbench attack: x.csv", words)
        assert "\x1b" not in error
