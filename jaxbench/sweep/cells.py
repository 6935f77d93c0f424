"""From the conditions of a study to cells: what shares a benchmark, its trials and its routers.

Everything that can be wrong with a request is found here, before anything is compiled.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import jax

from jaxbench import store
from jaxbench.benchmark import Benchmark
from jaxbench.engine import Cell, Condition, Evaluator
from jaxbench.engine.evaluator import VARIED
from jaxbench.engine.plan import Shape, block
from jaxbench.engine.requests import request_for
from jaxbench.errors import BadRequest, counted
from jaxbench.options import AttackRequest, WorldSpec
from jaxbench.options.attack import as_options
from jaxbench.options.parse import show
from jaxbench.options.reading import SOURCE_NAMES
from jaxbench.options.study import WORLD, Study
from jaxbench.sweep.code import code_digest
from jaxbench.synthetic import World, blank, draw_worlds

# Rows of a shard's table, and trials at most: a shard is what a kill can lose.
SHARD_ROWS = 200_000
SHARD_TRIALS = 10_000
# Worlds that are drawn and held at a time.
WORLDS_TOGETHER = 64

Opener = Callable[[Mapping[str, object]], Benchmark]


@dataclass(frozen=True, eq=False)
class CellPlan:
    """A cell before it runs.

    `rows` holds one entry per condition of the study: which request it is, and the values of what
    the study varies. `benchmark` is None for a world, which is drawn when its turn comes.
    """

    name: str
    requests: tuple[AttackRequest, ...]
    rows: tuple[tuple[int, dict[str, object]], ...]
    benchmark: Benchmark | None
    world: WorldSpec | None

    @property
    def request(self) -> AttackRequest:
        """What all requests of the cell share (all but `VARIED`)."""
        return self.requests[0]

    @cached_property
    def key(self) -> str:
        """The content key: options, data and code; what only the summary depends on is left out."""
        idle = ("resamples", "bootstrap_seed")
        options = [
            {k: v for k, v in as_options(request).items() if k not in idle}
            for request in self.requests
        ]
        if self.benchmark is None:
            data: object = self.world.as_options() if self.world else None
        else:
            data = self.benchmark.digest()
        return store.content_key(options, data, code_digest())

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """First and last trial of every shard: they depend on the request, never on memory."""
        request = self.request
        rows = len(self.requests) * request.banks * (len(request.budgets) + 1)
        together = min(SHARD_TRIALS, max(1, SHARD_ROWS // rows))
        # Few trials make one shard each; many make shards of whole hundreds.
        if together > 100:
            together -= together % 100
        firsts = range(0, request.trials, together)
        return tuple((first, min(first + together, request.trials) - 1) for first in firsts)

    def shape(self) -> Shape:
        """The sizes that memory depends on, at most: all items differ, no conditions share a view.

        Not even the benchmark of a world is needed.
        """
        request = self.request
        by_task = request.endpoint_view == "tasks"
        conditions = {
            (rule, interface, asked.precision, asked.reused_items)
            for asked in self.requests
            for interface in asked.interface
            for rule in asked.endpoints
        }
        views = {
            (rule, None if by_task else interface, *rest) for rule, interface, *rest in conditions
        }
        if self.benchmark is not None:
            found = self.benchmark
            models, items = len(found.models), len(found.items)
            none = ("",) * items
            units = len(
                set(zip(found.task_index.tolist(), found.subtasks or none,
                        found.categories or none, strict=True))
            )  # fmt: skip
        else:
            assert self.world is not None
            models, items, units = self.world.models, self.world.items, self.world.tasks
        fresh = request.routers == "prng"
        return Shape(
            slots=items,
            units=units,
            budgets=len({1, *request.budgets}),
            conditions=len(conditions),
            views=len(views),
            items=items,
            models=models,
            block=block(jax.default_backend(), fresh=fresh),
            fresh=fresh,
            backend=jax.default_backend(),
            reduced=request.simulator == "reduced",
        )

    def table_rows(self) -> int:
        """Rows of the largest table of trials that is written at once."""
        request = self.request
        trials = max(last - first + 1 for first, last in self.ranges)
        return trials * len(self.requests) * request.banks * (len(request.budgets) + 1)

    def group(self, conditions: int) -> store.Group:
        """The cell in the plan of its sweep."""
        return store.Group(self.key, self.name, conditions, self.ranges)


@dataclass(frozen=True)
class SweepPlan:
    """All cells of a study, those of one shape side by side."""

    study: Study
    cells: tuple[CellPlan, ...]
    skipped: tuple[str, ...]

    @cached_property
    def shards(self) -> store.Plan:
        """The shards of all cells."""
        groups = tuple(cell.group(len(cell.rows)) for cell in self.cells)
        return store.Plan(self.study.name, self.study.size, groups)

    def open(self, wanted: Sequence[CellPlan]) -> Iterator[tuple[CellPlan, Cell, World | None]]:
        """Cells that can run, in order; worlds are drawn some at a time."""
        held: list[CellPlan] = []
        for plan in wanted:
            if plan.world is not None:
                held.append(plan)
                if len(held) < WORLDS_TOGETHER:
                    continue
            yield from _drawn(held)
            held = []
            if plan.benchmark is not None:
                yield plan, Cell(Evaluator(plan.benchmark, *plan.requests)), None
        yield from _drawn(held)


def plan_cells(study: Study, open_benchmark: Opener) -> SweepPlan:
    """Resolve and check every condition of a study.

    **Arguments:** `open_benchmark`: reads the benchmark that source options name; asked once for
    each.

    **Errors:** `BadRequest` that names the condition at fault; with `impossible: skip` a condition
    that its benchmark cannot do is left out, and named in `skipped`.
    """
    opened: dict[str, Benchmark] = {}
    groups: dict[object, list[tuple[AttackRequest, dict[str, object]]]] = {}
    sources: dict[object, tuple[Benchmark | None, WorldSpec | None]] = {}
    for condition in study.conditions:
        varied = {key: _value(condition, key) for key in study.varied}
        try:
            benchmark, world = _source(condition, opened, open_benchmark)
            own = {k: v for k, v in condition.items() if k not in (*SOURCE_NAMES, WORLD)}
            request = request_for(benchmark, own)
        except BadRequest as refusal:
            raise _at(refusal, varied) from None
        shared = tuple(
            getattr(request, one.name) for one in fields(request) if one.name not in VARIED
        )
        source = world if benchmark is None else id(benchmark)
        sources[source, shared] = benchmark, world
        groups.setdefault((source, shared), []).append((request, varied))
    cells: list[CellPlan] = []
    skipped: list[str] = []
    looked_at: set[object] = set()
    for place, asked in groups.items():
        benchmark, world = sources[place]
        if world is not None:
            # Worlds of one shape stand or fall together.
            alike = (world.shape(), world.task_sizes, tuple(r for r, _ in asked))
            if alike not in looked_at:
                _check(blank(world), asked, study, skipped)
                looked_at.add(alike)
        else:
            assert benchmark is not None
            asked = _check(benchmark, asked, study, skipped)
        if asked:
            requests = tuple(dict.fromkeys(request for request, _ in asked))
            rows = tuple((requests.index(request), varied) for request, varied in asked)
            name = (
                world.name if benchmark is None and world else benchmark.name if benchmark else ""
            )
            cells.append(CellPlan(name, requests, rows, benchmark, world))
    if not cells:
        raise BadRequest(
            f"study={study.name}: no condition is left to run; "
            f"{counted(len(skipped), 'condition')} cannot be done: {skipped[0]}"
        )
    cells.sort(key=_shape)
    return SweepPlan(study, tuple(cells), tuple(skipped))


def conditions_of(
    plan: CellPlan, evaluator: Evaluator
) -> list[tuple[Condition, dict[str, object]]]:
    """The engine's conditions behind every row of a cell, with what the study varies there."""
    found = []
    for index, varied in plan.rows:
        found += [(c, varied) for c in evaluator.conditions_of(plan.requests[index])]
    return found


