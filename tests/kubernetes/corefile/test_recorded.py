"""289 Corefiles with which a real CoreDNS 1.13.1 was started: the parser never rejects a Corefile that CoreDNS accepts,
never accepts one that CoreDNS rejects, and gives the same error messages."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_plugins import (
    CorefileVerdict,
    check_corefile,
    lameduck_s,
    listen_addresses,
)
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.quantities import Version, go_duration
from tests import raw_facts
from tests.for_each import for_each

CASES: list[dict[str, Any]] = [
    *raw_facts.lines("recordings/coredns-corefiles.jsonl.gz"),
    *raw_facts.lines("recordings/coredns-corefiles-2.jsonl.gz"),
]
VARIABLES = {"TWO": "2", "PLUG": "health", "HPORT": "8092", "NOPE": "", "X": ""}
"""Of its environment, as its log and its answers tell."""
IMPORTED = ("import file", "import glob", "import at top", "import recursion")
"""Only with these there were files to import, and they were not kept."""
UNKNOWN = {*IMPORTED, "readme:dnssec:0", "cdtest:quic_test.go:1"}


def read(case: dict[str, Any]) -> CorefileVerdict:
    return check_corefile(parse_corefile(case["corefile"], VARIABLES), alone=case["name"] not in IMPORTED)


@for_each("case", CASES, ids=lambda case: case["name"])
def test_it_is_taken_or_refused_as_it_was(case: dict[str, Any]) -> None:
    found = read(case)
    if case["name"] in UNKNOWN:
        assert found.accepted is None, found
        return
    assert found.accepted is case["accepted"], found
    if case["accepted"]:
        return
    first, said = found.refusals[0], case["error"]
    assert first.line > 0
    assert first.said in said or said in str(first), (str(first), said)
    if "Corefile:" in said:
        assert f"Corefile:{first.line} - " in said


def test_three_of_a_hundred_are_not_known_at_most() -> None:
    assert len(CASES) == 289 and len(UNKNOWN) <= 0.03 * len(CASES)


@for_each("case", [case for case in CASES if case.get("lameduckLogged")], ids=lambda case: case["name"])
def test_it_waits_as_it_logged(case: dict[str, Any]) -> None:
    """The log was read when the first wait began."""
    corefile = parse_corefile(case["corefile"], VARIABLES)
    assert isinstance(corefile, Corefile)
    first, several = go_duration(case["lameduckLogged"][0]), len(corefile.server_blocks) > 1
    assert first is not None
    waits, logged = lameduck_s(corefile), first.total_seconds()
    assert waits is not None and (waits >= logged if several else abs(waits - logged) < 0.001), (waits, logged)


@for_each("case", [case for case in CASES if case.get("health8080")], ids=lambda case: case["name"])
def test_health_and_ready_are_answered_where_it_listens(case: dict[str, Any]) -> None:
    corefile = parse_corefile(case["corefile"], VARIABLES)
    assert isinstance(corefile, Corefile)
    for plugin, default, told in (("health", ":8080", case["health8080"]), ("ready", ":8181", case["ready8181"])):
        listens = any(each.endswith(default) for each in listen_addresses(corefile, plugin, default))
        assert listens is (told != "000"), (plugin, told)


@for_each("case", [each for each in CASES if not each["accepted"]], ids=lambda case: case["name"])
def test_of_a_version_that_is_not_known_only_what_every_one_refuses_is_said(case: dict[str, Any]) -> None:
    corefile = parse_corefile(case["corefile"], VARIABLES)
    alone = case["name"] not in IMPORTED
    both = check_corefile(corefile, None, alone)
    if isinstance(corefile, Corefile):
        old = check_corefile(corefile, Version(1, 6, 6), alone).refusals
        assert both.refusals == tuple(each for each in check_corefile(corefile, alone=alone).refusals if each in old)
        assert both.accepted is (False if both.refusals else None), "it is never accepted"
