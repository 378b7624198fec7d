"""Installation of Karpenter: where it runs and how it is configured, from its Deployments.

Sources: Karpenter's chart (labels, the container ``controller``, INTERRUPTION_QUEUE), core/v1 EnvVar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.interruption import ARGUMENT, CONFIG_KEY, CONFIG_MAP, VARIABLE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import ClauseName, Code, Finding, Remedy, Severity, Status, Subject, TextName, clause
from kubectl_eksdoc.model.interruption import (
    EVENTS,
    AwsPlace,
    InterruptionAnswers,
    KarpenterInstall,
    Setting,
    SpotEvent,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import learned
from kubectl_eksdoc.model.nodes import Pod, RoleBy
from kubectl_eksdoc.model.quantities import Version, parse

# The chain from EventBridge to Karpenter: each link with its state, and the finding that it makes.


@frozen
class Link:
    """A link of the chain.

    `status` None: the link is neither right nor wrong, as `what` says: another link must be fixed before it can be
    judged, or it has no effect. `vital`: without it Spot interruption notices do not arrive. `event_kind`: the kind of
    event of a rule; `what`: a clause. `made`: if the link fails, a repair can create what is missing; otherwise a
    person must decide.
    """

    code: Code
    subject: Subject
    status: Status | None = Status.PASS
    what: str = ""
    vital: bool = True
    evidence: tuple[str, ...] = ()
    missing: str = ""
    remedy: tuple[Remedy, ...] = ()
    made: bool = True
    lacks: tuple[Unknown, ...] = ()
    text: TextName = ""
    short: str = ""

    @property
    def name(self) -> str:
        return f"{self.code.brief}: {self.short}" if self.short else self.code.brief

    @property
    def failed(self) -> bool:
        return self.status is Status.FAIL

    def passes(self, asked: ClauseName, *evidence: str, **values: Any) -> Link:
        """The link as passed; it has no remedy."""
        what = clause(asked, **values)
        return replace(self, status=Status.PASS, what=what, evidence=evidence or self.evidence, remedy=())

    def fails(self, text: TextName, *evidence: str, **values: Any) -> Link:
        """The link as failed. The text has remedies of its own if nothing that this tool prints would fix it."""
        found = Finding.of(text, self.subject, evidence or self.evidence, severity=Severity.HIGH, **values)
        failed = replace(self, status=found.status, text=text, what=found.message, evidence=found.evidence)
        return replace(failed, remedy=found.remedy, made=False) if found.remedy else failed

    def finding(self, severity: Severity) -> Finding | None:
        """None where the link is not wrong, or where another link is the cause."""
        if self.status is None or self.status is Status.PASS:
            return None
        of = self.code, severity, self.status, self.subject, self.what, self.evidence, self.remedy, self.missing
        chain = self.failed and self.code.name != "interruption-karpenter"
        return Finding(*of, EVENTS if chain else None, self.lacks)


def unknown(link: Link, why: Unknown, asked: ClauseName) -> Link:
    """`link` as unknown; `clause_name`: the missing information, if no right is missing."""
    missing = why.missing or clause(asked)
    return replace(link, status=Status.UNKNOWN, what=why.why, missing=missing, remedy=(learned(why),), lacks=(why,))


def handled(links: Iterable[Link]) -> bool | None:
    """Whether Karpenter receives Spot interruption notices; None: unknown."""
    vital = [each for each in links if each.vital]
    if not vital or any(each.failed for each in vital):
        return False
    return None if any(each.status is not Status.PASS for each in vital) else True


NAME_LABEL, VERSION_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/version"
KARPENTER = "karpenter"
_RELEASE = "meta.helm.sh/release-name"
_ROLE_ARN = "eks.amazonaws.com/role-arn"
_IMAGE = re.compile(r"(?:^|/)karpenter/(?:karpenter/)?controller(?:[:@]|$)")


def deployments(cluster: Cluster) -> tuple[ObjectName, ...]:
    """Karpenter's Deployments, those with pods first: recognized by their label, or by the image of their pods."""
    running = {key for pod in cluster.pods if is_karpenter(pod) and (key := deployment_of(pod)) is not None}
    there = {
        (each.namespace, each.name)
        for each in cluster.workloads
        if each.kind == "Deployment" and each.template_labels.get(NAME_LABEL) == KARPENTER
    }
    return tuple(ObjectName("apps/v1", "Deployment", *key) for key in (*sorted(running), *sorted(there - running)))