def _source(
    condition: Mapping[str, object], opened: dict[str, Benchmark], open_benchmark: Opener
) -> tuple[Benchmark | None, WorldSpec | None]:
    world = condition.get(WORLD)
    named = {k: condition[k] for k in SOURCE_NAMES if condition.get(k) is not None}
    if world is not None:
        if named:
            raise BadRequest(
                f"world together with {', '.join(named)}: outcomes come from one of the two"
            )
        if not isinstance(world, Mapping):
            raise BadRequest(f"world={show(world)}: expected a mapping of its parameters")
        return None, WorldSpec.of({str(k): v for k, v in world.items()})
    key = repr(sorted(named.items(), key=repr))
    if key not in opened:
        opened[key] = open_benchmark(named)
    return opened[key], None


def _check(
    benchmark: Benchmark,
    asked: list[tuple[AttackRequest, dict[str, object]]],
    study: Study,
    skipped: list[str],
) -> list[tuple[AttackRequest, dict[str, object]]]:
    """The requests that this benchmark can do.

    **Errors:** `BadRequest` for one that it cannot, unless the study skips such.
    """

    def refusal(*requests: AttackRequest) -> BadRequest | None:
        try:
            evaluator = Evaluator(benchmark, *requests)
            for condition in evaluator.conditions:
                evaluator.coordinates(condition)
        except BadRequest as error:
            return error
        return None

    if refusal(*(request for request, _ in asked)) is None:
        return asked
    kept = []
    for request, varied in asked:
        error = refusal(request)
        if error is None:
            kept.append((request, varied))
        elif study.skip_impossible:
            skipped.append(str(_at(error, varied)))
        else:
            raise _at(error, varied)
    if kept and (error := refusal(*(request for request, _ in kept))):
        raise error
    return kept


def _drawn(plans: list[CellPlan]) -> Iterator[tuple[CellPlan, Cell, World | None]]:
    specs = [plan.world for plan in plans if plan.world is not None]
    for plan, world in zip(plans, draw_worlds(specs), strict=True):
        yield plan, Cell(Evaluator(world.benchmark, *plan.requests)), world


def _shape(plan: CellPlan) -> tuple:
    """Orders cells so that those of one shape are neighbours, worlds last."""
    if plan.world is None:
        return (0,)
    world = plan.world
    return (1, world.shape(), world.task_sizes, plan.request.budgets, plan.request.trials)


def _value(condition: Mapping[str, object], key: str) -> object:
    if key.startswith(f"{WORLD}."):
        world = condition.get(WORLD)
        value = world.get(key.partition(".")[2]) if isinstance(world, Mapping) else None
    else:
        value = condition.get(key)
    return show(value) if isinstance(value, list | tuple | Mapping) else value


def _at(refusal: BadRequest, varied: Mapping[str, object]) -> BadRequest:
    """A refusal with the condition that it is about."""
    where = ", ".join(f"{key}={show(value)}" for key, value in varied.items())
    return BadRequest(f"{refusal} (condition {where})" if where else str(refusal))
