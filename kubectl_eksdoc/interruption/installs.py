"""Installation of Karpenter: where it runs and how it is configured, from its Deployments.

Sources: Karpenter's chart (labels, the container ``controller``, INTERRUPTION_QUEUE), core/v1 EnvVar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.interruption import CONFIG_KEY, CONFIG_MAP, QUEUE_ARGUMENT, QUEUE_VARIABLE
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import ClauseName, Code, Finding, Remedy, Severity, Status, Subject, TextName, clause
from kubectl_eksdoc.model.interruption import (
    EVENT_DELIVERY,
    AwsLocation,
    InterruptionAnswers,
    InterruptionEvent,
    KarpenterInstall,
    QueueSetting,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import remedy_for
from kubectl_eksdoc.model.nodes import Pod, RoleSource
from kubectl_eksdoc.model.quantities import Version, parse_version

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
    event_kind: str = ""

    @property
    def name(self) -> str:
        return f"{self.code.brief}: {self.event_kind}" if self.event_kind else self.code.brief

    @property
    def failed(self) -> bool:
        return self.status is Status.FAIL

    def passes(self, clause_name: ClauseName, *evidence: str, **values: Any) -> Link:
        """The link as passed; it has no remedy."""
        what = clause(clause_name, **values)
        return replace(self, status=Status.PASS, what=what, evidence=evidence or self.evidence, remedy=())

    def fails(self, text: TextName, *evidence: str, **values: Any) -> Link:
        """The link as failed. The text has remedies of its own if nothing that this tool prints would fix it."""
        finding = Finding.of(text, self.subject, evidence or self.evidence, severity=Severity.HIGH, **values)
        failed = replace(self, status=finding.status, text=text, what=finding.message, evidence=finding.evidence)
        return replace(failed, remedy=finding.remedy, made=False) if finding.remedy else failed

    def finding(self, severity: Severity) -> Finding | None:
        """None where the link is not wrong, or where another link is the cause."""
        if self.status is None or self.status is Status.PASS:
            return None
        fields = self.code, severity, self.status, self.subject, self.what, self.evidence, self.remedy, self.missing
        is_chain = self.failed and self.code.name != "interruption-karpenter"
        return Finding(*fields, EVENT_DELIVERY if is_chain else None, self.lacks)


def unknown_link(link: Link, reason: Unknown, clause_name: ClauseName) -> Link:
    """`link` as unknown; `clause_name`: the missing information, if no right is missing."""
    missing = reason.missing or clause(clause_name)
    return replace(
        link, status=Status.UNKNOWN, what=reason.why, missing=missing, remedy=(remedy_for(reason),), lacks=(reason,)
    )


def is_handled(links: Iterable[Link]) -> bool | None:
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


def karpenter_deployments(cluster: Cluster) -> tuple[ObjectName, ...]:
    """Karpenter's Deployments, those with pods first: recognized by their label, or by the image of their pods."""
    running = {key for pod in cluster.pods if is_karpenter(pod) and (key := deployment_of(pod)) is not None}
    labeled = {
        (each.namespace, each.name)
        for each in cluster.workloads
        if each.kind == "Deployment" and each.template_labels.get(NAME_LABEL) == KARPENTER
    }
    return tuple(ObjectName("apps/v1", "Deployment", *key) for key in (*sorted(running), *sorted(labeled - running)))


def is_karpenter(pod: Pod) -> bool:
    return pod.labels.get(NAME_LABEL) == KARPENTER or any(_IMAGE.search(image) for image in pod.calls.images)


def deployment_of(pod: Pod) -> tuple[str, str] | None:
    """Namespace and name; None where no Deployment owns the pod."""
    return (pod.namespace, pod.deployment) if pod.deployment else None


def pods_of(cluster: Cluster, deployment: ObjectName) -> tuple[Pod, ...]:
    return tuple(
        pod
        for pod in cluster.pods
        if deployment_of(pod) == (deployment.namespace, deployment.name) and not pod.finished
    )


