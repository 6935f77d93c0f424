"""Submitters: what is submitted next, what is made of the feedback, and what is final.

A submitter is a small protocol that a kernel runs, batched over trials. It knows its own moves at
once and feedback when that appears, and so has two memories: `own` and `memory`. Answers are whole
numbers per slot: +1 for endpoint A and -1 for B of a router, twice the counts of a submission that
answers items itself (see `sequence`). Parameters are data: other ones compile nothing.

Source: spec of the mechanisms (what the attacker does with it, adaptive flips, attack constants)
and of the attack, section 5.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float64, Int32, UInt32, UInt64

from jaxbench.attacker import decoder
from jaxbench.counters import words
from jaxbench.engine.channel import CLOSE

# Up to so many prompts the smallest keys are looked for one after the other, else by sorting.
FEW = 16


class Places(NamedTuple):
    """Runs of slots `(number, start, stop)`, in order: the released number of every slot."""

    runs: tuple[tuple[int, int, int], ...]

    def per_slot(self, values: Float64[Array, "rows numbers"]) -> Float64[Array, "rows slots"]:
        """A value per number on the slots of that number."""
        rows = values.shape[0]
        parts = [
            jnp.broadcast_to(values[:, number, None], (rows, stop - start))
            for number, start, stop in self.runs
        ]
        return jnp.concatenate(parts, axis=1)


class Stage(NamedTuple):
    """What every submitter is given: the endpoints' losses together, ties, the first candidate."""

    reference: Float64[Array, "rows numbers"]
    places: Places
    ties_to_a: Bool[Array, "#rows slots"] | None
    first: Int32[Array, "rows slots"] | None

    def route(self, votes: Float64[Array, "rows slots"]) -> Int32[Array, "rows slots"]:
        """The router of votes, as signs."""
        assert self.ties_to_a is not None
        to_a = decoder.route(votes[:, None], self.ties_to_a[:, None])[:, 0]
        return jnp.where(to_a, jnp.int32(1), jnp.int32(-1))


class Move(NamedTuple):
    """A submission: its answers, and what they are in the mean over how they were drawn.

    `mean` is None where nobody asks; `number` is that of the submission.
    """

    answers: Int32[Array, "rows slots"]
    mean: Float64[Array, "rows slots"] | None
    number: Int32[Array, "#rows"]


class Told(NamedTuple):
    """The feedback on a submission as its submitter has it.

    `seen` is where a number is taken for the submission's own; `overall` the released overall
    loss, infinite where some number is not visible.
    """

    released: Float64[Array, "rows numbers"]
    visible: Bool[Array, "rows numbers"]
    seen: Bool[Array, "rows numbers"]
    overall: Float64[Array, " rows"]


class Submitter(eqx.Module):
    """The protocol.

    - `banked`: it submits candidates of a bank, one after the other.
    - `static_first`: before any feedback is there the final submission is the static router.
    """

    @property
    def banked(self) -> bool:
        """Whether `propose` needs the candidate of its number."""
        return False

    @property
    def static_first(self) -> bool:
        """Whether the final submission is the static router where nothing came back so far."""
        return True

    def start(self, stage: Stage) -> tuple[Any, Any]:
        """Both memories before the first submission."""
        raise NotImplementedError

    def propose(
        self,
        stage: Stage,
        own: Any,
        memory: Any,
        number: Int32[Array, ""],
        candidate: Int32[Array, "rows slots"] | None,
    ) -> tuple[Any, Move]:
        """The submission of a number, from 1."""
        raise NotImplementedError

    def react(self, stage: Stage, memory: Any, move: Move, told: Told) -> Any:
        """The memory with the feedback on a submission."""
        raise NotImplementedError

    def final(self, stage: Stage, own: Any, memory: Any) -> Int32[Array, "rows slots"]:
        """What is submitted last."""
        raise NotImplementedError


