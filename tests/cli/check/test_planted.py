"""``check`` of the built-in cluster: everything that is planted there, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.check.asked import check, document

PLANTED = Path(__file__).parent / "planted.txt"


def line(finding: dict[str, Any]) -> str:
    of = finding["subject"]
    name = f"{of['namespace']}/{of['name']}" if "namespace" in of else of["name"]
    return f"{finding['status']} {finding['severity']} {finding['code']} {of['kind']} {name}"


def planted() -> list[str]:
    """Each line with what it is about; what follows ``#`` says why it is there."""
    lines = (each.partition("#")[0].strip() for each in PLANTED.read_text(encoding="utf-8").splitlines())
    return [each for each in lines if each]


def test_everything_that_is_planted_and_nothing_else() -> None:
    told = document("--demo", "--target", "1.33")
    assert sorted(map(line, told["findings"])) == sorted(planted())
    assert len({each["code"] for each in told["findings"]}) >= 25
    assert check("--demo", "--target", "1.33", "-o", "json").code == 1
