"""Named studies: a YAML file of options of `jaxbench attack` and of what is varied.

    summary: what the study asks
    options: {preset: simulation, trials: 1000}          # the same in every condition
    vary: {endpoints: [top5, full_frontier], seed: [0, 1]}   # a grid: every combination
    conditions: [{interface: task}, {interface: aggregate}]  # or a list, crossed with the grid
    sources: [{benchmark: at_hand}, {world: {items: 60}}]    # and with where outcomes come from
    impossible: skip                                     # what a benchmark cannot do is left out
    sizes: {smoke: {options: {trials: 20}}, full: {}}    # what each size changes
    figures: [{name: loss, metric: selection_loss_pp, lines: [endpoints], panels: benchmark}]
    contraction: {over: coordinates}                     # are curves one curve of numbers released
    table: policies                                      # what each policy is worth to a maintainer

`world` is a mapping of the parameters of a synthetic world, in place of a benchmark; what is varied
may be a parameter of it, `world.leader_gap`. `benchmark: at_hand` stands for every named benchmark
whose files are on this machine, in a list of conditions too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import yaml

from jaxbench.errors import BadRequest, counted, unknown
from jaxbench.options import parse
from jaxbench.options.figure import FigureSpec, read_figures
from jaxbench.options.grid import AT_HAND, WORLD, axis, grid, mapping, override
from jaxbench.options.option import check_name
from jaxbench.options.study_tables import TABLES
from jaxbench.options.table import ATTACK
from jaxbench.options.world import PARAMETERS

KEYS = (
    "summary", "options", "vary", "conditions", "sources", "impossible", "sizes", "figures",
    "contraction", "table",
)  # fmt: skip
# What a size can change.
CHANGED = ("options", "vary", "conditions", "sources")
IMPOSSIBLE = ("refuse", "skip")


@dataclass(frozen=True)
class ContractionSpec:
    """Whether curves that differ in `over` fall together when numbers released are counted.

    Curves are means over the columns of `average`; `level` is the share of false winners whose
    first budget is told.
    """

    over: str = "coordinates"
    average: tuple[str, ...] = ("interface", "world.seed", "seed")
    level: float = 0.9


@dataclass(frozen=True)
class Study:
    """A study at one size: the options of every condition, and which of them vary.

    `source` is the file as it was read. `contraction` and `table` ask for tables beside the
    summary. `notes` say what of the study has given way to options beside it.
    """

    name: str
    size: str
    summary: str
    conditions: tuple[dict[str, object], ...]
    varied: tuple[str, ...]
    figures: tuple[FigureSpec, ...]
    skip_impossible: bool
    source: Mapping[str, object]
    contraction: ContractionSpec | None = None
    table: str | None = None
    notes: tuple[str, ...] = ()


def study_directory() -> Path:
    """`sweeps/`: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "sweeps"
    return inside if inside.is_dir() else package.parent / "sweeps"


def study_names() -> list[str]:
    """The studies that go by a name."""
    return sorted(path.stem for path in study_directory().glob("*.yaml"))


def read_study(
    name: str, size: str, overrides: Mapping[str, object], at_hand: Callable[[], Sequence[str]]
) -> Study:
    """The conditions of a study.

    **Arguments:** `name`: a study of `sweeps/`, or a YAML file of that form; `size`: one of its
    sizes; `overrides`: options (None: not given) that take the place of the study's, a list where
    the study varies the option; `at_hand`: names the benchmarks whose files are here.

    **Errors:** `BadRequest` for an unknown study, size, key or option, and for an empty grid.
    """
    place, text = _find(name)
    found = _mapping(place, text, KEYS)
    sizes = {key: dict(mapping(place, f"sizes.{key}", value) or {})
             for key, value in mapping(place, "sizes", found.get("sizes")).items()}  # fmt: skip
    if not sizes:
        raise BadRequest(f"{place} has no sizes; expected sizes: {{smoke: ..., full: ...}}")
    if size not in sizes:
        raise unknown(f"size of study {name}", size, sizes)
    changed = sizes[size]
    for key in changed:
        if key not in CHANGED:
            raise unknown(f"key of sizes.{size} in {place}", key, CHANGED)
    options = mapping(place, "options", found.get("options"))
    options |= mapping(place, f"sizes.{size}.options", changed.get("options"))
    vary = mapping(place, "vary", found.get("vary"))
    vary |= mapping(place, f"sizes.{size}.vary", changed.get("vary"))
    conditions, sources = (
        _listed(place, key, changed.get(key, found.get(key)), at_hand)
        for key in ("conditions", "sources")
    )
    listed = [source | condition for source in sources for condition in conditions]
    gone = override(options, vary, listed, overrides)
    for part in (options, vary, *listed):
        for option in ("benchmark", "path", "items"):
            parse.no_address(option, part.get(option))
    for option in (*options, *vary, *(key for entry in listed for key in entry)):
        _check_option(place, option)
    axes = {key: axis(place, key, value, at_hand) for key, value in vary.items()}
    if options.get("benchmark") == AT_HAND:
        del options["benchmark"]
        axes["benchmark"] = list(at_hand())
    conditions = grid(place, options, axes, listed)
    impossible = parse.choice(
        f"impossible in {place}", found.get("impossible", "refuse"), IMPOSSIBLE, IMPOSSIBLE
    )
    return Study(
        name=Path(name).stem,
        size=size,
        summary=" ".join(str(found.get("summary", "")).split()),
        conditions=tuple(conditions),
        varied=(*axes, *sorted(_several(listed) - set(axes))),
        figures=read_figures(place, found.get("figures")),
        skip_impossible=impossible == "skip",
        source=found,
        contraction=_contraction(place, found.get("contraction")),
        table=_table(place, found.get("table")),
        notes=_giving_way(gone, overrides, len(conditions)),
    )


