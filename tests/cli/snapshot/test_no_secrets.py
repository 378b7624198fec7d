"""A hundred secrets planted wherever a cluster and an account keep some: none is in the file."""

from __future__ import annotations

import base64
import copy
import gzip
import io
import json
import random
import string
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.serving.access import ADMIN, TokenUsers
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.errors import AwsRefused
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.questions import AwsOperation
from kubectl_eksdoc.snapshot.apply import take
from tests.aws.test_live import access, prod
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]

COUNT = 100
_CHANCE = random.Random(17)
_SIGNS = string.ascii_letters + string.digits


def _some(length: int, signs: str = _SIGNS) -> str:
    return "".join(_CHANCE.choice(signs) for _ in range(length))


def _secret(number: int) -> str:
    """Of one kind after the other: an access key's id, its secret, a private key, a token, a password."""
    return (
        lambda: "AKIA" + _some(16, string.ascii_uppercase + string.digits),
        lambda: _some(37) + "aA1",
        lambda: f"-----BEGIN PRIVATE KEY-----\n{_some(64)}\n{_some(64)}\n-----END PRIVATE KEY-----",
        lambda: f"eyJ{_some(20)}.eyJ{_some(40)}.{_some(30)}",
        lambda: f"{_some(6)}-{_some(6)}!",
    )[number % 5]()


SECRETS = tuple(_secret(number) for number in range(COUNT))


class Planted:
    """Hands out one after the other, and begins again; a place that is kept for what it says gets no password."""

    def __init__(self) -> None:
        self._number = 0

    def any(self) -> str:
        self._number += 1
        return SECRETS[self._number % COUNT]

    def known(self) -> str:
        """One that its form gives away."""
        found = self.any()
        while SECRETS.index(found) % 5 == 4:
            found = self.any()
        return found

    def label(self, number: int) -> str:
        """An access key's id, which a label can hold."""
        return SECRETS[5 * number % COUNT]

    def of_route53(self) -> str:
        """An access key's id, and its secret."""
        return f"{SECRETS[0]} {SECRETS[1]}"


class Plants(Protocol):
    """Hands out secrets, as `Planted`."""

    def any(self) -> str: ...

    def known(self) -> str: ...

    def label(self, number: int) -> str: ...

    def of_route53(self) -> str: ...


def in_pod(spec: dict[str, Any], of: Plants) -> None:
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        container["env"] = [*container.get("env", ()), *({"name": f"V{i}", "value": of.any()} for i in range(3))]
        container["args"] = [*container.get("args", ()), f"--password={of.any()}", f"-p{of.any()}", of.any()]
        headers = [{"name": "Authorization", "value": of.any()}]
        container["startupProbe"] = {
            "httpGet": {"path": f"/{of.any()}?k={of.any()}", "port": 1, "httpHeaders": headers}
        }
        container["lifecycle"] = {"postStart": {"exec": {"command": ["curl", "-u", of.any()]}}}
    attributes = {"password": of.any()}
    spec["volumes"] = [*spec.get("volumes", ()), {"name": "x", "csi": {"driver": "d", "volumeAttributes": attributes}}]
    spec["volumes"].append({"name": "y", "flexVolume": {"driver": "d", "options": {"token": of.any()}}})


