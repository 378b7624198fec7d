"""``imds-probe`` of a large made cluster, in a process of its own; prints what it took and asked as one line of JSON.

AWS answers within the process as botocore shapes it, so what is measured is the tool's own time: from the cluster's
facts and raw answers to the printed table and document. With ``--write FOLDER`` a snapshot of such a cluster is
written instead, with the answers of AWS, for the whole command to read.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench import dump
from bench.cluster import PODS_PER_NODE
from bench.world import Shape, make
from kubectl_eksdoc.aws.asking import VerifiedCluster, verify_cluster
from kubectl_eksdoc.aws.recorded import Recorder, RecordingInfo
from kubectl_eksdoc.host.dump import AWS_ANSWERS_STEM, DumpReader
from kubectl_eksdoc.imds_probe.fix_choice import offered_fixes
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.read import KINDS, read_metadata_facts
from kubectl_eksdoc.imds_probe.report.access import ImdsReport
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import AwsAccess, CallerIdentity, EksCluster
from kubectl_eksdoc.model.nodes import MANAGED_GROUP
from kubectl_eksdoc.report.text import Appearance
from kubectl_eksdoc.session.session import ObservedSession

GROUPS = 12
_ACCOUNT = "111122223333"
_ARN = f"arn:aws:sts::{_ACCOUNT}:assumed-role/oncall/bench"
_CLUSTER = {
    "name": "bench",
    "arn": f"arn:aws:eks:us-east-1:{_ACCOUNT}:cluster/bench",
    "version": "1.33",
    "platformVersion": "eks.1",
    "status": "ACTIVE",
    "endpoint": "https://bench",
}


class Account:
    """An `aws.asking.AwsClient` in which every group has a launch template of its own. Mutable: `asked` counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self.asked[question.operation] += 1
        answer: dict[str, Any] = getattr(self, f"_{question.operation.lower()}")(parameters)
        return answer

    def _getcalleridentity(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return {"Account": _ACCOUNT, "Arn": _ARN, "UserId": "AROAEXAMPLE:bench"}

    def _describecluster(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return {"cluster": _CLUSTER}

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
        replace(node, provider_id=_provider(number), labels={**node.labels, MANAGED_GROUP: _group(number)})
        for number, node in enumerate(cluster.nodes)
    )
    return replace(cluster, nodes=nodes)


def _provider(number: int) -> str:
    return f"aws:///us-east-1a/i-{number:017x}"


def _group(number: int) -> str:
    return f"group-{number % GROUPS}"


def write(folder: Path, nodes: int) -> dict[str, Any]:
    """Write lists of its nodes and of 30 pods on each, as kubectl prints them, and the answers of AWS."""
    written = dump.write(str(folder), str(nodes * PODS_PER_NODE))
    listed = json.loads((folder / "nodes.json").read_bytes())
    for number, node in enumerate(listed["items"]):
        node["spec"] = {"providerID": _provider(number)}
        node["metadata"]["labels"] = {MANAGED_GROUP: _group(number)}
    (folder / "nodes.json").write_text(json.dumps(listed))
    recorder = Recorder(Account())
    aws = verify_cluster(recorder, AwsAccess("bench", "us-east-1", account=_ACCOUNT, server="https://bench"))
    cluster = DumpReader(str(folder)).read(KINDS)
    read_metadata_facts(ObservedSession(cluster, aws), cluster)
    of = RecordingInfo(
        "bench", "us-east-1", _ACCOUNT, "https://bench", _ARN, datetime(2026, 11, 20, tzinfo=timezone.utc)
    )
    (folder / f"{AWS_ANSWERS_STEM}.json").write_bytes(recorder.to_bytes(of))
    return {"nodes": len(listed["items"]), "pods": written["pods"], "asked": len(recorder)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    wanted = parser.parse_args()
    if wanted.write is not None:
        print(json.dumps(write(wanted.write, wanted.nodes)))
        return
    cluster = _on_instances(make(Shape(wanted.nodes)))
    account = Account()
    eks = EksCluster("bench", "arn", "1.33", "eks.1", "ACTIVE", "https://bench", "")
    aws = VerifiedCluster(account, eks, CallerIdentity("111122223333", "arn"), "by its endpoint")
    begun = time.perf_counter()
    plan = plan_metadata(read_metadata_facts(ObservedSession(cluster, aws), cluster), 2)
    report = ImdsReport(plan, options={}, offered=offered_fixes(plan, cluster, "vpc-1"))
    for output in ("table", "json"):
        report.render(output, Appearance(120))
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "pods": len(cluster.pods), "asked": dict(sorted(account.asked.items()))}))


if __name__ == "__main__":
    main()
