"""The options of `jaxbench attack`: one table behind the checks, `--help` and the README."""

from collections.abc import Sequence

from jaxbench.options.interface_words import INTERFACES
from jaxbench.options.option import Option
from jaxbench.options.reading import SOURCE
from jaxbench.options.submitter import SUBMITTERS, SubmitterSpec


def _words(specs: Sequence[SubmitterSpec]) -> str:
    return ", ".join(f"`{spec.name}`" for spec in specs)


# How a run goes, not what comes out of it.
RUNNING = (
    Option("memory", "the limit of this process", "the same", "an amount, such as 2GB",
           "memory that the whole process keeps to; no result depends on it"),
    Option("dry_run", "false", "false", "true, false",
           "say what would run (programs, chunks, memory, time after a calibration) and stop"),
    Option("log", "bars on a terminal", "the same", "`json`",
           "one JSON object per line on standard error, in place of bars"),
)  # fmt: skip

ATTACK = (
    *SOURCE,
    Option("preset", "default without `path`", "default with `path`", "`published`, `simulation`",
           "the defaults of this table"),
    Option("trials", "card (250), 250", "1000", "integer >= 1", "random splits"),
    Option("budgets", "card ([1,2,4,...,2048]), the same", "[1,2,4,...,128]",
           "rising integers >= 1", "submissions k; row 0 (no attack) is always there"),
    Option("seed", "0", "0", "integer >= 0",
           "root of every prng draw: routers, splits, subsets, ties, bootstrap"),
    Option("split", "`hash`", "as `routers`", "`hash`, `prng`",
           "how items are split: the published hash order, or fresh words of `seed`"),
    Option("split_seed_base", "card (202609230000), 0", "0", "integer",
           "`split=hash`: trial t takes base + t"),
    Option("holdout_fraction", "card (2/3), 2/3", "2/3", "exact fraction in (0, 1)",
           "share held out of every task"),
    Option("min_task_items", "card (1), 1", "1", "integer >= 1",
           "tasks with fewer items become one coordinate `other`"),
    Option("reused_items", "`all`", "`all`", "`all`, N",
           "nested subset of the reused items, spread over the tasks; held-out items and endpoints "
           "stay those of the whole split"),
    Option("scoring", "card (`item_mean`), `item_mean`", "`item_mean`",
           "`item_mean`, `equal_task`, `equal_category`, `chance_normalised`, `mean_win_rate`",
           "what the overall score is the mean of"),
    Option("precision", "card (`exact`), `exact`", "`exact`", "`exact`, N",
           "decimals of the released fraction (3 = 0.1 pp)"),
    Option("interface", "`task`", "`task`",
           "`task`, `category`, `aggregate`, `groups:D[:P]`, `rank[:all]`, `top:K`, `bucket:B`, "
           "`interval:H`, `interval_rank`, or a list",
           "what is released: scores (D groups of tasks, partition P (0)), or of the overall: its "
           "rank among the genuine rows (`all`: and earlier submissions), itself within the top K, "
           "one of B rank buckets, its 95 % interval on a grid H or the rank of that; a list is "
           "one condition each"),
    Option("group_seed", "`jaxbench`", "`jaxbench`", "text",
           "`groups`: text of the hash order of tasks (published: `livebench-bandwidth-v1`)"),
    Option("extra_overall", "false", "false", "true, false",
           "the released overall is one more number of the profile"),
    Option("endpoints", "card (`top5`), as beside",
           "`top5`; `public_top5` if the rule sees one number",
           "`top5`, `full_frontier`, `public_top5`, `non_leading`, or a list",
           "which two models are mixed; a list is one condition each"),
    Option("endpoint_view", "`released`", "`released`", "`released`, `tasks`",
           "what that rule sees: the interface's numbers, or all task scores"),
    Option("routers", "`hash`", "`prng`", "`hash`, `prng`",
           "one published bank for all trials, or fresh routers in every trial"),
    Option("routing_seed", "card (`science-bank0-20260923`), `jaxbench`", "`jaxbench`", "text",
           "`routers=hash`: seed of the bank"),
    Option("tie_seed", "card (`science-ties0-20260923`), `jaxbench`", "`jaxbench`", "text",
           "`routers=hash`: seed of the signs that break tied votes"),
    Option("banks", "1", "1", "integer >= 1",
           "`routers=hash`: repeat over banks; bank b >= 1 has seed `{routing_seed}-bank{b}`; rows "
           "stay those of bank 0 and gain `banks` and, per metric, `_bank_mean`, `_bank_sd`"),
    Option("submitter", "`linear`", "the same",
           f"{_words(SUBMITTERS)}; `NAME:X`, `{{name: NAME, PARAM: V}}`",
           "what is submitted, and what the final router is made of; parameters below"),
    Option("decoder", "`aware`", "the same", "`aware`, `naive`",
           "whether the submitter knows the mechanism, or takes every released number for the "
           "submission's own"),
    Option("mechanism", "`none`", "the same",
           "`none`, `NAME`, `NAME:X`, `{name: NAME, PARAM: V}`, or a list of these",
           "what stands between a true score and its release: names and parameters below; X is the "
           "first parameter, a list is a chain, left to right"),
    Option("state", "`team`", "the same", "`team`, `global`",
           "what a mechanism remembers: the submissions of each team, or one sequence that starts "
           "from the genuine rows"),
    Option("on", "the mechanism's first", "the same", "`overall`, `coordinates`, `gate`",
           "what a mechanism that remembers acts on: the overall alone, every number, or the "
           "overall as gate to all numbers"),
    Option("clip", "false", "false", "true, false", "keep noisy releases within 0 to 1"),
    Option("simulator", "`full`", "`full`", "`full`, `reduced`",
           "`reduced`: draw how many items go to each endpoint, not which; needs `routers=prng`, "
           "scores of 0 and 1, a prompt per item, exact released numbers"),
    Option("resamples", "2000", "2000", "integer >= 1", "bootstrap resamples over trials"),
    Option("bootstrap_seed", "2026081900", "`seed`", "integer >= 0", "seed of the bootstrap"),
    Option("save_trials", "true", "true", "true, false", "write `trials.parquet`"),
    Option("out", "`runs/attack-DATE-TIME`", "the same", "a folder", "the run directory"),
    Option("overwrite", "false", "false", "true, false",
           "replace the results of another run in `out`"),
    *RUNNING,
    *(Option(name, "", "", "", "", built=False) for name in (
        "device", "resume",
    )),
)  # fmt: skip

# Closed lists of words: every word of the contract, and those that this version has.
KNOWN = {
    "preset": ("published", "simulation"),
    "split": ("hash", "prng"),
    "scoring": (
        "item_mean", "equal_task", "equal_category", "chance_normalised", "mean_win_rate",
    ),
    "interface": INTERFACES,
    "endpoints": ("top5", "full_frontier", "public_top5", "non_leading"),
    "endpoint_view": ("released", "tasks"),
    "routers": ("hash", "prng"),
    "submitter": tuple(spec.name for spec in SUBMITTERS),
    "decoder": ("aware", "naive"),
    "state": ("team", "global"),
    "on": ("overall", "coordinates", "gate"),
    "simulator": ("full", "reduced"),
}  # fmt: skip
# Nothing is known yet that is not built.
BUILT = dict(KNOWN)