def config_map(deployment: ObjectName) -> ObjectName:
    """The ConfigMap in which older versions are configured."""
    return ObjectName("v1", "ConfigMap", deployment.namespace, CONFIG_MAP)


def service_account(deployment_name: ObjectName, deployment: Doc) -> ObjectName:
    name = nested_field(deployment, "spec", "template", "spec", "serviceAccountName")
    return ObjectName(
        "v1", "ServiceAccount", deployment_name.namespace, name if isinstance(name, str) and name else "default"
    )


def read_install(
    deployment_name: ObjectName,
    deployment: Doc,
    settings: Doc | Absent | Unknown,
    account: Doc | Absent | Unknown,
    pods: Iterable[Pod],
) -> KarpenterInstall:
    """The installation, from documents of any shape. `settings`: the ConfigMap; `account`: the ServiceAccount."""
    container = _container(deployment)
    # For example ``1.5.0`` from ``…/controller:1.5.0@sha256:…``.
    image_name = _text(container.get("image")).partition("@")[0].rpartition("/")[2]
    tag = image_name.partition(":")[2]
    running = tuple(pods)
    replicas = nested_field(deployment, "spec", "replicas")
    return KarpenterInstall(
        deployment_name.namespace,
        deployment_name.name,
        _version(tag, deployment),
        tag,
        _argument_setting(container),
        _variable_setting(container, QUEUE_VARIABLE),
        _config_map_setting(settings),
        _text(container.get("name")),
        _cluster_name(container),
        service_account(deployment_name, deployment).name,
        _irsa_role(account),
        _role_source(running),
        _text(nested_field(deployment, "metadata", "annotations", _RELEASE)),
        tuple(pod.key for pod in running),
        replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else 1,
        _metrics_port(container),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (each for each in _list(value) if isinstance(each, dict))


def _container(deployment: Doc) -> Mapping[str, Any]:
    """Karpenter's container, by its image, then by its name, else the first: other containers are sidecars."""
    containers = list(_dicts(nested_field(deployment, "spec", "template", "spec", "containers")))
    by_image = [each for each in containers if _IMAGE.search(_text(each.get("image")))]
    by_name = [each for each in containers if each.get("name") == "controller"]
    return next(iter((*by_image, *by_name, *containers)), {})


def _version(tag: str, deployment: Doc) -> Version | None:
    texts = (tag, _text(nested_field(deployment, "metadata", "labels", VERSION_LABEL)))
    return next((version for text in texts if (version := parse_version(text)) is not None), None)


def _argument_setting(container: Mapping[str, Any]) -> QueueSetting | Absent | Unknown:
    args = [_text(word) for name in ("command", "args") for word in _list(container.get(name))]
    for index, word in enumerate(args):
        following = next(iter(args[index + 1 :]), "")
        name, equals, value = word.partition("=")
        if f"--{name.lstrip('-')}" == QUEUE_ARGUMENT and name.startswith("-"):
            given_value = value if equals else following
            if "$(" in given_value:
                return Unknown(f"its argument {QUEUE_ARGUMENT} is taken from {given_value}")
            return QueueSetting(given_value, f"argument {QUEUE_ARGUMENT}")
    return Absent(f"it has no argument {QUEUE_ARGUMENT}")


def _variable_setting(container: Mapping[str, Any], name: str) -> QueueSetting | Absent | Unknown:
    for each in reversed(list(_dicts(container.get("env")))):  # the last of several counts
        if each.get("name") != name:
            continue
        if each.get("valueFrom") is not None:
            return Unknown(f"its variable {name} is taken from {_source_text(each['valueFrom'])}")
        if "$(" in (value := _text(each.get("value"))):  # the kubelet inserts another variable there
            return Unknown(f"its variable {name} is made of others: {value}")
        return QueueSetting(value, f"variable {name}")
    if container.get("envFrom"):
        return Unknown(f"its variables come from {_source_text(container['envFrom'])} as a whole, {name} perhaps too")
    return Absent(f"it has no variable {name}")


def _source_text(value_source: Any) -> str:
    """``ConfigMap settings, key queue``."""
    for each in (value_source,) if isinstance(value_source, dict) else _dicts(value_source):
        for reference, kind in (
            ("configMapKeyRef", "ConfigMap"),
            ("secretKeyRef", "Secret"),
            ("configMapRef", "ConfigMap"),
            ("secretRef", "Secret"),
        ):
            target = each.get(reference)
            if isinstance(target, dict):
                key = f", key {target['key']}" if isinstance(target.get("key"), str) else ""
                return f"{kind} {_text(target.get('name'))}{key}"
    return "somewhere else"


def _config_map_setting(settings: Doc | Absent | Unknown) -> QueueSetting | Absent | Unknown:
    if isinstance(settings, (Absent, Unknown)):
        return settings
    value = nested_field(settings, "data", CONFIG_KEY)
    if not isinstance(value, str):
        return Absent(f"ConfigMap {CONFIG_MAP} has no {CONFIG_KEY}")
    return QueueSetting(value, f"ConfigMap {CONFIG_MAP}, {CONFIG_KEY}")


def _metrics_port(container: Mapping[str, Any]) -> int:
    """The metrics port, by the name that the chart gives it."""
    for each in _dicts(container.get("ports")):
        number = each.get("containerPort")
        if each.get("name") == "http-metrics" and isinstance(number, int) and not isinstance(number, bool):
            return number
    return 0


def _cluster_name(container: Mapping[str, Any]) -> str:
    setting = _variable_setting(container, "CLUSTER_NAME")
    return setting.queue if isinstance(setting, QueueSetting) else ""


def _irsa_role(account: Doc | Absent | Unknown) -> str | Absent | Unknown:
    if isinstance(account, (Absent, Unknown)):
        return account
    arn = nested_field(account, "metadata", "annotations", _ROLE_ARN)
    return arn if isinstance(arn, str) and arn else Absent("its service account names no role")


def _role_source(pods: Iterable[Pod]) -> RoleSource:
    """Where the running pods have their role from; NONE where none has a role."""
    sources = {pod.calls.role for pod in pods}
    return next((source for source in RoleSource if source in sources), RoleSource.NONE)


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
    place: AwsLocation = AwsLocation()
    queue: str = ""
    told: InterruptionAnswers = InterruptionAnswers()
    logs: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[str, str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[InterruptionEvent, ...] | Unknown = ()

    @property
    def subject(self) -> Subject:
        return Subject("Cluster", self.place.cluster or self.cluster.identity.name)

    @property
    def queue_arn(self) -> str:
        """The ARN of the queue, whether it exists or not; "" where its account or region is unknown."""
        from_aws = getattr(self.told.queue, "arn", "")
        return from_aws or (self.place.arn("sqs", self.queue) if self.place.is_known and self.queue else "")


# The first link: the queue that Karpenter is configured to read, by its version.


SettingState = QueueSetting | Absent | Unknown


@frozen
class EffectiveSetting:
    """`state`: the setting that this version uses; `ignored`: settings in places that this version does not read."""

    state: SettingState
    ignored: tuple[QueueSetting, ...] = ()

    @property
    def queue(self) -> str:
        """The name of the queue, also from an ARN or a URL; "" where none is set or it is unknown."""
        return queue_name_in(self.state.queue) if isinstance(self.state, QueueSetting) else ""


_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo")
"""Queue names that SQS accepts (CreateQueue, QueueName)."""


def queue_name_in(text: str) -> str:
    """``prod`` of ``arn:aws:sqs:eu-west-1:111122223333:prod`` and of the URL of that queue; "" where there is none."""
    last = re.split(r"[:/]", text.strip())[-1]
    return last if _QUEUE_NAME.fullmatch(last) else ""


def effective_setting(install: KarpenterInstall) -> EffectiveSetting:
    """The setting in use: the argument overrides the variable, and both override the ConfigMap."""
    settings, config_map_setting = (install.argument, install.variable), install.config_map
    reads_config_map, reads_variable = (
        interruption.reads_config_map(install.version),
        interruption.reads_variable(install.version),
    )
    read = (*(settings if reads_variable else ()), *((config_map_setting,) if reads_config_map is not False else ()))
    not_read = (*(() if reads_variable else settings), *((config_map_setting,) if reads_config_map is False else ()))
    ignored = tuple(each for each in not_read if isinstance(each, QueueSetting) and each.queue)
    set_values = (each for each in read if isinstance(each, Unknown) or (isinstance(each, QueueSetting) and each.queue))
    state: SettingState = next(set_values, Absent("no queue is set"))
    if reads_config_map is False and isinstance(
        install.argument, QueueSetting
    ):  # an empty argument counts as given, too
        state = install.argument if install.argument.queue else Absent("its argument sets no queue")
    if state is config_map_setting and reads_config_map is None and isinstance(state, QueueSetting):
        state = Unknown(
            f"{state.where} names queue {state.queue}, which counts up to v0.32 only, and the version is not known"
        )
    return EffectiveSetting(state, ignored)


def setting_link(install: KarpenterInstall, expected_queue: str, print_values: str) -> Link:
    """`expected_queue`: the name that the queue should have, "" for any; `print_values`: the command that prints the
    Helm values."""
    setting = effective_setting(install)
    link = Link(Code.of("interruption-setting"), Subject("Deployment", install.name, install.namespace))
    if isinstance(setting.state, Unknown):
        return unknown_link(link, setting.state, "interruption-setting")
    key = ".".join(interruption.helm_key(install.version))
    file = "interruption-values.yaml"
    merge = Remedy.of(
        "merge-values", key=key, print=print_values, file=file, upgrade=helm_upgrade_command(install, file)
    )
    link = replace(link, remedy=(merge,))
    if isinstance(setting.state, QueueSetting):
        container = "" if "ConfigMap" in setting.state.where else install.container or "controller"
        source_text = clause(
            "interruption-setting/used", queue=setting.state.queue, where=setting.state.where, container=container
        )
        if setting.queue != setting.state.queue:
            return link.fails("interruption-setting/invalid", f"by {setting.state.where}", queue=setting.state.queue)
        if expected_queue and expected_queue != setting.state.queue:
            shared = _SHARED_QUEUE_NOTE.format(expected_queue)
            return link.fails(
                "interruption-setting/other-queue",
                source_text,
                shared,
                queue=setting.state.queue,
                wanted=expected_queue,
            )
        return replace(link, what=source_text, evidence=tuple(_ignored_texts(setting)), remedy=())
    if not setting.ignored:
        return link.fails("interruption-setting/none", key=key)
    first_ignored, version = setting.ignored[0], str(install.version or "")
    ignored_texts = _ignored_texts(setting)
    return link.fails(
        "interruption-setting/ignored",
        *ignored_texts,
        where=first_ignored.where,
        queue=first_ignored.queue,
        version=version,
    )


_SHARED_QUEUE_NOTE = "Karpenter deletes every message that it reads: no other consumer may read or need {}"
"""Including messages of other kinds and those that it cannot parse (karpenter-provider-aws,
pkg/controllers/interruption)."""


def _ignored_texts(setting: EffectiveSetting) -> Iterator[str]:
    for each in setting.ignored:
        yield f"{each.where} names {each.queue}: not read by this version"


def helm_upgrade_command(install: KarpenterInstall, file: str) -> str:
    """The Helm command: the chart of the running version, with its current values and those of the file."""
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    args = ("helm", "upgrade", install.release or "karpenter", chart, "--version", _chart_version(install))
    return shell(*args, "-n", install.namespace, "--reuse-values", "-f", file)


def _chart_version(install: KarpenterInstall) -> str:
    """The chart version: from the image's tag if that is a version, else from the labels.

    Without a version, Helm would install the newest chart and upgrade Karpenter. So the command always has one, if
    necessary a placeholder.
    """
    if parse_version(install.tag) is not None:
        return install.tag
    if install.version is None:
        return "CHART-VERSION"
    written = str(install.version)
    return (
        written
        if install.version.older_than(interruption.supported_since("tags-without-v"))
        else written.removeprefix("v")
    )
