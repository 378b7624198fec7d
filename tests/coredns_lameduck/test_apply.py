"""Wait until each CoreDNS pod has reloaded its Corefile; and the fields that a change would reset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from kubectl_eksdoc.addon_diff.judging import field_name
from kubectl_eksdoc.coredns_lameduck.apply import reset_guards, resets
from kubectl_eksdoc.coredns_lameduck.change import CorednsChange
from kubectl_eksdoc.coredns_lameduck.lameduck import DnsChangeRequest
from kubectl_eksdoc.coredns_lameduck.read import VerificationEdges, failed_reloads, verify_reload
from kubectl_eksdoc.coredns_lameduck.run import ExpectedReload, ReloadState, VerificationResult
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Pod
from tests.addon.stand_in import hands
from tests.addon.stand_in.histories import installed
from tests.addon.updating import Case as AddonCase
from tests.addon.updating import Time
from tests.builders import a_pod

NEW = "a" * 128
RUNS = f"[INFO] plugin/reload: Running configuration SHA512 = {NEW}\n"
ONE, TWO = (a_pod(f"coredns-{at}", "kube-system", node=f"n-{at}") for at in (1, 2))


@dataclass
class FakeResolvers:
    """`lines`: the log lines of each pod, and their times. Mutable."""

    time: Time
    there: tuple[Pod, ...] | Unknown = (ONE, TWO)
    lines: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    failed: int = 0
    away_until_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def pods(self) -> tuple[Pod, ...] | Unknown:
        if self.time.s < self.away_until_s:
            raise ClusterError("no route")
        return self.there

    def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
        assert port == 9153
        return dict.fromkeys(pods, f"coredns_reload_failed_total {self.failed}\n")

    def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
        self.asked += pods
        found = {pod: [(at, said) for at, said in self.lines.get(pod, ()) if at <= self.time.s] for pod in pods}
        return {pod: "".join(said for at, said in each if self.time.s - at <= since_s) for pod, each in found.items()}


@dataclass
class Case:
    """A change of CoreDNS and the cluster in which it is made. Mutable."""

    time: Time = field(default_factory=Time)
    told: Callable[[], int] = lambda: 0
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.resolvers = FakeResolvers(self.time)

    @property
    def world(self) -> VerificationEdges:
        return VerificationEdges(
            self.resolvers, 9153, self.time, self.time.sleep, lambda: self.told(), self.said.append
        )

    def seen(self, watch_s: float = 180.0, begun_s: float = 0.0) -> VerificationResult:
        wanted = ExpectedReload((NEW,), {ONE.key: 0.0, TWO.key: 0.0})
        return verify_reload(wanted, begun_s, self.world, watch_s)


def test_it_is_over_when_every_pod_has_said_so() -> None:
    case = Case()
    case.resolvers.lines = {ONE.key: [(12, RUNS)], TWO.key: [(47, RUNS)]}
    seen = case.seen()
    assert seen.all and not seen.left and 47 <= seen.seconds <= 55
    assert case.resolvers.asked.count(ONE.key) < case.resolvers.asked.count(TWO.key), "who has said so is left alone"
    assert [line.rpartition(": ")[2] for line in case.said] == ["verified", "verified"]


def test_three_minutes_are_enough() -> None:
    case = Case()
    case.resolvers.lines = {ONE.key: [(12, RUNS)]}
    seen = case.seen()
    assert not seen.all and "checked for 180 s" in seen.left and 180 <= seen.seconds < 190
    assert [each.pod for each in seen.in_state(ReloadState.NOT_YET)] == [TWO.key]


def test_what_was_printed_before_the_change_says_nothing() -> None:
    case = Case()
    case.time.s = 1000.0
    case.resolvers.lines = {ONE.key: [(10, RUNS)], TWO.key: [(10, RUNS)]}
    assert not case.seen(60.0, begun_s=1000.0).in_state(ReloadState.VERIFIED)


def test_a_pod_that_comes_meanwhile_counts_and_one_that_goes_does_not() -> None:
    case = Case()
    new = replace(TWO, name="coredns-3", uid="uid-3")
    case.time.then.append((20, lambda: setattr(case.resolvers, "there", (ONE, new))))
    case.resolvers.lines = {ONE.key: [(5, RUNS)], new.key: [(30, RUNS)]}
    seen = case.seen()
    assert seen.all and {each.pod for each in seen.stands} == {ONE.key, new.key}


def test_a_cluster_that_does_not_answer_is_asked_again() -> None:
    case = Case()
    case.resolvers.away_until_s = 60.0
    case.resolvers.lines = {ONE.key: [(5, RUNS)], TWO.key: [(5, RUNS)]}
    assert case.seen().all
    assert sum("does not answer" in line for line in case.said) == 1


def test_pods_that_are_not_known_are_no_pass() -> None:
    case = Case()
    case.resolvers.there = Unknown("RBAC forbids it", "list pods")
    seen = case.seen(20.0)
    assert not seen.all and seen.unread == "RBAC forbids it" and seen.left
    case.resolvers.there = ()
    assert case.seen(20.0).unread == "no pod of CoreDNS is there"
    assert failed_reloads(replace(case.world, port=None)) == {}


def test_who_is_told_to_stop_says_what_is_known() -> None:
    case = Case()
    case.told = lambda: int(case.time.s > 10)
    case.resolvers.lines = {ONE.key: [(2, RUNS)]}
    seen = case.seen()
    assert seen.left == "it was stopped" and len(seen.in_state(ReloadState.VERIFIED)) == 1 and case.time.s < 12


def test_failures_of_before_are_counted() -> None:
    case = Case()
    case.resolvers.failed = 3
    assert failed_reloads(case.world) == {ONE.key: 3.0, TWO.key: 3.0}
    assert failed_reloads(replace(case.world, port=None)) == {ONE.key: None, TWO.key: None}


def test_a_pod_that_refuses_between_two_questions_says_why() -> None:
    case = Case()

    class Slow(FakeResolvers):
        """Each question takes a tenth of a second; both pods refuse during the first question, to whichever pod it
        is."""

        def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
            self.time.sleep(0.1)
            failed = int(self.time.s >= 0.05)
            text = f'coredns_reload_version_info{{hash="sha512",value="{NEW}"}} 1\n' if failed else ""
            return dict.fromkeys(pods, f"{text}coredns_reload_failed_total {failed}\n")

        def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
            found = super().logs(pods, since_s)
            self.time.sleep(0.1)
            return found

    why = "[ERROR] plugin/reload: Corefile changed but reload failed: address already in use\n"
    case.resolvers = Slow(case.time, lines={pod.key: [(0.05, why)] for pod in (ONE, TWO)})
    assert {each.why for each in case.seen().stands} == {"address already in use"}


OLD, NEW_DNS_CHANGE = "v1.12.0-eksbuild.1", "v1.12.6-eksbuild.1"


def test_a_reset_that_nobody_accepted_forbids_it() -> None:
    """The rules are those of any add-on; vpc-cni is the one whose chart is known."""
    service = installed(OLD)
    hands.sets_env(service.objects, "ENABLE_POD_ENI", "true")
    plan = AddonCase(service, NEW_DNS_CHANGE, "OVERWRITE", as_asked=True).ready().plan
    wished = CorednsChange(DnsChangeRequest(20), True, before={}, values={})
    found = [field_name(each.field) for each in resets(plan, wished)]
    assert "ENABLE_POD_ENI of container aws-node" in found
    (guard,) = reset_guards(plan, wished, ())
    assert "ENABLE_POD_ENI" in guard.why and "--accept-reset" in guard.hint
    assert list(reset_guards(plan, wished, found)) == []
    on_purpose = CorednsChange(DnsChangeRequest(20), True, before={}, values={"env": {"ENABLE_POD_ENI": "false"}})
    assert resets(plan, on_purpose) == ()
