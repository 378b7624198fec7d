"""What every saved document of this tool begins with, and its findings: read back as they were written."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Identity, Source
from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.model.findings import Severity, Status, Subject
from kubectl_eksdoc.core.model.kinds import ReadState
from kubectl_eksdoc.host.documents.fields import MOST, Fields

_CUSTOM = frozenset(kind.full_name for kind in kinds.ALL if kind.custom)


def source(metadata: Fields) -> Source:
    return metadata.word("source", Source)


def known(read: Fields) -> bool:
    """As `KindRead.known`: a custom kind that is not served has no objects."""
    state = read.word("state", ReadState)
    return state is ReadState.READ or (state is ReadState.NOT_SERVED and read.text("resource") in _CUSTOM)


def identity(cluster: Fields) -> Identity:
    return Identity(
        context=cluster.text_or_null("context"),
        cluster=cluster.text_or_null("cluster"),
        account=cluster.text_or_null("account"),
        region=cluster.text_or_null("region"),
        server_version=cluster.text_or_null("serverVersion"),
        uid=cluster.text_or_null("uid"),
        unverified=cluster.texts("unverified") if "unverified" in cluster.names() else (),
    )


def options(given: Fields) -> dict[str, object]:
    """Flags have one value, or a list of texts."""
    found: dict[str, object] = {}
    for key in given.names():
        value = given.value(key)
        if not key or not isinstance(key, str):
            raise given.unfit("a flag", "has no name")
        if isinstance(value, list):
            found[key] = list(given.texts(key))
        elif isinstance(value, str) or (isinstance(value, (int, float)) and -MOST <= value <= MOST):
            found[key] = value
        else:
            raise given.unfit(key, "is no value of a flag")
    return found


def finding(said: Fields) -> FindingOutline:
    """
    Raises:
        Unfit: it is none.
    """
    subject = said.inside("subject")
    namespace = subject.text("namespace") if "namespace" in subject.names() else ""
    return FindingOutline(
        code=said.text("code"),
        subject=Subject(subject.text("kind"), subject.text("name"), namespace),
        severity=said.word("severity", Severity),
        status=said.word("status", Status),
        message=said.text("message"),
    )
