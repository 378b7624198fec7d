"""The AWS side of every source: all sources answer the same requests."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.asking import VerifiedCluster, describe_cluster, verify_cluster
from kubectl_eksdoc.aws.recorded import Recorder, RecordingInfo
from kubectl_eksdoc.errors import AwsMissing, AwsOtherCluster, SnapshotError
from kubectl_eksdoc.host.dump import AWS_ANSWERS_STEM, DumpReader
from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent
from kubectl_eksdoc.session.aws import DemoAnswers
from kubectl_eksdoc.session.session import AwsRequirement, ClusterNeeds, SessionRequest, open_session
from kubectl_eksdoc.session.sources import SourceChoice

NAME = "demo-shop"
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)
LIST = b'{"apiVersion": "v1", "kind": "List", "items": []}'


def opened(**source: Any) -> Any:
    needs = ClusterNeeds("addon-diff", (), aws=AwsRequirement.REQUIRED)
    return open_session(SessionRequest(SourceChoice(**source), Connection(), AwsRequest(), needs)).aws


def facts(of: VerifiedCluster) -> tuple[Any, ...]:
    return (
        of.cluster,
        eks.cluster_versions(of),
        eks.addons(of),
        eks.addon_versions(of, "vpc-cni"),
        eks.addon_configuration(of, "vpc-cni", "v1.19.5-eksbuild.1"),
        eks.updates_of_addon(of, "vpc-cni"),
        eks.addon(of, "no-such"),
    )


def test_the_demo_has_an_aws_side() -> None:
    cluster, versions, addons, of_cni, schema, updates, missing = facts(opened(demo=True))
    assert (cluster.name, cluster.version, cluster.region) == (NAME, "1.33", "ap-northeast-2")
    assert {"vpc-cni", "coredns"} <= {addon.name for addon in addons if isinstance(addon, Addon)}
    assert versions and of_cni[0].versions and "$ref" in schema.schema and isinstance(missing, Absent)
    latest = updates.updates[0]
    assert isinstance(latest, EksAddonUpdate) and latest.parameter("ResolveConflicts") == "OVERWRITE", (
        "the first incident"
    )


def test_what_the_demo_does_not_have_is_refused_as_aws_does() -> None:
    with pytest.raises(AwsMissing, match="other"):
        describe_cluster(DemoAnswers(), "other")


def test_a_snapshot_answers_as_when_it_was_made(tmp_path: Path) -> None:
    recorder = Recorder(DemoAnswers())
    seen = verify_cluster(recorder, DemoAnswers().access)
    told = facts(seen)
    of = RecordingInfo(NAME, seen.cluster.region, seen.cluster.account, seen.cluster.endpoint, seen.caller.arn, NOW)
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (folder / f"{AWS_ANSWERS_STEM}.json").write_bytes(recorder.to_bytes(of))
    (folder / "nodes.json").write_bytes(LIST.replace(b'"List"', b'"NodeList"'))
    path = tmp_path / "snapshot.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, "snapshot")
    assert facts(opened(snapshot=str(path))) == told
    read = DumpReader(str(path)).read((kinds.NODES,))
    assert not [note for note in read.notes if AWS_ANSWERS_STEM in note], "who reads the cluster passes it by"


def test_a_snapshot_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cannot open the snapshot"):
        opened(snapshot=str(tmp_path / "nowhere"))
    (tmp_path / f"{AWS_ANSWERS_STEM}.json").write_bytes(b"[")
    with pytest.raises(SnapshotError, match="no answers of AWS"):
        opened(snapshot=str(tmp_path))


def test_a_snapshot_whose_answers_are_of_another_cluster_is_not_believed(tmp_path: Path) -> None:
    recorder = Recorder(DemoAnswers())
    seen = verify_cluster(recorder, DemoAnswers().access)
    whose = RecordingInfo(NAME, seen.cluster.region, seen.cluster.account, seen.cluster.endpoint, seen.caller.arn, NOW)
    for other in (replace(whose, account="999988887777"), replace(whose, server="https://10.0.0.1")):
        (tmp_path / f"{AWS_ANSWERS_STEM}.json").write_bytes(recorder.to_bytes(other))
        with pytest.raises(AwsOtherCluster):
            opened(snapshot=str(tmp_path))
