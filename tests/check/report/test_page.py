"""The page of a check at two widths: upgrade steps, the five lines of a symptom, changes, suppressed findings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import Area, Gate
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.check.report import verdict
from kubectl_eksdoc.check.symptoms import Symptom, codes_of_symptom
from kubectl_eksdoc.model.findings import Code, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.interruption import ReportedChanges, Revision
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.report.text import is_unsafe
from tests.builders import a_node, ago
from tests.check.healthy import a_healthy_cluster, healthy
from tests.check.report.checked import (
    LOOK,
    NARROW,
    SKEW,
    SLIGHT,
    STUCK,
    UNFIT,
    accepted,
    check,
    stuck,
    view,
)
from tests.check.test_registry import blind


def test_the_way_is_a_few_lines_for_each_phase_and_wide_has_reasons_and_commands() -> None:
    short, full = view().render("table", LOOK), view().render("wide", LOOK)
    assert "UPGRADE STEPS" in short
    assert "Check that nothing blocks 1.34 (1 cause and 1 unknown first)" in short
    assert "Why: " not in short
    assert "Why: one minor version at a time" in full
    assert "aws eks update-cluster-version --name prod --region eu-west-1 --kubernetes-version 1.34" in full
    assert "Done when: EKS says ACTIVE and 1.34." in full


def test_a_symptom_has_five_lines_that_begin_with_what_is_likeliest() -> None:
    lines = stuck(STUCK).render("table", LOOK).splitlines()
    assert lines[0] == "drain-stuck: 1 possible cause."
    assert lines[2:8] == [
        "Most likely: a pod is under two budgets: the API refuses each eviction (pod-several-budgets)",
        "On: Deployment shop/web, high",
        "Because: its pods are under 2 budgets.",
        "Do: Scale it.",
        "  kubectl describe pods -n shop",
        "Undo: It only looks: there is nothing to undo.",
    ]
    assert "AREAS" not in lines
    assert "WHAT DECIDES" not in stuck(STUCK).render("wide", LOOK), "no step is asked for"


def test_what_is_not_known_of_a_symptom_is_said() -> None:
    only = codes_of_symptom(Symptom.DRAIN_STUCK)
    facts = replace(healthy(), command_findings={CheckNeed.PLAN_DRAIN: Unknown("it is forbidden", "list pods")})
    of = view(
        list(choose_checks(["check-drain"])), CheckScope(only=frozenset(only), symptom=Symptom.DRAIN_STUCK), facts
    )
    assert "NOT KNOWN: 1 ANSWER" in of.render("table", LOOK)
    assert "missing: list pods" in of.render("table", LOOK)


def test_changes_stand_above_the_findings_and_name_what_nobody_read() -> None:
    past = ReportedChanges({"Deployment": (Revision(Subject("Deployment", "web", "shop"), ago(60), "7"),)}, (), {})
    facts = replace(healthy(), recent_changes=past)
    text = view(wish=CheckScope(since=ago(timedelta(hours=2).total_seconds())), facts=facts).render("table", LOOK)
    assert "CHANGED since 2026-11-20T10:00:00Z" in text
    assert "2026-11-20T11:59:00Z  60s  Deployment shop/web: it was given another pod template (revision 7)" in text
    assert text.index("CHANGED") < text.index("AREAS")
    assert "? not known: Events from more than an hour before" in text


def test_what_is_suppressed_is_counted_and_in_wide_listed() -> None:
    of = view(wish=CheckScope(suppressions=(accepted(SKEW, "agreed"),)))
    assert "1 finding suppressed: -o wide lists them" in of.render("table", LOOK)
    assert "until 2027-01-31: agreed (accepted.yaml, entry 1)" in of.render("wide", LOOK)
    rule = replace(accepted(SKEW), name="red")
    assert "matches nothing" in view(wish=CheckScope(suppressions=(rule,))).render("table", LOOK)


@given(st.text(max_size=30).map(lambda text: f"x{text}\x1b[2J\u202e\u2028\r\nrm -rf /"))
def test_nothing_that_a_cluster_holds_reaches_the_terminal_as_a_command(text: str) -> None:
    subject = Subject("Deployment", text, text)
    bad = replace(STUCK, subject=subject, message=text, evidence=(text,), remedy=(Remedy(text, text),))
    past = ReportedChanges({"Deployment": (Revision(subject, ago(60), text),)}, Unknown(text, text), {})
    rules = (accepted(SKEW, text), replace(accepted(SKEW), name=text, where=text))
    wish = CheckScope(since=ago(6000), suppressions=rules)
    nodes = [a_node(text, group=text, version="v1.32.0-eks-1")]
    whole = view(wish=wish, facts=replace(healthy(cluster=a_healthy_cluster(nodes=nodes)), recent_changes=past))
    for of in (whole, stuck(bad, replace(bad, status=Status.UNKNOWN, missing=text))):
        for page in (of.render("table", LOOK), of.render("wide", NARROW)):
            assert [char for char in page if is_unsafe(char) and char != "\n"] == []
            assert "\nrm -rf" not in page


def test_an_area_has_no_more_causes_than_there_are() -> None:
    slight = replace(SKEW, code=Code.of("nodes-behind"), severity=Severity.LOW, message="all is behind")
    checks = [check(Area.NODES, None, slight), check(Area.NODES, None, SKEW), check(Area.ADDONS, None, UNFIT)]
    assert "AREAS: ? add-ons and controllers 1 unknown · ✗ nodes 1\n" in view(checks).render("table", LOOK)
    assert "CAUSES that no step waits for" in view(checks).render("table", LOOK)
    (row,) = (line for line in view(checks).render("wide", LOOK).splitlines() if line.startswith("  ✗  nodes"))
    assert row.split() == ["✗", "nodes", "2", "1", "-"] and "WORST" not in view(checks).render("wide", LOOK)


def test_what_is_too_slight_to_count_is_not_said_to_be_well() -> None:
    slight = [check(Area.NODES, Gate.BEFORE_NODES, replace(SKEW, severity=Severity.LOW))]
    short = view(slight, CheckScope(fail_on=Severity.HIGH)).render("table", LOOK)
    assert "Nothing counts at --fail-on high: 1 finding is less severe." in short
    assert "Nothing to do" not in short


def test_what_the_steps_themselves_do_is_no_finding_before_them() -> None:
    behind = [check(Area.NODES, Gate.AFTER, replace(SKEW, code=Code.of("nodes-behind"), severity=Severity.LOW))]
    short = view(behind).render("table", LOOK)
    assert "Nothing blocks a step" in short and "nodes-behind" not in short
    assert "Not yet: 1 cause before the end" in view(behind, CheckScope(gate=Gate.AFTER)).render("table", LOOK)
    there = view(behind, facts=healthy("1.33")).render("table", LOOK)
    assert "Not yet: 1 cause before the end" in there, "the control plane has it, and they have not followed"


def test_what_lies_in_wait_is_not_said_to_be_the_cause() -> None:
    latent = stuck(replace(STUCK, code=Code.of("pod-protected"))).render("table", LOOK)
    assert "Nothing shows that any of this hurts now" in " ".join(latent.split())
    assert "Nothing shows" not in " ".join(stuck(STUCK).render("table", LOOK).split())


_FOUND = st.builds(
    replace,
    st.sampled_from([SKEW, UNFIT, SLIGHT]),
    severity=st.sampled_from(Severity),
    status=st.sampled_from(Status),
    missing=st.just("it"),
)
_WISHES = st.builds(
    CheckScope, fail_on=st.sampled_from(Severity), accepted=st.sampled_from([frozenset(), frozenset({UNFIT.code.name})])
)


@given(
    st.lists(st.tuples(st.sampled_from([*Gate, None]), _FOUND), max_size=4), _WISHES, st.sampled_from(["1.33", "1.34"])
)
def test_the_sentence_says_what_the_exit_code_does(found: list, wish: CheckScope, target: str) -> None:  # type: ignore[type-arg]
    checks = [check(Area.NODES, gate, each) for gate, each in found]
    plan = plan_check(healthy(target=target), checks, wish)
    said, status = verdict.build_verdict(plan), plan.outcome.status
    assert status is not Status.PASS or not said.is_blocked
    assert status is Status.PASS or said.headline in ("Not yet", "Nothing blocks a step")
    assert ("accepted by" in said.text) is bool(plan.outcome.accepted)


def test_what_is_unknown_before_no_step_is_not_all_as_it_should_be() -> None:
    name = "support-ends"
    plan = plan_check(blind(), choose_checks([name]), CheckScope(frozenset({name})))
    assert plan.outcome.unknown and verdict.build_verdict(plan).text == (
        "Nothing blocks a step, but not all is as it should be: 1 unknown."
    )
