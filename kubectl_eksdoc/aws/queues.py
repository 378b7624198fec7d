"""What SQS and KMS say of a queue and of its key. Source of the shapes: botocore 1.44.5, sqs/2012-11-05,
kms/2014-11-01."""

from __future__ import annotations

from urllib.parse import unquote

from kubectl_eksdoc.aws.asking import Json, found, name_of, text
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.values import document_of
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.queues import Key, Queue

_TOLD = ("ApproximateNumberOfMessages", "KmsMasterKeyId", "MessageRetentionPeriod", "Policy", "QueueArn")


def queue(of: Believed, name: str) -> Queue | Absent | Unknown:
    """By its name, in the account and region of the cluster, as Karpenter itself looks for it."""
    url = found(of.aws, questions.QUEUE_URL, {"QueueName": name}, lambda said: name_of(said, "QueueUrl"))
    if not isinstance(url, str):
        return url
    asked = {"QueueUrl": url, "AttributeNames": list(_TOLD)}
    return found(of.aws, questions.QUEUE_ATTRIBUTES, asked, lambda said: _queue(name, url, said["Attributes"]))


def _queue(name: str, url: str, said: Json) -> Queue:
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


def _number(said: Json, name: str) -> int | None:
    """SQS writes all attributes as texts."""
    value = text(said, name)
    return int(value) if value else None


def key(of: Believed, ident: str) -> Key | Absent | Unknown:
    """`ident` as the queue names it: an id, an ARN or an alias."""

    def made(said: Json) -> Key:
        about = said["KeyMetadata"]
        return Key(name_of(about, "Arn"), text(about, "KeyManager"), about.get("Enabled") is True)

    told = found(of.aws, questions.KEY, {"KeyId": ident}, made)
    if not isinstance(told, Key):
        return told
    # An alias is no name for this question.
    asked = {"KeyId": told.arn, "PolicyName": "default"}
    return Key(told.arn, told.manager, told.enabled, _key_policy(of, asked))


def _key_policy(of: Believed, asked: Json) -> Doc | Unknown:
    def made(said: Json) -> Doc:
        return policy_in(name_of(said, "Policy"), "the policy of the key")

    told = found(of.aws, questions.KEY_POLICY, asked, made)
    return Unknown(told.said) if isinstance(told, Absent) else told


def policy_in(written: str, what: str) -> Doc:
    """Of JSON, which IAM gives URL-encoded.

    Raises:
        ValueError: it is none.
    """
    found_there = document_of(unquote(written) if written.startswith("%") else written, what)
    if isinstance(found_there, Unknown):
        raise ValueError(found_there.why)
    return found_there
