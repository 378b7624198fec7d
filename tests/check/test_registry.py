"""Registry, codes, docs and tests agree; without facts no check passes; on a healthy cluster no check reports
anything."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions
from kubectl_eksdoc.check.checking import CheckFacts, CurrentVersion, Gate, UpgradeCheck, UpgradePath, upgrade_path
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import ALL_CHECKS, CODES, choose_checks
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiUsage, KindUsage, ManifestText, UnreadablePart
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, KindRead, ReadState, Resource
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_cluster
from tests.check.healthy import DENIED, healthy
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NOW, TARGET = Version(1, 49), Version(1, 50)
"""Of which no table knows anything."""


def named(check: UpgradeCheck) -> str:
    return check.codes[0].name


def test_every_code_has_its_check() -> None:
    whole = [code for check in ALL_CHECKS for code in check.codes if code in Code.of_areas("check")]
    assert sorted({code.name for code in whole}) == sorted(code.name for code in Code.of_areas("check"))
    assert len({code.name for code in CODES}) == len(CODES)


def test_every_code_is_tested_by_name() -> None:
    tests = (path for path in HERE.glob("test_*.py") if path.name != "test_registry.py")
    planted = (ROOT / "tests/check/command/planted.txt").read_text(encoding="utf-8")
    whole = "\n".join((*(path.read_text(encoding="utf-8") for path in tests), planted))
    parts = {"check-drain", "check-addons", "check-imds", "check-dns", "check-interruption"}
    names = {code.name for code in Code.of_areas("check")} - parts
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", whole)) == []


@cache
def blind() -> CheckFacts:
    """No kind could be read, AWS gave no answer, and no table covers the version."""
    there = upgrade_path(CurrentVersion(NOW, "as a test says"), TARGET)
    assert isinstance(there, UpgradePath)
    every = {resource for check in ALL_CHECKS for resource in check.kinds} | set(kinds.ALL)
    reads = tuple(KindRead(each, ReadState.FORBIDDEN, detail="forbidden") for each in sorted(every, key=str))
    listed: tuple[Resource, ...] = kinds_with_removed_versions(Version(1, 15), Version(1, 16))
    api = ApiUsage(
        DENIED,
        tuple(KindUsage(each, DENIED) for each in listed),
        DENIED,
        (ManifestText("x.yaml", (), (UnreadablePart(1, "no YAML"),)),),
    )
    summed = dict.fromkeys(CheckNeed, DENIED)
    return CheckFacts(replace(a_cluster(), reads=reads), there, DENIED, api=api, command_findings=summed)


WHOLE = {named(check): check for check in ALL_CHECKS if not check.partial}


@for_each("check", ALL_CHECKS, ids=named)
def test_blind_no_check_passes_anything(check: UpgradeCheck) -> None:
    found = tuple(check.judge(blind()))
    assert [each for each in found if each.status is not Status.UNKNOWN] == []
    assert all(each.missing for each in found)
    if not check.partial:
        assert found != ()


def test_what_is_to_be_done_later_is_a_step_and_no_finding() -> None:
    found = plan_check(healthy(), ALL_CHECKS, CheckScope())
    assert found.outcome.fails == ()
    assert not any(each.check.gate is Gate.AFTER for each in found.judged), "it is not said to be well"
    assert any(each.title.startswith("Update kube-proxy") for each in found.checklist)
    for later in (
        plan_check(healthy(), choose_checks((), Gate.AFTER), CheckScope(gate=Gate.AFTER)),
        plan_check(healthy(now="1.34"), ALL_CHECKS, CheckScope()),
    ):
        assert any(each.code.name == "nodes-behind" for each in later.outcome.fails)


@for_each("name", [code.name for code in CODES])
def test_blind_no_code_that_is_asked_for_alone_passes(name: str) -> None:
    plan = plan_check(blind(), choose_checks([name]), CheckScope(frozenset({name})))
    assert Status.UNKNOWN in {each.status for each in plan.findings}


def _finds(check: UpgradeCheck, *found: Finding) -> UpgradeCheck:
    return replace(check, judge=lambda facts: found)


def _found(code: str, status: Status) -> Finding:
    missing = "list pods" if status is Status.UNKNOWN else ""
    return Finding(Code.of(code), Severity.HIGH, status, Subject("Pod", "web", "shop"), "because", missing=missing)


@pytest.mark.parametrize(
    ("only", "told"),
    [
        ("check-drain", {"budget-never-allows", "pod-unmanaged"}),
        ("budget-never-allows", {"budget-never-allows"}),
        ("budget-exhausted", set()),
    ],
)
def test_the_name_of_a_command_asks_for_all_that_it_finds(only: str, told: set[str]) -> None:
    found = (_found(code, Status.FAIL) for code in ("budget-never-allows", "pod-unmanaged"))
    check = _finds(WHOLE["check-drain"], *found)
    plan = plan_check(healthy(), (check,), CheckScope(frozenset({only})))
    assert {each.code.name for each in plan.findings} == told


def test_what_is_not_known_and_may_hide_what_was_asked_for_is_told() -> None:
    unknown = _finds(WHOLE["check-imds"], _found("imds-nodes-unknown", Status.UNKNOWN))
    assert plan_check(healthy(), (unknown,), CheckScope(frozenset({"imds-pods-broken"}))).findings != ()
    failed = _finds(WHOLE["check-imds"], _found("imds-nodes-unknown", Status.FAIL))
    assert plan_check(healthy(), (failed,), CheckScope(frozenset({"imds-pods-broken"}))).findings == ()
