"""What jaxbench says when a request or a file is wrong."""

import difflib
from collections.abc import Iterable


class BadRequest(ValueError):
    """A request that cannot be carried out as given.

    The message is one line in the user's terms: what was found, where, what was expected and
    what to do. The command line prints it and exits with status 2.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to `word`, or every known word if none is close."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(known)}"


def unknown(kind: str, word: object, known: Iterable[str]) -> BadRequest:
    """The error for a word that is not in a closed list, with the nearest one that is."""
    return BadRequest(f"unknown {kind} {str(word)!r}; {nearest(str(word), known)}")


def some(names: Iterable[str], most: int = 3) -> str:
    """The first few of `names`, quoted, and how many more there are."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def visible(text: str) -> str:
    """Text on one line, without what would steer a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def counted(number: int, noun: str) -> str:
    """A number and what it counts: `1 item`, `1,200 items`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
