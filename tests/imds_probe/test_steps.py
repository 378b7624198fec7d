"""A complete probe over HTTP, on the embedded cluster, also with lost answers: no object remains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import ConnectionLost, RbacRule, Reply, ServedRequest, restricted
from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.imds_probe.probe import dry_run, prepare_probe, run_probe
from kubectl_eksdoc.imds_probe.probe_diagnosis import ImdsCause
from kubectl_eksdoc.imds_probe.probe_result import (
    ProbedNode,
    ProbePlan,
    ProbeRun,
    ProbeSettings,
    owner_manifest,
)
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.pod_details import LiveProbeNamespace
from kubectl_eksdoc.kube.requests import RetryLimits, real_clock
from kubectl_eksdoc.kube.target import process_credential_context
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import PROBE_POD_LABELS, ProbeReport
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.wiring.runs import open_ground
from tests.examples import one_in
from tests.probes import stand_ins as probes
from tests.probes.stand_ins import Kubelet, Lab, Quick, a_node, connection, nodes_of, there

ONE, TWO, OLD = MetadataOptions("required", 1), MetadataOptions("required", 2), MetadataOptions("optional", 1)
OFF = MetadataOptions("required", 2, endpoint=False)


def services(**of: MetadataOptions) -> MetadataServices:
    return MetadataServices(of)


def run(
    server: SimulatedApiServer,
    api: Api,
    folder: Path,
    manner: ProbeSettings = ProbeSettings(),
    token: str = probes.TOKEN,
    told: Callable[[], int] = probes.never_told,
    tell: Callable[[str], object] = str,
) -> ProbeRun:
    ground = open_ground(connection(server, folder, token), manner.namespace)
    what = prepare_probe(nodes_of(api), ground, "cafe", manner, is_every_node=True)
    return run_probe(what, ground, Quick(), told, tell)


def nothing_left(api: Api, done: ProbeRun | None = None) -> None:
    """And no request is in progress."""
    assert (there(api, "pods"), there(api, "configmaps")) == ([], [])
    assert done is None or (done.left, done.not_removed) == ((), "")


def by_name(done: ProbeRun) -> dict[str, ProbedNode]:
    return {each.node: each for each in done.nodes}


def test_each_node_as_its_instance_is(tmp_path: Path) -> None:
    nodes = [a_node(f"n{number}") for number in range(5)]
    held = MetadataServices({"n0": ONE, "n1": TWO, "n2": OLD, "n3": OFF, "n4": TWO}, blocked={"n4"})
    with Lab(nodes, held).served() as (server, api):
        done = run(server, api, tmp_path)
        found = {name: (each.v4.reach, each.v4.cause) for name, each in by_name(done).items()}
        assert found == {
            "n0": (ImdsReach.UNREACHABLE, ImdsCause.HOP_LIMIT),
            "n1": (ImdsReach.REACHABLE, ImdsCause.NONE),
            "n2": (ImdsReach.V1_ONLY, ImdsCause.HOP_LIMIT),
            "n3": (ImdsReach.UNREACHABLE, ImdsCause.DISABLED),
            "n4": (ImdsReach.UNREACHABLE, ImdsCause.BLOCKED),
        }
        assert "namespace default" in by_name(done)["n4"].v4.why
        nothing_left(api, done)


def test_more_nodes_than_at_once(tmp_path: Path) -> None:
    nodes = [a_node(f"n{number:02}") for number in range(32)]
    told: list[str] = []
    with Lab(nodes, MetadataServices({f"n{number:02}": TWO for number in range(32)})).served() as (server, api):
        done = run(server, api, tmp_path, tell=told.append)
        assert [each.v4.reach for each in done.nodes] == [ImdsReach.REACHABLE] * 32
        assert told == ["60 of 64 pods were heard of", "64 of 64 pods were heard of"]
        nothing_left(api, done)


def test_a_full_node_is_unknown(tmp_path: Path) -> None:
    """Not even one pod fits on it, and on the other node the second pod does not: the first pod's result still
    counts."""
    nodes = [a_node("full", pods=0), a_node("tight", pods=1), a_node("small", cpu="4m")]
    with Lab(nodes, services(full=TWO, tight=ONE, small=TWO)).served() as (server, api):
        done = run(server, api, tmp_path)
        full, tight, small = (by_name(done)[name] for name in ("full", "tight", "small"))
        assert full.v4.reach is ImdsReach.UNKNOWN and "OutOfpods" in full.v4.why and "no room" in full.v4.why
        assert (tight.v4.reach, tight.v4.cause) == (ImdsReach.UNREACHABLE, ImdsCause.HOP_LIMIT)
        assert "OutOfpods" in tight.v4.doubt, "the node itself was not asked"
        assert "OutOfcpu" in small.v4.why
        nothing_left(api, done)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_namespace_that_allows_no_host_network(tmp_path: Path, level: str) -> None:
    """The pod with its own network complies with the strictest level."""
    with Lab(services=services(n0=ONE, n1=TWO), level=level).served() as (server, api):
        done = run(server, api, tmp_path)
        n0, n1 = by_name(done)["n0"], by_name(done)["n1"]
        assert n0.v4.cause is ImdsCause.HOP_LIMIT and f"enforces pod security {level}" in n0.v4.doubt
        assert n1.v4.reach is ImdsReach.REACHABLE
        assert isinstance(n1.host_answers, Unknown) and isinstance(n1.pod_answers, ProbeReport)
        nothing_left(api, done)


def rules(without: str) -> tuple[RbacRule, ...]:
    """All rights that a probe needs in its namespace, except one."""
    needed = ("get namespaces", "list configmaps", "create configmaps", "delete configmaps", "create pods", "list pods")
    held = [each.split() for each in (*needed, "get pods/log") if each != without]
    return tuple(RbacRule((verb,), (resource,), ("",)) for verb, resource in held)


@pytest.mark.parametrize("right", ["create pods", "list pods", "get pods/log"])
def test_a_right_that_is_missing_is_named(tmp_path: Path, right: str) -> None:
    lab = Lab(services=services(n0=TWO, n1=TWO), users={probes.OTHER: restricted("me", rules(right))})
    with lab.served() as (server, api):
        done = run(server, api, tmp_path, token=probes.OTHER)
        for each in done.nodes:
            assert each.v4.reach is ImdsReach.UNKNOWN and isinstance(each.pod_answers, Unknown)
            assert each.pod_answers.missing == right
        if right != "list pods":
            nothing_left(api, done)


def test_without_the_right_to_make_anything_nothing_is_made(tmp_path: Path) -> None:
    lab = Lab(users={probes.OTHER: restricted("me", rules("create configmaps"))})
    with lab.served() as (server, api):
        with pytest.raises(Forbidden) as refused:
            run(server, api, tmp_path, token=probes.OTHER)
        assert refused.value.missing == "create configmaps"
        nothing_left(api)


def test_without_the_right_to_delete_it_says_what_is_left(tmp_path: Path) -> None:
    lab = Lab(services=services(n0=TWO, n1=TWO), users={probes.OTHER: restricted("me", rules("delete configmaps"))})
    with lab.served() as (server, api):
        done = run(server, api, tmp_path, token=probes.OTHER)
        assert done.nodes[0].v4.reach is ImdsReach.REACHABLE, "what was heard is kept"
        assert "delete configmaps" in done.not_removed and there(api, "configmaps") == [done.owner]


@pytest.mark.parametrize("pods", [0, 1, 4])
def test_told_to_end_in_the_middle(tmp_path: Path, pods: int) -> None:
    """The signal comes as soon as so many pods exist."""
    nodes = [a_node(f"n{number:02}") for number in range(12)]
    with Lab(nodes, pace=Kubelet(start=1e6)).served() as (server, api):
        done = run(server, api, tmp_path, told=probes.tells(lambda: len(there(api, "pods")) >= pods))
        assert done.interrupted
        assert all("interrupted" in each.v4.why for each in done.nodes)
        nothing_left(api, done)


def test_a_dry_run_of_the_server_finds_refusals_and_makes_nothing(tmp_path: Path) -> None:
    lab = Lab(level="baseline", users={probes.OTHER: restricted("me", rules("get namespaces"))})
    with lab.served() as (server, api):
        ground = open_ground(connection(server, tmp_path, probes.OTHER), "default")
        what = prepare_probe(nodes_of(api), ground, "cafe", ProbeSettings(), is_every_node=True)
        refused = dry_run(what, ground)
        assert [name.rpartition("-")[2] for name in refused] == ["host", "host"]
        assert all("violates PodSecurity" in why.why for why in refused.values())
        nothing_left(api)


def test_whoever_insists_leaves_nothing_either(tmp_path: Path) -> None:
    """KeyboardInterrupt can interrupt any line of it; cleaning up comes first."""

    def insist() -> int:
        if there(api, "pods"):
            raise KeyboardInterrupt
        return 0

    with Lab(pace=Kubelet(start=1e6)).served() as (server, api):
        with pytest.raises(KeyboardInterrupt):
            run(server, api, tmp_path, told=insist)
        nothing_left(api)


def test_what_killed_probes_left_is_removed_and_a_running_one_is_not(tmp_path: Path) -> None:
    manner = ProbeSettings()

    def left(probe: str, age: timedelta) -> Doc:
        """By the server's Date, which is the wall clock."""
        doc = owner_manifest(probe, manner)
        made = datetime.now(timezone.utc) - age
        meta = {**doc["metadata"], "uid": f"uid-{probe}", "creationTimestamp": f"{made:%Y-%m-%dT%H:%M:%SZ}"}
        return {**doc, "metadata": meta}

    dead, running = left("dead", timedelta(hours=1)), left("beef", timedelta(seconds=5))
    with Lab(services=services(n0=TWO, n1=TWO)).served() as (server, api):
        api.run_locked(lambda plane: plane.load("configmaps", [dead, running]))
        run(server, api, tmp_path)
        assert there(api, "configmaps") == [running["metadata"]["name"]]


