"""How precisely scores and differences are known: intervals, minimum detectable differences."""

from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float64, Int

from jaxbench import stats
from jaxbench.card.scores import Scores
from jaxbench.options.describe import DescribeRequest

# Numbers held at a time by the bootstrap.
_HELD = 2**22
WILSON, BOOTSTRAP = "wilson", "bootstrap"


def intervals(
    scores: Scores, request: DescribeRequest
) -> tuple[Float64[np.ndarray, " models"], Float64[np.ndarray, " models"], str]:
    """Ends of every model's interval in pp, and how they were found.

    Wilson's score interval (Wilson 1927) where an overall score is a share of right answers to
    distinct prompts. Else the percentile bootstrap: prompts are drawn within their tasks, with all
    their items, and every task keeps its weight. Models see the same draws, and equal answers get
    equal intervals. A task of one prompt is the same in every draw, so what it adds to the error
    is missing.
    """
    level = float(request.level)
    if scores.right_or_wrong:
        right = np.array(scores.totals) // int(scores.weights[0])
        of = np.full(len(right), len(scores.weights))
        _, low, high = stats.wilson_interval(right, of, level)
        return 100 * low, 100 * high, WILSON
    # Each set of answers once: a device may round alike columns differently.
    answers, which = np.unique(scores.benchmark.counts, axis=0, return_inverse=True)
    drawn = _resampled(scores, answers, request)
    low, high = stats.percentile_interval(100 * drawn, level)
    # Rounding aside, a score that no draw moves is its own interval.
    whole = np.array([(row * scores.weights).sum() == scores.out_of for row in answers])
    low, high = np.where(whole, 100.0, low), np.where(whole, 100.0, high)
    which = which.reshape(-1)
    return low[which], high[which], BOOTSTRAP


def detectable(
    scores: Scores,
    first: Int[np.ndarray, " pairs"],
    second: Int[np.ndarray, " pairs"],
    request: DescribeRequest,
) -> Float64[np.ndarray, " pairs"]:
    """The smallest true difference of pairs of models, in pp, that a test would likely find.

    `(z(1 - alpha / 2) + z(power)) SE` with the standard error of the paired difference, clustered
    by prompt and weighted as the score is (Miller 2024, "Adding error bars to evals", sections
    2.2 and 5). NaN where the two answer alike everywhere, or there is one prompt.
    """
    normal = NormalDist()
    reach = normal.inv_cdf(1 - request.alpha / 2) + normal.inv_cdf(float(request.power))
    shares = (scores.prompt_parts() / scores.out_of).astype(np.float64)
    weights = scores.prompt_weights()
    apart = (shares[first] - shares[second]).T
    error = stats.ratio_standard_error(apart, np.broadcast_to(weights[:, None], apart.shape))
    error[(apart == 0).all(axis=0)] = np.nan
    return 100 * reach * error


def _resampled(
    scores: Scores, answers: Int[np.ndarray, "models items"], request: DescribeRequest
) -> Float64[np.ndarray, "resamples models"]:
    """Overall scores (fractions) in every resample of the prompts within tasks."""
    benchmark = scores.benchmark
    prompt, task = benchmark.prompt_index, benchmark.task_index
    # A cell: a prompt's items in one task. A prompt in several tasks is drawn once for all.
    cells, of_item = np.unique(np.stack([task, prompt], axis=1), axis=0, return_inverse=True)
    order = np.argsort(of_item.reshape(-1), kind="stable")
    starts = np.searchsorted(of_item.reshape(-1)[order], np.arange(len(cells)))
    right = np.add.reduceat(answers[:, order], starts, axis=1).T.astype(np.float64)
    sizes = np.add.reduceat(np.ones(len(order)), starts) * benchmark.denominator
    first = np.searchsorted(task, np.arange(len(benchmark.tasks)))
    share = scores.weights[first] * benchmark.task_sizes / (scores.out_of // benchmark.denominator)
    prompts = int(prompt.max()) + 1
    return stats.resampled_statistic(
        _overall,
        {
            "task": cells[:, 0].astype(np.int32),
            "prompt": cells[:, 1].astype(np.int32),
            "right": np.concatenate([right, sizes[:, None]], axis=1),
            "share": share.astype(np.float64),
        },
        prompts,
        resamples=request.resamples,
        seed=request.seed,
        strata=_strata(cells, prompts),
        chunk=max(1, _HELD // (len(cells) * (len(answers) + 1))),
    )


def _strata(cells: np.ndarray, prompts: int) -> Int[np.ndarray, " prompts"]:
    """Prompts of the same tasks are drawn among themselves."""
    tasks: list[tuple[int, ...]] = [()] * prompts
    for task, prompt in cells.tolist():
        tasks[prompt] += (task,)
    number = {key: index for index, key in enumerate(sorted(set(tasks)))}
    return np.array([number[key] for key in tasks])


def _overall(
    times: Float64[Array, " prompts"], data: dict[str, Array]
) -> Float64[Array, " models"]:
    """The overall scores of one resample: task means, each with the weight of its task."""
    drawn = times[data["prompt"]][:, None] * data["right"]
    # Whole numbers: exact in any order of addition.
    sums = jax.ops.segment_sum(
        drawn, data["task"], num_segments=len(data["share"]), indices_are_sorted=True
    )
    means = sums[:, :-1] / sums[:, -1:]
    return jnp.matmul(data["share"], means, precision=lax.Precision.HIGHEST)
