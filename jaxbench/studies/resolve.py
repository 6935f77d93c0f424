"""From the conditions of a study to cells: what shares a benchmark, its trials and its routers.

Everything that can be wrong with a request is found here, before anything is compiled.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

import numpy as np

from jaxbench.benchmark import Benchmark
from jaxbench.engine import Evaluator
from jaxbench.engine.evaluator import VARIED
from jaxbench.engine.requests import request_for
from jaxbench.errors import BadRequest, counted
from jaxbench.options import AttackRequest, WorldSpec
from jaxbench.options.parse import show
from jaxbench.options.reading import SOURCE_NAMES
from jaxbench.options.study import WORLD, Study
from jaxbench.studies.cells import OF_SUMMARY, CellPlan, Row, SweepPlan, key_options
from jaxbench.studies.figures import compared, fitting
from jaxbench.synthetic import blank
from jaxbench.synthetic.layout import PARTS

Opener = Callable[[Mapping[str, object]], Benchmark]
# A request, and what the study varies in it.
Asked = list[tuple[AttackRequest, dict[str, object]]]


def plan_cells(study: Study, open_benchmark: Opener) -> SweepPlan:
    """Resolve and check every condition of a study.

    **Arguments:** `open_benchmark`: reads the benchmark that source options name; asked once for
    each.

    **Errors:** `BadRequest` that names the condition at fault; with `impossible: skip` a condition
    that its benchmark cannot do is left out, and named in `skipped`.
    """
    opened: dict[str, tuple[Benchmark, tuple[str, str]]] = {}
    groups: dict[object, Asked] = {}
    sources: dict[object, tuple[Benchmark | None, WorldSpec | None]] = {}
    for condition in study.conditions:
        varied = {key: _value(condition, key) for key in study.varied}
        try:
            benchmark, world, source = _source(condition, opened, open_benchmark)
            own = {k: v for k, v in condition.items() if k not in (*SOURCE_NAMES, WORLD)}
            request = request_for(benchmark, own)
        except BadRequest as refusal:
            raise _at(refusal, varied) from None
        shared = tuple(
            getattr(request, one.name)
            for one in fields(request)
            if one.name not in (*VARIED, *OF_SUMMARY)
        )
        sources.setdefault((source, shared), (benchmark, world))
        groups.setdefault((source, shared), []).append((request, varied))
    cells: list[CellPlan] = []
    skipped: list[str] = []
    sound: set[object] = set()
    for place, asked in groups.items():
        benchmark, world = sources[place]
        if world is not None:
            # What can be asked of a world depends on its layout alone.
            parts = tuple(getattr(world, name) for name in PARTS)
            alike = (parts, world.denominator, tuple(request for request, _ in asked))
            if alike not in sound:
                kept = _check(blank(world), asked, study, skipped)
                if kept == asked:
                    sound.add(alike)
                asked = kept
        else:
            assert benchmark is not None
            asked = _check(benchmark, asked, study, skipped)
        if asked:
            cells.append(_cell(asked, benchmark, world))
    if not cells:
        raise BadRequest(
            f"study={study.name}: no condition is left to run; "
            f"{counted(len(skipped), 'condition')} cannot be done: {skipped[0]}"
        )
    cells.sort(key=_shape)
    figures, notes = fitting(study, cells)
    contraction, more = compared(study, cells)
    study = replace(study, figures=figures, contraction=contraction)
    return SweepPlan(study, tuple(cells), tuple(skipped), study.notes + notes + more)


def _cell(asked: Asked, benchmark: Benchmark | None, world: WorldSpec | None) -> CellPlan:
    """A cell; its requests are in an order that does not depend on the study's."""
    first = {name: getattr(asked[0][0], name) for name in OF_SUMMARY}
    bare = [replace(request, **first) for request, _ in asked]
    requests = sorted(dict.fromkeys(bare), key=lambda request: repr(key_options(request)))
    rows = tuple(
        Row(requests.index(same), varied, request.resamples, request.bootstrap_seed)
        for same, (request, varied) in zip(bare, asked, strict=True)
    )
    name = benchmark.name if benchmark is not None else world.name if world is not None else ""
    return CellPlan(name, tuple(requests), rows, benchmark, world)


def _source(
    condition: Mapping[str, object],
    opened: dict[str, tuple[Benchmark, tuple[str, str]]],
    open_benchmark: Opener,
) -> tuple[Benchmark | None, WorldSpec | None, object]:
    """Where outcomes come from, and what tells it from other sources."""
    world = condition.get(WORLD)
    named = {k: condition[k] for k in SOURCE_NAMES if condition.get(k) is not None}
    if world is not None:
        if named:
            raise BadRequest(
                f"world together with {', '.join(named)}: outcomes come from one of the two"
            )
        if not isinstance(world, Mapping):
            raise BadRequest(f"world={show(world)}: expected a mapping of its parameters")
        spec = WorldSpec.of({str(k): v for k, v in world.items()})
        return None, spec, spec
    key = repr(sorted(named.items(), key=repr))
    if key not in opened:
        benchmark = open_benchmark(named)
        # Two paths can hold one benchmark, which then is one cell.
        opened[key] = benchmark, (benchmark.name, benchmark.digest())
    benchmark, identity = opened[key]
    return benchmark, None, identity


def _check(
    benchmark: Benchmark,
    asked: Asked,
    study: Study,
    skipped: list[str],
) -> Asked:
    """The requests that this benchmark can do.

    **Errors:** `BadRequest` for one that it cannot, unless the study skips such.
    """
    # Trials know nothing of what only a summary depends on, which may differ.
    of_summary = {name: getattr(asked[0][0], name) for name in OF_SUMMARY}

    def refusal(*requests: AttackRequest) -> BadRequest | None:
        try:
            evaluator = Evaluator(benchmark, *(replace(r, **of_summary) for r in requests))
            for condition in evaluator.conditions:
                evaluator.coordinates(condition)
                if condition.channelled:
                    # What a mechanism cannot act on shows when it is built for a trial.
                    evaluator.channelled(evaluator.first, condition, np.zeros(1, dtype=np.int64))
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
