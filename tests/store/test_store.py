"""Shards that are whole or absent: what is written comes back, what is damaged does not."""

import errno
import os
import random
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import everything_below
from jaxbench import unfinished
from jaxbench.errors import BadRequest
from jaxbench.store import Shard, Store, content_key
from jaxbench.store.parquet import encode

KEY = content_key({"interface": "task"}, "data", "0.1.0")
SHARDS = [Shard(KEY, first, first + 9) for first in (0, 10, 20)]


def table(seed=0, rows=10):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "trial": pa.array(range(rows), pa.int64()),
            "eligible": pa.array([bool(i % 3) for i in range(rows)]),
            "model": pa.array([None if i % 4 == 0 else f"jaxbench-sha256:{i}" for i in range(rows)],
                              pa.string()),
            "loss": pa.array([float("nan"), None, -0.0, *rng.normal(size=rows)][:rows]),
        }
    )  # fmt: skip


def same(a, b):
    """Equal with NaN, the sign of zero and nulls: by the bytes that stand for them."""
    return a is not None and encode(SHARDS[0], a) == encode(SHARDS[0], b)


@pytest.fixture
def store(tmp_path):
    """Three shards of a run that is being written."""
    store = Store(tmp_path / "run")
    with store.exclusive():
        for seed, shard in enumerate(SHARDS):
            store.write(shard, table(seed))
        yield store


def test_what_is_written_comes_back(store):
    for seed, shard in enumerate(SHARDS):
        assert same(store.read(shard), table(seed))
        assert store.read(shard).schema == table(seed).schema
        assert store.has(shard)
        assert store.verify(shard)
    assert [s for s, _ in store.tables(SHARDS)] == SHARDS
    assert all(same(t, table(i)) for i, (_, t) in enumerate(store.tables(SHARDS)))
    assert store.missing(SHARDS) == []
    assert store.damaged == []
    names = {"shards", "shards/.lock", *(f"shards/{s.name}" for s in SHARDS)}
    assert everything_below(store.folder) == names


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_tables_of_any_length(rows, store):
    store.write(SHARDS[0], table(rows=rows))
    assert same(store.read(SHARDS[0]), table(rows=rows))
    assert store.read(SHARDS[0]).num_rows == rows


def test_others_read_it_as_parquet(store):
    path = SHARDS[1].path(store.folder)
    assert same(pq.read_table(path).replace_schema_metadata(None), table(1))


def test_notes_of_pandas_are_left_out(store):
    noted = table().replace_schema_metadata({"pandas": "jaxbench-sha256:" + "0" * 64})
    store.write(SHARDS[0], noted)
    assert store.read(SHARDS[0]).schema.metadata is None


def test_the_same_table_gives_the_same_bytes():
    assert encode(SHARDS[0], table()) == encode(SHARDS[0], table())
    assert encode(SHARDS[0], table()) != encode(SHARDS[0], table(1))


def test_absent_shards(store):
    others = [Shard(KEY, 30, 39), Shard(content_key("other"), 0, 9), Shard(KEY, 0, 10)]
    for shard in others:
        assert not store.has(shard)
        assert not store.verify(shard)
        assert store.read(shard) is None
    assert store.missing([*others, *SHARDS]) == others
    # Absent is not damaged.
    assert store.damaged == []
    with pytest.raises(BadRequest, match=r"is not there; resume=true"):
        list(store.tables(others))


def test_a_store_where_nothing_is(tmp_path):
    store = Store(tmp_path / "none")
    assert store.missing(SHARDS) == SHARDS
    assert store.orphans(SHARDS) == []
    assert not (tmp_path / "none").exists()


def test_orphans_are_the_shards_of_other_options(store):
    changed = [Shard(content_key({"interface": "category"}, "data", "0.1.0"), 0, 9), SHARDS[2]]
    assert store.missing(changed) == changed[:1]
    assert store.orphans(changed) == [s.path(store.folder) for s in SHARDS[:2]]
    assert store.orphans(SHARDS) == []
    (store.folder / "shards/notes.txt").write_text("mine")
    assert store.orphans(SHARDS) == []


@pytest.mark.parametrize(
    "shard",
    [Shard("abc", 0, 9), Shard(KEY.upper(), 0, 9), Shard(KEY, 9, 0), Shard(KEY, -1, 9),
     Shard("../" + KEY[3:], 0, 9), Shard(KEY, 0.0, 9)],
)  # fmt: skip
def test_keys_and_ranges_that_are_none(shard, store):
    for use in (store.verify, store.read, lambda s: store.write(s, table())):
        with pytest.raises((ValueError, TypeError)):
            use(shard)