def _find(name: str) -> tuple[str, str]:
    """What to call the file, and its text."""
    if name.endswith((".yaml", ".yml")) or "/" in name:
        path = Path(name)
        try:
            # A pipe would wait for a writer, and some devices never end.
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise BadRequest(f"study={name}: not a regular file")
            return name, path.read_text(encoding="utf-8")
        except BadRequest:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no text"
            raise BadRequest(f"study={name}: {reason.lower()}") from None
    names = study_names()
    if name not in names:
        raise unknown("study", name, names)
    path = study_directory() / f"{name}.yaml"
    return f"sweeps/{path.name}", path.read_text(encoding="utf-8")


class _Loader(yaml.SafeLoader):
    """Plain YAML that says one thing: no key twice, nothing that contains itself."""

    def construct_document(self, node: yaml.Node) -> object:
        # All at once: an alias inside of what it names is refused then.
        return self.construct_object(node, deep=True)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            # Other keys cannot be in a dictionary, or are of types that no study has.
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value!r} stands twice in one mapping", key.start_mark
                )
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


# `on` is an option: only true and false are truth values, as on the command line.
TRUTH_VALUES = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, TRUTH_VALUES if tag.endswith(":bool") else pattern) for tag, pattern in found]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _mapping(place: str, text: str, keys: Sequence[str]) -> dict[str, object]:
    try:
        found = yaml.load(text, _Loader)
    except RecursionError:
        raise BadRequest(f"{place} is nested too deeply to be a study") from None
    except (yaml.YAMLError, ValueError) as error:
        # A date that is none, or a number of thousands of digits, is a ValueError.
        raise BadRequest(f"{place} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise BadRequest(f"{place} is no study: expected a mapping with {', '.join(keys)}")
    for key in found:
        if key not in keys:
            raise unknown(f"key of {place}", key, keys)
    return found


def _listed(
    place: str, key: str, value: object, at_hand: Callable[[], Sequence[str]]
) -> list[dict[str, object]]:
    if value is None:
        return [{}]
    if not isinstance(value, list) or not value:
        raise BadRequest(
            f"{place}: {key} is {parse.show(value)}; expected a list of at least one mapping"
        )
    found = []
    for entry in value:
        condition = mapping(place, key, entry)
        if condition.get("benchmark") == AT_HAND:
            found += [condition | {"benchmark": name} for name in at_hand()]
        else:
            found.append(condition)
    return found


def _several(listed: Sequence[Mapping[str, object]]) -> set[str]:
    """What listed conditions may differ in."""
    return {key for entry in listed for key in entry if len(listed) > 1}


def _giving_way(gone: Sequence[str], overrides: Mapping[str, object], left: int) -> tuple[str, ...]:
    """What to say where a source that is given takes away what the study varies."""
    if not gone:
        return ()
    source = next(key for key in ("benchmark", "path", WORLD) if overrides.get(key) is not None)
    given = f"{source}={parse.show(overrides[source])}"
    return (
        f"note: {', '.join(gone)} of the study gave way to {given}; "
        f"{counted(left, 'condition')} left",
    )


def _contraction(place: str, given: object) -> ContractionSpec | None:
    if given is None:
        return None
    spec = mapping(place, "contraction", given)
    known = [field.name for field in fields(ContractionSpec)]
    for key in spec:
        if key not in known:
            raise unknown(f"key of contraction in {place}", key, known)
    found = ContractionSpec()
    if "over" in spec:
        found = replace(found, over=parse.text(f"{place}: over", spec["over"]))
    if "average" in spec:
        columns = tuple(str(column) for column in parse.several(spec["average"] or []))
        found = replace(found, average=columns)
    if "level" in spec:
        level = float(parse.within(f"{place}: level", spec["level"], 0.0, 1.0))
        found = replace(found, level=level)
    return found


def _table(place: str, given: object) -> str | None:
    return None if given is None else parse.choice(f"table in {place}", given, TABLES, TABLES)


def _check_option(place: str, option: str) -> None:
    """Refuse what is no option of an attack and no parameter of a world."""
    head, dot, parameter = option.partition(".")
    if option == WORLD:
        return
    if head == WORLD and dot:
        names = [p.name for p in PARAMETERS] + ["seed"]
        if parameter not in names:
            raise unknown(f"parameter of a world in {place}", parameter, names)
        return
    try:
        check_name(option, ATTACK)
    except BadRequest as refusal:
        raise BadRequest(f"{place}: {refusal}") from None
