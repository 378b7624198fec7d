"""AWS data about interruption events: SQS queue and KMS key, EventBridge rules, role policies, Spot notices. Source of
the shapes: botocore 1.44.5, sqs/2012-11-05, kms/2014-11-01.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.eks import part_of
from kubectl_eksdoc.model.interruption import (
    EventRule,
    Figures,
    FiguresOf,
    InterruptionAnswers,
    InterruptionKeys,
    KmsKey,
    Notice,
    Queue,
    RolePolicies,
    RuleTarget,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown

from .asking import (
    Json,
    VerifiedCluster,
    at_once,
    found,
    known,
    metric_query,
    name_of,
    text,
    there,
    together,
)
from .eks import document_of

_TOLD = ("ApproximateNumberOfMessages", "KmsMasterKeyId", "MessageRetentionPeriod", "Policy", "QueueArn")


def queue(of: VerifiedCluster, name: str) -> Queue | Absent | Unknown:
    """The queue by its name, in the account and region of the cluster, as Karpenter looks it up."""
    url = found(of.aws, questions.QUEUE_URL, {"QueueName": name}, lambda said: name_of(said, "QueueUrl"))
    if not isinstance(url, str):
        return url

    def made(answer: Json) -> Queue:
        said = answer["Attributes"]
        policy = text(said, "Policy")
        return Queue(
            name,
            url,
            name_of(said, "QueueArn"),
            document_of(policy, f"the policy of queue {name}") if policy else None,
            text(said, "KmsMasterKeyId"),
            _number(said, "MessageRetentionPeriod"),
            _number(said, "ApproximateNumberOfMessages"),
        )

    return found(of.aws, questions.QUEUE_ATTRIBUTES, {"QueueUrl": url, "AttributeNames": list(_TOLD)}, made)


def _number(said: Json, name: str) -> int | None:
    """A number in an attribute: SQS returns all attributes as texts."""
    value = text(said, name)
    return int(value) if value else None


def key(of: VerifiedCluster, ident: str) -> KmsKey | Absent | Unknown:
    """`key_id`: an id, an ARN or an alias, as the queue names it."""

    def made(said: Json) -> KmsKey:
        about = said["KeyMetadata"]
        return KmsKey(name_of(about, "Arn"), text(about, "KeyManager"), about.get("Enabled") is True)

    told = found(of.aws, questions.KEY, {"KeyId": ident}, made)
    if not isinstance(told, KmsKey):
        return told
    policy = there(
        of.aws,
        questions.KEY_POLICY,
        {"KeyId": told.arn, "PolicyName": "default"},  # this operation does not accept an alias
        lambda said: policy_in(name_of(said, "Policy"), "the policy of the key"),
    )
    return KmsKey(told.arn, told.manager, told.enabled, policy)


def policy_in(written: str, what: str) -> Doc:
    """A policy from JSON, which IAM returns URL-encoded.

    Raises:
        ValueError: it is not a JSON object.
    """
    found_there = document_of(unquote(written) if written.startswith("%") else written, what)
    if isinstance(found_there, Unknown):
        raise ValueError(found_there.why)
    return found_there


# Rules of EventBridge's default bus, to which AWS services send events, and their CloudWatch figures. Source of the
# shapes: botocore 1.44.5, events/2015-10-07, monitoring/2010-08-01.


_SHAPED = ("Input", "InputPath", "InputTransformer")


def rules(of: VerifiedCluster) -> tuple[EventRule, ...] | Unknown:
    """All rules, sorted by name."""

    def rule(said: Json) -> EventRule:
        name, pattern = name_of(said, "Name"), text(said, "EventPattern")
        read = document_of(pattern, f"the pattern of rule {name}") if pattern else None
        return EventRule(name, text(said, "Arn"), read, text(said, "State") or "ENABLED")

    def made(said: Json) -> tuple[EventRule, ...]:
        return tuple(sorted(map(rule, said["Rules"]), key=lambda rule: rule.name))

    return known(of.aws, questions.RULES, {}, made)


def targets(of: VerifiedCluster, names: Sequence[str]) -> Mapping[str, tuple[RuleTarget, ...] | Unknown]:
    """By the name of the rule, with one request each."""

    def asked(name: str) -> tuple[RuleTarget, ...] | Unknown:
        told = found(of.aws, questions.RULE_TARGETS, {"Rule": name}, made)
        return () if isinstance(told, Absent) else told  # the rule was deleted meanwhile, and sends nothing

    def made(said: Json) -> tuple[RuleTarget, ...]:
        return tuple(
            RuleTarget(text(each, "Id"), name_of(each, "Arn"), any(each.get(name) for name in _SHAPED))
            for each in said["Targets"]
        )

    return dict(at_once(dict.fromkeys(names), asked))


_HOUR = 3_600
_UNTOLD = ("Forbidden", "InternalError")
"""Status codes of figures that exist but are not returned (CloudWatch API reference, MetricDataResult)."""


def figures(of: VerifiedCluster, about: FiguresOf) -> Figures | Unknown:
    """One request for all. Days and hours end with the full hour after `until`, so that figures are the same a minute
    later."""
    until = about.until.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    queries = list(_queries(about))
    asked = {
        "StartTime": until - timedelta(days=1),
        "EndTime": until,
        "MetricDataQueries": [each for _, each in queries],
    }

    def made(said: Json) -> Figures:
        told = {name_of(each, "Id"): each for each in said["MetricDataResults"]}
        if untold := {code for each in told.values() if (code := text(each, "StatusCode")) in _UNTOLD}:
            raise ValueError(f"CloudWatch did not tell all of the figures: {', '.join(sorted(untold))}")
        sums = {what: _sum(told.get(each["Id"], {})) for what, each in queries}
        return Figures(
            {name: count for (kind, name), count in sums.items() if kind == "Invocations" and count is not None},
            {name: count for (kind, name), count in sums.items() if kind == "FailedInvocations" and count is not None},
            sums.get(("NumberOfEmptyReceives", about.queue)),
            sums.get(("NumberOfMessagesDeleted", about.queue)),
        )

    return known(of.aws, questions.METRICS, asked, made)


def _queries(about: FiguresOf) -> Iterator[tuple[tuple[str, str], Json]]:
    asked = [("Invocations", "AWS/Events", "RuleName", name) for name in about.rules]
    asked += [("FailedInvocations", "AWS/Events", "RuleName", name) for name in about.rules]
    if about.queue:
        metrics = ("NumberOfEmptyReceives", "NumberOfMessagesDeleted")
        asked += [(metric, "AWS/SQS", "QueueName", about.queue) for metric in metrics]
    for number, (metric, namespace, dimension, name) in enumerate(asked):
        yield (metric, name), metric_query(f"m{number}", namespace, metric, {dimension: name}, _HOUR, "Sum")


def _sum(said: Json) -> int | None:
    """The sum of the values; None where CloudWatch has no figures."""
    values = said.get("Values") or ()
    return int(sum(values)) if values else None


# Policies of an IAM role, and the role of a service account by EKS Pod Identity. Source of the shapes: botocore 1.44.5,
# iam/2010-05-08, eks/2017-11-01.
#
# Policies are read and not simulated (SimulatePrincipalPolicy): a simulation is one request, but it does not name the
# deciding statement, its recorded answer is useless for a request that was not made then, and it would need the queue's
# policy as input. Service control policies (SCP) of an organization are not seen this way.

_NO_ASSOCIATION = Absent("EKS Pod Identity gives its service account no role")


def identity(of: VerifiedCluster, namespace: str, service_account: str) -> str | Absent | Unknown:
    """The ARN of the role that pods of this service account get by EKS Pod Identity."""
    asked = {"clusterName": of.cluster.name, "namespace": namespace, "serviceAccount": service_account}

    def made(said: Json) -> tuple[str, ...]:
        return tuple(
            name_of(each, "associationId")
            for each in said["associations"]
            if (text(each, "namespace"), text(each, "serviceAccount")) == (namespace, service_account)
        )

    idents = known(of.aws, questions.POD_IDENTITIES, asked, made)
    if isinstance(idents, Unknown):
        return idents
    if not idents:
        return _NO_ASSOCIATION
    wanted = {"clusterName": of.cluster.name, "associationId": idents[0]}
    return found(of.aws, questions.POD_IDENTITY, wanted, lambda said: name_of(said["association"], "roleArn"))


def role_policies(of: VerifiedCluster, arn: str) -> RolePolicies | Absent | Unknown:
    """The policies of a role; unreadable ones are listed beside the readable ones."""
    name = arn.rpartition("/")[2]
    account = part_of(arn, 4)
    if account != of.cluster.account:
        return Unknown(f"role {arn} is of another account than the cluster ({of.cluster.account}), which is not asked")

    def made(said: Json) -> tuple[str, str]:
        boundary = said["Role"].get("PermissionsBoundary") or {}
        return text(said["Role"], "Arn"), text(boundary, "PermissionsBoundaryArn")

    role = found(of.aws, questions.ROLE, {"RoleName": name}, made)
    if isinstance(role, Absent):
        return role
    if not isinstance(role, Unknown) and role[0] not in ("", arn):
        return Absent(f"there is no role {arn}: the one of that name is {role[0]}")
    own = there(of.aws, questions.ROLE_POLICIES, {"RoleName": name}, lambda said: tuple(sorted(said["PolicyNames"])))
    attached = there(
        of.aws,
        questions.ATTACHED_POLICIES,
        {"RoleName": name},
        lambda said: tuple(sorted(name_of(each, "PolicyArn") for each in said["AttachedPolicies"])),
    )

    def inline(each: str) -> Doc | Unknown:
        asked = {"RoleName": name, "PolicyName": each}
        return there(of.aws, questions.ROLE_POLICY, asked, lambda said: _document(said["PolicyDocument"], each))

    read = [
        *at_once(() if isinstance(own, Unknown) else own, inline),
        *at_once(() if isinstance(attached, Unknown) else attached, lambda each: _managed(of, each)),
    ]
    unread = [each for each in (own, attached, *(doc for _, doc in read)) if isinstance(each, Unknown)]
    return RolePolicies(
        arn,
        tuple((each, doc) for each, doc in read if not isinstance(doc, Unknown)),
        tuple(dict.fromkeys(unread)),
        role if isinstance(role, Unknown) else _managed(of, role[1]) if role[1] else None,
    )


def _managed(of: VerifiedCluster, arn: str) -> Doc | Unknown:
    version = there(
        of.aws, questions.POLICY, {"PolicyArn": arn}, lambda said: name_of(said["Policy"], "DefaultVersionId")
    )
    if isinstance(version, Unknown):
        return version
    asked = {"PolicyArn": arn, "VersionId": version}
    return there(
        of.aws, questions.POLICY_VERSION, asked, lambda said: _document(said["PolicyVersion"]["Document"], arn)
    )


def _document(said: Doc | str, name: str) -> Doc:
    """A policy document: botocore decodes it; a recording may contain the text."""
    return said if isinstance(said, dict) else policy_in(said, f"policy {name}")


# All AWS answers about interruptions, with concurrent questions.


def interruption_told(of: VerifiedCluster, keys: InterruptionKeys) -> InterruptionAnswers:
    """The answers for `keys`; a missing answer is Unknown and does not affect the others.

    Raises:
        AwsError: nothing can be asked at all.
    """
    asked: dict[str, Callable[[], Any]] = {
        "queue": lambda: queue(of, keys.queue),
        "rules": lambda: rules(of),
        "targets": lambda: targets(of, keys.targets),
        "key": lambda: key(of, keys.key),
        "identity": lambda: identity(of, *(keys.identity or ())),
        "policies": lambda: role_policies(of, keys.policies),
        "figures": lambda: keys.figures and figures(of, keys.figures),
        "notices": lambda: notices(of, keys.notices),
    }
    return InterruptionAnswers(**together({name: ask for name, ask in asked.items() if getattr(keys, name)}))


def nothing_told(why: Unknown, keys: InterruptionKeys) -> InterruptionAnswers:
    """Answers without AWS, all Unknown."""
    wanted = {each.name for each in fields(InterruptionAnswers)} - {"targets"}
    return InterruptionAnswers(**dict.fromkeys(wanted, why), targets=dict.fromkeys(keys.targets, why))


_MARKED = ("marked-for-termination", "marked-for-stop", "marked-for-hibernation")
"""Status codes of a Spot request whose instance has its notice (EC2's user guide, Spot request status codes)."""


def notices(of: VerifiedCluster, instances: Sequence[str]) -> Mapping[str, Notice] | Unknown:
    """Those of `instances` that EC2 will reclaim. Requests all instances with a notice, because few have one."""
    wanted = set(instances)
    filters = [{"Name": "status-code", "Values": list(_MARKED)}]

    def made(said: Json) -> dict[str, Notice]:
        there = {}
        for each in said["SpotInstanceRequests"]:
            ident, status = text(each, "InstanceId"), each.get("Status") or {}
            if ident in wanted and (code := text(status, "Code")) in _MARKED:
                there[ident] = Notice(ident, code, status.get("UpdateTime"))
        return there

    return known(of.aws, questions.SPOT_REQUESTS, {"Filters": filters}, made)
