"""Scores as tools write them, as fractions of a perfect one."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa

from jaxbench.errors import BadRequest

# Verdicts in words. The letters are those of inspect_ai: correct, incorrect, partial, no answer.
VERDICTS = {
    "c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0,
    "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "pass": 1.0, "fail": 0.0, "passed": 1.0,
    "failed": 0.0, "correct": 1.0, "incorrect": 0.0, "wrong": 0.0, "right": 1.0, "resolved": 1.0,
    "unresolved": 0.0, "success": 1.0, "failure": 0.0, "partial": 0.5, "noanswer": 0.0,
}  # fmt: skip
EMPTY = frozenset({"", "nan", "none", "null", "na", "n/a"})
# Numbers up to more than this and at most 100, none of them in (0, 1], are percentages; others
# could be marks out of five or ten, or fractions with a slip.
SURELY_PERCENT = 10


def verdict(value: object, percent: bool = False) -> float | None:
    """One score: a number, a boolean or a word; NaN where it is empty, None where it is neither.

    **Arguments:** `percent`: a number may have a % sign, which whoever asks has to look at.
    """
    if value is None:
        return float("nan")
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, int | float | np.integer | np.floating):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    if word in VERDICTS:
        return VERDICTS[word]
    if word in EMPTY:
        return float("nan")
    # float() would read 1_0, which no tool writes.
    if "_" in word:
        return None
    try:
        return float(word.removesuffix("%") if percent else word)
    except ValueError:
        return None


def score_column(
    values: pa.ChunkedArray | pa.Array, place: Callable[[int], str], column: str
) -> tuple[np.ndarray, bool]:
    """A column of scores as float64 (NaN: empty), and whether they are written with a % sign.

    **Arguments:** `place`: names a row for the user.

    **Errors:** `BadRequest` naming the first row that holds no score.
    """
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return values.cast(pa.float64()).to_numpy(zero_copy_only=False), False
    if pa.types.is_decimal(kind):
        return values.cast(pa.float64()).to_numpy(zero_copy_only=False), False
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan), False
    if pa.types.is_dictionary(kind):
        return score_column(values.cast(kind.value_type), place, column)
    if pa.types.is_nested(kind):
        raise BadRequest(
            f"{place(0)}: {column[:40]} holds {str(kind)[:80]}, expected one number or word"
        )
    # Few distinct spellings: each is read once.
    codes, spelled = pd.factorize(
        np.asarray(values.to_pandas(), dtype=object), use_na_sentinel=False
    )
    read = [verdict(None if _is_nothing(word) else word, percent=True) for word in spelled]
    for code, (word, score) in enumerate(zip(spelled, read, strict=True)):
        if score is None:
            row = int(np.argmax(codes == code))
            hint = "; write decimals with a point" if "," in str(word) else ""
            raise BadRequest(
                f"{place(row)}: {column[:40]} {str(word)[:40]!r} is no score; expected a number, "
                f"true/false, or a verdict such as C, I, P or N (an empty cell is missing){hint}"
            )
    percent = [isinstance(word, str) and word.strip().endswith("%") for word in spelled]
    # Nothing and 0 are what they are, with a sign or without.
    bare = [bool(r) and r == r and not p for p, r in zip(percent, read, strict=True)]
    if any(percent) and any(bare):
        row = int(np.argmax(np.array(bare)[codes]))
        raise BadRequest(
            f"{place(row)}: {column[:40]} {str(spelled[codes[row]])[:40]!r} is written without %, "
            "others with"
        )
    return np.array(read, dtype=np.float64)[codes], any(percent)


def as_fractions(
    scores: np.ndarray,
    place: Callable[[int], str],
    *,
    max_score: Fraction | None,
    percent: bool,
) -> tuple[np.ndarray, str | None]:
    """Scores as fractions of a perfect one, and a sentence where they were scaled.

    **Arguments:** `max_score`: what a perfect one is, if the user says so; `percent`: the file
    says that they are percentages.

    **Errors:** `BadRequest` for a score that is negative, infinite, or above the perfect one; or
    where a perfect one cannot be told.
    """
    known = scores[~np.isnan(scores)]
    largest = known.max(initial=0.0)
    scale = float(max_score) if max_score else 100.0 if percent else 1.0
    note = None
    # A hair above one is the float32 rounding of a mean.
    if max_score is None and not percent and 1 + 1e-6 < largest <= 100:
        mixed = bool(((known > 0) & (known <= 1)).any())
        if largest <= SURELY_PERCENT or mixed:
            raise BadRequest(
                f"{place(int(np.nanargmax(scores)))}: score {largest:g} is above 1; say what a "
                "perfect one is, such as max_score=10 (or 100 for percentages)"
            )
        scale = 100.0
    if scale != 1.0:
        note = (
            f"scores up to {largest:g} are read as percentages"
            if max_score is None
            else f"scores are divided by max_score={max_score}"
        )
    scaled = scores / scale
    bad = np.isinf(scaled) | (scaled < -1e-6) | (scaled > 1 + 1e-6)
    if bad.any():
        low = np.isinf(scaled) | (scaled < 0)
        row = int(np.argmax(low & bad)) if (low & bad).any() else int(np.nanargmax(scaled))
        more = f" ({bad.sum()} such scores)" if bad.sum() > 1 else ""
        raise BadRequest(
            f"{place(row)}: score {scores[row]:g} is not between 0 and {scale:g}{more}; "
            "max_score says what a perfect one is"
        )
    return scaled, note


def _is_nothing(word: object) -> bool:
    return word is None or (isinstance(word, float) and np.isnan(word))