def is_karpenter(pod: Pod) -> bool:
    return pod.labels.get(NAME_LABEL) == KARPENTER or any(_IMAGE.search(image) for image in pod.calls.images)


def deployment_of(pod: Pod) -> tuple[str, str] | None:
    """Namespace and name; None where no Deployment owns the pod."""
    return (pod.namespace, pod.deployment) if pod.deployment else None


def pods_of(cluster: Cluster, of: ObjectName) -> tuple[Pod, ...]:
    return tuple(pod for pod in cluster.pods if deployment_of(pod) == (of.namespace, of.name) and not pod.finished)


def config_map(of: ObjectName) -> ObjectName:
    """The ConfigMap in which older versions are configured."""
    return ObjectName("v1", "ConfigMap", of.namespace, CONFIG_MAP)


def service_account(of: ObjectName, deployment: Doc) -> ObjectName:
    name = at(deployment, "spec", "template", "spec", "serviceAccountName")
    return ObjectName("v1", "ServiceAccount", of.namespace, name if isinstance(name, str) and name else "default")


def installed(
    of: ObjectName,
    deployment: Doc,
    settings: Doc | Absent | Unknown,
    account: Doc | Absent | Unknown,
    pods: Iterable[Pod],
) -> KarpenterInstall:
    """The installation, from documents of any shape. `settings`: the ConfigMap; `account`: the ServiceAccount."""
    container = _container(deployment)
    # For example ``1.5.0`` from ``…/controller:1.5.0@sha256:…``.
    last = _text(container.get("image")).partition("@")[0].rpartition("/")[2]
    tag = last.partition(":")[2]
    running = tuple(pods)
    replicas = at(deployment, "spec", "replicas")
    return KarpenterInstall(
        of.namespace,
        of.name,
        _version(tag, deployment),
        tag,
        _argument(container),
        _variable(container, VARIABLE),
        _in_config_map(settings),
        _text(container.get("name")),
        _cluster_name(container),
        service_account(of, deployment).name,
        _role(account),
        _role_by(running),
        _text(at(deployment, "metadata", "annotations", _RELEASE)),
        tuple(pod.key for pod in running),
        replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else 1,
        _port(container),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _each(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (each for each in _list(value) if isinstance(each, dict))


def _container(deployment: Doc) -> Mapping[str, Any]:
    """Karpenter's container, by its image, then by its name, else the first: other containers are sidecars."""
    found = list(_each(at(deployment, "spec", "template", "spec", "containers")))
    by_image = [each for each in found if _IMAGE.search(_text(each.get("image")))]
    by_name = [each for each in found if each.get("name") == "controller"]
    return next(iter((*by_image, *by_name, *found)), {})


def _version(tag: str, deployment: Doc) -> Version | None:
    said = (tag, _text(at(deployment, "metadata", "labels", VERSION_LABEL)))
    return next((version for text in said if (version := parse(text)) is not None), None)


def _argument(container: Mapping[str, Any]) -> Setting | Absent | Unknown:
    words = [_text(word) for name in ("command", "args") for word in _list(container.get(name))]
    for place, word in enumerate(words):
        following = next(iter(words[place + 1 :]), "")
        name, equals, value = word.partition("=")
        if f"--{name.lstrip('-')}" == ARGUMENT and name.startswith("-"):
            given = value if equals else following
            if "$(" in given:
                return Unknown(f"its argument {ARGUMENT} is taken from {given}")
            return Setting(given, f"argument {ARGUMENT}")
    return Absent(f"it has no argument {ARGUMENT}")


def _variable(container: Mapping[str, Any], name: str) -> Setting | Absent | Unknown:
    for each in reversed(list(_each(container.get("env")))):  # the last of several counts
        if each.get("name") != name:
            continue
        if each.get("valueFrom") is not None:
            return Unknown(f"its variable {name} is taken from {_source(each['valueFrom'])}")
        if "$(" in (value := _text(each.get("value"))):  # the kubelet inserts another variable there
            return Unknown(f"its variable {name} is made of others: {value}")
        return Setting(value, f"variable {name}")
    if container.get("envFrom"):
        return Unknown(f"its variables come from {_source(container['envFrom'])} as a whole, {name} perhaps too")
    return Absent(f"it has no variable {name}")


def _source(said: Any) -> str:
    """``ConfigMap settings, key queue``."""
    for each in (said,) if isinstance(said, dict) else _each(said):
        for reference, kind in (
            ("configMapKeyRef", "ConfigMap"),
            ("secretKeyRef", "Secret"),
            ("configMapRef", "ConfigMap"),
            ("secretRef", "Secret"),
        ):
            ref = each.get(reference)
            if isinstance(ref, dict):
                key = f", key {ref['key']}" if isinstance(ref.get("key"), str) else ""
                return f"{kind} {_text(ref.get('name'))}{key}"
    return "somewhere else"


def _in_config_map(settings: Doc | Absent | Unknown) -> Setting | Absent | Unknown:
    if isinstance(settings, (Absent, Unknown)):
        return settings
    value = at(settings, "data", CONFIG_KEY)
    if not isinstance(value, str):
        return Absent(f"ConfigMap {CONFIG_MAP} has no {CONFIG_KEY}")
    return Setting(value, f"ConfigMap {CONFIG_MAP}, {CONFIG_KEY}")


def _port(container: Mapping[str, Any]) -> int:
    """The metrics port, by the name that the chart gives it."""
    for each in _each(container.get("ports")):
        number = each.get("containerPort")
        if each.get("name") == "http-metrics" and isinstance(number, int) and not isinstance(number, bool):
            return number
    return 0


def _cluster_name(container: Mapping[str, Any]) -> str:
    said = _variable(container, "CLUSTER_NAME")
    return said.queue if isinstance(said, Setting) else ""


def _role(account: Doc | Absent | Unknown) -> str | Absent | Unknown:
    if isinstance(account, (Absent, Unknown)):
        return account
    arn = at(account, "metadata", "annotations", _ROLE_ARN)
    return arn if isinstance(arn, str) and arn else Absent("its service account names no role")


def _role_by(pods: Iterable[Pod]) -> RoleBy:
    """Where the running pods have their role from; NOBODY where none has a role."""
    found = {pod.calls.role for pod in pods}
    return next((by for by in RoleBy if by in found), RoleBy.NOBODY)


# Facts by which interruption handling is judged.


_NO_KARPENTER = Absent("there is no Karpenter in this cluster")


@frozen
class InterruptionFacts:
    """`queue`: the name of the queue that Karpenter is configured with or is to be configured with; "" where it is
    configured in an unknown way. `told`: the answers of AWS. `others`: further Deployments of Karpenter, which are not
    judged. `logs` and `metrics`: by pod (``namespace/name``)."""

    cluster: Cluster
    install: KarpenterInstall | Absent | Unknown = _NO_KARPENTER
    others: tuple[str, ...] = ()
    place: AwsPlace = AwsPlace()
    queue: str = ""
    told: InterruptionAnswers = InterruptionAnswers()
    logs: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[SpotEvent, ...] | Unknown = ()

    @property
    def subject(self) -> Subject:
        return Subject("Cluster", self.place.cluster or self.cluster.identity.name)

    @property
    def queue_arn(self) -> str:
        """The ARN of the queue, whether it exists or not; "" where its account or region is unknown."""
        from_aws = getattr(self.told.queue, "arn", "")
        return from_aws or (self.place.arn("sqs", self.queue) if self.place.known and self.queue else "")


# The first link: the queue that Karpenter is configured to read, by its version.


Said = Setting | Absent | Unknown


@frozen
class EffectiveSetting:
    """`state`: the setting that this version uses; `ignored`: settings in places that this version does not read."""

    used: Said
    ignored: tuple[Setting, ...] = ()

    @property
    def queue(self) -> str:
        """The name of the queue, also from an ARN or a URL; "" where none is set or it is unknown."""
        return name_in(self.used.queue) if isinstance(self.used, Setting) else ""


_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo")
"""Queue names that SQS accepts (CreateQueue, QueueName)."""


def name_in(written: str) -> str:
    """``prod`` of ``arn:aws:sqs:eu-west-1:111122223333:prod`` and of the URL of that queue; "" where there is none."""
    last = re.split(r"[:/]", written.strip())[-1]
    return last if _NAME.fullmatch(last) else ""


def effective(install: KarpenterInstall) -> EffectiveSetting:
    """The setting in use: the argument overrides the variable, and both override the ConfigMap."""
    new, old = (install.argument, install.variable), install.config_map
    by_map, by_variable = interruption.reads_config_map(install.version), interruption.reads_variable(install.version)
    looked_at = (*(new if by_variable else ()), *((old,) if by_map is not False else ()))
    passed_over = (*(() if by_variable else new), *((old,) if by_map is False else ()))
    ignored = tuple(each for each in passed_over if isinstance(each, Setting) and each.queue)
    said = (each for each in looked_at if isinstance(each, Unknown) or (isinstance(each, Setting) and each.queue))
    used: Said = next(said, Absent("no queue is set"))
    if by_map is False and isinstance(install.argument, Setting):  # an empty argument counts as given, too
        used = install.argument if install.argument.queue else Absent("its argument sets no queue")
    if used is old and by_map is None and isinstance(used, Setting):
        used = Unknown(
            f"{used.where} names queue {used.queue}, which counts up to v0.32 only, and the version is not known"
        )
    return EffectiveSetting(used, ignored)


def setting_link(install: KarpenterInstall, wanted: str, print_values: str) -> Link:
    """`expected_queue`: the name that the queue should have, "" for any; `print_values`: the command that prints the
    Helm values."""
    said = effective(install)
    link = Link(Code.of("interruption-setting"), Subject("Deployment", install.name, install.namespace))
    if isinstance(said.used, Unknown):
        return unknown(link, said.used, "interruption-setting")
    key = ".".join(interruption.helm_key(install.version))
    file = "interruption-values.yaml"
    merge = Remedy.of("merge-values", key=key, print=print_values, file=file, upgrade=upgrade(install, file))
    link = replace(link, remedy=(merge,))
    if isinstance(said.used, Setting):
        container = "" if "ConfigMap" in said.used.where else install.container or "controller"
        where = clause("interruption-setting/used", queue=said.used.queue, where=said.used.where, container=container)
        if said.queue != said.used.queue:
            return link.fails("interruption-setting/invalid", f"by {said.used.where}", queue=said.used.queue)
        if wanted and wanted != said.used.queue:
            shared = _DELETES.format(wanted)
            return link.fails("interruption-setting/other-queue", where, shared, queue=said.used.queue, wanted=wanted)
        return replace(link, what=where, evidence=tuple(_passed_over(said)), remedy=())
    if not said.ignored:
        return link.fails("interruption-setting/none", key=key)
    first, version = said.ignored[0], str(install.version or "")
    passed = _passed_over(said)
    return link.fails("interruption-setting/ignored", *passed, where=first.where, queue=first.queue, version=version)


_DELETES = "Karpenter deletes every message that it reads: no other consumer may read or need {}"
"""Including messages of other kinds and those that it cannot parse (karpenter-provider-aws,
pkg/controllers/interruption)."""


def _passed_over(said: EffectiveSetting) -> Iterator[str]:
    for each in said.ignored:
        yield f"{each.where} names {each.queue}: not read by this version"


def upgrade(install: KarpenterInstall, file: str) -> str:
    """The Helm command: the chart of the running version, with its current values and those of the file."""
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    words = ("helm", "upgrade", install.release or "karpenter", chart, "--version", _chart(install))
    return shell(*words, "-n", install.namespace, "--reuse-values", "-f", file)


def _chart(install: KarpenterInstall) -> str:
    """The chart version: from the image's tag if that is a version, else from the labels.

    Without a version, Helm would install the newest chart and upgrade Karpenter. So the command always has one, if
    necessary a placeholder.
    """
    if parse(install.tag) is not None:
        return install.tag
    if install.version is None:
        return "CHART-VERSION"
    written = str(install.version)
    return written if install.version.older_than(interruption.since("tags-without-v")) else written.removeprefix("v")
