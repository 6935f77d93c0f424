"""What theory promises about mechanisms at the size of a run, and does not, in sentences.

Formulas are those of `theory`. Source: spec of the mechanisms.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from jaxbench.leaderboard import theory
from jaxbench.leaderboard.mechanisms.schedule import effective_budget, refreshed_budget
from jaxbench.leaderboard.promise_words import (
    FAILURE,
    Size,
    composed,
    counted,
    digits,
    private,
    size_of,
    title,
    whole_of,
    worth,
)
from jaxbench.options.mechanism import Chosen

BOTH_ATTACKS = (
    "random routers flatter a rule that repeats its best number: claim safety only if "
    "submitter=flip fails too"
)


def chain_promises(chain: Sequence[Chosen], size: Size) -> list[str]:
    """The sentences of every part of a chain.

    Behind a cap or a refresh the budget is what they leave, and with a public part n is its size.
    """
    public = next((part for part in chain if part.name == "public_private"), None)
    acting = size
    for part in chain:
        if part.name == "cap":
            limits: dict = dict(part.values)
            acting = replace(acting, budget=effective_budget(acting.budget, **limits))
        elif part.name == "refresh":
            left = refreshed_budget(acting.budget, whole_of(part, "every"))
            acting = replace(acting, budget=left)
    if public is not None:
        acting = replace(acting, items=max(1, round(size_of(public, "public") * size.items)))
        if size.sensitivity is not None:
            acting = replace(acting, sensitivity=size.sensitivity * size.items / acting.items)
    schedules = ("cap", "refresh", "public_private", "delay")
    return [
        sentence
        for part in chain
        for sentence in promises(part, size if part.name in schedules else acting)
    ]


def promises(chosen: Chosen, size: Size) -> list[str]:
    """What theory promises about one mechanism, and does not: a few sentences.

    For a mechanism without a formula it says so.
    """
    about = _ABOUT.get(chosen.name)
    if about is None:
        return [f"{chosen.name}: no bound and no slow-down known; the simulation is all there is"]
    return [f"{title(chosen)}: {sentence}" for sentence in about(chosen, size)]


def _rounding(chosen: Chosen, size: Size) -> Iterator[str]:
    yield (
        "no defence: with the routers' mean on a boundary of the grid it is at worst a sign, which "
        f"slows the vote {digits(theory.SIGN_SLOW_DOWN)} times (pi/2); with the mean on a grid "
        "point there is no formula"
    )


def _gaussian(chosen: Chosen, size: Size) -> Iterator[str]:
    sd = float(size_of(chosen, "sd"))
    eps = theory.gaussian_privacy(size.delta, sd, size.budget, FAILURE)
    yield from _noise(chosen, size, theory.noise_slow_down(size.items, sd), sd, "1 + 4 n s^2")
    yield private(f"eps {digits(eps)} at delta {FAILURE:g}", counted(size.budget, "release"))


def _laplace(chosen: Chosen, size: Size) -> Iterator[str]:
    scale = float(size_of(chosen, "scale"))
    slow = theory.laplace_slow_down(size.items, scale)
    yield from _noise(chosen, size, slow, scale * 2.0**0.5, "1 + 8 n b^2")
    each = theory.laplace_each(size.delta, scale)
    yield private(composed(each, size.budget), counted(size.budget, "release"))


def _noise(chosen: Chosen, size: Size, slow: float, sd: float, formula: str) -> Iterator[str]:
    bias = theory.best_of_bias(sd, size.budget)
    yield (
        f"slows the weighted vote {digits(slow)} times ({formula}, {counted(size.items, 'item')}); "
        f"the best of {size.budget:,} noisy numbers is too good by about {digits(bias)}"
    )
    if chosen["draw"] == "fresh":
        yield (
            "draw=fresh lets a submitter average one score down by repeating it, which does not "
            "help the vote (m repeats: m + 4 n s^2); draw=persistent does not let it"
        )


def _subsample(chosen: Chosen, size: Size) -> Iterator[str]:
    scored = min(whole_of(chosen, "items"), size.items)
    slow = theory.subsample_slow_down(size.items, scored)
    yield (
        f"slows the weighted vote {digits(slow)} times (n/m, {scored:,} of {size.items:,} items); "
        "Blanc 2023 (arXiv 2302.08661) proves that subsampling with answers of few bits suffices, "
        "with constants that are not for this size"
    )


def _bootstrap(chosen: Chosen, size: Size) -> Iterator[str]:
    slow = theory.bootstrap_slow_down()
    yield f"slows the weighted vote {digits(slow)} times; no bound on the leaderboard error"


def _ladder(chosen: Chosen, size: Size) -> Iterator[str]:
    step = size_of(chosen, "step")
    best = theory.best_ladder_bound(size.items, size.budget, size.confidence)
    found = theory.ladder_bound(size.items, size.budget, float(step), size.confidence)
    at = f"{100 * size.confidence:g} %"
    if found is None:
        yield "theory bounds the leaderboard error only with a step; this is the running minimum"
    elif chosen["round"] != "true" or size.on != "overall":
        why = f"on={size.on}" if size.on != "overall" else f"round={chosen['round']}"
        yield f"{why}: theory's bound is for one number rounded to the step, and says nothing here"
        if size.on == "coordinates" and size.numbers > 1:
            yield f"{size.numbers} Ladders side by side leak {size.numbers} times as much as one"
    else:
        yield (
            f"theory bounds the leaderboard error by {digits(found.bound)} at {at} for "
            f"{size.words}: {worth(found.bound)}"
        )
    if best.bound < 1.0:
        yield (
            f"the step for which the bound is least is {digits(best.step)}, with "
            f"{digits(best.bound)}"
        )
    yield f"no formula for its slow-down; {BOTH_ATTACKS}"
    plain = step > 0 and chosen["round"] == "true"
    yield from _per_account(size, "plain rounding to its step" if plain else "full release")


def _parameter_free(chosen: Chosen, size: Size) -> Iterator[str]:
    yield f"no proven bound, and no formula for its slow-down; {BOTH_ATTACKS}"
    yield from _per_account(size, "full release")


def _shaky_ladder(chosen: Chosen, size: Size) -> Iterator[str]:
    step, scale = size_of(chosen, "step"), float(size_of(chosen, "scale"))
    asked = chosen["cap"]
    cap = asked if isinstance(asked, int) else theory.shaky_cap(step)
    acceptances = size.budget if cap is None else min(cap, size.budget)
    least = theory.shaky_least_step(scale, size.budget)
    balanced = theory.shaky_theory_size(size.items)
    if step < least:
        yield (
            f"unusable: its step is below 4 b ln k = {digits(least)}, so that noise alone makes "
            "acceptances"
        )
    yield (
        f"theory (error of order n^-0.4) wants step and scale about {digits(balanced)} for "
        f"{counted(size.items, 'item')}, where the noise swamps the board; its noise scales here "
        "are ours"
    )
    if scale > 0.0:
        each = theory.sparse_each(size.delta, scale)
        yield private(composed(each, acceptances), counted(acceptances, "acceptance"))
    yield f"no formula for its slow-down; {BOTH_ATTACKS}"
    yield from _per_account(size, "plain noise")


def _frontier_ladder(chosen: Chosen, size: Size) -> Iterator[str]:
    step, numbers = size_of(chosen, "step"), size.numbers
    most = theory.frontier_releases(step, numbers, size.budget)
    yield (
        "provisional: a reconstruction, as the rule's own section (Allouah and Duchi 2026, arXiv "
        "2609.32109) was not to be had"
    )
    allowed = f"at most {counted(most, 'release')} of {size.budget:,} submissions"
    if most == size.budget:
        allowed = f"theory lets all {size.budget:,} submissions be released"
    yield f"{allowed} on {counted(numbers, 'number')}" + (
        f" (all from {digits(theory.frontier_open_numbers(float(step), size.budget))} numbers on)"
        if 0 < step < 1
        else ""
    )
    if step > 0:
        needed = theory.frontier_items(float(step), numbers, size.budget, float(step))
        yield (
            f"for an error of its step a union bound over transcripts asks for about "
            f"{digits(needed)} items; there are {size.items:,}"
        )
    yield f"no formula for its slow-down; {BOTH_ATTACKS}"
    yield from _per_account(size, "plain rounding to its step" if step > 0 else "full release")


def _thresholdout(chosen: Chosen, size: Size) -> Iterator[str]:
    threshold, scale = size_of(chosen, "threshold"), float(size_of(chosen, "scale"))
    held = max(1, size.items - round(size_of(chosen, "public") * size.items))
    asked = chosen["answers"]
    answers = min(asked, size.budget) if isinstance(asked, int) else size.budget
    yield f"noise rule {chosen['noise']}, one of three published ones"
    if threshold > 0:
        tolerance = 4.0 / 3.0 * float(threshold)
        wanted = theory.thresholdout_scale(tolerance, size.budget)
        verdict = (
            f"below one item of {held:,}: the theory setting is no protection at this size"
            if wanted < 1.0 / held
            else f"above one item of {held:,}"
        )
        yield (
            f"for its tolerance of {digits(tolerance)} and {counted(size.budget, 'submission')} "
            f"theory sets the noise to {digits(wanted)}, {verdict}; the number of items that it "
            "needs has an unpublished constant"
        )
    if scale > 0.0 and chosen["noise"] == "laplace":
        # A held-out part is smaller than the whole, and every group weighs more in its mean.
        each = theory.sparse_each(size.delta * size.items / held, scale)
        yield private(composed(each, answers), counted(answers, "answer from the rest", "answers"))
    yield "no formula for its slow-down"


def _delay(chosen: Chosen, size: Size) -> Iterator[str]:
    batch = whole_of(chosen, "batch")
    yield (
        f"costs an attacker who does not adapt nothing but the last part of a batch of {batch:,}"
        if chosen["kind"] == "each"
        else f"one number per {batch:,} submissions; no formula for its slow-down"
    )


def _public_private(chosen: Chosen, size: Size) -> Iterator[str]:
    public = round(size_of(chosen, "public") * size.items)
    private, finals = max(1, size.items - public), whole_of(chosen, "finals")
    error = theory.full_release_error(private, finals, size.confidence)
    yield (
        f"n is {public:,} public items in every formula; the private {private:,} give no feedback, "
        f"so a team's {counted(finals, 'final entry', 'final entries')} there are within "
        f"{digits(error)} of the truth at {100 * size.confidence:g} % (Hoeffding)"
    )


def _cap(chosen: Chosen, size: Size) -> Iterator[str]:
    values: dict = dict(chosen.values)
    left = effective_budget(size.budget, **values)
    alone = effective_budget(size.budget, **(values | {"accounts": 1}))
    yield (
        f"{left:,} of {counted(size.budget, 'submission')} are scored"
        + (f", {alone:,} without other accounts" if left != alone else "")
        + "; state the identity rule: without one an account is free, and a cap is no mechanism"
    )


def _visibility(chosen: Chosen, size: Size) -> Iterator[str]:
    yield (
        "full release to the submitter, whatever the board shows to others"
        if chosen["to"] == "submitter"
        else f"a Ladder with step 0, for which no bound is known; {BOTH_ATTACKS}"
    )


def _refresh(chosen: Chosen, size: Size) -> Iterator[str]:
    every = whole_of(chosen, "every")
    yield (
        f"an attack starts anew after {counted(every, 'submission')}, so that theory's k is at "
        f"most {every:,}; every new set costs {counted(size.items, 'new item')}"
    )


def _per_account(size: Size, left: str) -> Iterator[str]:
    if size.state == "team":
        yield (
            f"state=team: one submission per account turns it into {left}; state the identity rule"
        )


_ABOUT: Mapping[str, Callable[[Chosen, Size], Iterator[str]]] = {
    "rounding": _rounding,
    "gaussian": _gaussian,
    "laplace": _laplace,
    "subsample": _subsample,
    "bootstrap": _bootstrap,
    "ladder": _ladder,
    "parameter_free": _parameter_free,
    "shaky_ladder": _shaky_ladder,
    "frontier_ladder": _frontier_ladder,
    "thresholdout": _thresholdout,
    "delay": _delay,
    "public_private": _public_private,
    "cap": _cap,
    "visibility": _visibility,
    "refresh": _refresh,
}
