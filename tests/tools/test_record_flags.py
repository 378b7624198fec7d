"""The record of flags: the flags in the help, and the missing ones."""

from __future__ import annotations

import pytest

from tests import required_programs
from tools.record_flags import flags_of, kind, main


@pytest.mark.parametrize(
    ("flag", "default", "found"),
    [
        ("--overwrite", "false", "bool"),
        ("--replicas", "0", "int"),
        ("--grace-period", "-1", "int"),
        ("--timeout", "0s", "duration"),
        ("--log-flush-frequency", "1m30s", "duration"),
        ("--type", "'strategic'", "text"),
        ("--filename", "[]", "text"),
        ("--dry-run", "'none'", "optional"),
    ],
)
def test_the_default_tells_the_kind(flag: str, default: str, found: str) -> None:
    assert kind(flag, default) == found


def test_flags_are_those_of_the_help() -> None:
    program = required_programs.kubectl_of(required_programs.KUBECTLS[-1])
    scale = flags_of(program, "scale")
    assert scale["--replicas"] == "int" and scale["-f"] == scale["--filename"] == "text" and "--context" not in scale
    assert flags_of(program, "options")["--context"] == "text"
    for unknown in ("scalee", "rollout mend"):
        with pytest.raises(ValueError, match=unknown):
            flags_of(program, unknown)


def test_other_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(()) == 2
    assert "record_flags PROGRAM" in capsys.readouterr().err
