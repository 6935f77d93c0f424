"""Options that say how files are read: tied to what reads them, checked, and kept in a record."""

from dataclasses import fields
from fractions import Fraction

import pytest

from jaxbench.errors import BadRequest
from jaxbench.options.reading import (
    FORMATS,
    MISMATCH,
    MISSING,
    ROLES,
    SHARED_PROMPTS,
    SOURCE,
    SOURCE_NAMES,
    ReadOptions,
    check_reading,
)
from jaxbench.sources.registry import READERS
from jaxbench.sources.tables import long_table, universe, wide_table
from jaxbench.sources.tables.roles import GUESSES

TABLE = {option.name: option for option in SOURCE}


def test_formats_are_those_that_have_a_reader():
    assert tuple(READERS) == FORMATS
    assert TABLE["format"].values == ", ".join(f"`{name}`" for name in FORMATS)


def test_roles_are_those_that_are_guessed_and_used():
    assert set(ROLES) == set(GUESSES)
    used = {*long_table.TEXT_ROLES, "score", "repeats", "prompt"}
    assert used == set(ROLES)
    assert set(universe.ROLES) <= set(ROLES)
    spelled = {name.replace("prompt_sha256", "prompt_hash") for name in wide_table.FACT_NAMES}
    assert spelled <= set(ROLES)
    assert all(f"`{role}`" in TABLE["columns"].meaning for role in ROLES)


def test_every_option_has_a_field_and_a_row():
    assert {field.name for field in fields(ReadOptions)} | {"benchmark", "path"} == set(
        SOURCE_NAMES
    )
    for name, known in (("missing", MISSING), ("shared_prompts", SHARED_PROMPTS),
                        ("mismatch", MISMATCH)):  # fmt: skip
        assert TABLE[name].values == ", ".join(f"`{word}`" for word in known)
        # The default is the first.
        assert getattr(ReadOptions(), name) == known[0]


GIVEN = {
    "format": "long",
    "score": ["acc", "f1"],
    "columns": {"model": "who", "item_id": "q id"},
    "where": {"axis": ["x", "y"], "seed": ["1"]},
    "items": "list.txt",
    "missing": "drop_fewest",
    "shared_prompts": "drop",
    "max_score": "5/2",
    "mismatch": "note",
    "anonymise": True,
}


def test_what_is_kept_resolves_to_the_same():
    options = ReadOptions.of(GIVEN)
    assert options.as_options() == GIVEN
    assert ReadOptions.of(options.as_options()) == options
    assert ReadOptions().as_options() == {}
    assert ReadOptions.of(dict.fromkeys(GIVEN)) == ReadOptions()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"score": "acc"}, ("acc",)),
        ({"score": ["acc"]}, ("acc",)),
        ({"where": {"axis": "x"}}, {"axis": ("x",)}),
        ({"where": {"seed": 3}}, {"seed": ("3",)}),
        ({"where": {"seed": [3, 4.5]}}, {"seed": ("3", "4.5")}),
        ({"where": {"good": True}}, {"good": ("true",)}),
        ({"columns": {"model": 7}}, {"model": "7"}),
        ({"max_score": 100}, Fraction(100)),
        ({"max_score": 0.1}, Fraction(1, 10)),
        ({"max_score": "1/3"}, Fraction(1, 3)),
    ],
)
def test_values_as_they_are_taken(given, expected):
    (name,) = given
    assert getattr(ReadOptions.of(given), name) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"format": "csv"}, ("format", "'csv'", "long")),
        ({"missing": "drop"}, ("missing", "'drop'", "drop_fewest")),
        ({"shared_prompts": "keep"}, ("shared_prompts", "'keep'", "refuse, drop")),
        ({"mismatch": "ignore"}, ("mismatch", "'ignore'", "note")),
        ({"columns": "who"}, ("columns=who", "{ROLE:NAME,...}")),
        ({"columns": {}}, ("columns={}", "{ROLE:NAME,...}")),
        ({"columns": {"modle": "who"}}, ("columns", "'modle'", "did you mean model")),
        ({"columns": {"model": ""}}, ("columns.model", "expected text")),
        ({"columns": {"model": None}}, ("columns.model", "expected text")),
        ({"columns": {"model": ["a"]}}, ("columns.model=[a]", "expected text")),
        ({"where": "axis"}, ("where=axis", "{COLUMN:VALUE,...}")),
        ({"where": ["axis"]}, ("where=[axis]", "{COLUMN:VALUE,...}")),
        ({"score": ""}, ("score=", "expected text")),
        ({"score": ["acc", None]}, ("score=None", "expected text")),
        ({"max_score": 0}, ("max_score=0", "> 0")),
        ({"max_score": "-1"}, ("max_score=-1", "> 0")),
        ({"max_score": "inf"}, ("max_score=inf", "> 0")),
        ({"max_score": True}, ("max_score=true", "> 0")),
        ({"max_score": "1/0"}, ("max_score=1/0", "> 0")),
        ({"anonymise": "yes"}, ("anonymise=yes", "true or false")),
    ],
    ids=str,
)
def test_values_that_are_refused(given, words):
    with pytest.raises(BadRequest) as refusal:
        ReadOptions.of(given)
    for word in words:
        assert word in str(refusal.value), (word, str(refusal.value))


@pytest.mark.parametrize("name", [n for n in SOURCE_NAMES if n not in ("benchmark", "path")])
def test_options_of_files_without_files(name):
    check_reading({"path": "x.csv", name: GIVEN[name]})
    if name == "anonymise":
        check_reading({name: True})
        return
    with pytest.raises(BadRequest, match=f"^{name} means nothing without path"):
        check_reading({name: GIVEN[name]})
    with pytest.raises(BadRequest, match=f"^{name} means nothing without path"):
        check_reading({"benchmark": "terminal_science", name: GIVEN[name]})