class Vote(Submitter):
    """Random routers, and a vote that weighs them: `linear`, `sign` or `majority`."""

    kind: str = eqx.field(static=True, default="linear")

    @property
    def banked(self) -> bool:
        """Every submission is a candidate."""
        return True

    def start(self, stage: Stage) -> tuple[Any, Any]:
        """No votes."""
        assert stage.first is not None
        return (), jnp.zeros(stage.first.shape, dtype=jnp.float64)

    def propose(self, stage, own, memory, number, candidate):
        """The candidate."""
        assert candidate is not None
        return own, Move(candidate, None, number[None])

    def react(self, stage: Stage, memory: Any, move: Move, told: Told) -> Any:
        """The votes with one more."""
        weights = decoder.cast(_weights(told, stage.reference), self.kind)
        # A majority counts a weight of 0, but not one of a number that is not seen.
        weights = jnp.where(told.seen, weights, 0.0)
        return memory + stage.places.per_slot(weights) * move.answers.astype(jnp.float64)

    def final(self, stage: Stage, own: Any, memory: Any) -> Int32[Array, "rows slots"]:
        """The router of the votes."""
        return stage.route(memory)


class Best(NamedTuple):
    """What a submitter works on from, and its released overall loss (infinite: none yet)."""

    answers: Int32[Array, "rows slots"]
    released: Float64[Array, " rows"]


class Keeping(Submitter):
    """Submitters that go on from one submission and keep a change where it is released as better.

    It is kept iff some number of it is seen and the released overall loss is strictly below that
    of what it was changed from.
    """

    def react(self, stage: Stage, memory: Best, move: Move, told: Told) -> Best:
        """The better of the two."""
        kept = jnp.any(told.seen, axis=-1) & (told.overall < memory.released - CLOSE)
        return Best(
            jnp.where(kept[:, None], move.answers, memory.answers),
            jnp.where(kept, told.overall, memory.released),
        )

    def final(self, stage: Stage, own: Any, memory: Best) -> Int32[Array, "rows slots"]:
        """What was kept last."""
        return memory.answers


class Flip(Keeping):
    """From candidate 0 on, `items` distinct prompts of the current router are flipped at a time.

    They are those with the smallest keys `word << 32 | prompt` of all reused prompts, the word at
    counters (prompt, submission): a random set of exactly that size. Equal prompts have equal keys
    and flip together.

    - `reused`: slots of reused prompts; `first`: the first slot of each of them.
    """

    items: Int32[Array, ""]
    keys: UInt32[Array, "rows 2"]
    prompts: UInt32[Array, "rows slots"]
    reused: Bool[Array, "rows slots"]
    first: Bool[Array, "rows slots"]

    def start(self, stage: Stage) -> tuple[Any, Any]:
        """Candidate 0, whatever its score."""
        assert stage.first is not None
        none = jnp.full(stage.first.shape[:1], jnp.inf, dtype=jnp.float64)
        return (), Best(stage.first, none)

    def propose(self, stage, own, memory, number, candidate):
        """The current router with some prompts flipped; the first one is as it is."""
        counter = number.astype(jnp.uint32)[None, None]
        word, _ = words(self.keys[:, None], self.prompts, counter)
        keys = (word.astype(jnp.uint64) << 32) | self.prompts.astype(jnp.uint64)
        last = _smallest(keys, self.first, self.items)
        flipped = self.reused & (keys <= last[:, None]) & (number > 1)
        answers = jnp.where(flipped, -memory.answers, memory.answers)
        return own, Move(answers, None, number[None])


