"""Where outcomes come from and how files are read: options that several jobs share."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction

from jaxbench.errors import BadRequest
from jaxbench.options import parse
from jaxbench.options.option import Option

FORMATS = (
    "native", "long", "wide", "lm_eval", "inspect", "swe_bench", "every_eval_ever", "responses",
)  # fmt: skip
# Columns of a long table, by the names that `columns=` gives them.
ROLES = (
    "model", "item_id", "task", "category", "score", "epoch", "repeats", "prompt", "prompt_hash",
    "doc_hash", "subtask", "chance",
)  # fmt: skip
MISSING = ("refuse", "drop_items", "drop_models", "drop_fewest")
# A third, `keep`, is for studies that split nothing: they set it, users cannot.
SHARED_PROMPTS = ("refuse", "drop")
MISMATCH = ("refuse", "note")

SOURCE = (
    Option("benchmark", "`terminal_science`", "the same", "a name of `jaxbench list`",
           "where outcomes come from; not together with `path`"),
    Option("path", "", "", "a file or folder",
           "your own outcomes; a folder with one file per model is one benchmark"),
    Option("format", "from the content", "the same", ", ".join(f"`{f}`" for f in FORMATS),
           "`path`: the format of the files"),
    Option("score", "the only one", "the same", "a name, or a list",
           "`path`: which score (`metric`, `metric,filter`, scorer); of a list, each task takes "
           "the first that it has; of a wide table, the columns of scores"),
    Option("columns", "guessed", "the same", "`{model:NAME,item_id:NAME,...}`",
           "`path`: columns of a table, by role: " + ", ".join(f"`{r}`" for r in ROLES)),
    Option("where", "all rows", "the same", "`{COLUMN:VALUE,...}`",
           "`path`: only the rows of a table with these values; of lm_eval, `{task:NAME}`"),
    Option("items", "", "", "a file",
           "`path`: every item of the benchmark, for logs that hold only successes or only "
           "failures; may give `task`, `category` and `prompt`"),
    Option("missing", "`refuse`", "the same", ", ".join(f"`{m}`" for m in MISSING),
           "`path`: what to leave out where models lack items"),
    Option("shared_prompts", "`refuse`", "the same", "`refuse`, `drop`",
           "`path`: what to do with items whose prompt stands in two tasks"),
    Option("max_score", "1, or 100 for percentages", "the same", "a number > 0",
           "`path`: the score of a perfect answer"),
    Option("mismatch", "`refuse`", "the same", "`refuse`, `note`",
           "`path`: what to do where a log's own mean is not that of its rows"),
    Option("anonymise", "false", "false", "true, false",
           "replace the names of models and items in everything that is written"),
)  # fmt: skip
SOURCE_NAMES = tuple(option.name for option in SOURCE)


@dataclass(frozen=True)
class ReadOptions:
    """How files are read; fields bear the option names.

    `score` is empty and `max_score` None where the files decide; `format` is None where their
    content does. `shared_prompts` may also be `keep`, which no option gives.
    """

    format: str | None = None
    score: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    items: str | None = None
    missing: str = "refuse"
    shared_prompts: str = "refuse"
    max_score: Fraction | None = None
    mismatch: str = "refuse"
    anonymise: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "ReadOptions":
        """Check the options that were given (None: not given).

        **Errors:** `BadRequest` naming the option, what was found and what was expected.
        """
        asked = {name: value for name, value in given.items() if value is not None}
        made: dict[str, object] = {}
        words = {"format": FORMATS, "missing": MISSING, "shared_prompts": SHARED_PROMPTS,
                 "mismatch": MISMATCH}  # fmt: skip
        for name, known in words.items():
            if name in asked:
                made[name] = parse.choice(name, asked[name], known, known)
        if "score" in asked:
            made["score"] = tuple(parse.text("score", s) for s in parse.several(asked["score"]))
        if "columns" in asked:
            made["columns"] = _columns(asked["columns"])
        if "where" in asked:
            made["where"] = {
                column: tuple(_plain(f"where.{column}", v) for v in parse.several(value))
                for column, value in _mapping("where", asked["where"], "COLUMN:VALUE").items()
            }
        if "items" in asked:
            made["items"] = parse.text("items", str(asked["items"]))
        if "max_score" in asked:
            made["max_score"] = parse.positive("max_score", asked["max_score"])
        if "anonymise" in asked:
            made["anonymise"] = parse.boolean("anonymise", asked["anonymise"])
        return cls(**made)  # pyright: ignore[reportArgumentType]

    def as_options(self) -> dict[str, object]:
        """The options that differ from the defaults, as plain values that resolve to them again."""
        plain = ReadOptions()
        values: dict[str, object] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value == getattr(plain, one.name):
                continue
            if isinstance(value, Mapping):
                value = {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Fraction):
                value = str(value)
            values[one.name] = value
        return values


def check_reading(given: Mapping[str, object]) -> None:
    """Refuse both or neither source, and options of files without files.

    **Errors:** `BadRequest`.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    if "benchmark" in asked and "path" in asked:
        raise BadRequest(
            f"benchmark={parse.show(asked['benchmark'])} together with "
            f"path={parse.show(asked['path'])}: outcomes come from one of the two"
        )
    if "path" not in asked:
        for name in SOURCE_NAMES:
            if name in asked and name not in ("benchmark", "anonymise"):
                raise BadRequest(f"{name} means nothing without path: it says how files are read")


def _mapping(name: str, value: object, form: str) -> dict[str, object]:
    if not isinstance(value, Mapping) or not value:
        raise BadRequest(f"{name}={parse.show(value)}: expected {{{form},...}}")
    return {str(key): entry for key, entry in value.items()}


def _plain(name: str, value: object) -> str:
    if isinstance(value, Mapping | list | tuple) or value is None:
        raise BadRequest(f"{name}={parse.show(value)}: expected a value, or a list of them")
    return parse.show(value)


def _columns(value: object) -> dict[str, str]:
    named = _mapping("columns", value, "ROLE:NAME")
    for role, column in named.items():
        parse.choice("columns", role, ROLES, ROLES)
        named[role] = parse.text(f"columns.{role}", column)
    return {role: str(column) for role, column in named.items()}
