"""Downloads: the pinned bytes or nothing, once, whatever the server, the disk or a signal does."""

import logging
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from commands import elsewhere, everything_below, refused
from jaxbench.errors import BadRequest
from jaxbench.named import download
from jaxbench.named.download import fetch
from serving import (
    BOUND,
    closed_address,
    half,
    head,
    packed,
    serving,
    small,
    source_file,
    status,
    whole,
)

CONTENT = b'{"subject_id": "m", "responses": {"i": 1}}\n' * 3000
FILE = source_file(CONTENT)
ENTRY = small(FILE)


@pytest.fixture
def server(monkeypatch):
    with serving() as server:
        monkeypatch.setenv("JAXBENCH_MIRROR", server.address)
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.delenv("JAXBENCH_DATA", raising=False)
        yield server


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "small"


def refuse(folder, *words, entry=ENTRY):
    """Fetch, which fails with one line that holds `words`; nothing is left in the folder."""
    before = everything_below(folder)
    with pytest.raises(BadRequest) as failure:
        fetch(entry, folder)
    text = str(failure.value)
    assert len(text.splitlines()) == 1
    for word in ("small cannot be downloaded", "JAXBENCH_DATA", "small/responses.jsonl", *words):
        assert word in text, (word, text)
    assert everything_below(folder) == before
    return text


# What works


@pytest.mark.parametrize("answer", [whole, packed], ids=["plain", "gzip"])
def test_the_second_use_asks_nobody(answer, server, folder, capfd):
    server.serve(FILE, answer(CONTENT))
    (path,) = fetch(ENTRY, folder)
    assert path == folder / "responses.jsonl"
    assert path.read_bytes() == CONTENT
    changed = folder.stat().st_mtime_ns
    assert fetch(ENTRY, folder) == (path,)
    assert server.asked == [f"/{FILE.repository}/{FILE.path}"]
    # A cache that cannot be written serves what it has.
    assert folder.stat().st_mtime_ns == changed
    assert everything_below(folder) == {"responses.jsonl"}
    assert capfd.readouterr() == ("", "")


def test_every_file_of_a_benchmark_comes(server, folder):
    second = source_file(b"{}\n", "data/small/tasks.jsonl")
    server.serve(FILE, whole(CONTENT))
    server.serve(second, whole(b"{}\n"))
    paths = fetch(small(FILE, second), folder)
    assert [path.read_bytes() for path in paths] == [CONTENT, b"{}\n"]


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"X"],
    ids=["half", "empty", "changed"],
)
def test_a_damaged_file_is_downloaded_again(damage, server, folder):
    server.serve(FILE, whole(CONTENT))
    (path,) = fetch(ENTRY, folder)
    path.write_bytes(damage(CONTENT))
    assert fetch(ENTRY, folder)[0].read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_the_logger_of_pooch_stays_as_it_was(server, folder):
    import pooch

    logger = pooch.get_logger()
    before = logger.level
    server.serve(FILE, whole(CONTENT))
    fetch(ENTRY, folder)
    assert logger.level == before != logging.WARNING


# What the server does


def test_another_file_shows_both_hashes(server, folder):
    other = source_file(b"x" * len(CONTENT))
    server.serve(FILE, whole(b"x" * len(CONTENT)))
    refuse(folder, FILE.sha256, other.sha256, server.address)


def test_a_sign_in_page_is_another_file(server, folder):
    server.serve(FILE, whole(b"<html>please sign in</html>"))
    refuse(folder, "27 bytes", f"{len(CONTENT)} bytes", FILE.sha256)


def test_half_a_file(server, folder):
    server.serve(FILE, half(CONTENT))
    text = refuse(folder, f"of {len(CONTENT)} bytes")
    assert "broke off after" in text


@pytest.mark.parametrize(
    ("code", "words"),
    [(404, "404 Not Found"), (500, "500 Internal Server Error"), (403, "403 Forbidden"),
     (299, "299")],
)  # fmt: skip
def test_an_error_of_the_server(code, words, server, folder):
    server.serve(FILE, status(code))
    text = refuse(folder, words, f"{server.address}/{FILE.repository}/{FILE.path}")
    assert "secret" not in text


