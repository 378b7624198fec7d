"""A well-kept cluster with a single defect: this defect is reported first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.aws.world.server import World
from tests.check.command.clusters import AUTO, CURRENT, MANAGED, KeptCluster
from tests.check.command.healthy_clusters_aws import somebody_at

_BALANCER, _SPOT = "aws-load-balancer-controller", ("spot", "spot", "group", "group", "group")
GONE = "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: images}\n"
DEFECTS = {
    "a budget that allows nothing": (MANAGED.with_app("web", budget=0), "budget-never-allows"),
    "one hop, and a controller that needs two": (
        replace(MANAGED.with_app(_BALANCER, args=("--cluster-name=prod",)), hops=2),
        "imds-pods-will-break",
    ),
    "a lameduck of 5 s on Spot": (replace(CURRENT, nodes=_SPOT, lameduck="5s"), "dns-lameduck-short"),
    "Karpenter without a queue": (CURRENT.with_app("karpenter", env=()), "interruption-setting"),
    "a release with an API that goes": (
        CURRENT.with_app("argocd-server", release=GONE),
        "api-in-helm",
    ),
    "a budget under Auto Mode": (AUTO.with_app("web", budget=0), "budget-never-allows"),
}
"""What is wrong, and the code of the cause that comes first."""


@pytest.mark.parametrize(("of", "code"), DEFECTS.values(), ids=DEFECTS)
def test_one_defect_exits_with_1_and_comes_first(of: KeptCluster, code: str, aws: World, tmp_path: Path) -> None:
    with somebody_at(of, aws, tmp_path) as whoever:
        ran = whoever.run("--target", "1.34", "-o", "json")
    assert ran.code == 1
    causes = json.loads(ran.out)["causes"]
    assert code in {each["code"] for each in causes[0]["findings"]}, [each["findings"] for each in causes]
