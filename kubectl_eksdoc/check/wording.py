"""Words that several checks have in common: days, sources, and commands that lead to the cluster that was read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.addons import Issue
from kubectl_eksdoc.model.connection import UNNAMED, shell
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource


def sourced(text: str, source: KnowledgeSource) -> str:
    """With where it is from, and how sure it is where that is not high."""
    return f"{text} ({', '.join(filter(None, (source.document, source.doubt)))})"


def doubted(text: str, source: KnowledgeSource) -> str:
    """With how sure it is where that is not high, and not where it is from."""
    return f"{text} ({source.doubt})" if source.doubt else text


def aws(facts: CheckFacts, *words: str) -> str:
    """A command of awscli in the cluster's region."""
    return shell("aws", *words, *in_region(facts))


def in_region(facts: CheckFacts) -> tuple[str, ...]:
    """The words for it; none where nothing tells it."""
    region = facts.cluster.identity.region if isinstance(facts.eks, Unknown) else facts.eks.region
    return ("--region", region) if region else ()


def name_of(facts: CheckFacts) -> str:
    """The cluster's, as EKS knows it, for commands."""
    return facts.name or UNNAMED


def ago(now: datetime, then: datetime) -> str:
    """``3 days ago``, ``5 hours ago``, ``just now``."""
    gone = now - then
    for length, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if gone >= length:
            return f"{number(gone // length, name)} ago"
    return "just now"


def number(count: int, name: str) -> str:
    """``1 day``, ``2 days``."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """``a, b and 6 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def day(moment: datetime) -> str:
    """``2026-11-22``."""
    return moment.date().isoformat()


def issue(each: Issue, most: int = 5) -> str:
    """``PodEvictionFailure: Reached max retries … (ip-10-0-1-2.ec2.internal)``."""
    more = " …" if len(each.resources) > most else ""
    where = f" ({', '.join(each.resources[:most])}{more})" if each.resources else ""
    return f"{each.code or 'an issue without a code'}{f': {each.message}' if each.message else ''}{where}"


def unwell(status: str, well: Collection[str], issues: Sequence[Issue]) -> str:
    """``its status is DEGRADED and EKS sees 2 health issues in it``; "" where neither is so."""
    said = [f"its status is {status}"] if status and status not in well else []
    said += [f"EKS sees {number(len(issues), 'health issue')} in it"] if issues else []
    return " and ".join(said)
