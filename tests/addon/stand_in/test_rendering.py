"""The chart of every version, against the manifests of the same version that upstream made of it."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import charts, hands
from tests.addon.stand_in.pod_template import AGENT, INIT, MAIN
from tests.addon.stand_in.rendering import Site, rendered

NOWHERE = Site(region="us-west-2", env={})

# Manifests and chart do not say the same everywhere; some releases forgot to count the version up in the chart.
DIFFERENT = {"ANNOTATE_POD_IP", "VPC_CNI_VERSION"}
WITHOUT_PROBE_TIMEOUTS = ("v1.8.0", "v1.9.0", "v1.9.1", "v1.9.3", "v1.10.0")


def daemon_set(chart: str, user: Doc | None = None, site: Site = NOWHERE) -> Doc:
    return rendered(f"{chart}-eksbuild.1", user or {}, site)[-1]


def container(doc: Doc, name: str) -> Doc:
    spec = doc["spec"]["template"]["spec"]
    found: Doc = next(c for c in (*spec["initContainers"], *spec["containers"]) if c["name"] == name)
    return found


def manifest(chart: str) -> dict[str, Any]:
    held: dict[str, Any] = charts.table("vpc-cni-manifests")[chart]
    return held


def names(doc: Doc) -> list[str]:
    return [c["name"] for c in doc["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize("chart", [c for c in charts.versions() if c in charts.table("vpc-cni-manifests")])
def test_a_version_renders_what_its_manifest_has(chart: str) -> None:
    doc, expected = daemon_set(chart), manifest(chart)
    ours = {name: "<fieldRef>" if value is None else value for name, value in hands.env_of(doc).items()}
    theirs = {name: value for name, value in expected[f"cont:{MAIN}"].items() if name not in DIFFERENT}
    assert {name: value for name, value in ours.items() if name not in DIFFERENT} == theirs
    assert hands.env_of(doc, INIT) == expected[f"init:{INIT}"]
    assert (AGENT in names(doc)) == (f"cont:{AGENT}" in expected)
    if AGENT in names(doc):
        assert container(doc, AGENT)["args"] == expected[f"args:{AGENT}"]
    for probe in ("livenessProbe", "readinessProbe"):
        made, wanted = container(doc, MAIN)[probe], expected[f"{probe}:{MAIN}"]
        assert made["exec"] == wanted["exec"]
        assert made["initialDelaySeconds"] == wanted["initialDelaySeconds"]
        if chart not in WITHOUT_PROBE_TIMEOUTS:
            assert made.get("timeoutSeconds") == wanted.get("timeoutSeconds")
    spec = doc["spec"]["template"]["spec"]
    said = (doc["spec"]["updateStrategy"], doc["spec"]["selector"], spec["terminationGracePeriodSeconds"])
    assert said == tuple(expected["meta"][key] for key in ("updateStrategy", "labels", "tgps"))


def test_env_is_in_the_order_of_a_ranged_map_and_the_pods_own_come_last() -> None:
    found = list(hands.env_of(daemon_set("v1.12.6", site=Site())))
    assert found[:-2] == sorted(found[:-2])
    assert found[-2:] == ["MY_NODE_NAME", "MY_POD_NAME"]
    assert {"CLUSTER_NAME", "VPC_ID"} < set(found)


def test_labels_and_images_are_by_version() -> None:
    doc = daemon_set("v1.12.5", site=Site())
    assert doc["metadata"]["labels"]["helm.sh/chart"] == "aws-vpc-cni-1.12.5"
    assert doc["metadata"]["labels"]["k8s-app"] == "aws-node"
    registry = "602401143452.dkr.ecr.ap-northeast-2.amazonaws.com"
    assert container(doc, MAIN)["image"] == f"{registry}/amazon-k8s-cni:v1.12.5-eksbuild.1"
    agent = container(daemon_set("v1.19.5"), AGENT)["image"]
    assert agent.endswith("/amazon/aws-network-policy-agent:v1.2.1-eksbuild.1")


def test_the_users_values_go_over_the_charts_and_where_they_belong() -> None:
    user: Doc = {
        "env": {"ENABLE_POD_ENI": "true", "MY_OWN": 7},
        "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": True}},
        "nodeAgent": {"metricsBindAddr": "9000"},
        "enableNetworkPolicy": "true",
        "resources": {"requests": {"cpu": "50m"}},
        "livenessProbeTimeoutSeconds": 30,
    }
    doc = daemon_set("v1.15.1", user)
    env = hands.env_of(doc)
    assert (env["ENABLE_POD_ENI"], env["MY_OWN"], env["WARM_ENI_TARGET"]) == ("true", "7", "1")
    assert hands.env_of(doc, INIT) == {"DISABLE_TCP_EARLY_DEMUX": "true", "ENABLE_IPv6": "false"}
    assert {"--metrics-bind-addr=:9000", "--enable-network-policy=true"} < set(container(doc, AGENT)["args"])
    assert container(doc, MAIN)["livenessProbe"]["timeoutSeconds"] == 30
    assert [container(doc, name)["resources"]["requests"] for name in (MAIN, INIT, AGENT)] == [{"cpu": "50m"}] * 3
    (config_map,) = (each for each in rendered("v1.15.1-eksbuild.1", user, NOWHERE) if each["kind"] == "ConfigMap")
    assert config_map["data"] == {"enable-windows-ipam": "false", "enable-network-policy-controller": "true"}


def test_the_config_map_is_there_since_1_14_and_has_more_since_1_16() -> None:
    kinds = {chart: [d["kind"] for d in rendered(chart, {}, NOWHERE)] for chart in ("v1.13.4", "v1.14.0")}
    assert kinds == {
        "v1.13.4": ["ServiceAccount", "DaemonSet"],
        "v1.14.0": ["ServiceAccount", "ConfigMap", "DaemonSet"],
    }
    data = rendered("v1.16.0", {}, NOWHERE)[1]["data"]
    assert (len(data), data["branch-eni-cooldown"], data["warm-prefix-target"]) == (7, "60", "0")


def test_a_node_agent_that_is_not_wanted_is_not_there() -> None:
    doc = daemon_set("v1.19.5", {"nodeAgent": {"enabled": False}})
    assert names(doc) == [MAIN]
    assert "NETWORK_POLICY_ENFORCING_MODE" not in hands.env_of(doc)


def test_values_are_merged_as_helm_does_it() -> None:
    held: Doc = {"env": {"A": "1", "B": "2"}, "list": [1, 2]}
    assert charts.over(held, {"env": {"B": None, "C": "3"}, "list": [3]}) == {"env": {"A": "1", "C": "3"}, "list": [3]}
    assert held == {"env": {"A": "1", "B": "2"}, "list": [1, 2]}


def test_a_version_without_known_defaults_is_refused() -> None:
    with pytest.raises(ValueError, match=r"v1\.7\.0"):
        rendered("v1.7.0-eksbuild.1", {}, NOWHERE)
