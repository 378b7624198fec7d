"""``kubectl eksdoc krew-lint`` as it is called: its answer, its exit codes, and every format of it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.core.model import krew_codes
from tests.cli.running import run_cli
from tests.krew.plugins import a_tar_gz, linted, moved
from tests.reading import yaml_of

SCHEMA = schemas.load("KrewLint")
JUDGE = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture
def healthy(tmp_path: Path) -> tuple[str, str]:
    """The paths of a manifest and of its archive."""
    linted(tmp_path)
    return str(tmp_path / "view-logs.yaml"), str(tmp_path / "view-logs.tar.gz")


@pytest.fixture
def refused(tmp_path: Path) -> tuple[str, str]:
    linted(tmp_path, moved(bin="../x", sha256="AB"), a_tar_gz())
    return str(tmp_path / "view-logs.yaml"), str(tmp_path / "view-logs.tar.gz")


def test_a_healthy_plugin(healthy: tuple[str, str]) -> None:
    manifest, archive = healthy
    ran = run_cli("krew-lint", manifest, "--archive", archive)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("view-logs v1.2.3: krew takes it\n")


def test_without_its_archive_less_is_said_and_that_is_said(healthy: tuple[str, str]) -> None:
    ran = run_cli("krew-lint", healthy[0])
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert "no archive was looked into" in ran.err and "--archive FILE" in ran.err


def test_what_is_to_be_mended_is_exit_code_1(refused: tuple[str, str]) -> None:
    manifest, archive = refused
    ran = run_cli("krew-lint", manifest, "--archive", archive)
    assert (ran.code, ran.err) == (1, "")
    assert "3 things to mend" in ran.out and "krew refuses it: internal/download/verifier.go" in ran.out


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.parametrize("which", ["healthy", "refused"])
def test_documents_are_valid(output: str, which: str, request: pytest.FixtureRequest) -> None:
    manifest, archive = request.getfixturevalue(which)
    ran = run_cli("krew-lint", manifest, "--archive", archive, "-o", output)
    document = json.loads(ran.out) if output == "json" else yaml_of(ran.out)
    assert [error.message for error in JUDGE.iter_errors(document)] == []
    assert document["metadata"]["options"] == {"archive": [archive]}
    assert document["link"] == "kubectl-view_logs"


def test_the_schema_is_one_and_knows_every_code() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$defs"]["code"]["enum"] == sorted(code.name for code in krew_codes.ALL)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.yaml", "b.yaml"],
        ["--demo", "a.yaml"],
        [""],
        ["a.yaml", "--archive", ""],
        ["/nowhere/a.yaml"],
        ["a.yaml", "-o", "markdown"],
    ],
    ids=str,
)
def test_usage_is_exit_code_2(words: list[str]) -> None:
    ran = run_cli("krew-lint", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_an_archive_that_cannot_be_read_is_exit_code_2(healthy: tuple[str, str], tmp_path: Path) -> None:
    manifest, archive = healthy
    whole = Path(archive).read_bytes()
    Path(archive).write_bytes(whole[: len(whole) // 2])
    ran = run_cli("krew-lint", manifest, "--archive", archive)
    assert (ran.code, ran.out) == (2, "")
    assert "cut short or damaged" in ran.err


def test_the_page_as_it_is_laid_out(tmp_path: Path) -> None:
    linted(tmp_path, moved(bin="bin/tool", uri="http://example.com/v1.2.3/view-logs.tar.gz"))
    archive = tmp_path / "view-logs.tar.gz"
    ran = run_cli("krew-lint", str(tmp_path / "view-logs.yaml"), "--archive", str(archive))
    assert ran.out == PAGE


PAGE = """\
view-logs v1.2.3: 1 thing to mend, 1 remark as reviewers make them

PLATFORMS
     MACHINES                                                                    PROGRAM   ARCHIVE
  0  linux/386, linux/amd64, linux/arm, linux/arm64, linux/ppc64le, darwin/386,  bin/tool  view-logs.tar.gz
     darwin/amd64, darwin/arm64

FINDINGS
  ✗ high: Platform 0: spec.platforms[0].bin: 'bin/tool' is not there after files were moved
    - krew refuses it: internal/installation/install.go
    → Name the program as it is installed.
  ! low: Plugin view-logs: spec.platforms[0].uri: 'http://example.com/v1.2.3/view-logs.tar.gz' is not of https
    - reviewers of krew-index ask for it: site/content/docs/developer-guide/plugin-manifest.md
    → tomorrow: Serve the archive by https.
"""