def test_writing_needs_the_directory_to_oneself(tmp_path):
    store = Store(tmp_path / "run")
    with pytest.raises(RuntimeError, match="exclusive"):
        store.write(SHARDS[0], table())
    with store.exclusive():
        pass
    with pytest.raises(RuntimeError, match="exclusive"):
        store.write(SHARDS[0], table())


# Damage


def found_damaged(store, shard, why):
    """The shard counts as absent, is reported once, and comes back when it is written anew."""
    path = shard.path(store.folder)
    assert not store.verify(shard)
    assert store.read(shard) is None
    assert store.missing(SHARDS) == [shard]
    (damaged,) = store.damaged
    assert damaged.path == path
    assert why in damaged.why
    with pytest.raises(BadRequest, match="resume=true computes it again"):
        list(store.tables(SHARDS))
    assert len(store.damaged) == 1
    store.write(shard, table(9))
    assert same(store.read(shard), table(9))
    assert store.missing(SHARDS) == []


def test_a_change_of_any_byte_is_seen(store):
    path = SHARDS[1].path(store.folder)
    sound = path.read_bytes()
    chosen = random.Random(20261130)
    # The footer holds what is easily missed: check all of it, and some of the columns.
    footer = int.from_bytes(sound[-8:-4], "little") + 8
    columns = chosen.sample(range(len(sound) - footer), 200)
    for place in [*columns, *range(len(sound) - footer, len(sound))]:
        changed = bytearray(sound)
        changed[place] ^= chosen.randrange(1, 256)
        path.write_bytes(changed)
        assert not store.verify(SHARDS[1]), place
        assert store.read(SHARDS[1]) is None, place
    path.write_bytes(sound)
    assert store.verify(SHARDS[1])


def test_many_changes_at_once_are_seen(store):
    path = SHARDS[1].path(store.folder)
    sound = path.read_bytes()
    chosen = random.Random(7)
    for _ in range(100):
        start = chosen.randrange(len(sound))
        end = chosen.randrange(start, len(sound)) + 1
        kinds = [bytes(end - start), chosen.randbytes(end - start), b"", sound[:start]]
        changed = sound[:start] + chosen.choice(kinds) + sound[end:]
        if changed != sound:
            path.write_bytes(changed)
            assert not store.verify(SHARDS[1])
            assert store.read(SHARDS[1]) is None


@pytest.mark.parametrize("length", [0, 3, 4, 8, 500, -200, -8, -1])
def test_a_file_that_is_cut_off(length, store):
    path = SHARDS[1].path(store.folder)
    path.write_bytes(path.read_bytes()[:length])
    assert not store.has(SHARDS[1])
    found_damaged(store, SHARDS[1], "is cut off")


def test_a_file_of_zeros_as_a_power_cut_leaves_it(store):
    path = SHARDS[1].path(store.folder)
    path.write_bytes(bytes(path.stat().st_size))
    assert not store.has(SHARDS[1])
    found_damaged(store, SHARDS[1], "is cut off")


def test_a_foreign_parquet_file(store):
    pq.write_table(table(1), SHARDS[1].path(store.folder))
    found_damaged(store, SHARDS[1], "has no checksum of jaxbench")


def test_another_table_under_the_checksum_of_the_shard(store):
    path = SHARDS[1].path(store.folder)
    metadata = pq.read_metadata(path).metadata
    own = {k: v for k, v in metadata.items() if k.startswith(b"jaxbench")}
    assert set(own) == {b"jaxbench.shard", b"jaxbench.checksum"}
    with pq.ParquetWriter(path, table().schema) as writer:
        writer.write_table(table(2))
        writer.add_key_value_metadata(own)
    found_damaged(store, SHARDS[1], "another checksum")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Shard(content_key({"interface": "category"}, "data", "0.1.0"), 10, 19), "other condit"),
        # The file name has sixteen digits of the key, the file all.
        (Shard(KEY[:16] + "0" * 48, 10, 19), "holds other conditions"),
        (Shard(KEY, 0, 9), "holds trials 0 to 9, expected 10 to 19"),
    ],
)
def test_the_shard_of_another_condition_or_range_under_this_name(other, why, store):
    store.write(other, table(1))
    if other.name != SHARDS[1].name:
        shutil.copy(other.path(store.folder), SHARDS[1].path(store.folder))
    assert store.has(SHARDS[1])
    found_damaged(store, SHARDS[1], why)


