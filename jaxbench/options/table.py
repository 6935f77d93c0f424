"""The options of `jaxbench attack`: one table behind the checks, `--help` and the README."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option: its defaults under the preset, what it takes, what it means.

    `built` is False for an option that has its name already but is not built yet; it is refused.
    """

    name: str
    default: str
    values: str
    meaning: str
    built: bool = True


ATTACK = (
    Option("benchmark", "`terminal_science`", "a bundled name",
           "where outcomes come from; not together with `path`"),
    Option("path", "", "a folder", "your own outcomes: `items.parquet` and `scores.parquet`"),
    Option("preset", "`published`", "`published`",
           "the defaults of this table; `card` is the benchmark's own published protocol"),
    Option("trials", "card (250), 250", "integer >= 1", "random splits"),
    Option("budgets", "card ([1,2,4,...,2048]), the same", "rising integers >= 1",
           "submissions k; row 0 (no attack) is always there"),
    Option("split", "`hash`", "`hash`", "how items are split into reused and held out"),
    Option("split_seed_base", "card (202609230000), 0", "integer", "trial t takes base + t"),
    Option("holdout_fraction", "card (2/3), 2/3", "exact fraction in (0, 1)",
           "share held out of every task"),
    Option("scoring", "card (`item_mean`), `item_mean`",
           "`item_mean`, `equal_task`, `equal_category`", "what the overall score is the mean of"),
    Option("interface", "`task`", "`task`", "what is released: the score of every task"),
    Option("endpoints", "card (`top5`), `top5`", "`top5`, `full_frontier`, or a list",
           "which two models are mixed; a list is one condition each"),
    Option("routers", "`hash`", "`hash`", "one published bank for all trials"),
    Option("routing_seed", "card (`science-bank0-20260923`), `jaxbench`", "text",
           "seed of the bank"),
    Option("tie_seed", "card (`science-ties0-20260923`), `jaxbench`", "text",
           "seed of the signs that break tied votes"),
    Option("banks", "1", "integer >= 1",
           "repeat over router banks: bank b >= 1 has seed `{routing_seed}-bank{b}`; rows stay "
           "those of bank 0 and gain `banks` and, per metric, `_bank_mean`, `_bank_sd`"),
    Option("resamples", "2000", "integer >= 1", "bootstrap resamples over trials"),
    Option("bootstrap_seed", "2026081900", "integer >= 0", "seed of the bootstrap"),
    Option("save_trials", "true", "true, false", "write `trials.parquet`"),
    Option("out", "`runs/attack-DATE-TIME`", "a folder", "the run directory"),
    Option("overwrite", "false", "true, false", "replace the results of another run in `out`"),
    *(Option(name, "", "", "", built=False) for name in (
        "seed", "min_task_items", "reused_items", "precision", "group_seed", "extra_overall",
        "endpoint_view", "submitter", "decoder", "mechanism", "state", "on", "clip", "simulator",
        "format", "score", "items", "missing", "anonymise", "device", "log",
    )),
)  # fmt: skip

# Closed lists of words: every word of the contract, and those that this version has.
KNOWN = {
    "preset": ("published", "simulation"),
    "split": ("hash", "prng"),
    "scoring": (
        "item_mean", "equal_task", "equal_category", "chance_normalised", "mean_win_rate",
    ),
    "interface": (
        "task", "category", "aggregate", "groups:D", "rank", "top:K", "bucket:B", "interval:H",
        "interval_rank",
    ),
    "endpoints": ("top5", "full_frontier", "public_top5", "non_leading"),
    "routers": ("hash", "prng"),
}  # fmt: skip
BUILT = {
    "preset": ("published",),
    "split": ("hash",),
    "scoring": ("item_mean", "equal_task", "equal_category"),
    "interface": ("task",),
    "endpoints": ("top5", "full_frontier"),
    "routers": ("hash",),
}


def built_options() -> tuple[Option, ...]:
    """The options that this version has."""
    return tuple(option for option in ATTACK if option.built)


def markdown_table() -> str:
    """The option table of the README."""
    lines = ["| option | default | values | meaning |", "| --- | --- | --- | --- |"]
    lines += [f"| `{o.name}` | {o.default} | {o.values} | {o.meaning} |" for o in built_options()]
    return "\n".join(lines)


def help_table(width: int = 100) -> str:
    """The option table of `jaxbench attack --help`, plain text."""
    from textwrap import fill

    lines = []
    for option in built_options():
        entry = f"{option.meaning}. Values: {option.values}."
        if option.default:
            entry += f" Default: {option.default}."
        entry = entry.replace("`", "")
        indent = " " * 20
        lines.append(
            f"  {option.name:<18}"
            + fill(entry, width, initial_indent=indent, subsequent_indent=indent).lstrip()
        )
    return "\n".join(lines)
