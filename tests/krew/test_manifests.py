"""Manifests that the project generates: their text, and their validity by krew's own rules."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.krew.plugins import BIN, a_tar_gz
from tests.yaml_reader import yaml_of
from tools.krew.lint.archives import read_archive
from tools.krew.lint.judging import KrewLint, judged
from tools.krew.lint.reading import read_manifest
from tools.krew.manifests import Manifest, Platform, rendered

HELD = a_tar_gz()
SUM = hashlib.sha256(HELD).hexdigest()


def a_manifest(**fields: object) -> Manifest:
    uri = "https://example.com/releases/v1.2.3/view-logs_v1.2.3_linux_amd64.tar.gz"
    manifest = Manifest(
        name="view-logs",
        version="v1.2.3",
        short="Show logs side by side",
        description="Shows the logs of several pods,\nside by side.",
        homepage="https://example.com/view-logs",
        platforms=(Platform("linux", "amd64", uri, SUM, BIN),),
        caveats="This plugin needs the following programs:\n* bash",
    )
    return replace(manifest, **fields)  # type: ignore[arg-type]


def linted(folder: Path, manifest: Manifest) -> KrewLint:
    (folder / "view-logs.yaml").write_text(rendered(manifest), encoding="utf-8")
    (folder / "a.tar.gz").write_bytes(HELD)
    return judged(
        read_manifest(str(folder / "view-logs.yaml")), "view-logs.yaml", [read_archive(str(folder / "a.tar.gz"))]
    )


def test_it_is_laid_out_as_in_krew_index() -> None:
    assert rendered(a_manifest()) == (
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2\n"
        "kind: Plugin\n"
        "metadata:\n"
        "  name: view-logs\n"
        "spec:\n"
        "  version: v1.2.3\n"
        "  homepage: https://example.com/view-logs\n"
        "  shortDescription: Show logs side by side\n"
        "  description: |\n"
        "    Shows the logs of several pods,\n"
        "    side by side.\n"
        "  caveats: |\n"
        "    This plugin needs the following programs:\n"
        "    * bash\n"
        "  platforms:\n"
        "    - selector:\n"
        "        matchLabels:\n"
        "          os: linux\n"
        "          arch: amd64\n"
        "      uri: https://example.com/releases/v1.2.3/view-logs_v1.2.3_linux_amd64.tar.gz\n"
        f"      sha256: {SUM}\n"
        f"      bin: {BIN}\n"
    )


def test_krew_takes_it(tmp_path: Path) -> None:
    first = a_manifest().platforms[0]
    both = (first, replace(first, os="darwin", arch="", uri=first.uri.replace("linux_amd64", "darwin")))
    assert linted(tmp_path, a_manifest(platforms=both)).findings == ()


@pytest.mark.parametrize("text", ["386", "yes: no # 'x'", '한글 " : - *', "1.0", "null", "x" * 200])
def test_any_text_is_read_back_as_it_was(tmp_path: Path, text: str) -> None:
    first = replace(a_manifest().platforms[0], bin=text)
    wild = a_manifest(short=text, homepage=text, description=f"{text}\n  {text}", platforms=(first,))
    held = linted(tmp_path, wild).manifest
    assert (held.short, held.homepage, held.platforms[0].bin) == (text, text, text)
    assert held.description == f"{text}\n  {text}\n"
    assert yaml_of(rendered(wild))["spec"]["shortDescription"] == text
