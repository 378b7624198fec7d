"""Every rule for archives: after one change of a healthy one, it is refused by name, or reported as broken if krew
itself accepts it."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.krew.plugins import (
    BIN,
    FILES,
    SCRIPT,
    Packed,
    a_tar,
    a_tar_gz,
    a_zip,
    broken,
    changed,
    linted,
    moved,
    without,
)
from tools.krew.lint.archives import read_archive
from tools.krew.lint.model import EntryKind


def link(kind: bytes) -> Packed:
    return Packed("lib/link", b"", 0o777, kind, "part.txt")


def files(*moves: tuple[str, str], **fields: Any) -> dict[str, Any]:
    return {"files": [{"from": origin, "to": to} for origin, to in moves], **fields}


HEALTHY = a_tar_gz()
WINDOWS = {"selector": {"matchLabels": {"os": "windows"}}}

REFUSED: list[tuple[str, bytes, dict[str, Any]]] = [
    ("krew-archive-format", a_tar(), {}),
    ("krew-archive-format", SCRIPT, {}),
    ("krew-archive-format", b"#!/usr/bin/env python3\n" + a_zip(), {}),
    ("krew-archive-format", b"", {}),
    ("krew-archive-sum", HEALTHY, {"sha256": "0" * 64}),
    ("krew-archive-path", a_tar_gz((*FILES, Packed("lib/a..b.txt"))), {}),
    ("krew-archive-path", a_tar_gz((*FILES, Packed("../outside"))), {}),
    ("krew-archive-path", a_tar_gz((*FILES, Packed("\\outside"))), {}),
    ("krew-archive-path", a_zip((*FILES, Packed("../outside"))), {}),
    ("krew-archive-path", a_tar_gz((*FILES, Packed("x" * 256))), {}),
    ("krew-archive-path", a_tar_gz((*FILES, Packed("a/" * 300_000 + "b"))), {}),
    ("krew-archive-entry", a_tar_gz((*FILES, link(tarfile.SYMTYPE))), {}),
    ("krew-archive-entry", a_tar_gz((*FILES, link(tarfile.LNKTYPE))), {}),
    ("krew-archive-entry", a_tar_gz((*FILES, link(tarfile.CHRTYPE))), {}),
    ("krew-archive-link", a_zip((*FILES, link(tarfile.SYMTYPE))), {}),
    ("krew-archive-twice", a_tar_gz((*FILES, Packed(BIN, b"#!\n", 0o755))), {}),
    ("krew-archive-twice", a_tar_gz((*FILES, Packed("LICENSE/of.txt"))), {}),
    ("krew-archive-mode", a_tar_gz(changed("LICENSE", mode=0)), {}),
    ("krew-archive-mode", a_tar_gz(changed("lib", mode=0o555)), {}),
    ("krew-archive-mode", a_tar_gz(changed("lib", mode=0o644)), {}),
    ("krew-files-move", HEALTHY, files(("*", "./"))),
    ("krew-files-move", HEALTHY, files(("*", "a/../b"))),
    ("krew-files-move", HEALTHY, files(("../*", "."))),
    ("krew-files-move", HEALTHY, files((".", "."))),
    ("krew-files-move", HEALTHY, files(("bin/*", "."))),
    ("krew-files-move", HEALTHY, files(("[", "."))),
    ("krew-files-move", HEALTHY, files(("*", "."), (BIN, "."))),
    ("krew-files-move", HEALTHY, files((BIN, "tool"), ("lib", "tool"))),
    ("krew-files-move", HEALTHY, files(("**/view-logs", "."))),
    ("krew-bin-missing", HEALTHY, {"bin": "bin/view-logs"}),
    ("krew-bin-missing", HEALTHY, {"bin": "lib"}),
    ("krew-bin-missing", HEALTHY, files(("*", "all"))),
    ("krew-bin-missing", HEALTHY, files((BIN, "tool"), ("LICENSE", "."))),
    ("krew-bin-missing", a_tar_gz(without(BIN)), {}),
    ("krew-bin-mode", a_tar_gz(changed(BIN, mode=0o644)), {}),
    ("krew-bin-mode", a_zip(changed(BIN, mode=0o600)), {}),
    ("krew-bin-windows", HEALTHY, WINDOWS),
    ("krew-licence", a_tar_gz(without("LICENSE")), {}),
    ("krew-licence", a_tar_gz(changed("LICENSE", name="LICENCE")), {}),
]


@pytest.mark.parametrize(
    ("code", "archive", "platform"), REFUSED, ids=[f"{i}-{code}" for i, (code, *_) in enumerate(REFUSED)]
)
def test_what_breaks_a_rule_is_refused(tmp_path: Path, code: str, archive: bytes, platform: dict[str, Any]) -> None:
    assert code in broken(linted(tmp_path, moved(**platform), archive))


TAKEN: dict[str, tuple[bytes, dict[str, Any]]] = {
    "a zip": (a_zip(), {}),
    "dots before a name": (a_tar_gz(tuple(changed(f.name, (f,), name=f"./{f.name}")[0] for f in FILES)), {}),
    "hidden files": (a_tar_gz((*FILES, Packed(".hidden"))), files(("*", "."))),
    "folders that have no entry": (a_tar_gz((*FILES, Packed("a/b/c.txt"))), {}),
    "another name": (HEALTHY, files((BIN, "bin/tool"), ("LICENSE", "."), bin="bin/tool")),
    "patterns": (HEALTHY, files(("[a-z]*-log?", "."), ("LIC*", "."))),
    "the folder under another name": (HEALTHY, files((".", "all"), bin=f"all/{BIN}")),
    "a file for a folder": (HEALTHY, files(("lib", "tool"), (BIN, "tool"), ("LICENSE", "."), bin="tool")),
    "a program of Windows": (a_tar_gz(changed(BIN, content=b"MZ\x90", mode=0o644)), WINDOWS),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_krew_takes_is_taken(tmp_path: Path, name: str) -> None:
    archive, platform = TAKEN[name]
    assert broken(linted(tmp_path, moved(**platform), archive)) == set()


def test_archives_are_told_by_checksum_and_by_name(tmp_path: Path) -> None:
    """One of two platforms has no archive here: it gets no finding."""
    from tests.krew.plugins import a_platform

    def change(manifest: dict[str, Any]) -> None:
        other = a_platform(uri="https://example.com/v1.2.3/other.tar.gz", sha256="0" * 64, **WINDOWS)
        manifest["spec"]["platforms"].append(other)

    lint = linted(tmp_path, change)
    assert (lint.findings, lint.unchecked) == ((), (1,))


def test_a_zip_of_windows_has_no_rights_to_run(tmp_path: Path) -> None:
    import io
    import zipfile

    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for file in FILES:
            entry = zipfile.ZipInfo(file.name)
            entry.create_system = 0
            archive.writestr(entry, file.content)
    (tmp_path / "a.zip").write_bytes(held.getvalue())
    entries = read_archive(str(tmp_path / "a.zip")).entries
    assert {(each.kind, each.mode) for each in entries} == {(EntryKind.FILE, 0o666)}
