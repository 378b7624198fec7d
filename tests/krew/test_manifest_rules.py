"""Every rule for manifests of krew and its validator: after one change of a healthy one, it is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import UsageError
from tests.krew.plugins import a_platform, a_tar_gz, broken, linted, moved
from tools.krew.lint import codes as krew_codes
from tools.krew.lint.command import main
from tools.krew.lint.judging import judged
from tools.krew.lint.manifests import wrong_version
from tools.krew.lint.reading import read_manifest

Change = Callable[[dict[str, Any]], object]


def top(**fields: Any) -> Change:
    return lambda manifest: manifest.update(fields)


def spec(**fields: Any) -> Change:
    return lambda manifest: manifest["spec"].update(fields)


def gone(field: str) -> Change:
    return lambda manifest: manifest["spec"].pop(field)


def name(text: object) -> Change:
    return top(metadata={"name": text})


def selector(*expressions: dict[str, object], **fields: object) -> Change:
    return moved(selector={**({"matchExpressions": list(expressions)} if expressions else {}), **fields})


def also(*platforms: dict[str, Any]) -> Change:
    return lambda manifest: manifest["spec"]["platforms"].extend(
        {**each, "sha256": manifest["spec"]["platforms"][0]["sha256"]} for each in platforms
    )


def upper(manifest: dict[str, Any]) -> None:
    platform = manifest["spec"]["platforms"][0]
    platform["sha256"] = "A" + platform["sha256"][1:]


ON_LINUX = {"key": "os", "operator": "In", "values": ["linux"]}

REFUSED: list[tuple[str, Change]] = [
    ("krew-api-version", top(apiVersion="krew.googlecontainertools.github.com/v1alpha1")),
    ("krew-api-version", lambda manifest: manifest.pop("apiVersion")),
    ("krew-kind", top(kind="plugin")),
    ("krew-field-type", spec(shortDescription=["a", "b"])),
    ("krew-field-type", spec(platforms="linux")),
    ("krew-field-type", moved(files="*")),
    ("krew-field-type", moved(selector={"matchLabels": ["os"]})),
    ("krew-name", name("view logs")),
    ("krew-name", name("")),
    ("krew-name", name("view.logs")),
    ("krew-name", name("CON")),
    ("krew-name-differs", name("logs-view")),
    ("krew-name-builtin", name("api-resources")),
    ("krew-short-description", gone("shortDescription")),
    ("krew-short-description", spec(shortDescription="Show logs\nside by side")),
    ("krew-version", gone("version")),
    *(
        ("krew-version", spec(version=version))
        for version in ("1.2.3", "V1.2.3", "v1.2", "v1.2.3.4", "v01.2.3", "v1.2.3-01", "v1.2.3-", "v1.2.3+", 1.0, "vx")
    ),
    ("krew-platforms", gone("platforms")),
    ("krew-platforms", spec(platforms=[])),
    ("krew-uri", moved(uri="")),
    ("krew-bin", moved(bin="")),
    ("krew-sha256", moved(sha256="abc")),
    ("krew-sha256", upper),
    ("krew-files", moved(files=[])),
    ("krew-files", moved(files=[{"from": "*"}])),
    ("krew-files", moved(files=[{"to": "."}])),
    ("krew-selector", moved(selector=None)),
    ("krew-selector", moved(selector={})),
    ("krew-selector", moved(selector={"matchExpressions": []})),
    ("krew-selector", moved(selector={"matchLabels": {"os": "linux", "libc": "musl"}})),
    ("krew-selector", selector({"key": "cpu", "operator": "Exists"})),
    ("krew-selector", selector({"key": "os", "operator": "Is", "values": ["linux"]})),
    ("krew-selector", selector({"key": "os", "operator": "Exists", "values": ["linux"]})),
    ("krew-selector", moved(selector={"matchLabels": {"os": "li nux"}})),
    ("krew-platform-unknown", moved(selector={"matchLabels": {"os": "linux", "arch": "s390x"}})),
    ("krew-platform-unknown", selector({"key": "os", "operator": "DoesNotExist"})),
    ("krew-platform-overlap", also(a_platform(selector={"matchLabels": {"arch": "amd64"}}))),
    ("krew-bin-outside", moved(bin="../../sh")),
]


def test_a_healthy_plugin_passes(tmp_path: Path) -> None:
    lint = linted(tmp_path)
    assert lint.findings == ()
    assert (lint.link, lint.unchecked) == ("kubectl-view_logs", ())


@pytest.mark.parametrize(("code", "change"), REFUSED, ids=[f"{i}-{code}" for i, (code, _) in enumerate(REFUSED)])
def test_what_breaks_a_rule_is_refused(tmp_path: Path, code: str, change: Change) -> None:
    lint = linted(tmp_path, change)
    assert code in broken(lint)
    (first, *_) = [each for each in lint.findings if each.code.name == code]
    assert first.remedy and first.evidence[0].endswith((".go", ".go of github.com/kubernetes/kubectl"))


@pytest.mark.parametrize("file_name", ["view-logs.yml", "view-logs", "view-logs.YAML"])
def test_the_file_ends_with_yaml(tmp_path: Path, file_name: str) -> None:
    assert broken(linted(tmp_path, file_name=file_name)) == {"krew-file-name"}


@pytest.mark.parametrize(
    "change",
    [
        spec(version="v1.2.3-rc.1", homepage="https://example.com"),
        moved(uri="https://example.com/v1.2.3/other.tar.gz"),
        moved(selector={"matchLabels": {"os": "linux", "arch": 386}}),
        moved(selector={"matchLabels": {"os": "linux"}, "matchExpressions": None}),
        selector(ON_LINUX, {"key": "arch", "operator": "NotIn", "values": ["arm"]}),
        selector({"key": "os", "operator": "NotIn", "values": ["windows"]}, {"key": "arch", "operator": "Exists"}),
        moved(files=None),
        top(metadata={"name": "view-logs", "labels": {"a": "b"}}),
        also(a_platform(selector={"matchLabels": {"os": "windows"}}, uri="https://example.com/v1.2.3/w.zip")),
    ],
)
def test_what_krew_takes_is_taken(tmp_path: Path, change: Change) -> None:
    assert broken(linted(tmp_path, change)) <= {"krew-bin-windows"}


SHARED = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata: {{name: view-logs}}
spec:
  version: v1.2.3
  shortDescription: Show the last lines of all pods
  description: Shows them.
  homepage: https://example.com
  caveats: needs python3
  platforms:
    - &first
      uri: https://example.com/v1.2.3/view-logs.tar.gz
      sha256: &sum {sha256}
      bin: view-logs
      selector: {{matchLabels: {{os: linux}}}}
    - {{<<: *first, sha256: *sum, selector: {{matchLabels: {{os: darwin}}}}}}
---
what: krew does not look behind the first document
"""


