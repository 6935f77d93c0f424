"""Build the bundled Terminal-Bench-Science snapshot from the public outcome table.

    python -m jaxbench.sources.snapshots.build_terminal_science outcomes.json [FOLDER]

`outcomes.json` holds, in integers, the public leaderboard of Terminal-Bench-Science 0.1:
`models`, `items`, `tasks`, `prompt_hashes`, `repeats`, and for every model a string of digits,
successes out of `repeats` per item; `protocol` is that of the published study. The output is
written to FOLDER (default: the folder of the package) and is the same for the same input.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PROTOCOL = (
    "trials", "budgets", "holdout_fraction", "split_seed_base", "routing_seed", "tie_seed",
    "scoring", "endpoints",
)  # fmt: skip
SOURCE = (
    "https://www.terminal-bench-science.ai/api/leaderboard"
    "?package=terminal-bench-science%2Fterminal-bench-science&name=v0-1-eval"
)
SUMMARY = "agents on the leaderboard, share of three runs that succeeded"


def build(outcomes: dict, folder: Path) -> None:
    """Write `items.parquet`, `scores.parquet` and `card.json`."""
    models, items, repeats = outcomes["models"], outcomes["items"], outcomes["repeats"]
    successes = np.array([[int(digit) for digit in row] for row in outcomes["successes"]])
    if successes.shape != (len(models), len(items)) or successes.max() > repeats:
        raise SystemExit("outcomes.json: successes do not fit models, items and repeats")
    folder.mkdir(parents=True, exist_ok=True)
    item_table = pa.table(
        {
            "item_id": items,
            "task": pa.array(outcomes["tasks"]).dictionary_encode(),
            "prompt_sha256": outcomes["prompt_hashes"],
        }
    )
    score_table = pa.table(
        {
            "model": pa.array(np.repeat(models, len(items)).tolist()).dictionary_encode(),
            "item_id": pa.array(items * len(models)).dictionary_encode(),
            "score": successes.ravel() / repeats,
            "repeats": pa.array(np.full(successes.size, repeats, dtype=np.int8)),
        }
    )
    for name, table in (("items", item_table), ("scores", score_table)):
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    card = {
        "title": outcomes["name"],
        "summary": f"{outcomes['name']}: {SUMMARY}",
        "models": len(models),
        "items": len(items),
        "tasks": sorted(set(outcomes["tasks"])),
        "repeats": repeats,
        "source": SOURCE,
        "snapshot": "leaderboard v0-1-eval, updated 2026-09-23",
        "licence": "none stated by the source; a table of facts (successes out of runs)",
        "protocol": {entry: outcomes["protocol"][entry] for entry in PROTOCOL},
    }
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    (folder / "card.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    target = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parent / "terminal_science"
    build(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), target)
