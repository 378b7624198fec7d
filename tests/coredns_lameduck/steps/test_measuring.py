"""A measurement from its plan to its result, in virtual time, and the output of a load generator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kubectl_eksdoc.coredns_lameduck.measurement import (
    MeasurementEdges,
    dry_run_refusals,
    parse_report,
    prepare_measurement,
    run_measurement,
)
from kubectl_eksdoc.coredns_lameduck.measurement_findings import (
    DnsMeasurement,
    MeasurementEventKind,
    measurement_findings,
)
from kubectl_eksdoc.coredns_lameduck.measurement_plan import (
    BEFORE_S,
    STALE_AFTER_S,
    MeasuredChange,
    MeasurementPlan,
    MeasurementSettings,
)
from kubectl_eksdoc.errors import ClusterError, Forbidden, UsageError
from kubectl_eksdoc.model.coredns import LoadReport, MeasuredSecond, QueryCounts, QueryStream
from kubectl_eksdoc.model.findings import Code, Finding, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner
from tests.coredns_lameduck.worlds import LATER, NODES, Ground, World

WATCH = MeasurementSettings(for_s=20)
ROLLOUT, EVICTION = (
    MeasurementSettings(MeasuredChange.ROLLOUT, for_s=120),
    MeasurementSettings(MeasuredChange.EVICTION, for_s=120),
)


def planned(world: World, manner: MeasurementSettings) -> MeasurementPlan:
    return prepare_measurement(NODES, Ground(world), world, "cafe", manner)


def run(
    world: World, manner: MeasurementSettings, told: Callable[[], int] = lambda: 0, tell: Callable[[str], object] = str
) -> tuple[MeasurementPlan, DnsMeasurement]:
    plan = planned(world, manner)
    return plan, run_measurement(plan, b"program", MeasurementEdges(Ground(world), world, world, told, tell))


def found(world: World, manner: MeasurementSettings, **more: Any) -> dict[tuple[str, Status], list[Finding]]:
    plan, done = run(world, manner, **more)
    by: dict[tuple[str, Status], list[Finding]] = {}
    for each in measurement_findings(plan, done):
        by.setdefault((each.code.name, each.status), []).append(each)
    return by


def nothing_left(world: World) -> None:
    assert world.made == {} and world.done[-1] == "remove eksdoc-dns-measure-cafe"


def test_a_rollout_with_enough_lameduck_loses_nothing() -> None:
    world = World(lame_s=5, away_s=2)
    plan, done = run(world, ROLLOUT)
    assert done.deed.done_at is not None and done.deed.finished
    assert {(each.what, each.pod) for each in done.moments} >= {
        (what, pod)
        for what in (MeasurementEventKind.TOLD, MeasurementEventKind.OUT, MeasurementEventKind.GONE)
        for pod in ("coredns-1", "coredns-2")
    }
    assert [(each.code, each.status) for each in measurement_findings(plan, done)] == [
        (Code.of("dns-answers-lost"), Status.PASS)
    ] * 2
    nothing_left(world)


def test_a_rollout_without_lameduck_loses_answers_through_the_service() -> None:
    world = World(lame_s=0, away_s=2)
    plan, done = run(world, ROLLOUT)
    failed = [each for each in measurement_findings(plan, done) if each.status is Status.FAIL]
    assert [each.code for each in failed] == [Code.of("dns-answers-lost"), Code.of("dns-answers-lost")], (
        "one for each zone; the endpoints' own loss is as it should be"
    )
    assert all("over UDP" in each.message and "over TCP" in each.message for each in failed)
    assert any("coredns-1: told to end at +" in text for text in failed[0].evidence)
    nothing_left(world)


def test_watching_changes_nothing_and_ends_in_time() -> None:
    world = World()
    _, done = run(world, WATCH)
    assert world.done == ["remove eksdoc-dns-measure-cafe"] and done.moments == ()
    assert world.now <= 1 + BEFORE_S + 20 + WATCH.settle_s + 5
    for zone in done.zones:
        assert isinstance(zone.report, LoadReport) and 20 <= zone.report.duration_s <= 20 + BEFORE_S + 2


def test_a_budget_is_asked_again_while_there_is_time() -> None:
    world = World(says=[LATER, LATER, None])
    _, done = run(world, EVICTION)
    assert world.done.count("evict coredns-1") == 3 and done.deed.finished
    nothing_left(world)


def test_a_budget_that_never_allows_it_is_unknown() -> None:
    world = World(says=[LATER] * 1000)
    (unknown,) = found(world, EVICTION)["dns-not-measured", Status.UNKNOWN]
    assert "no pod was evicted" in unknown.message and "429" in unknown.message
    nothing_left(world)


def test_an_eviction_without_an_answer_is_seen_by_what_happens() -> None:
    _, done = run(World(says=[ProbeFailure("no answer", is_uncertain=True)]), EVICTION)
    assert done.deed.done_at is not None and done.deed.finished


def test_a_rollout_that_hangs_is_unknown() -> None:
    world = World(stuck=True)
    (unknown,) = found(world, ROLLOUT)["dns-not-measured", Status.UNKNOWN]
    assert "not over when the time was" in unknown.message
    nothing_left(world)


def test_a_zone_whose_pod_cannot_run_is_unknown_and_the_others_are_measured() -> None:
    world = World(stands={"-1": "no image"})
    by = found(world, ROLLOUT)
    (unknown,) = by["dns-not-measured", Status.UNKNOWN]
    assert "from zone b" in unknown.message and "cannot be pulled" in unknown.message
    assert len(by["dns-answers-lost", Status.PASS]) == 1
    nothing_left(world)


@pytest.mark.parametrize("how", ["no image", "pending", "crashed"])
def test_where_nobody_asks_nothing_is_done_to_coredns(how: str) -> None:
    world = World(stands={"": how})
    by = found(world, ROLLOUT)
    assert "restart" not in world.done
    assert ("dns-answers-lost", Status.PASS) not in by and len(by["dns-not-measured", Status.UNKNOWN]) == 3
    nothing_left(world)


def test_seconds_in_which_the_load_generator_was_busy_are_unknown() -> None:
    by = found(World(busy=lambda second: second in (3, 4)), WATCH)
    assert ("dns-answers-lost", Status.PASS) not in by
    assert "2 of" in by["dns-not-measured", Status.UNKNOWN][0].message
    assert by["dns-not-measured", Status.UNKNOWN][0].evidence == ("in the seconds +3 to +4",)


@pytest.mark.parametrize("at_s", [0, 1, 4, 8, 14, 20, 60])
@pytest.mark.parametrize("manner", [WATCH, ROLLOUT, EVICTION])
def test_told_to_end_at_any_time_nothing_is_left(manner: MeasurementSettings, at_s: float) -> None:
    world = World()
    _, done = run(world, manner, told=lambda: int(world.now >= at_s))
    assert done.interrupted == (world.now >= at_s)
    if at_s < BEFORE_S:
        assert world.told_at == {}, "nothing was done to CoreDNS"
    nothing_left(world)


def test_what_cannot_be_removed_is_said() -> None:
    world = World(refuses={"remove": ProbeFailure("the cluster refuses delete configmaps", "delete configmaps")})
    plan, done = run(world, WATCH)
    left = [each for each in measurement_findings(plan, done) if each.code.name == "dns-measure-left"]
    assert left[0].remedy[0].command == "kubectl delete configmap eksdoc-dns-measure-cafe -n default"


def test_what_was_left_by_one_that_was_killed_is_removed_first() -> None:
    old, young = ProbeOwner("dead", "eksdoc-dns-measure-dead", "u", STALE_AFTER_S + 1), ProbeOwner("beef", "x", "v", 5)
    world = World(owners_are=(old, young))
    plan, _ = run(world, WATCH)
    assert world.done == ["remove eksdoc-dns-measure-dead", "remove eksdoc-dns-measure-cafe"]
    assert plan.other_owners == (young,)


def test_without_the_right_to_make_anything_nothing_is_done() -> None:
    world = World(refuses={"owner": ProbeFailure("the cluster refuses create configmaps", "create configmaps")})
    with pytest.raises(Forbidden):
        run(world, ROLLOUT)
    assert "restart" not in world.done


def test_a_dry_run_of_the_server_asks_for_everything_and_makes_nothing() -> None:
    no = ProbeFailure("a webhook said no")
    world = World(refuses={"pod": no, "restart": no, "evict": no})
    refused = dry_run_refusals(planned(world, ROLLOUT), b"", Ground(world), world)
    assert set(refused) == {"eksdoc-dns-measure-cafe-0", "eksdoc-dns-measure-cafe-1", "deployment/coredns"}
    assert set(dry_run_refusals(planned(world, EVICTION), b"", Ground(world), world)) - set(refused) == {
        "pod/coredns-1"
    }
    assert world.made == {} and world.done == []


@pytest.mark.parametrize(
    ("world", "manner", "error", "said"),
    [
        (World(service_is=Absent("not found")), WATCH, UsageError, "there is no Service kube-dns"),
        (World(service_is=Unknown("no", "get services")), WATCH, Forbidden, "no"),
        (World(service_is=Unknown("no answer")), WATCH, ClusterError, "no answer"),
        (World(unseen="no"), WATCH, Forbidden, "no"),
        (World(workload_is=Absent("not found")), ROLLOUT, UsageError, "no Deployment coredns"),
        (World(pods=[]), EVICTION, UsageError, "no CoreDNS pod is ready"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is_made(
    world: World, manner: MeasurementSettings, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        planned(world, manner)
    assert world.made == {}


HEAD = '{"program":"eksdoc-dns-load","version":1,"began":1767261600.5,"seconds":9}\n'
LINE = (
    '{"t":3,"to":"service-v4","by":"udp","sent":10,"answered":7,"late":1,"lost":1,"refused":0,"failed":1,'
    '"unsure":0,"unsent":2,"ms":[0.4,0.9,1200.5],"why":["SERVFAIL"]}\n'
)


def test_a_second_of_a_stream() -> None:
    found = parse_report(HEAD + LINE)
    assert isinstance(found, LoadReport)
    second = MeasuredSecond(QueryCounts(10, 7, 1, 1, 0, 1, 0, 2), (0.4, 0.9, 1200.5), ("SERVFAIL",))
    assert found.seconds == {QueryStream("service-v4", "udp"): {3: second}} and found.duration_s == 4


def test_what_others_say_and_a_line_that_is_being_written_are_passed_over() -> None:
    found = parse_report(f"istio: ready\n{HEAD}[1]\nnull\n{LINE}{LINE[:40]}")
    assert isinstance(found, LoadReport) and len(found.seconds) == 1


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "empty"),
        ("/bin/sh: python3: not found\n", "none of the load generator's: /bin/sh: python3: not found"),
        ('{"error":"the plan names no server to query"}\n', "refused its plan: the plan names no server"),
        (HEAD.replace("1,", "2,", 1), "another version"),
        (HEAD + LINE.replace('"sent":10,', ""), "cannot be read: KeyError"),
        (HEAD.replace("1767261600.5", '"noon"') + LINE, "cannot be read: ValueError"),
        (HEAD + LINE.replace("[0.4,0.9,1200.5]", "[]"), "cannot be read: IndexError"),
    ],
)
def test_what_is_no_report(log: str, said: str) -> None:
    found = parse_report(log)
    assert isinstance(found, Unknown) and said in found.why


def test_each_cut_of_a_log_is_read_or_unknown() -> None:
    whole = HEAD + LINE + json.dumps({"end": "deadline", "sum": []}) + "\n"
    for end in range(len(whole)):
        found = parse_report(whole[:end])
        assert isinstance(found, Unknown) == (end < len(HEAD)), end


def test_whoever_insists_leaves_nothing_either() -> None:
    world = World()

    def insist() -> int:
        if world.now > 8:
            raise KeyboardInterrupt
        return 0

    with pytest.raises(KeyboardInterrupt):
        run(world, ROLLOUT, told=insist)
    nothing_left(world)


def test_a_right_that_is_missing_is_named() -> None:
    world = World(says=[ProbeFailure("the cluster refuses create pods/eviction", "create pods/eviction")])
    (unknown,) = found(world, EVICTION)["dns-not-measured", Status.UNKNOWN]
    assert unknown.missing == "create pods/eviction"
