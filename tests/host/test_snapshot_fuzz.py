"""For any change of a dump, the reader returns facts or rejects it; it never ends with another error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from tests.host import dumps

SMALL = dumps.a_small_dump()
SEEDS = {
    "kubectl": dumps.as_kubectl(SMALL),
    "compact": dumps.compact(SMALL),
    "gzip": dumps.gz(dumps.compact(SMALL)),
    "tar": dumps.tar_of({"a.json": dumps.compact(SMALL), "b.json.gz": dumps.gz(b'{"items":[],"kind":"JobList"}')}),
    "tgz": dumps.tar_of({"a.json": dumps.compact(SMALL)}, "w:gz"),
}
TOKENS = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"0", b"-", b"\\", b"\\u", b"\xff", b"\0", b" " * 99)


def attempt(data: bytes, target: Path) -> Cluster | None:
    """The facts, or None when the dump was refused; any other error fails the test."""
    target.write_bytes(data)
    try:
        return DumpReader(str(target)).read(kinds.ALL)
    except SnapshotError as error:
        assert "\n" not in error.message
        return None


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(changed) + 1)
        action = chance.randrange(5)
        if action == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif action == 1:
            changed[at : at + chance.randrange(1, 40)] = b""
        elif action == 2:
            changed[at:at] = chance.choice(TOKENS)
        elif action == 3:
            other = chance.randrange(len(changed) + 1)
            changed[at:at] = changed[other : other + chance.randrange(1, 200)]
        elif action == 4 and at < len(changed):
            changed[at] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("form", SEEDS)
@pytest.mark.parametrize("step", [11, pytest.param(3, marks=pytest.mark.long)])
def test_a_dump_cut_at_every_byte_is_refused(form: str, step: int, tmp_path: Path) -> None:
    data = SEEDS[form]
    whole = attempt(data, tmp_path / "d")
    assert whole is not None
    # Behind the last entry's data a tar holds only the mark of its end, padded with zeros to 10 KiB.
    end = len(data) - 10240 + 512 * 8 if form == "tar" else len(data)
    for cut in range(0, end, 16 * step if form == "tar" else step):
        found = attempt(data[:cut], tmp_path / "d")
        assert found is None or (form == "tar" and found == whole)


@pytest.mark.parametrize("form", SEEDS)
def test_random_changes(form: str, tmp_path: Path) -> None:
    survived = [n for n in range(60) if attempt(mutated(SEEDS[form], random.Random(n)), tmp_path / "d")]
    assert len(survived) < 60
