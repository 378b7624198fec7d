"""An unusable dump is rejected in one clear sentence with advice, never with a traceback."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.archive import DEFAULT_LIMITS, ArchiveLimits
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import ReadState
from tests.host import dumps

SMALL = dumps.as_kubectl(dumps.a_small_dump())


def refusal(path: Path | str, bounds: ArchiveLimits = DEFAULT_LIMITS) -> SnapshotError:
    with pytest.raises(SnapshotError) as caught:
        DumpReader(str(path), limits=bounds).read(kinds.ALL)
    error = caught.value
    assert "\n" not in error.message
    assert error.hint
    assert all(c.isprintable() for c in error.message)
    return error


def refused(data: bytes, tmp_path: Path, name: str = "dump.json", bounds: ArchiveLimits = DEFAULT_LIMITS) -> str:
    target = tmp_path / name
    target.write_bytes(data)
    message = refusal(target, bounds).message
    assert str(target) in message
    return message.replace(str(tmp_path), "")


def changed(where: list[Any], value: Any) -> bytes:
    """The small dump with one value replaced."""
    dump: Any = dumps.a_small_dump()
    place = dump
    for step in where[:-1]:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    place[where[-1]] = value
    return dumps.compact(dump)


def test_no_such_path(tmp_path: Path) -> None:
    assert "null" in refusal("a\0b").message
    assert refusal(tmp_path / "no").message == f"cannot open the snapshot {tmp_path / 'no'}: No such file or directory"


@contextmanager
def not_root() -> Iterator[None]:
    """Skip the test for root, who may read every file."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_no_permission(tmp_path: Path) -> None:
    target = tmp_path / "d.json"
    target.write_bytes(SMALL)
    target.chmod(0)
    with not_root():
        assert refusal(target).message.endswith("d.json: Permission denied")


def test_an_unreadable_entry_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "pods.json").symlink_to(tmp_path / "gone")
    assert refusal(tmp_path).message.endswith("pods.json: No such file or directory")


def test_folder_without_lists(tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text("kind: List")
    error = refusal(tmp_path)
    assert error.message.endswith("holds no List, and no file called *.json or *.json.gz")
    assert error.hint.endswith("-A -o json > dump.json")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "/dump.json: it is empty"),
        (SMALL[:-40], f"it ends in the middle of a List, after {len(SMALL) - 40:,} bytes"),
        (b"nodes:\n- a", "it is not JSON at byte 0: expected a List"),
        (b'{"items":[{"a":1,}]}', "it is not JSON at byte 17: trailing comma in object"),
        (b'{"items":[{},]}', "it is not JSON at byte 13: a comma before the end"),
        (b'{"items":[{"a":' + b"[" * 100_000 + b"}]}", "it is nested too deeply"),
        (b'{"kind":"Pod\\u001b[2J","metadata":{"name":"a"}}', "it is a single Pod"),
        (b'{"items":{}}', 'it is a JSON object whose "items" is no array, not a List'),
        (SMALL.decode().encode("utf-16"), "it is UTF-16 text, not JSON in UTF-8"),
        (b"PK\x03\x04" + b"\0" * 30, "it is a zip archive, not JSON in UTF-8"),
        (SMALL.replace("ä".encode(), b"\xe4"), "it is not UTF-8: invalid continuation byte near byte "),
        (b'{"items":[{"a":"\\ud800, half a character"}]}', "it is not JSON at byte "),
        (gzip.compress(SMALL, mtime=0)[:-8] + b"\0" * 8, "the gzip data is cut short or damaged (CRC check failed"),
        (gzip.compress(gzip.compress(SMALL, mtime=0), mtime=0), "it is gzip data once more"),
        (b'{"items":[],"kind":"List"}', "has no list of nodes"),
        (b'{"items":[],"kind":"NodeList","apiVersion":"v1"}', "has no list of pods"),
        (b'{"items":[{"metadata":{}}],"kind":"List","apiVersion":"v1"}', "item 1 of the List has no kind"),
        (b'{"items":[{"kind":"PodList","items":[]}]}', "an item of the List is a PodList itself"),
    ],
    ids=lambda value: repr(value[-30:]) if isinstance(value, bytes) else None,
)
def test_files_that_are_no_dump(data: bytes, says: str, tmp_path: Path) -> None:
    assert says in refused(data, tmp_path)


def test_a_missing_page_of_pods(tmp_path: Path) -> None:
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "x"}, "items": []}
    data = dumps.compact(pods) + dumps.compact({"kind": "NodeList", "apiVersion": "v1", "items": []})
    assert refused(data, tmp_path).endswith("its list of pods has a continue token, so pages are missing")


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        (
            ["items", 1, "spec", "nodeName"],
            7,
            "Pod shop/web-0: Expected `str | null`, got `int` - at `$.spec.nodeName`",
        ),
        (["items", 1, "metadata", "labels"], {"a": 1}, "Expected `str`, got `int` - at `$.metadata.labels[...]`"),
        (["items", 1, "metadata", "ownerReferences"], [7], "at `$.metadata.ownerReferences[0]`"),
        (["items", 1, "metadata", "creationTimestamp"], "yesterday", "at `$.metadata.creationTimestamp`"),
        (["items", 1, "metadata", "name"], None, "a Pod has no name at `$.metadata.name`"),
        (["items", 1, "metadata", "namespace"], None, "Pod web-0 has no namespace at `$.metadata.namespace`"),
        (["items", 1, "status", "conditions"], [], ""),
        (["items", 3, "spec", "minAvailable"], "half", "got 'half' - at `$.spec.minAvailable`"),
    ],
)
def test_values_of_a_wrong_type(where: list[Any], value: Any, says: str, tmp_path: Path) -> None:
    """Objects with such values are skipped and named; other objects of their kind are read."""
    target = tmp_path / "d.json"
    target.write_bytes(changed(where, value))
    cluster = DumpReader(str(target)).read(kinds.ALL)
    assert [says in each.message and str(target) in each.message for each in cluster.invalid_entries] == [True] * bool(
        says
    )
    assert [read.state is ReadState.INVALID for read in cluster.not_read(kinds.PODS, kinds.BUDGETS)] == [True] * bool(
        says
    )
    assert cluster.pods