def test_aliases_are_read_as_krew_reads_them(tmp_path: Path) -> None:
    (tmp_path / "view-logs.yaml").write_text(SHARED.format(sha256="ab" * 32))
    lint = judged(read_manifest(str(tmp_path / "view-logs.yaml")), "view-logs.yaml", [])
    first, second = lint.manifest.platforms
    assert (broken(lint), first.uri) == (set(), second.uri)
    (tmp_path / "view-logs.yaml").write_text(SHARED.format(sha256="AB" * 32))
    lint = judged(read_manifest(str(tmp_path / "view-logs.yaml")), "view-logs.yaml", [])
    assert [each.code.name for each in lint.findings if "upper-case" in each.message] == ["krew-sha256"] * 2


@pytest.mark.parametrize(
    "text", ["v1.2.3", "v0.0.0", "v1.2.3-rc1", "v1.2.3-rc.1", "v1.2.3+b", "v1.2.3-a.1+b.01 ", "v1.2.3-0"]
)
def test_versions_that_krew_takes(text: str) -> None:
    assert wrong_version(text) == ""


def test_every_code_is_met_in_these_tests() -> None:
    from tests.krew.test_archive_rules import REFUSED as OF_ARCHIVES

    met = {code for code, *_ in (*REFUSED, *OF_ARCHIVES)} | {"krew-file-name"}
    assert met == {code.name for code in krew_codes.ALL}


# ``python -m tools.krew.lint.command``: its answer and its exit codes.


@pytest.fixture
def healthy(tmp_path: Path) -> tuple[str, str]:
    """The paths of a manifest and of its archive."""
    linted(tmp_path)
    return str(tmp_path / "view-logs.yaml"), str(tmp_path / "view-logs.tar.gz")


def test_a_healthy_plugin(healthy: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    manifest, archive = healthy
    assert main([manifest, "--archive", archive]) == 0
    assert capsys.readouterr().out == "view-logs v1.2.3: krew accepts it\n"


def test_an_archive_that_was_not_checked_is_named(healthy: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([healthy[0]]) == 0
    assert "platform 0: its archive was not checked; pass it with --archive" in capsys.readouterr().out


def test_what_krew_refuses_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linted(tmp_path, moved(bin="../x", sha256="AB"), a_tar_gz())
    assert main([str(tmp_path / "view-logs.yaml"), "--archive", str(tmp_path / "view-logs.tar.gz")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("view-logs v1.2.3: krew refuses it, or it does not work: 3 findings\n")
    assert "krew refuses it: internal/download/verifier.go" in out


def test_a_file_that_cannot_be_read_is_exit_code_2(
    healthy: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, archive = healthy
    whole = Path(archive).read_bytes()
    Path(archive).write_bytes(whole[: len(whole) // 2])
    assert main([manifest, "--archive", archive]) == 2
    assert "cut short or damaged" in capsys.readouterr().err
    assert main(["/nowhere/a.yaml"]) == 2


@pytest.mark.parametrize(
    "content", [b"", b"- a", b"a: &b [*b]", b"a: *b", b"\tkind: Plugin", b"[" * 5000, b"\xff\xfe\x00"]
)
def test_what_is_no_manifest_is_told_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(UsageError, match="the manifest"):
        read_manifest(str(tmp_path / "a.yaml"))
