"""The incident on both sides: the demo's cluster behind an API server, and the AWS stand-in with the role of
Karpenter."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.embedded.demo.reader import NOW, DemoReader
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.yaml_reader import yaml_of
from tools.demo.interruption.cluster import logs

if TYPE_CHECKING:
    from tests.aws.world.server import World

QUEUE, ROLE, STACK = "demo-shop", "demo-shop-karpenter", "fix"
SPOT = "EC2 Spot Instance Interruption Warning"
ALIVE = (
    '{"level":"INFO","time":"2026-11-20T08:50:59Z","logger":"controller","message":"initiating delete from '
    'interruption message","queue":"demo-shop","messageKind":"spot_interrupted","node":"spot-1"}\n'
)


@dataclass
class Incident(Somebody):
    """Mutable: so are AWS and the cluster."""

    api: Api = field(kw_only=True)

    def links(self, *argv: str) -> dict[str, Any]:
        return self.document("Interruption", *argv)

    def failing(self, *argv: str) -> set[str]:
        """Names of the links that are broken."""
        return {each["name"] for each in self.links(*argv)["links"] if each["status"] == "fail"}

    def deploy(self, template: str, name: str = STACK) -> None:
        """Deploy the printed template, by the official client."""
        stacks = self.aws.client("cloudformation")
        stacks.create_stack(StackName=name, TemplateBody=template, Capabilities=["CAPABILITY_NAMED_IAM"])
        assert stacks.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"

    def mended(self) -> str:
        """Create every missing resource; Karpenter logs no error any more, and has fetched messages. Returns the
        URL."""
        self.deploy(self.run("--print", "stack").out)
        self.works()
        return str(self.aws.client("sqs").get_queue_url(QueueName=QUEUE)["QueueUrl"])

    def works(self) -> None:
        self.printed("another line\n")
        self.aws.count_fetches(QUEUE, empty=30)

    def printed(self, text: str) -> None:
        """Set the log of the leading Karpenter pod."""
        leader = next(iter(logs()))
        self.api.logs.store(leader.namespace, leader.pod, leader.container, text)

    def changed(self, resource: str, namespace: str, name: str, path: tuple[str, ...], value: Any) -> None:
        """Change one field of one object."""

        def change(plane: ControlPlane) -> None:
            item = plane.registry.get(resource, (namespace, name))
            plane.registry.update(item, with_value(item.doc, path, value))

        self.api.run_locked(change)


@cache
def documents() -> tuple[Doc, ...]:
    """The objects of the demo's cluster."""
    raw = RawObjects()
    DemoReader(raw, "interruption").read((*kinds.ALL, kinds.NODE_CLASSES))
    return tuple(raw.documents())


@contextlib.contextmanager
def happened(aws: World, folder: Path, token: str = worlds.ADMIN_TOKEN) -> Iterator[Incident]:
    """The incident, with Spot instances for the Spot nodes; `token`: that of a user, with that user's rights."""
    plane = load_documents(map(_placed(_instances(aws)), documents()), NOW).plane
    api = Api(plane, worlds.SETUP, ManualTime())
    for log, text in logs().items():
        api.logs.store(log.namespace, log.pod, log.container, text, log.previous)
    _role(aws)
    with serving(api) as server:
        config = kubeconfigs.one(folder / "config", server.url(token), name="lab")
        yield Incident(config, aws, "interruption", api=api)
    assert list(api.internal_errors) == []


def _instances(aws: World) -> dict[str, str]:
    made = aws.client("ec2").request_spot_instances(InstanceCount=2, LaunchSpecification={"ImageId": "ami-12345678"})
    return dict(zip(("spot-1", "spot-2"), (each["InstanceId"] for each in made["SpotInstanceRequests"]), strict=True))


def _placed(instances: dict[str, str]) -> Any:
    def placed(doc: Doc) -> Doc:
        name = doc["metadata"]["name"]
        if doc["kind"] != "Node" or name not in instances:
            return doc
        return with_value(doc, ("spec", "providerID"), f"aws:///ap-northeast-2a/{instances[name]}")

    return placed


def _role(aws: World) -> None:
    iam = aws.client("iam")
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")
    allowed = {"Effect": "Allow", "Action": ["ec2:Describe*", "ec2:CreateFleet"], "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_role_policy(RoleName=ROLE, PolicyName="launches", PolicyDocument=document)
    aws.forget_calls()


def carry_out(script: str, aws: World) -> list[str]:
    """Carry out the printed script, each command of awscli by the official client; returns the other commands."""
    others = []
    heredoc = ""
    for line in script.splitlines():
        if heredoc:
            heredoc = "" if line == heredoc else heredoc
        elif "<<'" in line:
            heredoc = line.rpartition("<<'")[2].rstrip("'")
        elif line.startswith("aws "):
            _call(shlex.split(line), aws)
        elif line and not line.startswith(("#", "set ", "export ", '[ "$(aws sts get-caller-identity')):
            others.append(line)
    return others


def _call(words: list[str], aws: World) -> None:
    _, service, operation, *flags = words
    given = {_camel(flag): value for flag, value in zip(flags[::2], flags[1::2], strict=True)}
    client = aws.client(service, **({"region": given.pop("Region")} if "Region" in given else {}))
    getattr(client, operation.replace("-", "_"))(**{k: _value(k, v) for k, v in given.items()})


def _camel(flag: str) -> str:
    return "".join(word.capitalize() for word in flag.removeprefix("--").split("-"))


_AS_TEXT = ("EventPattern", "Policy", "PolicyDocument", "MessageBody")


def _value(name: str, text: str) -> Any:
    if name in _AS_TEXT or text[:1] not in "[{":
        return text
    return json.loads(text)


def values_in(text: str) -> Any:
    return yaml_of(text)