@pytest.mark.parametrize("filled", [True, False])
def test_a_folder_in_place_of_a_shard_steps_aside(filled, store):
    path = SHARDS[1].path(store.folder)
    path.unlink()
    path.mkdir()
    path.with_name(path.name + ".aside1").mkdir()
    if filled:
        (path / "notes.txt").write_text("mine")
    assert not store.has(SHARDS[1])
    found_damaged(store, SHARDS[1], "is no file")
    aside = path.with_name(path.name + ".aside2")
    assert everything_below(aside) == ({"notes.txt"} if filled else set())


def test_a_pipe_in_place_of_a_shard_does_not_block(store):
    path = SHARDS[1].path(store.folder)
    path.unlink()
    os.mkfifo(path)
    assert not store.has(SHARDS[1])
    found_damaged(store, SHARDS[1], "is no file")


def test_links(store):
    first, second = (s.path(store.folder) for s in SHARDS[:2])
    moved = store.folder / "elsewhere.parquet"
    first.rename(moved)
    first.symlink_to(moved)
    assert store.verify(SHARDS[0])
    second.unlink()
    second.symlink_to(moved)
    found_damaged(store, SHARDS[1], "holds trials 0 to 9")
    # What the link named is as it was.
    assert same(store.read(SHARDS[0]), table(0))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(store):
    SHARDS[1].path(store.folder).chmod(0)
    found_damaged(store, SHARDS[1], "cannot be read (permission denied)")


def test_an_error_of_the_disk_counts_as_damage(store, monkeypatch):
    path = type(SHARDS[1].path(store.folder))
    read = path.read_bytes

    def bad(self):
        if self.name == SHARDS[1].name:
            raise OSError(errno.EIO, "Input/output error")
        return read(self)

    with monkeypatch.context() as patch:
        patch.setattr(path, "read_bytes", bad)
        assert store.missing(SHARDS) == [SHARDS[1]]
    assert [d.why for d in store.damaged] == ["cannot be read (input/output error)"]


def test_damage_is_told_once(tmp_path, store):
    told = []
    other = Store(store.folder, told.append)
    path = SHARDS[1].path(store.folder)
    path.write_bytes(b"")
    for _ in range(3):
        assert other.missing(SHARDS) == [SHARDS[1]]
    assert told == other.damaged
    assert [d.path for d in told] == [path]


# What the system refuses


@pytest.mark.parametrize("where", ["write", "replace"])
@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "quota"), (errno.EIO, "input/output"),
     (errno.EROFS, "make the folder writable")],
)  # fmt: skip
def test_a_full_disk_keeps_what_is_finished(where, number, words, store, monkeypatch):
    before = everything_below(store.folder)
    error = OSError(number, os.strerror(number))
    if where == "replace":

        def fail(*_):
            raise error

        monkeypatch.setattr(os, "replace", fail)
    else:
        path = type(store.folder)
        opened = path.open

        def opening(self, mode="r", *rest, **more):
            file = opened(self, mode, *rest, **more)
            if "w" not in mode:
                return file
            file.write(b"half")
            file.flush()
            file.close()
            raise error

        monkeypatch.setattr(path, "open", opening)
    for shard in (Shard(KEY, 30, 39), SHARDS[1]):
        with pytest.raises(BadRequest) as refusal:
            store.write(shard, table(5))
        told = str(refusal.value)
        for word in (f"out={store.folder}: ", words, "finished shards are kept", "resume=true"):
            assert word in told
        assert "\n" not in told
    monkeypatch.undo()
    assert everything_below(store.folder) == before
    assert store.missing(SHARDS) == []
    assert same(store.read(SHARDS[1]), table(1))
    assert not unfinished._folders


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o500)
    with pytest.raises(BadRequest, match="permission"), Store(tmp_path / "run").exclusive():
        pass


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def closed(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(BadRequest, match="permission denied"), Store(tmp_path).exclusive():
        pass


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(BadRequest, match="out="), Store(tmp_path / "run").exclusive():
        pass
    assert (tmp_path / "run").read_text() == "mine"


def test_half_files_of_killed_runs_go_and_others_stay(tmp_path):
    store = Store(tmp_path)
    folder = tmp_path / "shards"
    folder.mkdir()
    half = [tmp_path / ".run.json.partial", folder / f".{SHARDS[0].name}.partial"]
    kept = [tmp_path / "notes.partial", folder / ".notes", folder / SHARDS[0].name]
    for path in [*half, *kept]:
        path.write_text("x")
    assert store.orphans([]) == [folder / SHARDS[0].name]
    assert store.missing(SHARDS) == SHARDS
    # Reading removes nothing: it may be the file of a live process.
    assert all(path.exists() for path in half)
    with store.exclusive():
        assert not any(path.exists() for path in half)
    assert all(path.exists() for path in kept)
