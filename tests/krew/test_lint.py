"""``python -m tools.krew.lint.command``: its answer and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.krew.plugins import a_tar_gz, linted, moved
from tools.krew.lint.command import main


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
