"""Findings and remedies from their records: how values fill a text, and which remedies are given."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When, clause

SUBJECT = Subject("Deployment", "web", "shop")


@pytest.mark.parametrize(
    ("unready", "restarting", "said"),
    [(True, False, "are not Ready: why"), (True, True, "are not Ready, or restarting: why")],
)
def test_a_part_stands_where_its_value_is_true(unready: bool, restarting: bool, said: str) -> None:
    found = Finding.of(
        "pods-bouncing/unsteady",
        SUBJECT,
        severity=Severity.LOW,
        count=2,
        pods=3,
        unready=unready,
        both=unready and restarting,
        restarting=restarting,
        why="why",
        command="",
    )
    assert found.message == f"2 of 3 pods {said}"


def test_a_text_that_is_not_empty_stands_in_its_part_and_another_does_in_place_of_an_empty_one() -> None:
    old = Finding.of("fargate-restart/old", SUBJECT, version="v1.32.1")
    unknown = Finding.of("fargate-restart/old", SUBJECT, version="")
    assert old.message == "its Fargate node has v1.32.1 until the pod is restarted"
    assert unknown.message == "its Fargate node has an unknown version until the pod is restarted"


def test_what_a_value_has_of_a_templates_signs_stays_as_it_is() -> None:
    """Values come from the cluster: a field may have any text."""
    found = Finding.of(
        "addon-field-reset/at-risk",
        SUBJECT,
        severity=Severity.HIGH,
        field="A|B",
        live="{x} # | y",
        who="kubectl|edit",
        value="#1",
        **dict.fromkeys(("reset", "again", "removed", "conflict", "kept", "nearest"), False),
        wanted="",
    )
    assert found.message == "A|B, set to {x} # | y by kubectl|edit, is reset to #1"


def test_a_remedy_is_given_where_its_value_is_true() -> None:
    live, dump = (
        Finding.of("insight-stale", SUBJECT, old_count=1, number="1 insight", ago="2 days ago", live=live, command="x")
        for live in (True, False)
    )
    assert [each.command for each in live.remedy] == ["kubectl eksdoc check --refresh-insights", "x"]
    assert live.remedy[1:] == dump.remedy and live.status is Status.FAIL


def test_a_shared_remedy_is_filled_and_says_when() -> None:
    assert Remedy.of("shorter-grace", pod="shop/web-1") == Remedy(
        "Give pod shop/web-1 a shorter grace period in its template.", when=When.LATER
    )
    assert Remedy.of("add-kind", kind="pods", command="kubectl get pods", file="pods") == Remedy(
        "Add pods to the dump.", "kubectl get pods > pods.json"
    )


def test_a_clause_is_that_of_its_code_or_one_that_several_share() -> None:
    assert clause("nodegroup-health") == "whether it is well"
    assert clause("program-unknown/one", what="keda 2.9", step="1.34") == "whether keda 2.9 fits 1.34"
    assert clause("program-unknown/programs") == clause("/programs") == "which programs run"
    assert [clause("check-addon-unfit/addon", target=each) for each in ("1.34", "")] == [
        "whether it fits 1.34",
        "whether it fits the target",
    ]
    with pytest.raises(KeyError):
        clause("nodegroup-health/no-such")
    with pytest.raises(KeyError):
        clause("program-unknown/one", what="keda")


def test_a_text_without_a_record_or_a_value_is_an_error() -> None:
    for text, values in (("no-such-code", {}), ("fargate-restart/old", {})):
        with pytest.raises(KeyError):
            Finding.of(text, SUBJECT, **values)


def test_what_the_update_of_a_group_does_is_known_of_each_code_that_blocks_a_pod() -> None:
    """Without it a pod counts as not judged."""
    known = {code.name: code.update for code in Code.of_area("drain")}
    assert (known["pod-emptydir"], known["budget-stale"], known["pod-returns"]) == ("evicts", "may-stop", "stops")
    assert known["pod-daemonset"] == ""


def test_no_words_of_a_code_are_longer_than_their_column() -> None:
    assert 15 < max(len(code.brief) for code in Code.every()) <= 26