def test_a_server_that_says_nothing(server, folder, monkeypatch):
    monkeypatch.setattr(download, "PATIENCE", 0.2)
    server.serve(FILE, lambda handler: server.hold())
    refuse(folder, "no answer within 0.2 s")
    assert server.held.is_set()


def test_a_server_that_stops_in_the_middle(server, folder, monkeypatch):
    monkeypatch.setattr(download, "PATIENCE", 0.2)

    def answer(handler):
        half(CONTENT)(handler)
        handler.wfile.flush()
        server.hold()

    server.serve(FILE, answer)
    refuse(folder, "broke off after", f"of {len(CONTENT)} bytes")


def test_a_server_that_is_too_slow(server, folder, monkeypatch):
    monkeypatch.setattr(download, "LONGEST", 0.2)

    def answer(handler):
        head(handler, len(CONTENT))
        for start in range(0, len(CONTENT), 1024):
            handler.wfile.write(CONTENT[start : start + 1024])
            time.sleep(0.02)

    server.serve(FILE, answer)
    refuse(folder, "bytes came within 0.2 s")


def test_a_server_that_does_not_stop(server, folder, monkeypatch):
    monkeypatch.setattr(download, "EXCESS", 1000)
    server.serve(FILE, whole(CONTENT + b"x" * 5000))
    refuse(folder, f"more than the {len(CONTENT)} bytes")


def test_nobody_there(folder, monkeypatch):
    address = closed_address()
    monkeypatch.setenv("JAXBENCH_MIRROR", address)
    monkeypatch.setenv("NO_PROXY", "*")
    refuse(folder, "no connection", address)


def test_a_failure_keeps_a_damaged_file_from_being_used(server, folder):
    folder.mkdir(parents=True)
    (folder / "responses.jsonl").write_bytes(CONTENT[:100])
    server.serve(FILE, status(503))
    refuse(folder, "503 Service Unavailable")


# Addresses


def test_without_a_mirror_the_public_host_is_named(folder, monkeypatch):
    """And a proxy's password is not; this proxy is not there, so nothing leaves the machine."""
    proxy = closed_address().replace("http://", "http://somebody:hunter2@")
    monkeypatch.delenv("JAXBENCH_MIRROR", raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, proxy)
    address = f"https://raw.githubusercontent.com/{FILE.repository}/{FILE.path}"
    text = refuse(folder, f"from {address}:", "proxy")
    assert "hunter2" not in text
    assert "somebody" not in text


def test_a_mirror_with_a_password_works_and_is_not_shown(server, folder, monkeypatch):
    monkeypatch.setenv(
        "JAXBENCH_MIRROR", server.address.replace("http://", "http://somebody:hunter2@") + "/"
    )
    text = refuse(folder, "404 Not Found", server.address)
    assert "hunter2" not in text
    assert "somebody" not in text
    server.serve(FILE, whole(CONTENT))
    assert fetch(ENTRY, folder)[0].read_bytes() == CONTENT


@pytest.mark.parametrize(
    "mirror",
    ["somebody:hunter2@host/files", "ftp://somebody:hunter2@host", "/files", "http://", "http://:80",
     "http://host/?key=hunter2", "http://host/#hunter2", "http://host:hunter2", "http://[host",
     "http://somebody:hunter2@host:x/", "http://host/a b", "file:///files", "http://host:0",
     "http://somebody:hunter2?3@host", "http://somebody:hunter2#3@host"],
)  # fmt: skip
def test_a_mirror_that_is_no_address(mirror, folder, monkeypatch):
    monkeypatch.setenv("JAXBENCH_MIRROR", mirror)
    with pytest.raises(
        BadRequest, match=r"JAXBENCH_MIRROR=.*: expected an address http"
    ) as failure:
        fetch(ENTRY, folder)
    text = str(failure.value)
    # A port that is none is part of the host, not a secret.
    assert ("hunter2" in text) == (mirror == "http://host:hunter2")
    assert not folder.exists()


# What the disk does