@pytest.mark.parametrize("name", ["pdb.json", "dump.json"])
@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("PodDisruptionBudgt", "policy/v1"),
        ("poddisruptionbudget", "policy/v1"),
        ("PodDisruptionBudget", "polcy/v1"),
    ],
)
def test_a_mistyped_kind_is_not_passed_over(name: str, kind: str, version: str, tmp_path: Path) -> None:
    """Without the budget its pods would seem free to be evicted."""
    dump: Any = dumps.a_small_dump()
    *others, budget = dump["items"]
    mistyped = {**budget, "kind": kind, "apiVersion": version}
    files = {"others.json": dumps.compact(dumps.a_list(*others)), name: dumps.compact(dumps.a_list(mistyped))}
    cluster = DumpReader(str(dumps.folder(tmp_path, files))).read(kinds.ALL)
    (read,) = cluster.not_read(kinds.BUDGETS)
    assert read.state is ReadState.INVALID and not cluster.budgets
    assert f"PodDisruptionBudget shop/web has apiVersion {version!r} and kind {kind!r}" in read.detail


def test_two_objects_of_one_name(tmp_path: Path) -> None:
    other = changed(["items", 1, "metadata", "uid"], "another")
    files = {"a.json": SMALL, "b.json": other}
    message = refusal(dumps.folder(tmp_path, files)).message
    assert (
        f"two different Pods are called shop/web-0 (origin {tmp_path}/a.json and origin {tmp_path}/b.json)" in message
    )
    files = {"a.json": SMALL, "c.json": changed(["items", 1, "metadata", "resourceVersion"], "2")}
    assert "two different Pods" in refusal(dumps.folder(tmp_path / "later", files)).message


@pytest.mark.long
def test_one_object_that_is_too_large(tmp_path: Path) -> None:
    text = b'{"items":[{"kind":"Pod","metadata":{"name":"' + b"a" * (65 << 20) + b'"}}]}'
    assert refused(gzip.compress(text, 1), tmp_path).endswith("one value in it is larger than 64 MiB")


# Archives --------------------------------------------------------------------------------------


def test_names_in_an_archive_are_only_names(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "er"
    home.mkdir(parents=True)
    (home / "d.tar").write_bytes(dumps.tar_of({"../../evil.json": SMALL, "/etc/evil.json": b'{"items":[]}'}))
    assert len(DumpReader(str(home / "d.tar")).read(kinds.ALL).pods) == 2
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["d.tar", "deep", "er"]


def test_links_and_devices_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (("a.json", tarfile.SYMTYPE), ("b.json", tarfile.CHRTYPE), ("c.json", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            tar.addfile(entry)
    message = refused(buffer.getvalue(), tmp_path, "d.tar")
    assert message.endswith("holds no List, and no file called *.json or *.json.gz")


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_that_is_cut_anywhere(packed: bool, tmp_path: Path) -> None:
    """Also between two entries, where Python's tarfile detects no error."""
    whole = dumps.tar_of({"a.json": SMALL, "b.json": b'{"items":[],"kind":"JobList"}'}, "w:gz" if packed else "w")
    end = len(whole) if packed else 512 * (2 + -(-len(SMALL) // 512) + 1)
    cuts = range(1, end, 97 if packed else 256)
    for cut in [*cuts, end - 1]:
        assert refused(whole[:cut], tmp_path, "d.tar")


def test_a_damaged_header_between_entries(tmp_path: Path) -> None:
    whole = bytearray(dumps.tar_of({"a.json": SMALL, "b.json": SMALL}))
    second = 512 * (1 + -(-len(SMALL) // 512))
    whole[second + 150] ^= 0xFF
    assert "the tar archive is cut short or damaged" in refused(bytes(whole), tmp_path, "d.tar")


def test_a_header_that_claims_gigabytes(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("pax")
    entry.type, entry.size = tarfile.XHDTYPE, 8 << 30
    data = entry.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048
    assert refused(data, tmp_path, "d.tar").endswith("has a header of 8,589,934,592 bytes")


def test_an_archive_that_unpacks_without_end(tmp_path: Path) -> None:
    bounds = ArchiveLimits(ratio_from_bytes=4 << 20)
    bomb = gzip.compress(b'{"items":[' + b" " * (16 << 20) + b"]}", 9)
    assert len(bomb) < 20_000
    assert "times its size: no dump does" in refused(bomb, tmp_path, bounds=bounds)
    assert "times its size: no dump does" in refused(dumps.tar_of({"a.json.gz": bomb}), tmp_path, "b.tar", bounds)


def test_too_many_entries(tmp_path: Path) -> None:
    data = dumps.tar_of({f"{i}.txt": b"" for i in range(6)})
    assert refused(data, tmp_path, "d.tar", ArchiveLimits(entries=5)).endswith("it has more than 5 entries")


def test_a_sparse_entry_of_terabytes(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("a.json")
    entry.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"\x80" + struct.pack(">Q", 1 << 42).rjust(11, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert refused(bytes(header) + b"\0" * 1024, tmp_path, "d.tar")


def test_a_single_pod_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    files = {"d.json": SMALL, "e.json": b'{"kind":"Pod","metadata":{"name":"a"}}'}
    assert refusal(dumps.folder(tmp_path, files)).message.endswith("e.json: it is a single Pod, not a List")
