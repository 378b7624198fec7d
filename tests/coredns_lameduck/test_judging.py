"""Each possible fault of CoreDNS: reported where it exists, not reported where it does not, unknown where a fact is
missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.coredns_lameduck.deployed import (
    PROPORTIONAL_AUTOSCALERS,
    CorednsPodLogs,
    DnsFacts,
    InterruptionNotices,
)
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.coredns_lameduck.shutdown import log_symptoms
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import EndpointSlice
from kubectl_eksdoc.model.workloads import Autoscaler
from tests.builders import a_node, ago
from tests.coredns_lameduck.made import (
    COREFILE,
    NODES,
    PODS,
    a_side,
    a_zoned,
    deployment,
    dns_pod,
    facts,
    inside_of,
    lameduck,
    without,
)

ASKS_HEALTH = deployment(container={"readinessProbe": {"httpGet": {"path": "/health", "port": 8080}}})
SPOT = {"karpenter.sh/capacity-type": "spot", "karpenter.sh/nodepool": "general"}


def findings(of: DnsFacts) -> dict[str, Finding]:
    return {each.code.name: each for each in plan_dns(of).findings}


def test_a_healthy_one_is_silent() -> None:
    found = plan_dns(facts())
    assert (found.findings, found.outlook, found.steps) == ((), (), ())


def on_spot(*, both: bool = False, notices: InterruptionNotices | Unknown | None = None, **labels: str) -> DnsFacts:
    labels = labels or SPOT
    nodes = (a_zoned("n-a", "a", **labels), a_zoned("n-b", "b", **(labels if both else {})))
    made = facts(nodes=nodes)
    return made if notices is None else replace(made, notices=notices)


MEND = "kubectl eksdoc interruption --print stack > interruption.yaml && aws cloudformation deploy"
UNHEARD = InterruptionNotices(False, "its queue does not exist", Remedy("Make it.", MEND))

TIMED_OUT = """\
[INFO] plugin/ready: all is well
[ERROR] plugin/errors: 2 example.com. A: read udp 10.0.0.5:4411->10.0.0.2:53: i/o timeout
[ERROR] plugin/errors: 2 example.org. A: read udp 10.0.0.5:4412->10.0.0.2:53: i/o timeout
"""

FAILS: dict[str, tuple[DnsFacts, str, Severity]] = {
    "dns-lameduck-short none": (facts(text=lameduck("")), "there is no lameduck", Severity.HIGH),
    "dns-lameduck-long": (facts(text=lameduck("30s")), "killed before it has ended", Severity.HIGH),
    "dns-lameduck-long margin": (facts(text=lameduck("22s")), "less than 5 s of margin", Severity.MEDIUM),
    "dns-lameduck-long pre-stop": (
        facts(doc=deployment(container={"lifecycle": {"preStop": {"sleep": {"seconds": 12}}}})),
        "killed",
        Severity.HIGH,
    ),
    "dns-corefile-refused": (
        facts(text=lameduck("30")),
        "plugin/health: Corefile:3 - unable to parse lameduck duration value: '30'",
        Severity.CRITICAL,
    ),
    "dns-corefile-refused grammar": (facts(text=".:53 {\n"), "Corefile:", Severity.CRITICAL),
    "dns-no-ready": (
        facts(text=COREFILE.replace("    ready\n", "")),
        "no pod of it becomes Ready",
        Severity.CRITICAL,
    ),
    "dns-no-ready port": (
        facts(text=COREFILE.replace("    ready\n", "    ready :8182\n")),
        "asks /ready on port 8181, and the plugin ready listens on :8182",
        Severity.CRITICAL,
    ),
    "dns-no-ready address": (
        facts(text=COREFILE.replace("    ready\n", "    ready 127.0.0.1:8181\n")),
        "listens on 127.0.0.1:8181",
        Severity.CRITICAL,
    ),
    "dns-no-ready liveness": (
        facts(
            doc=deployment(container={"livenessProbe": {"httpGet": {"path": "/health", "port": 8080}}}),
            text=COREFILE.replace("    ready\n", "    ready\n    health :8099\n"),
        ),
        "the liveness probe asks /health on port 8080, and the plugin health listens on :8099",
        Severity.CRITICAL,
    ),
    "dns-readiness-asks-health": (
        facts(doc=ASKS_HEALTH),
        "asks /health",
        Severity.MEDIUM,
    ),
    "dns-readiness-asks-health none": (
        facts(doc=deployment(container={"readinessProbe": {"tcpSocket": {"port": 53}}})),
        "no readiness probe over HTTP",
        Severity.MEDIUM,
    ),
    "dns-no-reload": (facts(text=COREFILE.replace("    reload\n", "")), "at the next restart", Severity.LOW),
    "dns-corefile-not-kept": (
        facts(manager="kubectl-edit", addon=a_side({})),
        "changed by hand (set by kubectl-edit), and it is not in",
        Severity.MEDIUM,
    ),
    "dns-corefile-not-kept another": (
        facts(addon=a_side({"corefile": lameduck("5s")})),
        "another one is in its configuration",
        Severity.MEDIUM,
    ),
    "dns-grace-not-kept": (
        facts(doc=deployment(terminationGracePeriodSeconds=60), addon=a_side({})),
        "puts it back to 30 s",
        Severity.MEDIUM,
    ),
    "dns-failing none ready": (
        facts(pods=[replace(pod, ready=False, not_ready_because="CrashLoopBackOff") for pod in PODS]),
        "0 of 2 pods are Ready: DNS lookups fail",
        Severity.CRITICAL,
    ),
    "dns-failing one ready": (
        facts(pods=(PODS[0], replace(PODS[1], ready=False))),
        "1 of 2 pods are Ready",
        Severity.HIGH,
    ),
    "dns-failing no pod": (facts(pods=()), "CoreDNS has no pod", Severity.CRITICAL),
    "dns-failing memory": (
        replace(facts(), inside=inside_of(PODS, ended_before=True, ended_as="OOMKilled", restarts=4)),
        "want of memory: the limit is 170Mi (what EKS gives it)",
        Severity.HIGH,
    ),
    "dns-failing memory of before": (
        replace(
            facts(pods=[replace(pod, ready_at=ago(7200)) for pod in PODS]),
            inside=inside_of(PODS, ended_before=True, ended_as="OOMKilled", restarts=4),
        ),
        "want of memory more than an hour ago",
        Severity.LOW,
    ),
    "dns-failing restarted": (
        replace(
            facts(pods=[replace(pod, ready_at=ago(60)) for pod in PODS]),
            inside=inside_of(PODS, ended_before=True, ended_as="Error", restarts=2),
        ),
        "2 pods restarted a short while ago",
        Severity.MEDIUM,
    ),
    "dns-failing printed": (
        replace(
            facts(),
            inside={PODS[0].key: CorednsPodLogs(inside_of(PODS)[PODS[0].key].container, log_symptoms(TIMED_OUT))},
        ),
        "who it forwards to does not answer in time (2 of the last lines)",
        Severity.MEDIUM,
    ),
    "dns-failing gone": (
        without(facts(pods=()), deployment=Absent("no Deployment coredns")),
        "there is no Deployment of CoreDNS",
        Severity.CRITICAL,
    ),
    "dns-not-serving": (
        facts(endpoint_slices=(EndpointSlice("kube-system", "kube-dns", ()),)),
        "2 of 2 Ready pods are no ready endpoints",
        Severity.CRITICAL,
    ),
    "dns-on-spot": (on_spot(), "1 of 2 pods run on Spot", Severity.HIGH),
    "dns-on-spot both": (on_spot(both=True), "all 2 of 2 pods run on Spot", Severity.HIGH),
    "dns-notices-unheard": (on_spot(notices=UNHEARD), "as its queue does not exist", Severity.CRITICAL),
    "dns-together": (
        facts(pods=[replace(pod, node="n-a") for pod in PODS]),
        "on one node, n-a",
        Severity.HIGH,
    ),
    "dns-together zone": (
        facts(nodes=[a_zoned("n-a", "a"), a_zoned("n-b", "a")]),
        "in one zone, a",
        Severity.MEDIUM,
    ),
    "dns-too-few": (
        facts(doc=deployment(replicas=1), pods=PODS[:1]),
        "DNS lookups fail; EKS's formula wants 2",
        Severity.HIGH,
    ),
    "dns-too-few formula": (
        facts(nodes=[*NODES, *(a_node(f"n-{i}") for i in range(40))]),
        "it has 2 replicas; EKS's formula wants 3 for 42 nodes",
        Severity.LOW,
    ),
    "dns-on-leaving-nodes": (
        facts(nodes=(replace(NODES[0], unschedulable=True), NODES[1])),
        "1 of 2 pods are on nodes that are cordoned",
        Severity.MEDIUM,
    ),
    "dns-on-leaving-nodes all": (
        facts(nodes=[replace(node, deletion_at=ago(5)) for node in NODES]),
        "2 of 2 pods are on nodes that are cordoned",
        Severity.HIGH,
    ),
    "dns-on-leaving-nodes not ready": (
        facts(nodes=(replace(NODES[0], ready="Unknown"), NODES[1])),
        "1 of 2 pods are on nodes that are cordoned, being deleted or not Ready",
        Severity.MEDIUM,
    ),
    "dns-no-budget": (facts(budgets=()), "may evict all at once", Severity.MEDIUM),
    "dns-not-spread": (facts(doc=deployment(topologySpreadConstraints=[])), "different zones", Severity.LOW),
    "dns-two-scalers": (
        facts(
            addon=a_side({"autoScaling": {"enabled": True}}),
            autoscalers=[Autoscaler("kube-system", "dns", "Deployment", "coredns", 2, 9)],
        ),
        "the add-on's autoScaling and by HorizontalPodAutoscaler dns",
        Severity.MEDIUM,
    ),
}


@pytest.mark.parametrize("name", FAILS)
def test_what_is_wrong_is_told(name: str) -> None:
    made, said, severity = FAILS[name]
    found = findings(made)[name.split()[0]]
    assert found.status is Status.FAIL
    assert said in found.message
    assert found.severity is severity
    if found.code.name != "dns-failing" or "Deployment of CoreDNS" not in found.message:
        assert found.remedy


UNKNOWN: dict[str, tuple[DnsFacts, str]] = {
    "dns-unread deployment": (
        without(facts(), deployment=Unknown("forbidden", "get deployments.apps")),
        "Deployment",
    ),
    "dns-unread config": (without(facts(), config=Unknown("forbidden", "get configmaps")), "the Corefile"),
    "dns-unread no key": (facts(text=None), "has no key Corefile"),
    "dns-unread addon": (facts(addon=Unknown("denied", "eks:DescribeAddon")), "is an add-on of EKS"),
    "dns-unread values": (facts(addon=a_side(Unknown("no JSON"))), "the configuration of the add-on"),
    "dns-unread logs": (
        replace(
            facts(), inside={pod.key: CorednsPodLogs(not_read=(Unknown("no", "get pods/log"),) * 2) for pod in PODS}
        ),
        "what 2 pods printed",
    ),
    "dns-unread logs of some": (
        replace(facts(), inside=inside_of(PODS[:1])),
        "what 1 pod printed is not known: 1 of 2 were looked into",
    ),
    "dns-unread lost nodes": (facts(nodes=NODES[:1]), "the list of nodes has no n-b"),
    "dns-unread no nodes": (facts(nodes=()), "the list of nodes has no n-a and n-b"),
    "dns-unread zone": (facts(nodes=(NODES[0], a_zoned("n-b", ""))), "n-b: no label topology"),
    "dns-unread zones": (
        facts(nodes=[a_zoned(f"n-{at}", "") for at in "ab"]),
        "n-a and n-b: no label topology",
    ),
    "dns-unread capacity": (
        facts(nodes=[a_node(f"n-{at}", group="") for at in "ab"]),
        "n-a and n-b have no label of their capacity type",
    ),
    "dns-unread made by": (
        without(facts(), deployment=Absent("no Deployment coredns")),
        "its 2 pods belong to another controller",
    ),
    "dns-unread needed": (
        without(facts(pods=(), unread=[kinds.NODES]), deployment=Absent("no Deployment coredns")),
        "whether anybody needs CoreDNS",
    ),
    "dns-unread endpoints": (facts(unread=[kinds.ENDPOINT_SLICES]), "who is asked"),
    "dns-unread budgets": (facts(unread=[kinds.BUDGETS]), "which budget"),
    "dns-unread scalers": (facts(unread=[kinds.AUTOSCALERS]), "who scales"),
    "dns-unread nodes": (facts(unread=[kinds.NODES]), "where CoreDNS runs"),
    "dns-unread pods": (facts(unread=[kinds.PODS]), "which pods CoreDNS has"),
    "dns-lameduck-short of EKS": (facts(text=lameduck("5s")), "may be too short: until every node"),
    "dns-lameduck-unknown env": (facts(text=lameduck("{$LAMEDUCK}")), "from the environment"),
    "dns-lameduck-unknown import": (facts(text=f"import /etc/coredns/custom/*.server\n{COREFILE}"), "imports"),
    "dns-lameduck-unknown hook": (
        facts(doc=deployment(container={"lifecycle": {"preStop": {"httpGet": {"path": "/"}}}})),
        "preStop",
    ),
    "dns-corefile-unknown env": (
        facts(text=COREFILE.replace("cache 30", "cache {$TTL}")),
        "cache (line 13) is",
    ),
    "dns-corefile-unknown plugin": (
        facts(text=COREFILE.replace("loop", "trace")),
        "plugin trace is not judged",
    ),
    "dns-corefile-unknown version": (
        facts(doc=deployment(container={"image": "own/coredns@sha256:1"})),
        "the version of CoreDNS is not known",
    ),
    "dns-notices-unheard karpenter": (on_spot(), "whether Karpenter receives"),
    "dns-notices-unheard others": (
        on_spot(**{"karpenter.sh/capacity-type": "spot"}),
        "node-termination-handler",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_no_pass(name: str) -> None:
    made, said = UNKNOWN[name]
    found = [each for each in plan_dns(made).findings if each.code.name == name.split()[0] and said in each.message]
    assert [each.status for each in found] == [Status.UNKNOWN]
    assert found[0].missing
    assert found[0].remedy


def test_every_code_is_told_by_some_test() -> None:
    elsewhere = {"dns-elsewhere", "dns-kept-flows"}  # test_clients
    told = {name.split()[0] for name in (*FAILS, *UNKNOWN)} | elsewhere
    assert told == {code.name for code in Code.of_areas("dns")}


def test_an_image_of_ones_own_may_have_plugins_of_its_own() -> None:
    """Even so it has none of the plugins that CoreDNS has removed."""
    own = deployment(container={"image": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/dns:v1.11.4"})
    text = COREFILE.replace("    loop\n", "    loop\n    unbound\n")
    found = findings(facts(doc=own, text=text))
    assert "dns-corefile-refused" not in found and "has a plugin unbound" in found["dns-corefile-unknown"].message
    assert "Unknown directive 'unbound'" in findings(facts(text=text))["dns-corefile-refused"].message
    assert "dns-corefile-refused" in findings(facts(doc=own, text=COREFILE.replace("forward .", "proxy .")))
    for image in ("docker.io/coredns/coredns:1.11.4", "registry.k8s.io/coredns/coredns:v1.11.4@sha256:1"):
        assert "dns-corefile-refused" in findings(facts(doc=deployment(container={"image": image}), text=text))


def test_while_coredns_would_refuse_its_corefile_no_new_pods_are_proposed() -> None:
    made = replace(on_spot(both=True), objects=facts(text=COREFILE.replace("forward .", "proxy .")).objects)
    found = plan_dns(made)
    assert "dns-on-spot" in findings(made)
    assert not any("--place" in step.command or "--set" in step.command for step in found.steps)


def test_variables_of_the_container_and_what_is_mounted_beside_the_corefile_are_known() -> None:
    volume = {"name": "config", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}
    container = {
        "env": [{"name": "WAIT", "value": "15s"}],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
    }
    text = lameduck("{$WAIT}").replace("    loop\n", "    loop\n    import custom/*.override\n")
    found = findings(facts(doc=deployment(container=container, volumes=[volume]), text=text))
    assert "dns-corefile-unknown" not in found
    missing = findings(facts(doc=deployment(container=container, volumes=[volume]), text=text.replace("*", "one")))
    assert "File to import not found: custom/one.override" in missing["dns-corefile-refused"].message


def test_a_probe_may_name_its_port_and_any_block_may_answer_it() -> None:
    ports = [{"name": "readiness", "containerPort": 8182}]
    probe = {"httpGet": {"path": "/ready", "port": "readiness"}}
    doc = deployment(container={"ports": ports, "readinessProbe": probe})
    second = "example.org:53 {\n    ready :8182\n    forward . 10.0.0.2\n}\n"
    assert "dns-no-ready" not in findings(facts(doc=doc, text=COREFILE + second))
    assert "dns-no-ready" in findings(facts(doc=doc))


@pytest.mark.parametrize("compute", ["auto", "fargate"])
def test_where_dns_is_elsewhere_that_is_said(compute: str) -> None:
    label = {"eks.amazonaws.com/compute-type": compute}
    nodes = (*NODES, a_zoned("other", "a", **label))
    found = findings(facts(nodes=nodes, pods=(*PODS, dns_pod("coredns-3", "other")) if compute == "fargate" else PODS))
    assert found["dns-elsewhere"].status is Status.PASS


def test_a_proportional_autoscaler_beside_the_add_on_is_told() -> None:
    made = facts(addon=a_side({"autoScaling": {"enabled": True, "minReplicas": 2}}))
    made = replace(made, objects={**made.objects, PROPORTIONAL_AUTOSCALERS[1]: {"kind": "Deployment"}})
    assert "the proportional autoscaler dns-autoscaler" in findings(made)["dns-two-scalers"].message


@pytest.mark.parametrize("version", ["v1.11.4-eksbuild.2", "v1.10.1-eksbuild.2", "", "of a fork"])
def test_nobody_is_told_to_update_to_what_is_older(version: str) -> None:
    side = a_side({})
    side = replace(side, addon=replace(side.addon, version=version))
    (remedy,) = findings(facts(doc=ASKS_HEALTH, addon=side))["dns-readiness-asks-health"].remedy
    newer = version.startswith("v1.11.4")
    assert ("v1.10.1-eksbuild.6" in remedy.text) is not newer
    assert ("--resolve-conflicts OVERWRITE" in remedy.command) is newer


@pytest.mark.parametrize(
    ("manager", "said", "overwrites"),
    [("eks", "EKS has set this probe itself", False), ("kubectl-edit", "and kubectl-edit has changed it", True)],
)
def test_only_a_probe_that_another_client_owns_is_reset(manager: str, said: str, overwrites: bool) -> None:
    """As addon-diff judges every field: by its owners."""
    doc = deployment(container={"readinessProbe": {"tcpSocket": {"port": 53}}})
    probe = {'k:{"name":"coredns"}': {"f:readinessProbe": {"f:tcpSocket": {"f:port": {}}}}}
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": probe}}}}
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields}
    doc["metadata"]["managedFields"] = [{**entry, "fieldsType": "FieldsV1"}]
    (remedy,) = findings(facts(doc=doc, addon=a_side({})))["dns-readiness-asks-health"].remedy
    assert said in remedy.text and ("OVERWRITE" in remedy.command) is overwrites


def test_managed_groups_drain_spot_nodes_themselves() -> None:
    made = on_spot(**{"eks.amazonaws.com/capacityType": "SPOT", "eks.amazonaws.com/nodegroup": "g"})
    found = plan_dns(made)
    assert {each.code.name for each in found.findings} == {"dns-on-spot"}
    assert "it is drained within two minutes" in found.outlook[0]


def test_a_loss_is_certain_only_without_any_lameduck() -> None:
    """EKS ships 5 s, and a rollout with it was measured without a lost answer: an estimate is no outage."""
    shipped, none = plan_dns(facts(text=lameduck("5s"))), plan_dns(facts(text=lameduck("")))
    assert shipped.outlook == () and [each.status for each in shipped.findings] == [Status.UNKNOWN]
    assert len(none.outlook) == 1 and [each.status for each in none.findings] == [Status.FAIL]


def test_a_self_managed_coredns_is_not_told_to_update_its_add_on() -> None:
    own, managed = (facts(doc=ASKS_HEALTH, addon=of) for of in (Absent("no add-on"), a_side({})))
    said = [findings(of)["dns-readiness-asks-health"].remedy[0].text for of in (own, managed)]
    assert "manifest or chart" in said[0] and "add-on" in said[1]


def test_a_grace_period_that_lets_nothing_fit_is_what_must_grow() -> None:
    found = plan_dns(facts(text=lameduck("5s"), doc=deployment(terminationGracePeriodSeconds=12)))
    short = next(each for each in found.findings if each.code.name == "dns-lameduck-short")
    assert found.ending.advised_s == 0
    assert '"terminationGracePeriodSeconds":17' in short.remedy[0].command
    assert [step.command for step in found.steps] == [short.remedy[0].command]


def test_health_plugins_of_several_blocks_add_up() -> None:
    second = "example.org:53 {\n    health :8082 {\n        lameduck 10s\n    }\n    forward . 10.0.0.2\n}\n"
    assert "25 s" in findings(facts(text=COREFILE + second))["dns-lameduck-long"].message


def test_first_aid_comes_before_any_edit() -> None:
    made = on_spot(both=True, notices=UNHEARD)
    pods = (PODS[0], replace(PODS[1], ready=False, not_ready_because="CrashLoopBackOff"))
    made = replace(made, cluster=replace(made.cluster, pods=pods))
    first = plan_dns(made).steps[0]
    assert first.command == "kubectl scale deployment/coredns -n kube-system --replicas=3"
