"""A user with a served cluster and a fake AWS account, where a secret is planted in every field that may hold one."""

from __future__ import annotations

import base64
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import pytest

from kubectl_eksdoc.cli.context import DrainRunEdges
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.requests import ADMIN
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from tests.cli.canaries.canaries import Canaries, canaries_below, canaries_in
from tests.cli.running import Ran, called
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.imds_probe.command.probed import nodes_are_instances
from tests.permissions.command.served_users import NAME, REGION, Site, _soon_sure, _told_after
from tests.snapshot.command.planted_secrets import helm_secret, plain_secret, planted

if TYPE_CHECKING:
    from tests.aws.world.server import World

BY_CHANCE = "q7Zp0fK2vXw9Lr4TnB8sYd3h"
"""A key as a generator makes it, which stands under names that say nothing of it."""


def documents(name: str) -> list[Doc]:
    """The objects of a recorded cluster, with one pod of each owner: a secret is in each annotation, variable,
    argument, probe and comment of a Corefile."""
    docs = worlds.documents(name)
    pods = {_owner(doc): doc for doc in docs if doc["kind"] == "Pod"}
    kept = [_planted(doc) for doc in docs if doc["kind"] != "Pod" or pods[_owner(doc)] is doc]
    return [*kept, helm_secret(Canaries("helm release")), plain_secret(Canaries("a secret"))]


def _owner(pod: Doc) -> str:
    owners = pod["metadata"].get("ownerReferences") or ({"uid": pod["metadata"]["uid"]},)
    return str(owners[0]["uid"])


def _planted(doc: Doc) -> Doc:
    return planted(doc, Canaries(f"{doc['kind']} {doc['metadata']['name']}"))


def plane(name: str) -> ControlPlane:
    return load_documents(documents(name), worlds.START).plane


def running(name: str) -> ControlPlane:
    """The cluster with its controllers and kubelets at work; each template equals that of its pods."""
    docs = [doc if "template" in doc.get("spec", {}) else _planted(doc) for doc in worlds.documents(name)]
    made = load_documents(docs, worlds.START).plane
    made.start(worlds.QUICK, workload_controllers)
    return made


def dump(path: Path, docs: Iterable[Doc]) -> str:
    """The packed output of ``kubectl get … -A -o json``."""
    by_kind: dict[str, list[Doc]] = {}
    for doc in docs:
        by_kind.setdefault(doc["kind"], []).append(doc)
    with tarfile.open(path, "w:gz") as archive:
        for kind, items in by_kind.items():
            body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
            info = tarfile.TarInfo(f"{kind.lower()}.json")
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return str(path)


def plant_in_aws(aws: World) -> None:
    """Secrets in tags, descriptions, user data, values of an add-on, and the parameters of an update."""
    of = Canaries("aws")
    ec2, eks = aws.client("ec2"), aws.client("eks")
    tags = [{"Key": "password", "Value": of.any()}]
    data = {"InstanceType": "m5.large", "UserData": base64.b64encode(of.any().encode()).decode()}
    made = ec2.create_launch_template(
        LaunchTemplateName="planted",
        LaunchTemplateData=data,
        VersionDescription=of.any(),
        TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags}],
    )
    eks.create_nodegroup(
        clusterName=NAME,
        nodegroupName="planted",
        subnets=["subnet-1"],
        nodeRole="arn:aws:iam::111122223333:role/reader",
        launchTemplate={"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"},
        tags={"password": of.any()},
    )
    values = json.dumps({"podAnnotations": {"token": of.any(), "example.com/site": BY_CHANCE}})
    aws.eks().ends_when_asked = 1
    update = eks.update_addon(clusterName=NAME, addonName="coredns", configurationValues=values)["update"]["id"]
    eks.describe_update(name=NAME, addonName="coredns", updateId=update)
    eks.tag_resource(resourceArn=eks.describe_cluster(name=NAME)["cluster"]["arn"], tags={"token": of.any()})
    for each in ec2.describe_instances()["Reservations"]:
        ec2.create_tags(Resources=[each["Instances"][0]["InstanceId"]], Tags=tags)
    aws.forget_calls()