def planted(doc: Mapping[str, Any], of: Plants) -> dict[str, Any]:
    doc = copy.deepcopy(dict(doc))
    notes = doc["metadata"].setdefault("annotations", {})
    notes["example.com/token"] = of.any()
    doc["metadata"].setdefault("labels", {})["made-by"] = of.label(len(notes))
    notes["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps({"spec": {"password": of.any()}})
    if doc["kind"] == "Pod":
        in_pod(doc["spec"], of)
        for status in doc.get("status", {}).get("containerStatuses", ()):
            status["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "message": of.any()}}
    template = (doc.get("spec") or {}).get("template") if doc["kind"] != "NodePool" else None
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        in_pod(template["spec"], of)
        template.setdefault("metadata", {}).setdefault("annotations", {})["token"] = of.any()
    if doc["kind"] == "ConfigMap":
        doc.setdefault("data", {})["password"] = of.any()
        if "Corefile" in doc["data"]:
            keys = f"aws_access_key {of.of_route53()}"
            doc["data"]["Corefile"] += (
                f"\nexample.org {{\n  route53 example.org.:Z1 {{\n    {keys}\n  }}\n}}\n# {of.known()}"
            )
    if doc["kind"] == "VolumeAttachment":
        inline = {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": of.any()}}}
        doc["spec"]["source"] = {"inlineVolumeSpec": {"accessModes": [], **inline}}
    if doc["kind"] == "EC2NodeClass":
        doc["spec"]["userData"] = of.any()
    if doc["kind"] == "PersistentVolume":
        doc["spec"]["csi"] = {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": of.any()}}
    return doc


def helm_secret(of: Plants) -> dict[str, Any]:
    manifest = f"apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {{name: a}}\n# {of.any()}\n"
    held = {"name": "web", "namespace": "default", "version": 1, "manifest": manifest, "hooks": []}
    held |= {"config": {"password": of.any()}, "info": {"status": "deployed", "notes": of.any()}}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(held).encode()))).decode()
    labels = {"owner": "helm", "name": "web", "version": "1", "status": "deployed"}
    meta = {"name": "sh.helm.release.v1.web.v1", "namespace": "default", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": meta,
        "data": {"release": packed},
    }


def plain_secret(of: Plants) -> dict[str, Any]:
    data = {"password": base64.b64encode(of.any().encode()).decode()}
    meta = {"name": "db", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data}


class PlantedAws:
    """An account whose answers hold secrets in every object: in fields that nobody reads, and in those of people."""

    def __init__(self, aws: LiveAws, of: Plants) -> None:
        self._aws, self._of = aws, of
        self.access = aws.access

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
        if question.operation == "GetQueueUrl":
            raise AwsRefused(f"the request with the key {SECRETS[0]} is not understood")
        found = self._aws.ask(question, parameters)
        self._plant(found)
        if question.operation == "DescribeAddon":
            values = {
                "env": {"MY_TOKEN": self._of.any(), "ENABLE_POD_ENI": "true"},
                "extra": {"password": self._of.any(), "value": self._of.any()},
                "controller": {"env": [{"name": "DB", "value": self._of.any()}]},
            }
            found["addon"]["configurationValues"] = json.dumps(values)
        if question.operation == "DescribeUpdate":
            given = json.dumps({"env": {"MY_TOKEN": self._of.any()}})
            found["update"].setdefault("params", []).append({"type": "ConfigurationValues", "value": given})
        return found

    def _plant(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._plant(each)
        elif isinstance(value, dict):
            for each in list(value.values()):
                self._plant(each)
            value |= {"UserData": self._of.any(), "description": self._of.any(), "tags": {"token": self._of.any()}}
            value["Tags"] = [*value.get("Tags", ()), {"Key": "password", "Value": self._of.any()}]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedApiServer]:
    of = Planted()
    docs = [planted(doc, of) for doc in worlds.documents("rich")]
    loaded = load([*docs, helm_secret(of), plain_secret(of)], worlds.START)
    with serving(Api(loaded.plane, Setup(TokenUsers({"admin": ADMIN})), ManualTime())) as server:
        yield server


def texts(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            yield member.name, file.read().decode()


def forms(secret: str) -> tuple[str, ...]:
    """As it is, as JSON writes it, and as Kubernetes' and EC2's documents may."""
    return (secret, json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode(), *secret.split("\n")[1:-1])


@pytest.mark.long
def test_none_of_them_is_in_the_file(cluster: SimulatedApiServer, prod: World, tmp_path: Path) -> None:
    config, path = kubeconfigs.one(tmp_path / "config", cluster.url("admin"), name=SECRETS[0]), tmp_path / "lab.eksdoc"
    of_aws = PlantedAws(LiveAws(access(prod), prod.endpoint, 1), Planted())

    def taking(path: str, source: Any, connection: Any, wanted: Any, progress: Any, tool: str, _: Any) -> Any:
        return take(path, source, connection, wanted, progress, tool, (), lambda *_: of_aws)  # type: ignore[arg-type]

    out, err = io.StringIO(), io.StringIO()
    code = run(
        ["snapshot", str(path), "--kubeconfig", config],
        out,
        err,
        around=CommandContext(out, err, {}, take_snapshot=taking),
    )
    assert code in (0, 5), err.getvalue()
    written = dict(texts(path))
    assert len(written) > 25
    found = [
        (name, number, secret)
        for name, text in written.items()
        for number, secret in enumerate(SECRETS)
        for form in forms(secret)
        if form in text
    ]
    assert found == []
    answers = written["cluster-answers.json"]
    assert "PodSecurityPolicy" in answers  # which objects are in a release is kept
    assert "route53" in answers  # and so is the Corefile
    assert '"ENABLE_POD_ENI\\": \\"true\\"' in written["aws-answers.json"]
    assert Source.LIVE.value in written["eksdoc-manifest.json"]
