"""The benchmarks that are downloaded: pinned files, licence, citation, known disagreements.

All come from one public collection of outcomes. Figures in the notes were worked out from the
pinned files and compared with the leaderboards at the time of pinning.
"""

from jaxbench.named.entry import Named, SourceFile

REPOSITORY = "dariakryvosheieva/agent-psychometrics"
COMMIT = "62851ff8e54d39e51ab968e370cedbf9016a21bd"
SOURCE = f"https://github.com/{REPOSITORY}/tree/{COMMIT}"
LICENCE = "MIT"
HOLDER = "Copyright (c) 2026 Fulcrum"
SWE_BENCH = "Jimenez et al. (2024), SWE-bench, arXiv:2310.06770"
SWE_BENCH_PRO = "Deng et al. (2025), SWE-Bench Pro, arXiv:2509.16941"
TERMINAL_BENCH = "Terminal-Bench 2.0 (2025), tbench.ai"


def _file(path: str, sha256: str, size: int) -> SourceFile:
    return SourceFile(f"{REPOSITORY}/{COMMIT}", path, sha256, size)


def _credits(upstream: str, citation: str) -> tuple[str, str]:
    """Licence and citation as notes; `upstream`: what is known of where the collection took it."""
    return (
        f"licence {LICENCE}, {HOLDER} (github.com/{REPOSITORY}); {upstream}",
        f"cite {citation}, and the collection github.com/{REPOSITORY}",
    )


SWE_VERIFIED = Named(
    name="swe_verified",
    summary="SWE-bench Verified: submissions to the leaderboard, an issue resolved or not",
    models=134,
    items=500,
    tasks=12,
    licence=LICENCE,
    citation=SWE_BENCH,
    source=SOURCE,
    files=(
        _file(
            "data/swebench_verified/responses.jsonl",
            "b2bda9545ca0122a38ddefde41437141a1c409389dd1742545c99978d5ea8054",
            1_915_879,
        ),
    ),
    aliases=("swebench_verified_submissions",),
    notes=(
        *_credits("collected there from SWE-bench/experiments, which was not compared", SWE_BENCH),
        "131 of the 134 submissions are on the Verified board (SWE-bench.github.io f1176b6) and "
        "agree with it to 0.05 pp; 3 could not be compared",
        "a submission is a whole system, agent and model; many share a model",
    ),
)
SWE_PRO = Named(
    name="swe_pro",
    summary="SWE-bench Pro, public set: runs of one agent, an issue resolved or not",
    models=14,
    items=730,
    tasks=11,
    licence=LICENCE,
    citation=SWE_BENCH_PRO,
    source=SOURCE,
    files=(
        _file(
            "data/swebench_pro/responses.jsonl",
            "ce5e89d5dcd680eda7b4aaed92a8b57901d6886fca2a23fda052232ef0e72f77",
            703_003,
        ),
    ),
    aliases=("swebench_pro_14",),
    notes=(
        *_credits("upstream scaleapi/SWE-bench_Pro-os is MIT", SWE_BENCH_PRO),
        "a missing instance counts as unresolved",
    ),
    on_models=(
        "the source counts a missing instance as unresolved: 'Claude 4 Sonnet - 10132025' lacks "
        "168 of 730 upstream, so it stands at 32.88 % here, published 42.70 % over 562",
        "'Claude Opus 4.1 - paper' here equals the upstream folder claude-sonnet-4-paper item by "
        "item",
        "published figures differ in the second decimal: Claude 4.5 Sonnet 43.70 % here, 43.72 "
        "published; GLM-4.5 35.48, 35.52; gpt-oss-120b 16.16, 16.20",
    ),
)
TERMINAL_BENCH_2 = Named(
    name="terminal_bench_2",
    summary="Terminal-Bench 2.0: systems on the leaderboard, share of trials that succeeded",
    models=83,
    items=88,
    tasks=16,
    licence=LICENCE,
    citation=TERMINAL_BENCH,
    source=SOURCE,
    files=(
        _file(
            "data/terminalbench/responses_raw.jsonl",
            "4ad7c41269689c7bd934c4c03917afd84ea728ee12bc43ef2baadce997c3e2d0",
            402_970,
        ),
        _file(
            "data/terminalbench/tasks.jsonl",
            "b5330206b0b678ec83e2bd200558bb51b09d1bcce4be34518bee0665fe85609f",
            2_725_487,
        ),
    ),
    aliases=("terminal_bench_2",),
    notes=(
        *_credits("collected there from the Terminal-Bench 2.0 leaderboard", TERMINAL_BENCH),
        "a score is the share of 5 trials in 97 % of the pairs of system and item, of 1 to 6 in "
        "the others",
        "the source gives no leaderboard figure to compare with",
        "this is Terminal-Bench 2.0, not Terminal-Bench-Science",
    ),
    on_models=("the best system, factory_droid_gpt-5_2_at_openai, stands at 64.5 %",),
)
DOWNLOADABLE = (SWE_PRO, SWE_VERIFIED, TERMINAL_BENCH_2)
