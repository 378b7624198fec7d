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
from kubectl_eksdoc.model.eks import arn_part
from kubectl_eksdoc.model.interruption import (
    DeliveryMetrics,
    EventRule,
    InterruptionAnswers,
    InterruptionQuery,
    KmsKey,
    MetricsQuery,
    Queue,
    RolePolicies,
    RuleTarget,
    SpotInterruptionNotice,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown

from .asking import (
    Json,
    VerifiedCluster,
    ask_all,
    ask_concurrently,
    ask_existing,
    ask_or_absent,
    ask_or_unknown,
    metric_query,
    required_text,
    text_field,
)
from .eks import parse_document

_QUEUE_ATTRIBUTES = ("ApproximateNumberOfMessages", "KmsMasterKeyId", "MessageRetentionPeriod", "Policy", "QueueArn")


def queue(verified: VerifiedCluster, name: str) -> Queue | Absent | Unknown:
    """The queue by its name, in the account and region of the cluster, as Karpenter looks it up."""
    url = ask_or_absent(
        verified.aws, questions.QUEUE_URL, {"QueueName": name}, lambda said: required_text(said, "QueueUrl")
    )
    if not isinstance(url, str):
        return url

    def parse(response: Json) -> Queue:
        attributes = response["Attributes"]
        policy = text_field(attributes, "Policy")
        return Queue(
            name,
            url,
            required_text(attributes, "QueueArn"),
            parse_document(policy, f"the policy of queue {name}") if policy else None,
            text_field(attributes, "KmsMasterKeyId"),
            _int_attribute(attributes, "MessageRetentionPeriod"),
            _int_attribute(attributes, "ApproximateNumberOfMessages"),
        )

    return ask_or_absent(
        verified.aws, questions.QUEUE_ATTRIBUTES, {"QueueUrl": url, "AttributeNames": list(_QUEUE_ATTRIBUTES)}, parse
    )


def _int_attribute(document: Json, name: str) -> int | None:
    """A number in an attribute: SQS returns all attributes as texts."""
    value = text_field(document, name)
    return int(value) if value else None


def kms_key(verified: VerifiedCluster, key_id: str) -> KmsKey | Absent | Unknown:
    """`key_id`: an id, an ARN or an alias, as the queue names it."""

    def parse(response: Json) -> KmsKey:
        metadata = response["KeyMetadata"]
        return KmsKey(
            required_text(metadata, "Arn"), text_field(metadata, "KeyManager"), metadata.get("Enabled") is True
        )

    answer = ask_or_absent(verified.aws, questions.KEY, {"KeyId": key_id}, parse)
    if not isinstance(answer, KmsKey):
        return answer
    policy = ask_existing(
        verified.aws,
        questions.KEY_POLICY,
        {"KeyId": answer.arn, "PolicyName": "default"},  # this operation does not accept an alias
        lambda said: parse_policy(required_text(said, "Policy"), "the policy of the key"),
    )
    return KmsKey(answer.arn, answer.manager, answer.enabled, policy)


def parse_policy(text: str, name: str) -> Doc:
    """A policy from JSON, which IAM returns URL-encoded.

    Raises:
        ValueError: it is not a JSON object.
    """
    document = parse_document(unquote(text) if text.startswith("%") else text, name)
    if isinstance(document, Unknown):
        raise ValueError(document.why)
    return document


# Rules of EventBridge's default bus, to which AWS services send events, and their CloudWatch figures. Source of the
# shapes: botocore 1.44.5, events/2015-10-07, monitoring/2010-08-01.


_INPUT_FIELDS = ("Input", "InputPath", "InputTransformer")


def event_rules(verified: VerifiedCluster) -> tuple[EventRule, ...] | Unknown:
    """All rules, sorted by name."""

    def rule(response: Json) -> EventRule:
        name, pattern = required_text(response, "Name"), text_field(response, "EventPattern")
        read = parse_document(pattern, f"the pattern of rule {name}") if pattern else None
        return EventRule(name, text_field(response, "Arn"), read, text_field(response, "State") or "ENABLED")

    def parse(response: Json) -> tuple[EventRule, ...]:
        return tuple(sorted(map(rule, response["Rules"]), key=lambda rule: rule.name))

    return ask_or_unknown(verified.aws, questions.RULES, {}, parse)


def rule_targets(verified: VerifiedCluster, names: Sequence[str]) -> Mapping[str, tuple[RuleTarget, ...] | Unknown]:
    """By the name of the rule, with one request each."""

    def ask_rule(name: str) -> tuple[RuleTarget, ...] | Unknown:
        answer = ask_or_absent(verified.aws, questions.RULE_TARGETS, {"Rule": name}, parse)
        return () if isinstance(answer, Absent) else answer  # the rule was deleted meanwhile, and sends nothing

    def parse(response: Json) -> tuple[RuleTarget, ...]:
        return tuple(
            RuleTarget(
                text_field(each, "Id"), required_text(each, "Arn"), any(each.get(name) for name in _INPUT_FIELDS)
            )
            for each in response["Targets"]
        )

    return dict(ask_concurrently(dict.fromkeys(names), ask_rule))


_HOUR = 3_600
_INCOMPLETE_CODES = ("Forbidden", "InternalError")
"""Status codes of figures that are not returned and may exist (CloudWatch API reference, MetricDataResult)."""


def read_figures(verified: VerifiedCluster, figures_request: MetricsQuery) -> DeliveryMetrics | Unknown:
    """One request for all. Days and hours end with the full hour after `until`, so that figures are the same a minute
    later."""
    until = figures_request.until.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    queries = list(_metric_queries(figures_request))
    parameters = {
        "StartTime": until - timedelta(days=1),
        "EndTime": until,
        "MetricDataQueries": [each for _, each in queries],
    }

    def parse(response: Json) -> DeliveryMetrics:
        results = {required_text(each, "Id"): each for each in response["MetricDataResults"]}
        if incomplete := {
            code for each in results.values() if (code := text_field(each, "StatusCode")) in _INCOMPLETE_CODES
        }:
            raise ValueError(f"CloudWatch did not tell all of the figures: {', '.join(sorted(incomplete))}")
        sums = {what: _sum_of_values(results.get(each["Id"], {})) for what, each in queries}
        return DeliveryMetrics(
            {name: count for (kind, name), count in sums.items() if kind == "Invocations" and count is not None},
            {name: count for (kind, name), count in sums.items() if kind == "FailedInvocations" and count is not None},
            sums.get(("NumberOfEmptyReceives", figures_request.queue)),
            sums.get(("NumberOfMessagesDeleted", figures_request.queue)),
        )

    return ask_or_unknown(verified.aws, questions.METRICS, parameters, parse)


def _metric_queries(figures_request: MetricsQuery) -> Iterator[tuple[tuple[str, str], Json]]:
    metric_names = [("Invocations", "AWS/Events", "RuleName", name) for name in figures_request.rules]
    metric_names += [("FailedInvocations", "AWS/Events", "RuleName", name) for name in figures_request.rules]
    if figures_request.queue:
        metrics = ("NumberOfEmptyReceives", "NumberOfMessagesDeleted")
        metric_names += [(metric, "AWS/SQS", "QueueName", figures_request.queue) for metric in metrics]
    for number, (metric, namespace, dimension, name) in enumerate(metric_names):
        yield (metric, name), metric_query(f"m{number}", namespace, metric, {dimension: name}, _HOUR, "Sum")


def _sum_of_values(document: Json) -> int | None:
    """The sum of the values; None where CloudWatch has no figures."""
    values = document.get("Values") or ()
    return int(sum(values)) if values else None


# Policies of an IAM role, and the role of a service account by EKS Pod Identity. Source of the shapes: botocore 1.44.5,
# iam/2010-05-08, eks/2017-11-01.
#
# Policies are read and not simulated (SimulatePrincipalPolicy): a simulation is one request, but it does not name the
# deciding statement, its recorded answer is useless for a request that was not made then, and it would need the queue's
# policy as input. Service control policies (SCP) of an organization are not seen this way.

_NO_ASSOCIATION = Absent("EKS Pod Identity gives its service account no role")


def pod_identity_role(verified: VerifiedCluster, namespace: str, service_account: str) -> str | Absent | Unknown:
    """The ARN of the role that pods of this service account get by EKS Pod Identity."""
    list_parameters = {"clusterName": verified.cluster.name, "namespace": namespace, "serviceAccount": service_account}

    def parse(response: Json) -> tuple[str, ...]:
        return tuple(
            required_text(each, "associationId")
            for each in response["associations"]
            if (text_field(each, "namespace"), text_field(each, "serviceAccount")) == (namespace, service_account)
        )

    association_ids = ask_or_unknown(verified.aws, questions.POD_IDENTITIES, list_parameters, parse)
    if isinstance(association_ids, Unknown):
        return association_ids
    if not association_ids:
        return _NO_ASSOCIATION
    parameters = {"clusterName": verified.cluster.name, "associationId": association_ids[0]}
    return ask_or_absent(
        verified.aws, questions.POD_IDENTITY, parameters, lambda said: required_text(said["association"], "roleArn")
    )


def role_policies(verified: VerifiedCluster, arn: str) -> RolePolicies | Absent | Unknown:
    """The policies of a role; unreadable ones are listed beside the readable ones."""
    name = arn.rpartition("/")[2]
    account = arn_part(arn, 4)
    if account != verified.cluster.account:
        return Unknown(
            f"role {arn} is of another account than the cluster ({verified.cluster.account}), which is not asked"
        )

    def parse(response: Json) -> tuple[str, str]:
        boundary = response["Role"].get("PermissionsBoundary") or {}
        return text_field(response["Role"], "Arn"), text_field(boundary, "PermissionsBoundaryArn")

    role = ask_or_absent(verified.aws, questions.ROLE, {"RoleName": name}, parse)
    if isinstance(role, Absent):
        return role
    if not isinstance(role, Unknown) and role[0] not in ("", arn):
        return Absent(f"there is no role {arn}: the one of that name is {role[0]}")
    inline_names = ask_existing(
        verified.aws, questions.ROLE_POLICIES, {"RoleName": name}, lambda said: tuple(sorted(said["PolicyNames"]))
    )
    attached_arns = ask_existing(
        verified.aws,
        questions.ATTACHED_POLICIES,
        {"RoleName": name},
        lambda said: tuple(sorted(required_text(each, "PolicyArn") for each in said["AttachedPolicies"])),
    )

    def read_inline(policy_name: str) -> Doc | Unknown:
        parameters = {"RoleName": name, "PolicyName": policy_name}
        return ask_existing(
            verified.aws,
            questions.ROLE_POLICY,
            parameters,
            lambda said: _policy_document(said["PolicyDocument"], policy_name),
        )

    documents = [
        *ask_concurrently(() if isinstance(inline_names, Unknown) else inline_names, read_inline),
        *ask_concurrently(
            () if isinstance(attached_arns, Unknown) else attached_arns,
            lambda each: _read_managed_policy(verified, each),
        ),
    ]
    not_read = [
        each for each in (inline_names, attached_arns, *(doc for _, doc in documents)) if isinstance(each, Unknown)
    ]
    return RolePolicies(
        arn,
        tuple((each, doc) for each, doc in documents if not isinstance(doc, Unknown)),
        tuple(dict.fromkeys(not_read)),
        role if isinstance(role, Unknown) else _read_managed_policy(verified, role[1]) if role[1] else None,
    )


def _read_managed_policy(verified: VerifiedCluster, arn: str) -> Doc | Unknown:
    version = ask_existing(
        verified.aws,
        questions.POLICY,
        {"PolicyArn": arn},
        lambda said: required_text(said["Policy"], "DefaultVersionId"),
    )
    if isinstance(version, Unknown):
        return version
    parameters = {"PolicyArn": arn, "VersionId": version}
    return ask_existing(
        verified.aws,
        questions.POLICY_VERSION,
        parameters,
        lambda said: _policy_document(said["PolicyVersion"]["Document"], arn),
    )


def _policy_document(document: Doc | str, name: str) -> Doc:
    """A policy document: botocore decodes it; a recording may contain the text."""
    return document if isinstance(document, dict) else parse_policy(document, f"policy {name}")


# All AWS answers about interruptions, with concurrent questions.


def read_interruption_answers(verified: VerifiedCluster, keys: InterruptionQuery) -> InterruptionAnswers:
    """The answers for `keys`; a missing answer is Unknown and does not affect the others.

    Raises:
        AwsError: nothing can be asked at all.
    """
    questions: dict[str, Callable[[], Any]] = {
        "queue": lambda: queue(verified, keys.queue),
        "rules": lambda: event_rules(verified),
        "targets": lambda: rule_targets(verified, keys.targets),
        "key": lambda: kms_key(verified, keys.key),
        "identity": lambda: pod_identity_role(verified, *(keys.identity or ())),
        "policies": lambda: role_policies(verified, keys.policies),
        "figures": lambda: keys.figures and read_figures(verified, keys.figures),
        "notices": lambda: spot_notices(verified, keys.notices),
    }
    return InterruptionAnswers(**ask_all({name: ask for name, ask in questions.items() if getattr(keys, name)}))


def unknown_interruption_answers(reason: Unknown, keys: InterruptionQuery) -> InterruptionAnswers:
    """Answers without AWS, all Unknown."""
    field_names = {each.name for each in fields(InterruptionAnswers)} - {"targets"}
    return InterruptionAnswers(**dict.fromkeys(field_names, reason), targets=dict.fromkeys(keys.targets, reason))


_NOTICE_CODES = ("marked-for-termination", "marked-for-stop", "marked-for-hibernation")
"""Status codes of a Spot request whose instance has its notice (EC2's user guide, Spot request status codes)."""


def spot_notices(verified: VerifiedCluster, instances: Sequence[str]) -> Mapping[str, SpotInterruptionNotice] | Unknown:
    """Those of `instances` that EC2 will reclaim. Requests all instances with a notice, because few have one."""
    instance_ids = set(instances)
    filters = [{"Name": "status-code", "Values": list(_NOTICE_CODES)}]

    def parse(response: Json) -> dict[str, SpotInterruptionNotice]:
        notices_by_id = {}
        for request_document in response["SpotInstanceRequests"]:
            instance_id, status = text_field(request_document, "InstanceId"), request_document.get("Status") or {}
            if instance_id in instance_ids and (code := text_field(status, "Code")) in _NOTICE_CODES:
                notices_by_id[instance_id] = SpotInterruptionNotice(instance_id, code, status.get("UpdateTime"))
        return notices_by_id

    return ask_or_unknown(verified.aws, questions.SPOT_REQUESTS, {"Filters": filters}, parse)
