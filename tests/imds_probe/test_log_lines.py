"""What programs print that get nothing from the metadata service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.imds_probe.programs import LOG_LINES, LONGEST, NOTHING, LogLine, read, tells
from tests.contracts.source import ROOT

CORPUS = ROOT / "tests" / "data" / "metadata_log_lines.jsonl"
SYMPTOMS = [each for each in LOG_LINES if not each.weak and each.lacks != NOTHING]


def corpus(path: Path = CORPUS) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("of", corpus(), ids=lambda of: of["program"])
def test_real_lines_are_judged_as_their_source_says(of: dict[str, str]) -> None:
    told = read(f"starting\n{of['line']}\nbye\n")
    seen = told.symptom or told.weak
    if of["lacks"].startswith("none"):
        assert told.symptom is None
        return
    assert seen is not None
    assert set(seen.said.lacks.split(" or ")) & set(of["lacks"].split(" or ")), (seen.said.lacks, of["lacks"])


def test_there_are_enough_of_them() -> None:
    lines = corpus()
    assert len(lines) >= 90 and len({each["line"] for each in lines}) == len(lines)
    assert all(each["source"] and each["program"] for each in lines)


@pytest.mark.parametrize(
    "log",
    [
        "",
        "starting\n",
        "panic: nil map",
        "GET http://169.254.169.254/latest/meta-data 200 OK",
        "AccessDenied",
        "listening; metadata at 169.254.169.254",
        "[orders] Failed to get instance ID 42 from the database",
    ],
)
def test_other_troubles_are_none(log: str) -> None:
    assert read(log).symptom is None


@pytest.mark.parametrize("well", ['{"status":200,"error":"EC2MetadataError: failed"}', "200 OK; EC2MetadataError"])
def test_a_status_of_another_request_takes_no_symptom_away(well: str) -> None:
    assert read(well).symptom is not None


def test_a_line_has_no_credentials() -> None:
    said = 'no EC2 IMDS role found: {"AccessKeyId": "ASIAEXAMPLEEXAMPLE", "SecretAccessKey": "hunter2hunter2"}'
    seen = read(said).symptom
    assert seen is not None and "EXAMPLE" not in seen.line and "hunter2" not in seen.line


def test_the_last_line_counts() -> None:
    seen = read("NoCredentialProviders: no valid providers in chain\nfailed to get VPC ID\nexit 1").symptom
    assert seen is not None and seen.line == "failed to get VPC ID" and seen.lacks == "the id of its VPC"


def test_another_cause_that_is_named_after_a_symptom_stands_beside_it() -> None:
    first, then = "no EC2 IMDS role found\n", 'FATAL: password authentication failed for user "app"\n'
    assert read(first + then).another is not None and read(first + then).symptom is not None
    assert read(then + first).another is None, "the later word counts"
    assert read(f"{then}dial tcp 169.254.169.254:80: i/o timeout\n").another is None, "a weak one as well"
    assert read(then).symptom is None and tells(then), "a snapshot keeps it"


@given(some.text(), some.sampled_from(SYMPTOMS), some.text())
def test_any_log_can_be_looked_at(before: str, symptom: LogLine, after: str) -> None:
    seen = read(f"{before}\n{symptom.beside} {symptom.text}\n{after}").symptom
    assert seen is not None and len(seen.line) <= LONGEST


def test_no_record_hides_behind_another() -> None:
    """A text that holds an earlier one would never be found."""
    texts = [each.text.lower() for each in LOG_LINES]
    assert [(a, b) for at, b in enumerate(texts) for a in texts[:at] if a in b] == []