def plant_by_hand(site: Site) -> None:
    """Secrets in fields of the add-ons' objects that an administrator has set: an update would reset them."""
    of = Canaries("by hand")
    for kind, name in (("daemonsets", "aws-node"), ("deployments", "coredns")):
        dsn = f"https://{quote(of.any(), safe='')}@sentry.example.com/1"
        variables = [
            {"name": "DB_PASSWORD", "value": of.any()},
            {"name": "SENTRY_DSN", "value": dsn},
            {"name": "SITE", "value": BY_CHANCE},
        ]
        template = {
            "metadata": {"annotations": {"example.com/token": of.any()}},
            "spec": {"containers": [{"name": name, "env": variables}]},
        }
        path = f"/apis/apps/v1/namespaces/kube-system/{kind}/{name}?fieldManager=kubectl-edit"
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        body = json.dumps({"spec": {"template": template}}).encode()
        urlopen(Request(site.url(TOKEN) + path, body, headers, method="PATCH")).close()


def environment(aws: World | None, home: Path, proxy: str = "127.0.0.1:9") -> dict[str, str]:
    """The environment of the process: AWS keys, proxies with passwords, and other usual variables."""
    of = Canaries("environment")
    found = {
        **(aws.environ() if aws is not None else {}),
        "HOME": str(home),
        "COLUMNS": "200",
        "AWS_SECRET_ACCESS_KEY": of.any(),
        "AWS_SESSION_TOKEN": of.any(),
        "DB_PASSWORD": of.any(),
        "NO_PROXY": "127.0.0.1",
    }
    login = f"ann:{quote(Canaries('proxy').any(), safe='')}"
    return found | dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), f"http://{login}@{proxy}")


@dataclass
class Kubeconfigs:
    """Kubeconfigs of one served cluster, below `folder`, which is outside the searched home."""

    folder: Path
    url: str
    endpoint: str = ""  # which EKS says
    proxy_url: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)

    def of_token(self) -> str:
        return self._one("token", {"token": Canaries("token").any()})

    def of_password(self) -> str:
        return self._one("basic", {"username": "ann", "password": Canaries("password").any()})

    def of_broken_key(self) -> str:
        of = Canaries("client key")
        pem = f"-----BEGIN CERTIFICATE-----\n{of.any()}\n-----END CERTIFICATE-----\n".encode()
        key = f"-----BEGIN PRIVATE KEY-----\n{of.any()}\n-----END PRIVATE KEY-----\n".encode()
        user = {"client-certificate-data": kubeconfigs.b64(pem), "client-key-data": kubeconfigs.b64(key)}
        return self._one("key", user)

    def of_plugin(self, source: str = "") -> str:
        """A kubeconfig with a plugin named as AWS's own, with the account's keys in its environment."""
        of = Canaries("plugin")
        says = source or f"say(token={of.any()!r})\n"
        command = kubeconfigs.plugin(self.folder, says, "aws")
        args = ("eks", "get-token", "--cluster-name", NAME, "--region", REGION, "--password", of.any(), of.any())
        env = [{"name": "PLUGIN_PASSWORD", "value": of.any()}]
        env += [
            {"name": name, "value": self.environ.get(name) or of.any()}
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        ]
        return self._one("plugin", kubeconfigs.exec_user(command, *args, env=env))

    def _one(self, name: str, user: dict[str, Any]) -> str:
        """A kubeconfig whose server has user information, and a path that is a token."""
        login = f"ann:{quote(Canaries('server').any(), safe='')}@"
        more = {"tls-server-name": self.endpoint} if self.endpoint else {}
        more |= {"proxy-url": self.proxy_url} if self.proxy_url else {}
        return kubeconfigs.one(self.folder / name, self.url.replace("://", f"://{login}"), b"", user, "lab", **more)


