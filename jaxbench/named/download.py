"""Downloads of pinned files, once, into the cache.

`pooch` downloads under a temporary name, checks the hash and renames, so that no half of a file
ever has the final name, whoever else downloads it at the same time. What is ours is the way bytes
come in, since a server may be slow, talk without end, or be a sign-in page, and what is said when
they don't. Messages hold no user names, passwords or queries of addresses.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from jaxbench import unfinished
from jaxbench.cache import CACHE
from jaxbench.errors import BadRequest
from jaxbench.named.entry import HOST, Named, SourceFile

MIRROR = "JAXBENCH_MIRROR"
# Seconds without a byte, and for one file of a few megabytes.
PATIENCE, LONGEST = 30.0, 300.0
# The clock is looked at this often; a read waits until so many bytes are there.
CHUNK = 2**10
# A server that sends more than this beyond the pinned length sends something else.
EXCESS = 2**20
# Seconds after which the temporary file of a killed process is litter.
STALE = 3600.0


class _Failed(ValueError):
    """Why a file did not come, in words of ours."""


def fetch(entry: Named, folder: Path) -> tuple[Path, ...]:
    """The files of a benchmark in `folder`, each downloaded unless its hash is right already.

    **Errors:** `BadRequest` naming the address, the reason, and the way to do without a connection.
    """
    return tuple(_fetch(entry, file, folder) for file in entry.files)


def _fetch(entry: Named, file: SourceFile, folder: Path) -> Path:
    import pooch

    address = _from_mirror(file.address)
    try:
        with _quiet(pooch.get_logger()):
            _sweep(folder)
            kept = pooch.retrieve(
                address,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=folder,
                # Pooch names the parameters in its types, but gives them by position.
                downloader=_receiver(file),  # pyright: ignore[reportArgumentType]
            )
    except _Failed as failure:
        raise BadRequest(
            f"{entry.name} cannot be downloaded from {_public(address)}: {failure}; without a "
            f"connection, set JAXBENCH_DATA to a folder that holds {entry.name}/{file.name}"
        ) from None
    except OSError as error:
        raise BadRequest(
            f"{entry.name} cannot be downloaded from {_public(address)}: {folder} cannot be "
            f"written ({error.strerror or type(error).__name__}); {CACHE} chooses another folder, "
            f"or set JAXBENCH_DATA to a folder that holds {entry.name}/{file.name}"
        ) from None
    return Path(kept)


def _from_mirror(address: str) -> str:
    """The address with the host that `JAXBENCH_MIRROR` names in place of the public one.

    **Errors:** `BadRequest` for a mirror that is no plain http or https address.
    """
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return address
    try:
        parts = urlsplit(mirror)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = plain and not (parts.query or parts.fragment) and parts.port != 0
    except ValueError:
        plain = False
    if not plain or any(c.isspace() or not c.isprintable() for c in mirror):
        raise BadRequest(
            f"{MIRROR}={_public(mirror)}: expected an address http://... or https://... without "
            f"query, which takes the place of {HOST}"
        )
    return mirror.rstrip("/") + address.removeprefix(HOST)


def _public(address: str) -> str:
    """An address without what may be secret in it."""
    # A password may hold any character: all before the last @ goes first.
    scheme, mark, rest = address.partition("://")
    bare = f"{scheme}{mark}{rest.rsplit('@', 1)[-1]}" if mark else address
    bare = bare.split("?")[0].split("#")[0]
    try:
        parts = urlsplit(bare)
        if parts.hostname and parts.port != 0:
            bare = urlunsplit(parts._replace(netloc=parts.netloc.rsplit("@", 1)[-1]))
    except ValueError:
        # No address at all: what stands before the last @ could be a password.
        bare = bare.rsplit("@", 1)[-1]
    # Without a scheme there is no host either, and all of it would be a path.
    return ascii(bare if "://" in bare else bare.rsplit("@", 1)[-1])[1:-1]


def _receiver(file: SourceFile) -> Callable[[str, str, object], None]:
    """What pooch calls to receive this file: nothing but the pinned bytes gets through."""

    def receive(address: str, target: str, _pooch: object) -> None:
        import requests

        hashed, length = hashlib.sha256(), 0
        # pooch's temporary file goes with the process, should that be told to stop.
        unfinished.add(Path(target))
        deadline = time.monotonic() + LONGEST
        try:
            with (
                requests.get(address, stream=True, timeout=PATIENCE) as response,
                open(target, "wb") as out,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise _Failed(_status(response.status_code))
                for chunk in response.iter_content(CHUNK):
                    length += len(chunk)
                    if length > file.size + EXCESS:
                        raise _Failed(f"more than the {file.size} bytes expected came")
                    if time.monotonic() > deadline:
                        raise _Failed(
                            f"only {length} of {file.size} bytes came within {LONGEST:g} s"
                        )
                    hashed.update(chunk)
                    out.write(chunk)
        except requests.RequestException as error:
            raise _Failed(_reason(error, length, file.size)) from None
        if hashed.hexdigest() != file.sha256:
            raise _Failed(
                f"found sha256 {hashed.hexdigest()} ({length} bytes), expected {file.sha256} "
                f"({file.size} bytes)"
            )

    return receive


def _reason(error: Exception, length: int, size: int) -> str:
    """A failure in words: what requests says holds proxies and whole addresses."""
    from requests import exceptions

    if length:
        return f"the connection broke off after {length} of {size} bytes"
    for kind, words in (
        (exceptions.Timeout, f"no answer within {PATIENCE:g} s"),
        (exceptions.ProxyError, "the proxy cannot be reached or refuses (HTTPS_PROXY, HTTP_PROXY)"),
        (exceptions.SSLError, "the certificate of the server cannot be verified"),
        (exceptions.ChunkedEncodingError, "the connection broke off before the first bytes"),
        (exceptions.ContentDecodingError, "the answer cannot be unpacked"),
        (exceptions.TooManyRedirects, "the server sends us in circles"),
        (exceptions.ConnectionError, "no connection to the server"),
    ):
        if isinstance(error, kind):
            return words
    return "this address cannot be requested"


def _status(code: int) -> str:
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return f"the server answered {code}{phrase}"


def _sweep(folder: Path) -> None:
    """Remove what killed processes left; pooch's temporary names start like this."""
    with contextlib.suppress(OSError):
        for left in folder.glob("tmp*"):
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()


@contextlib.contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Pooch tells the address and the place of every download on standard error."""
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
