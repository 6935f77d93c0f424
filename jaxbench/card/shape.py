"""What a benchmark is made of: counts of its models, items, tasks and prompts."""

from collections import Counter

import numpy as np

from jaxbench.benchmark import Benchmark, provenance, scoring
from jaxbench.card.numbers import plain


def shape(benchmark: Benchmark) -> dict[str, object]:
    """Counts, as `card.json` has them under `shape`."""
    prompts = Counter(benchmark.prompt_hashes)
    shared = [items for items in prompts.values() if items > 1]
    tasks_of: dict[str, set[int]] = {}
    for prompt, task in zip(benchmark.prompt_hashes, benchmark.task_index.tolist(), strict=True):
        tasks_of.setdefault(prompt, set()).add(task)
    counts = benchmark.counts
    notes = benchmark.provenance
    runs = provenance.runs(notes)
    categories = benchmark.categories
    return {
        "models": len(benchmark.models),
        "items": len(benchmark.items),
        "tasks": len(benchmark.tasks),
        "categories": None if categories is None else len(set(categories)),
        "denominator": benchmark.denominator,
        "on_grid": provenance.on_grid(notes),
        "repeats": None if runs is None else list(runs),
        "prompts": len(prompts),
        "prompts_told_by": provenance.prompts_told_by(notes),
        "shared_prompts": len(shared),
        "shared_prompt_items": sum(shared),
        "prompts_in_several_tasks": sum(len(tasks) > 1 for tasks in tasks_of.values()),
        "solved_by_all": int((counts == benchmark.denominator).all(axis=0).sum()),
        "solved_by_none": int((counts == 0).all(axis=0).sum()),
        "missing": provenance.what_is_missing(notes),
    }


def task_counts(benchmark: Benchmark) -> np.ndarray:
    """Whole scores of every model on every task, `(models, tasks)`; items stand task by task."""
    starts = np.searchsorted(benchmark.task_index, np.arange(len(benchmark.tasks)))
    return np.add.reduceat(benchmark.counts, starts, axis=1)


def task_scores_pp(benchmark: Benchmark) -> np.ndarray:
    """Scores of every model on every task, `(models, tasks)`, in percentage points."""
    return 100 * task_counts(benchmark) / (benchmark.task_sizes * benchmark.denominator)


def task_rows(benchmark: Benchmark) -> list[dict[str, object]]:
    """One entry per task: size, category, and how scores of models lie on it."""
    scores = task_scores_pp(benchmark)
    of_task = scoring.category_of_task(benchmark)
    spread = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.full(scores.shape[1], np.nan)
    return [
        {
            "task": task,
            "items": int(benchmark.task_sizes[t]),
            "category": None if of_task is None else of_task[t],
            "mean_pp": plain(scores[:, t].mean()),
            "sd_pp": plain(spread[t]),
            "low_pp": plain(scores[:, t].min()),
            "high_pp": plain(scores[:, t].max()),
        }
        for t, task in enumerate(benchmark.tasks)
    ]
