"""Printed commands select the cluster that was read; also the parts of an ARN, and remedies for missing rights."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.connection import CommandTarget, in_sequence, kubectl, save_command, shell
from kubectl_eksdoc.model.eks import arn_part, aws_partition
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When, clause
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import (
    FIRST_LINE,
    LAST_LINE,
    FamilyAnswer,
    ImdsRequest,
    ProbeReport,
    ProbeStep,
    format_log,
    parse_report,
)
from kubectl_eksdoc.model.missing_rights import allow_right, for_snapshot, for_source

REACH = CommandTarget(("--demo",), ("--context", "prod"), ("--demo", "--dry-run"))


@pytest.mark.parametrize(
    ("command", "reached"),
    [
        ("kubectl get pods", "kubectl get pods --context prod"),
        ("kubectl get pdb x -o yaml > x.yaml", "kubectl get pdb x -o yaml --context prod > x.yaml"),
        (
            "kubectl get pdb x -o yaml > x.yaml && kubectl delete pdb x",
            "kubectl get pdb x -o yaml --context prod > x.yaml && kubectl delete pdb x --context prod",
        ),
        (
            "kubectl get ns x -o json | jq . | kubectl replace -f -",
            "kubectl get ns x -o json --context prod | jq . | kubectl replace -f - --context prod",
        ),
        ("kubectl eksdoc check", "kubectl eksdoc check --demo"),
        ("kubectl eksdoc addon-diff x --apply", "kubectl eksdoc addon-diff x --apply --demo --dry-run"),
        ("kubectl eksdoc imds-probe node/a --active", "kubectl eksdoc imds-probe node/a --active --demo --dry-run"),
        ("kubectl eksdoc imds-probe node/a--active", "kubectl eksdoc imds-probe node/a--active --demo"),
        (
            "kubectl eksdoc interruption --print stack > a.yaml && aws cloudformation create-stack",
            "kubectl eksdoc interruption --print stack --demo > a.yaml && aws cloudformation create-stack",
        ),
        ("kubectl get pods --context prod", "kubectl get pods --context prod"),
        ("aws eks list-clusters", "aws eks list-clusters"),
        ("", ""),
    ],
)
def test_each_part_is_led_there(command: str, reached: str) -> None:
    assert REACH.add_to(command) == reached
    assert REACH.add_to(reached) == reached


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc"))), min_size=1, max_size=4))
def test_whatever_stands_in_quotes_is_no_end_of_a_command(names: list[str]) -> None:
    command = shell("kubectl", "get", *names)
    assert shlex.split(REACH.add_to(command)) == ["kubectl", "get", *names, "--context", "prod"]


@pytest.mark.parametrize("name", ["a && b", "it's | here", 'a "b" > c', "''"])
def test_hostile_names_stay_one_word(name: str) -> None:
    both = in_sequence(save_command("pdb", name, "shop"), kubectl("delete", "pdb", name, "shop"))
    assert REACH.add_to(both).count("--context prod") == 2
    assert REACH.add_to(both).endswith(f"{kubectl('delete', 'pdb', name, 'shop')} --context prod")


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("us-east-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("", "aws"),
    ],
)
def test_the_partition_of_a_region(region: str, partition: str) -> None:
    assert aws_partition(region) == partition


def test_a_part_that_is_not_there_is_empty() -> None:
    assert arn_part("arn:aws-cn:eks:cn-north-1:1:cluster/a", 1) == "aws-cn" and arn_part("prod", 3) == ""


OTHER = Remedy("Look at it.", "kubectl get pods")
UNKNOWN = Finding(
    Code.of_areas("drain")[0],
    Severity.HIGH,
    Status.UNKNOWN,
    Subject("Cluster", "prod"),
    "who knows",
    remedy=(allow_right("list pods"), OTHER),
    missing="list pods",
)


def test_of_a_snapshot_another_one_must_be_taken() -> None:
    assert for_snapshot(UNKNOWN).remedy == (Remedy("Allow list pods, and take the snapshot again."), OTHER)


def test_what_no_right_is_missing_for_stays_as_it_is() -> None:
    found = replace(UNKNOWN, remedy=(OTHER,), missing="pods")
    assert for_snapshot(found) == found
    failing = replace(UNKNOWN, status=Status.FAIL, remedy=(OTHER,), missing="")
    assert for_snapshot(failing) == failing


def test_only_of_a_snapshot() -> None:
    assert for_source([UNKNOWN], Source.LIVE) == for_source([UNKNOWN], Source.DEMO) == (UNKNOWN,)
    assert for_source([UNKNOWN, UNKNOWN], Source.SNAPSHOT) == (for_snapshot(UNKNOWN),) * 2


# Findings and remedies from their records: how values fill a text, and which remedies are given.

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
    """Values come from the cluster, so a field may have any text."""
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
    """Without this entry a pod counts as not judged."""
    known = {code.name: code.update for code in Code.of_areas("drain")}
    assert (known["pod-emptydir"], known["budget-stale"], known["pod-returns"]) == ("evicts", "may-stop", "stops")
    assert known["pod-daemonset"] == ""


def test_no_words_of_a_code_are_longer_than_their_column() -> None:
    assert 15 < max(len(code.brief) for code in Code.all_codes()) <= 26


# A probe's output is parsed as intended, and any other text in a log is no answer.

LOG = f"""\
{FIRST_LINE}
v4 v1 0 401 0.000312 0.001021
v4 token 28 000 0.000287 3.000671
v6 v1 7 000 0.000000 0.000100
v6 token 7 000 0.000000 0.000100
v4 id i-0123456789abcdef0
{LAST_LINE}
"""


def test_a_log() -> None:
    report = parse_report(LOG)
    assert isinstance(report, ProbeReport)
    assert report.v4.instance == "i-0123456789abcdef0"
    token, v6 = report.v4.step(ImdsRequest.TOKEN), report.v6.step(ImdsRequest.V1)
    assert token is not None and token.connected and not token.answered and round(token.total, 1) == 3000.7
    assert v6 == ProbeStep(ImdsRequest.V1, 7, 0, None, 0.1) and not v6.connected
    assert report.v4.step(ImdsRequest.V2) is None


def test_a_log_that_is_cut_off_is_unknown() -> None:
    for end in range(len(LOG) - len(LAST_LINE) - 1):
        assert isinstance(parse_report(LOG[:end]), Unknown)


def test_an_image_without_curl() -> None:
    assert parse_report(f"{FIRST_LINE}\nno curl\n") == Unknown("its image has no curl")


def test_what_others_say_around_it_is_passed_over() -> None:
    assert parse_report(f"sh: warning\nv4 v1 0 200 0.1 0.1\n{LOG}v4 v1 0 200 0.1 0.1\n") == parse_report(LOG)


micros = some.integers(0, 5_000_000).map(lambda number: number / 1000)
times = micros.map(lambda number: number or None)


def _steps(asks: list[ImdsRequest]) -> some.SearchStrategy[tuple[ProbeStep, ...]]:
    return some.tuples(
        *(
            some.builds(ProbeStep, some.just(ask), some.integers(0, 255), some.integers(0, 599), times, micros)
            for ask in asks
        )
    )


sights = some.builds(
    FamilyAnswer,
    some.lists(some.sampled_from(ImdsRequest), unique=True)
    .map(lambda asks: [ask for ask in ImdsRequest if ask in asks])
    .flatmap(_steps),
    some.sampled_from(["", "i-0", "i-0123456789abcdef0"]),
)


@given(some.builds(ProbeReport, sights, sights))
def test_what_is_printed_is_read_again(report: ProbeReport) -> None:
    again = parse_report(format_log(report))
    assert isinstance(again, ProbeReport) and format_log(again) == format_log(report)
    assert [step.ask for step in again.v4.steps] == [step.ask for step in report.v4.steps]


@given(
    some.text()
    | some.lists(some.sampled_from([*LOG.splitlines(), "v4 v1 0 2000 1 1", "v4 id i-x", "no curl"])).map("\n".join)
)
def test_any_text_is_a_report_or_unknown(log: str) -> None:
    found = parse_report(log)
    assert isinstance(found, (ProbeReport, Unknown))
    if isinstance(found, ProbeReport):
        assert FIRST_LINE in log and LAST_LINE in log
