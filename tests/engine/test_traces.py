"""Programs are compiled per shape: seeds, rules, budgets, banks and the like are data."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np

import jaxbench
from jaxbench import counters
from jaxbench.attacker import ENDPOINT_RULES, endpoints
from jaxbench.benchmark import Benchmark
from jaxbench.engine import kernel, plan
from jaxbench.shapes import bucket

ROOMS = (kernel, endpoints, counters)
COMPILED = "/jax/core/compile/backend_compile_duration"
# A number of trials that no other test takes: the first call here is the first of its shape.
TRIALS = 13


def programs() -> dict[str, int]:
    """How often every jitted function of the engine was traced so far."""
    return {
        f"{room.__name__}.{name}": function._cache_size()
        for room in ROOMS
        for name, function in vars(room).items()
        if hasattr(function, "_cache_size")
    }


@contextmanager
def growth() -> Iterator[dict[str, int]]:
    """How many programs a block adds, per function; those that add none are left out."""
    before, added = programs(), {}
    yield added
    added.update({k: n - before[k] for k, n in programs().items() if n > before[k]})


@contextmanager
def compilations() -> Iterator[list[str]]:
    """Everything that XLA compiles in a block, jitted by us or not."""
    heard: list[str] = []

    def hear(event: str, duration_secs: float, **facts) -> None:
        if event == COMPILED:
            heard.append(str(facts))

    jax.monitoring.register_event_duration_secs_listener(hear)
    try:
        yield heard
    finally:
        jax.monitoring.unregister_event_duration_listener(hear)


def world(seed: int, *, tasks: int = 4, size: int = 7) -> Benchmark:
    """Every model leads on one task; two tasks to a category."""
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(tasks), size)
    leads = np.arange(5)[:, None] % tasks == names[None, :]
    scores = rng.random((5, tasks * size)) < np.where(leads, 0.9, 0.4)
    return Benchmark.from_scores(
        scores.astype(float),
        models=list("abcde"),
        items=[f"i{i:02d}" for i in range(tasks * size)],
        tasks=[f"t{t}" for t in names],
        categories=[f"c{t // 2}" for t in names],
        name=f"world {seed}",
    )


WORLD = world(0)


def attack(benchmark: Benchmark = WORLD, **options) -> None:
    defaults = {"preset": "simulation", "trials": TRIALS, "budgets": [1, 2, 5], "resamples": 2}
    jaxbench.attack(benchmark, **defaults | options)


def test_every_jitted_function_is_watched():
    watched = programs()
    assert "jaxbench.engine.kernel.attack_rows" in watched
    assert "jaxbench.counters._trial_keys" in watched
    assert any(name.startswith("jaxbench.attacker.endpoints.") for name in watched)


def test_the_simulation_is_one_program():
    with growth() as added:
        attack()
    assert added["jaxbench.engine.kernel.attack_rows"] == 1
    # Keys of the first trial's split, of all splits, and of routers and ties.
    assert added["jaxbench.counters._trial_keys"] <= 3
    assert all(n == 1 for name, n in added.items() if "endpoints" in name)
    with growth() as added, compilations() as compiled:
        for seed in (1, 2**40, 2**64 - 1):
            attack(seed=seed)
        # Budget 1 is always run: [7, 300] are three too.
        for budgets in ([1, 3, 4], [1, 64, 65], [7, 300]):
            attack(budgets=budgets)
        for rule in ENDPOINT_RULES:
            attack(endpoints=rule)
        attack(endpoint_view="tasks")
        attack(holdout_fraction="1/2")
        attack(world(1))
    assert not added
    # Nothing outside of them is compiled either: no loose operation that depends on a value.
    assert not compiled


def test_the_published_attack_is_one_program():
    with growth() as added:
        attack(preset="published")
    assert added["jaxbench.engine.kernel.attack_rows"] == 1
    with growth() as added, compilations() as compiled:
        attack(preset="published", routing_seed="r", tie_seed="t", split_seed_base=77)
        attack(preset="published", banks=3)
        for budgets in ([1, 3, 6], [5, 40]):
            attack(preset="published", budgets=budgets)
        for rule in ENDPOINT_RULES:
            attack(preset="published", endpoints=rule)
        attack(world(1), preset="published")
        attack(preset="published", split="prng", seed=5)
    assert not added
    assert not compiled


def test_rules_of_one_form_are_one_program():
    """Means over tasks, whatever the weights; win rates rank outside of the program."""
    with growth() as added:
        attack(scoring="equal_task")
        attack(scoring="mean_win_rate")
    assert added["jaxbench.engine.kernel.attack_rows"] == 1
    with growth() as added:
        attack(scoring="equal_category")
        attack(scoring="equal_category", endpoints="public_top5", seed=4)
        attack(scoring="mean_win_rate", endpoints="non_leading", seed=2)
    assert not added


def test_decimals_are_data():
    with growth() as added:
        attack(scoring="equal_task", precision=3)
    assert added["jaxbench.engine.kernel.attack_rows"] == 1
    with growth() as added:
        for precision in (0, 1, 4, 5):
            attack(scoring="equal_task", precision=precision)
        attack(scoring="equal_category", precision=5)
        attack(scoring="mean_win_rate", precision=2, seed=3)
    assert not added


def test_chunks_and_calls_share_their_programs(monkeypatch):
    attack()
    with growth() as added:
        # Chunks of the bucket of 13 trials, the last of them filled up.
        monkeypatch.setattr(plan.Shape, "trials_per_chunk", lambda *_, **__: bucket(TRIALS))
        for trials in (2 * TRIALS, 2 * TRIALS + 5):
            attack(trials=trials)
    assert not added
    with growth() as added:
        # Calls of 4 rows: one program more, for all calls of all chunks.
        monkeypatch.setattr(plan.Shape, "rows_per_call", lambda *_, **__: 4)
        attack(trials=2 * TRIALS + 5)
    # The keys of 4 trials may have been asked for before.
    assert added.pop("jaxbench.counters._trial_keys", 1) == 1
    assert added == {"jaxbench.engine.kernel.attack_rows": 1}


def test_conditions_of_one_run_are_one_program():
    """How they share coordinates is the program's; rules, seeds and budgets are data."""
    shared = {"interface": ["task", "groups:2"], "endpoint_view": "tasks"}
    with growth() as added:
        attack(endpoints="top5", **shared)
    assert added["jaxbench.engine.kernel.attack_rows"] == 1
    with growth() as added:
        attack(endpoints="full_frontier", seed=5, **shared)
        attack(endpoints="public_top5", budgets=[3, 8], **shared)
    assert not added


def test_partitions_are_data():
    """Groups of equally many tasks of one padded size."""
    attack(interface="groups:2")
    with growth() as added:
        for partition in (1, 2, 3):
            attack(interface=f"groups:2:{partition}")
        attack(interface="groups:2", group_seed="another")
        attack(interface="category")
    assert not added


def test_a_longer_bank_or_another_shape_is_another_program():
    """What must compile anew does: the counts above can grow."""
    attack(preset="published")
    with growth() as added:
        attack(preset="published", budgets=[1, 2, 300])
    assert added == {"jaxbench.engine.kernel.attack_rows": 1}


def test_a_number_of_trials_in_the_same_bucket_is_no_new_program():
    attack(trials=33)
    with growth() as added:
        for trials in (34, 37, 40):
            attack(trials=trials)
    assert not added