@dataclass
class Ground:
    """Mutable. A namespace whose output the test gives, and in which the test decides whether created pods are
    known."""

    seen: Callable[[], Mapping[str, ProbePodStatus] | Unknown]
    refuses: ProbeFailure | None = None

    def pod_security(self) -> str | Unknown:
        return ""

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        return ()

    def create_owner(self, doc: Doc, is_dry_run: bool = False) -> ProbeOwner | ProbeFailure:
        return ProbeOwner("cafe", "owner", "uid")

    def create_pod(self, doc: Doc, is_dry_run: bool = False) -> ProbeFailure | None:
        return self.refuses

    def pod_states(self, probe: str) -> Mapping[str, ProbePodStatus] | Unknown:
        return self.seen()

    def log(self, pod: str) -> str | Unknown:
        return ""

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        return None


class Steps:
    """A clock that advances only in `sleep`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def _prepared(ground: ProbeNamespace, names: Sequence[str] = ("n0",)) -> ProbePlan:
    from tests.builders import a_node as a_fact

    return prepare_probe([a_fact(name) for name in names], ground, "cafe", ProbeSettings(), is_every_node=True)


def test_a_pod_of_which_nobody_knows_is_waited_for() -> None:
    ground = Ground(dict, ProbeFailure("the server gave no answer", is_uncertain=True))
    done = run_probe(_prepared(ground), ground, Steps(), probes.never_told, str)
    assert "the pod was deleted" in done.nodes[0].v4.why


def test_a_cluster_that_does_not_answer_for_a_while() -> None:
    clock, ground = Steps(), Ground(lambda: Unknown("to list pods, the server gave no answer"))
    done = run_probe(_prepared(ground), ground, clock, probes.never_told, str)
    assert "nothing was heard of it after 90 s" in done.nodes[0].v4.why
    assert clock.seconds < 150, "it is bounded, with cleaning up"


SERVICES = services(n0=TWO, n1=TWO)

Fault = Callable[[ServedRequest], bool]
QUICK = RetryLimits(give_up_s=10.0, first_pause_s=0.01, max_pause_s=0.02)


class Unlucky:
    """Mutable. A layer before the API: so many of the requests that match `fault` fail: `done` but not answered, or
    with `code` and not done."""

    def __init__(self, api: Api, fault: Fault, times: int, done: bool = False, code: int = 0) -> None:
        self._api = api
        self._fault, self._times, self._done, self._code = fault, times, done, code

    def handle(self, request: ServedRequest) -> Reply:
        if not self._times or not self._fault(request):
            return self._api.handle(request)
        self._times -= 1
        if self._done:
            self._api.handle(request)
        if self._code:
            return Reply(self._code, b"not now", "text/plain")
        raise ConnectionLost


def of(method: str, part: str) -> Fault:
    return lambda request: request.method == method and part in request.path


def among_faults(server: SimulatedApiServer, api: Api, folder: Path) -> ProbeRun:
    access = open_access(connection(server, folder), process_credential_context())
    patience = RetryPolicy(first_pause=0.01, max_pause=0.02)
    ground = LiveProbeNamespace(access, patience, "default", real_clock(), PROBE_POD_LABELS, QUICK)
    what = prepare_probe(nodes_of(api), ground, "cafe", ProbeSettings(), is_every_node=True)
    return run_probe(what, ground, Quick(), probes.never_told, str)


@pytest.mark.parametrize(
    ("fault", "times", "done", "code"),
    one_in(
        3,
        [
            (of("DELETE", "/configmaps/"), 2, False, 0),
            (of("DELETE", "/configmaps/"), 1, True, 0),
            (of("DELETE", "/configmaps/"), 2, False, 503),
            (of("POST", "/pods"), 1, True, 0),
            (of("GET", "/namespaces/default/pods"), 3, False, 503),
            (of("GET", "/namespaces/default/pods"), 3, False, 0),
            (of("GET", "/log"), 2, False, 500),
            (of("GET", "/api/v1/namespaces/default"), 2, False, 503),
        ],
    ),
)
def test_it_is_measured_all_the_same(tmp_path: Path, fault: Fault, times: int, done: bool, code: int) -> None:
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, times, done, code)) as server:
        found = among_faults(server, api, tmp_path)
        assert [each.v4.reach for each in found.nodes] == [ImdsReach.REACHABLE] * 2
        nothing_left(api, found)


def test_an_owner_whose_answer_was_lost_is_removed(tmp_path: Path) -> None:
    fault = of("POST", "/configmaps")
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, 1, done=True)) as server:
        with pytest.raises(ClusterError):
            among_faults(server, api, tmp_path)
        nothing_left(api)


def test_a_level_that_nobody_may_read_is_found_out(tmp_path: Path) -> None:
    mine = (
        RbacRule(("create", "list", "delete"), ("configmaps",), ("",), ("default",)),
        RbacRule(("create", "list"), ("pods",), ("",), ("default",)),
        RbacRule(("get",), ("pods/log",), ("",), ("default",)),
    )
    lab = Lab(services=services(n0=ONE, n1=TWO), level="baseline", users={probes.OTHER: restricted("me", mine)})
    with lab.served() as (server, api):
        done = run(server, api, tmp_path, token=probes.OTHER)
        n0 = by_name(done)["n0"]
        assert isinstance(n0.host_answers, Unknown) and "violates PodSecurity" in n0.host_answers.why
        assert "hostNetwork=true" in n0.host_answers.why and n0.v4.cause is ImdsCause.HOP_LIMIT
        nothing_left(api, done)


def test_pods_that_do_not_go_are_named() -> None:
    ground = Ground(lambda: {"a": ProbePodStatus("a"), "b": ProbePodStatus("b")})
    done = run_probe(_prepared(ground), ground, Steps(), probes.never_told, str)
    assert done.left == ("a", "b") and done.not_removed == ""


def test_logs_that_never_come_are_unknown(tmp_path: Path) -> None:
    with (
        Lab(services=SERVICES).served() as (_, api),
        serving(Unlucky(api, of("GET", "/log"), 10**6, code=500)) as server,
    ):
        found = among_faults(server, api, tmp_path)
        for each in found.nodes:
            assert isinstance(each.pod_answers, Unknown) and "its log cannot be read" in each.pod_answers.why
        nothing_left(api)


def test_an_owner_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    fault = of("DELETE", "/configmaps/")
    tries = 10**6
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, tries, code=503)) as server:
        access = open_access(connection(server, tmp_path), process_credential_context())
        ground = LiveProbeNamespace(
            access, RetryPolicy(), "default", real_clock(), PROBE_POD_LABELS, RetryLimits(0.1, 0.01, 0.02)
        )
        what = prepare_probe(nodes_of(api), ground, "cafe", ProbeSettings(), is_every_node=True)
        found = run_probe(what, ground, Quick(), probes.never_told, str)
        assert found.nodes[0].v4.reach is ImdsReach.REACHABLE
        assert "answered 503" in found.not_removed and there(api, "configmaps") == [found.owner]