@pytest.mark.parametrize("place", ["file", "/proc"])
def test_a_cache_that_cannot_be_written(place, server, tmp_path):
    (tmp_path / "file").write_text("mine")
    server.serve(FILE, whole(CONTENT))
    folder = tmp_path / place / "small"
    with pytest.raises(BadRequest, match=r"small cannot be downloaded .* cannot be written") as no:
        fetch(ENTRY, folder)
    for word in (str(folder), "JAXBENCH_CACHE", "JAXBENCH_DATA"):
        assert word in str(no.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_in_the_place_of_the_file(server, folder):
    (folder / "responses.jsonl" / "mine").mkdir(parents=True)
    server.serve(FILE, whole(CONTENT))
    refuse(folder, "cannot be written")


def test_old_litter_is_swept_and_young_files_are_left(server, folder):
    folder.mkdir(parents=True)
    for name, age in (("tmpold", 7200), ("tmpyoung", 60)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (time.time() - age,) * 2)
    server.serve(FILE, whole(CONTENT))
    fetch(ENTRY, folder)
    assert everything_below(folder) == {"responses.jsonl", "tmpyoung"}


# Other processes, and signals

FETCH = """
import signal
import sys
from pathlib import Path
from jaxbench import unfinished
from jaxbench.named import Named, SourceFile
from jaxbench.named.download import fetch

# A process in the background inherits that Ctrl-C is ignored, one under `nohup` a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if sys.argv.pop(1) == "handled":
    unfinished.handle_signals()
repository, path, sha256, size, folder = sys.argv[1:]
file = SourceFile(repository, path, sha256, int(size))
fetch(Named("small", "", 2, 3, 1, "MIT", files=(file,)), Path(folder))
"""


def start(folder, how="plain"):
    words = (how, FILE.repository, FILE.path, FILE.sha256, FILE.size, folder)
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, *map(str, words)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_processes_at_once_leave_one_good_file(server, folder):
    def answer(handler):
        half(CONTENT)(handler)
        # Both are in the middle of it before either goes on.
        if len(server.asked) == 2:
            server.released.set()
        server.hold()
        handler.wfile.write(CONTENT[len(CONTENT) // 2 :])

    server.serve(FILE, answer)
    both = [start(folder), start(folder)]
    for process in both:
        assert process.communicate(timeout=BOUND) == (b"", b"")
        assert process.returncode == 0
    assert len(server.asked) == 2
    assert everything_below(folder) == {"responses.jsonl"}
    assert (folder / "responses.jsonl").read_bytes() == CONTENT


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill"])
def test_a_process_that_is_stopped_leaves_no_half_file(sign, server, folder):
    def answer(handler):
        half(CONTENT)(handler)
        handler.wfile.flush()
        server.hold()

    server.serve(FILE, answer)
    process = start(folder)
    assert server.held.wait(BOUND)
    # Under way: the temporary file is there.
    assert folder.is_dir()
    process.send_signal(sign)
    process.communicate(timeout=BOUND)
    assert process.returncode != 0
    assert not (folder / "responses.jsonl").exists()
    server.serve(FILE, whole(CONTENT))
    assert fetch(ENTRY, folder)[0].read_bytes() == CONTENT


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_what_is_told_to_stop_leaves_nothing_in_the_cache(sign, server, folder):
    def answer(handler):
        half(CONTENT)(handler)
        handler.wfile.flush()
        server.hold()

    server.serve(FILE, answer)
    process = start(folder, "handled")
    assert server.held.wait(BOUND)
    process.send_signal(sign)
    assert process.communicate(timeout=BOUND)[1] == b"jaxbench: interrupted\n"
    assert process.returncode == 128 + sign
    assert everything_below(folder) == set()


# Through the command line


def test_the_command_line_says_it_in_one_line(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAXBENCH_CACHE", str(tmp_path / "cache"))
    with elsewhere(tmp_path) as here:
        text = refused(capsys, here, ("attack", "benchmark=swe_pro"), "404 Not Found")
    assert re.match(r"jaxbench attack: swe_pro cannot be downloaded from http://127", text)
    assert server.asked == [
        "/dariakryvosheieva/agent-psychometrics/62851ff8e54d39e51ab968e370cedbf9016a21bd"
        "/data/swebench_pro/responses.jsonl"
    ]
