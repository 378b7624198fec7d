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