TOKEN = Canaries("as").any().partition("/")[0]
"""In the path of a served cluster's address."""


@dataclass
class Place:
    """`home`: the user's home, with all written files; `more`: secrets without the mark."""

    home: Path
    environ: Mapping[str, str]
    more: Mapping[str, str] = field(default_factory=dict)

    def run(self, words: str, config: str, edges: DrainRunEdges | None = None) -> Ran:
        edges = edges or DrainRunEdges(stop_requests=_told_after(1.0), open_watch=_soon_sure)
        os.environ["KUBECONFIG"] = config
        environ = {**self.environ, "KUBECONFIG": config}
        return called(*words.split(), "--debug", environ=environ, stdin=io.StringIO(), run_edges=edges)

    def leaks(self, words: str, ran: Ran) -> list[str]:
        """The canaries in the output."""
        streams = {"stdout": ran.out, "stderr": ran.err}
        return [
            f"{words}: {each} on {stream}"
            for stream, text in streams.items()
            for each in sorted(canaries_in(text.encode(), self.more))
        ]

    def kept(self) -> list[str]:
        """The canaries in files below the home: journals, caches, snapshots. One file, readable only by its owner, has
        the former values unchanged: a rollback needs exactly these."""
        of_owner = {path.name for path in self.home.rglob("*.values-of-before.json") if path.stat().st_mode & 0o77 == 0}
        found = sorted(canaries_below(self.home, self.more))
        return [f"{each} in the home" for each in found if each.rpartition("/")[2] not in of_owner]


@contextmanager
def served(made: ControlPlane) -> Iterator[Site]:
    site = Site(made)
    site.users[TOKEN] = ADMIN
    with site.served():
        yield site


def written_in(api: Api, before: Mapping[tuple[str, tuple[str, str]], int], more: Mapping[str, str]) -> list[str]:
    """The canaries in new or changed objects of the server since `before`. Controllers create pods from their
    templates."""

    def found(plane: ControlPlane) -> list[str]:
        return [
            f"{name} in {kind} {'/'.join(key)}"
            for (kind, key), text in _texts(plane).items()
            if text.count("canary7q") > before.get((kind, key), 0) or (kind, key) not in before
            for name in sorted(canaries_in(text.encode(), more))
        ]

    return api.run_locked(found)


def counted(api: Api) -> dict[tuple[str, tuple[str, str]], int]:
    return api.run_locked(lambda plane: {at: text.count("canary7q") for at, text in _texts(plane).items()})


_MADE_BY_CONTROLLERS = ("pods", "replicasets.apps", "controllerrevisions.apps")


def _texts(plane: ControlPlane) -> dict[tuple[str, tuple[str, str]], str]:
    kinds = (kind for kind in plane.store.resources() if kind not in _MADE_BY_CONTROLLERS)
    return {(kind, item.key): json.dumps(item.doc) for kind in kinds for item in plane.store.list(kind)}


def host_of(aws: World) -> str:
    """The host name of the cluster's endpoint in EKS."""
    said = aws.client("eks").describe_cluster(name=NAME)["cluster"]["endpoint"]
    aws.forget_calls()
    return urlsplit(said).hostname or ""


def planted_cluster(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, aws: World | None = None
) -> tuple[Place, Kubeconfigs]:
    home, given = folder / "home", folder / "given"
    home.mkdir()
    given.mkdir()
    environ = environment(aws, home)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBECONFIG", "")
    key = environ.get("AWS_ACCESS_KEY_ID", "")
    configs = Kubeconfigs(given, url, host_of(aws) if aws is not None else "", environ=environ)
    more = {BY_CHANCE[1:]: "the key by chance"} | ({key: "the access key"} if key else {})
    return Place(home, environ, more), configs


def planted_place(site: Site, aws: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Place, Kubeconfigs]:
    nodes_are_instances(site.api, aws)
    plant_in_aws(aws)
    plant_by_hand(site)
    return planted_cluster(site.url(TOKEN), folder, monkeypatch, aws)
