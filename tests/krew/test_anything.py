"""Any file whatever as a manifest and as an archive: an answer, or a sentence of why there is none."""

from __future__ import annotations

import gzip
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.archives.archive import ArchiveLimits, BadArchive, parts
from tests.krew.plugins import FILES, Packed, a_manifest, a_tar_gz, a_zip
from tools.krew.lint.archives import read_archive
from tools.krew.lint.command import page
from tools.krew.lint.decoding import decoded
from tools.krew.lint.judging import judged
from tools.krew.lint.model import PluginArchive
from tools.krew.lint.reading import read_manifest

SLOW = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MANIFEST = decoded(dict(a_manifest()))
HEALTHY = {"tar": a_tar_gz(), "zip": a_zip()}


def in_file(content: bytes) -> str:
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(content)
    return file.name


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [at, *(place for key in keys for place in places(value[key], (*at, key)))]


PLACES = places(a_manifest(platforms=[{**a_manifest()["spec"]["platforms"][0], "files": [{"from": "*", "to": "."}]}]))


def answered(content: bytes) -> None:
    path = in_file(content)
    try:
        manifest = read_manifest(path)
    except UsageError as error:
        assert "\n" not in error.message
        return
    finally:
        Path(path).unlink()
    archive = archive_of(HEALTHY["tar"])
    assert archive is not None
    lint = judged(manifest, "view-logs.yaml", [archive])
    assert "\n".join(page(lint))


def archive_of(content: bytes, bounds: ArchiveLimits | None = None) -> PluginArchive | None:
    """None: it was refused, with a sentence."""
    path = in_file(content)
    try:
        archive = read_archive(path) if bounds is None else read_archive(path, bounds)
        lint = judged(MANIFEST, "view-logs.yaml", [archive])
        assert "\n".join(page(lint)).encode("utf-8")
        return archive
    except UsageError as error:
        assert "\n" not in error.message and "Traceback" not in error.message
        return None
    finally:
        Path(path).unlink()


@SLOW
@given(st.data())
def test_a_manifest_with_anything_at_one_place(data: st.DataObject) -> None:
    at, value = data.draw(st.sampled_from(PLACES)), data.draw(TREES)
    document: Any = a_manifest(
        platforms=[{**a_manifest()["spec"]["platforms"][0], "files": [{"from": "*", "to": "."}]}]
    )
    if not at:
        document = value
    else:
        inside = document
        for key in at[:-1]:
            inside = inside[key]
        inside[at[-1]] = value
    answered(yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "surrogatepass"))


@SLOW
@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_as_a_manifest(content: bytes) -> None:
    answered(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"- a", b"text", b"a: &b [*b]", b"a: *b", b"\tkind: Plugin", b"[" * 5000, b"\xff\xfe\x00"],
)
def test_what_is_no_manifest_is_told_in_a_sentence(content: bytes) -> None:
    with pytest.raises(UsageError, match="the manifest"):
        read_manifest(in_file(content))


@SLOW
@given(st.sampled_from(sorted(HEALTHY)), st.data())
def test_an_archive_that_was_damaged(kind: str, data: st.DataObject) -> None:
    whole = HEALTHY[kind]
    at = data.draw(st.integers(0, len(whole) - 1))
    bits = data.draw(st.binary(min_size=1, max_size=4))
    archive_of(whole[:at] + bits + whole[at + len(bits) :])


@SLOW
@given(st.data())
def test_a_tar_with_damaged_headers(data: st.DataObject) -> None:

    from tests.krew.plugins import a_tar

    whole = a_tar((*FILES, Packed("x" * 150)))
    at = data.draw(st.integers(0, len(whole) - 1))
    bits = data.draw(st.binary(min_size=1, max_size=12))
    archive_of(gzip.compress(whole[:at] + bits + whole[at + len(bits) :], 1))


@pytest.mark.parametrize("kind", sorted(HEALTHY))
def test_an_archive_that_is_cut_short_is_never_taken_for_whole(kind: str) -> None:
    whole = HEALTHY[kind]
    for size in range(4, len(whole) - 8, 7):
        assert archive_of(whole[:size]) is None, size


@pytest.mark.parametrize("pack", [a_tar_gz, a_zip])
def test_a_bomb_is_not_unpacked(pack: Any) -> None:
    held = pack((Packed("zeros", bytes(8 << 20)),))
    assert archive_of(held, ArchiveLimits(unpacked=1 << 20, ratio=500, ratio_from=1 << 20)) is None
    assert archive_of(held) is not None


@pytest.mark.parametrize("path", ["/nowhere/at.all", "nul\0", "/"])
def test_a_path_that_cannot_be_read_is_told_in_a_sentence(path: str) -> None:
    for read in (read_manifest, read_archive):
        with pytest.raises(UsageError, match="the (manifest|archive)"):
            read(path)


def pax(*records: tuple[str, str], times: int = 1) -> bytes:
    """Headers with these records before a file, one behind the other."""
    content = b""
    for key, value in records:
        rest = f" {key}={value}\n".encode()
        size = next(n for n in range(len(rest), len(rest) + 9) if len(str(n)) + len(rest) == n)
        content += f"{size}".encode() + rest
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(content)
    before = header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
    return gzip.compress(before * times + tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT) + bytes(1024))


def negative() -> bytes:
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    header[124:136], header[148:156] = b"-0000000001\0", b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return gzip.compress(bytes(header) + bytes(1024))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(pax(("path", "y"), times=1500), id="headers one behind the other"),
        pytest.param(pax(("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0")), id="sparse without a map"),
        pytest.param(pax(("size", "9999999999")), id="more than there is"),
        pytest.param(negative(), id="less than nothing"),
    ],
)
def test_a_tar_that_contradicts_itself_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be judged: (the tar archive is cut short or damaged|its entry)"):
        read_archive(str(tmp_path / "a.tar.gz"))
    with suppress(BadArchive):
        assert [part.name for part in parts(str(tmp_path / "a.tar.gz"))] == []


def test_entries_of_a_zip_that_lie_over_each_other_are_a_bomb(tmp_path: Path) -> None:
    """One mebibyte, named a thousand times."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(1 << 20))
        archive.filelist *= 1000
    bounds = ArchiveLimits(unpacked=4 << 30, ratio=500, ratio_from=8 << 20)
    with pytest.raises(UsageError, match="unpacks to more than any plugin does|Overlapped entries"):
        read_archive(str(tmp_path / "a.zip"), bounds)  # newer CPythons see it themselves
