"""The policies of one IAM role, and who has it by EKS Pod Identity. Source of the shapes: botocore 1.44.5,
iam/2010-05-08, eks/2017-11-01.

They are read, and not simulated (SimulatePrincipalPolicy): that is one question, but answers without saying which
statement decides, a dump of its answer tells nothing of a request that was not made then, and the queue's own policy
would have to be handed to it. What an organization's policies (SCP) forbid is not seen this way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kubectl_eksdoc.aws.asking import Json, at_once, found, known, name_of, text
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.queues import policy_in
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.clusters import part_of
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.model.aws.queues import RolePolicies

T = TypeVar("T")

_NO_ASSOCIATION = Absent("EKS Pod Identity gives its service account no role")


def identity(of: Believed, namespace: str, service_account: str) -> str | Absent | Unknown:
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


def role_policies(of: Believed, arn: str) -> RolePolicies | Absent | Unknown:
    """What cannot be read of it is kept beside what can."""
    name = arn.rpartition("/")[2]
    account = part_of(arn, 4)
    if account != of.cluster.account:
        return Unknown(f"role {arn} is of another account than the cluster ({of.cluster.account}), which is not asked")
    role = found(of.aws, questions.ROLE, {"RoleName": name}, lambda said: (text(said["Role"], "Arn"), _boundary(said)))
    if isinstance(role, Absent):
        return role
    if not isinstance(role, Unknown) and role[0] not in ("", arn):
        return Absent(f"there is no role {arn}: the one of that name is {role[0]}")
    boundary = role if isinstance(role, Unknown) else role[1]
    own, attached = _names(of, name), _attached(of, name)
    read = [
        *at_once(own if not isinstance(own, Unknown) else (), lambda each: _inline(of, name, each)),
        *at_once(attached if not isinstance(attached, Unknown) else (), lambda each: _managed(of, each)),
    ]
    unread = [each for each in (own, attached, *(doc for _, doc in read)) if isinstance(each, Unknown)]
    return RolePolicies(
        arn,
        tuple((each, doc) for each, doc in read if not isinstance(doc, Unknown)),
        tuple(dict.fromkeys(unread)),
        _bounded(of, boundary),
    )


def _boundary(said: Json) -> str:
    """The ARN of the policy, "" where there is none."""
    return text(said["Role"].get("PermissionsBoundary") or {}, "PermissionsBoundaryArn")


def _bounded(of: Believed, arn: str | Unknown) -> Doc | Unknown | None:
    if isinstance(arn, Unknown):
        return arn
    return _managed(of, arn) if arn else None


def _names(of: Believed, role: str) -> tuple[str, ...] | Unknown:
    return _told(of, questions.ROLE_POLICIES, {"RoleName": role}, lambda said: tuple(sorted(said["PolicyNames"])))


def _attached(of: Believed, role: str) -> tuple[str, ...] | Unknown:
    def made(said: Json) -> tuple[str, ...]:
        return tuple(sorted(name_of(each, "PolicyArn") for each in said["AttachedPolicies"]))

    return _told(of, questions.ATTACHED_POLICIES, {"RoleName": role}, made)


def _inline(of: Believed, role: str, name: str) -> Doc | Unknown:
    asked = {"RoleName": role, "PolicyName": name}
    return _told(of, questions.ROLE_POLICY, asked, lambda said: _document(said["PolicyDocument"], name))


def _managed(of: Believed, arn: str) -> Doc | Unknown:
    version = _told(of, questions.POLICY, {"PolicyArn": arn}, lambda said: name_of(said["Policy"], "DefaultVersionId"))
    if isinstance(version, Unknown):
        return version
    asked = {"PolicyArn": arn, "VersionId": version}
    return _told(of, questions.POLICY_VERSION, asked, lambda said: _document(said["PolicyVersion"]["Document"], arn))


def _document(said: Doc | str, name: str) -> Doc:
    """botocore decodes it; a dump may hold the text."""
    return said if isinstance(said, dict) else policy_in(said, f"policy {name}")


def _told(of: Believed, question: Question, asked: Json, made: Callable[[Json], T]) -> T | Unknown:
    """That it is gone meanwhile is not known to mean anything."""
    answer = found(of.aws, question, asked, made)
    return Unknown(answer.said) if isinstance(answer, Absent) else answer