class Rounds(Submitter):
    """Rounds of `length` submissions around the final router of the round before, the centre.

    Round 0 submits candidates of the bank. The last submission of a round is the router of the
    votes so far, and becomes the centre; later candidates x differ from the centre on every prompt
    with chance s (`share`, in parts of 2^32). Votes add up over all rounds: (b - r) (x - E x), with
    r the released loss, E x = (1 - 2s) centre (0 in round 0), and b what r is in the mean: the
    endpoints' mean in round 0, then (1 - 2s) of the last visible loss of a centre and 2s of that.

    This measures every slot without bias whatever b is: b and the centre are fixed before x is
    drawn, so that E[b (x - E x)] = 0, and of -r, a sum over slots that are drawn apart, only the
    slot's own part is correlated with x - E x. The nearer b is to the mean of r the less it
    varies: with the centre's own loss for b, n = 1000, k = 2000, rounds of 64 and s = 1/8 leave
    33 % of the items wrong in place of 8 %. (Numbers that a mechanism withholds depend on r, and
    bias this vote as any other.)

    A weight is added to votes in float64, one submission after the other.
    """

    length: Int32[Array, ""]
    share: Float64[Array, ""]
    keys: UInt32[Array, "rows 2"]
    prompts: UInt32[Array, "rows slots"]

    @property
    def banked(self) -> bool:
        """Round 0 is."""
        return True

    def start(self, stage: Stage) -> tuple[Any, Any]:
        """No centre (round 0 does not look at it), no votes, and twice the endpoints' mean."""
        assert stage.first is not None
        votes = jnp.zeros(stage.first.shape, dtype=jnp.float64)
        return stage.first, (votes, stage.reference)

    def propose(self, stage, own, memory, number, candidate):
        """A candidate, a router near the centre, or the new centre."""
        assert candidate is not None
        votes, _ = memory
        word, _ = words(self.keys[:, None], self.prompts, number.astype(jnp.uint32)[None, None])
        near = jnp.where(word.astype(jnp.float64) < self._parts(), -own, own)
        ends, early = self._ends(number), number <= self.length
        answers = jnp.where(ends, stage.route(votes), jnp.where(early, candidate, near))
        inside = own.astype(jnp.float64) * self._kept()
        mean = jnp.where(ends, answers.astype(jnp.float64), jnp.where(early, 0.0, inside))
        return jnp.where(ends, answers, own), Move(answers, mean, number[None])

    def react(self, stage: Stage, memory: Any, move: Move, told: Told) -> Any:
        """The votes with one more, or a new base."""
        votes, base = memory
        weights = stage.places.per_slot(_weights(told, base))
        assert move.mean is not None
        votes = votes + weights * (move.answers.astype(jnp.float64) - move.mean)
        new = self._ends(move.number)[:, None] & told.visible
        kept = self._kept()
        around = kept * (2.0 * told.released) + (1.0 - kept) * stage.reference
        return votes, jnp.where(new, around, base)

    def final(self, stage: Stage, own: Any, memory: Any) -> Int32[Array, "rows slots"]:
        """The router of all votes."""
        return stage.route(memory[0])

    def _parts(self) -> Float64[Array, ""]:
        return jnp.floor(self.share * 2.0**32)

    def _kept(self) -> Float64[Array, ""]:
        """1 - 2s, s in whole parts of 2^32."""
        return 1.0 - 2.0 * self._parts() * 2.0**-32

    def _ends(self, number: Int32[Array, "..."]) -> Bool[Array, "..."]:
        return jnp.remainder(number, self.length) == 0


def _weights(
    told: Told, reference: Float64[Array, "rows numbers"]
) -> Float64[Array, "rows numbers"]:
    """Weights of one submission by number."""
    return jnp.concatenate(
        [
            decoder.feedback_weights(
                told.released[:, n : n + 1], told.seen[:, n : n + 1], reference[:, n]
            )
            for n in range(reference.shape[1])
        ],
        axis=1,
    )


def _smallest(
    keys: UInt64[Array, "rows slots"], among: Bool[Array, "rows slots"], number: Int32[Array, ""]
) -> UInt64[Array, " rows"]:
    """The `number`-th smallest of distinct keys, or the largest there can be if there are fewer."""
    most = jnp.full(keys.shape, 2**64 - 1, dtype=jnp.uint64)
    keys = jnp.where(among, keys, most)

    def one_by_one():
        def after(_, last):
            return jnp.min(jnp.where(keys > last[:, None], keys, most), axis=1)

        return lax.fori_loop(jnp.int32(1), number, after, jnp.min(keys, axis=1))

    def at_once():
        place = jnp.minimum(number, keys.shape[1]) - 1
        return lax.dynamic_index_in_dim(jnp.sort(keys, axis=1), place, axis=1, keepdims=False)

    return lax.cond(number <= FEW, one_by_one, at_once)
