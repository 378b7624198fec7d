"""``imds-probe`` of a large made cluster, in a process of its own; prints what it took and asked as one line of JSON.

AWS answers within the process as botocore shapes it, so what is measured is the tool's own time: from the cluster's
facts and raw answers to the printed table and document.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.world import Shape, make
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.imds_probe.fixes.chooser import offered
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.read import metadata_facts
from kubectl_eksdoc.model.aws.clusters import Caller, EksCluster
from kubectl_eksdoc.model.aws.questions import AwsOperation
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import MANAGED_GROUP
from kubectl_eksdoc.render.metadata.report import ImdsReport
from kubectl_eksdoc.render.text import Look
from kubectl_eksdoc.session.session import Observed

GROUPS = 12


class Account:
    """An `aws.asking.AwsClient` in which every group has a launch template of its own. Mutable: `asked` counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self.asked[question.operation] += 1
        answer: dict[str, Any] = getattr(self, f"_{question.operation.lower()}")(parameters)
        return answer

    def _describeinstances(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        (named,) = wanted["Filters"]
        return {"Reservations": [{"Instances": [_instance(ident)]} for ident in named["Values"]]}

    def _describenodegroup(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        name = wanted["nodegroupName"]
        template = {"id": f"lt-{name}", "version": "3"}
        return {"nodegroup": {"nodegroupName": name, "amiType": "AL2023_x86_64_STANDARD", "launchTemplate": template}}

    def _describelaunchtemplateversions(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        data = {"MetadataOptions": {"HttpTokens": "required"}}
        version = {"LaunchTemplateId": wanted["LaunchTemplateId"], "VersionNumber": 3, "LaunchTemplateData": data}
        return {"LaunchTemplateVersions": [version]}

    def _describeimages(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        (named,) = wanted["Filters"]
        return {"Images": [{"ImageId": ident, "ImdsSupport": "v2.0"} for ident in named["Values"]]}

    def _getinstancemetadatadefaults(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return {"AccountLevel": {}}

    def _listpodidentityassociations(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return {"associations": [{"namespace": "shop", "serviceAccount": f"app-{n}"} for n in range(200)]}


def _instance(ident: str) -> dict[str, Any]:
    hops = 1 if int(ident[-1], 16) % 2 else 2
    options = {"State": "applied", "HttpTokens": "required", "HttpPutResponseHopLimit": hops, "HttpEndpoint": "enabled"}
    return {"InstanceId": ident, "ImageId": "ami-1", "InstanceType": "m5.large", "MetadataOptions": options}


def _on_instances(cluster: Cluster) -> Cluster:
    nodes = tuple(
        replace(
            node,
            provider_id=f"aws:///eu-west-1a/i-{number:017x}",
            labels={**node.labels, MANAGED_GROUP: f"group-{number % GROUPS}"},
        )
        for number, node in enumerate(cluster.nodes)
    )
    return replace(cluster, nodes=nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    cluster = _on_instances(make(Shape(parser.parse_args().nodes)))
    account = Account()
    eks = EksCluster("bench", "arn", "1.33", "eks.1", "ACTIVE", "https://bench", "")
    aws = VerifiedCluster(account, eks, Caller("111122223333", "arn"), "by its endpoint")
    begun = time.perf_counter()
    plan = plan_metadata(metadata_facts(Observed(cluster, aws), cluster), 2)
    report = ImdsReport(plan, options={}, offered=offered(plan, cluster, "vpc-1"))
    for output in ("table", "json"):
        report.render(output, Look(120))
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "pods": len(cluster.pods), "asked": dict(sorted(account.asked.items()))}))


if __name__ == "__main__":
    main()
