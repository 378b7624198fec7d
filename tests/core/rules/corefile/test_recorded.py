"""108 Corefiles that a real CoreDNS was started with: nothing that it took is refused, and its words are ours."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from kubectl_eksdoc.core.model.corefile import Refusal
from kubectl_eksdoc.core.rules.corefile.parser import parse
from kubectl_eksdoc.core.rules.corefile.plugins import refusals
from tests.core.for_each import for_each

FILE = Path(__file__).parents[3] / "data" / "recordings" / "coredns-corefiles.jsonl.gz"
CASES: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]

NOT_JUDGED = {
    "unknown plugin": "which plugins there are is a matter of how CoreDNS was built",
    "snippet unknown": "it may be a file",
    "import recursion": "of files",
    "same zone twice": "of the zones of servers",
    "brace without space": "of the zones of servers",
    "bad port": "of the zones of servers",
    "backslash at line end": "which plugins there are is a matter of how CoreDNS was built",
}
"""Refused by CoreDNS for what is not in the text, or is not judged."""


def first_refusal(text: str) -> Refusal | None:
    read = parse(text)
    if isinstance(read, Refusal):
        return read
    return next(iter(refusals(read)), None)


@for_each("case", CASES, ids=lambda case: case["name"])
def test_it_is_taken_or_refused_as_it_was(case: dict[str, Any]) -> None:
    found = first_refusal(case["corefile"])
    if case["accepted"] or case["name"] in NOT_JUDGED:
        assert found is None, str(found)
        return
    assert found is not None and found.line > 0
    said = case["error"]
    assert found.said in said or said in str(found), (str(found), said)
    if "Corefile:" in said:
        assert f"Corefile:{found.line} - " in said


def test_what_is_not_judged_is_refused_by_coredns() -> None:
    refused = {case["name"] for case in CASES if not case["accepted"]}
    assert refused >= set(NOT_JUDGED)
