"""What EventBridge says of the rules of its default bus, and CloudWatch of how they fare: the bus to which AWS's own
services send. Source of the shapes: botocore 1.44.5, events/2015-10-07, monitoring/2010-08-01."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from kubectl_eksdoc.aws.asking import Json, at_once, found, known, name_of, text
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.values import document_of
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.queues import Figures, FiguresOf, Rule, Target

_SHAPED = ("Input", "InputPath", "InputTransformer")


def rules(of: Believed) -> tuple[Rule, ...] | Unknown:
    """Sorted by name."""

    def made(said: Json) -> tuple[Rule, ...]:
        return tuple(sorted((_rule(each) for each in said["Rules"]), key=lambda rule: rule.name))

    return known(of.aws, questions.RULES, {}, made)


def _rule(said: Json) -> Rule:
    name, pattern = name_of(said, "Name"), text(said, "EventPattern")
    read = document_of(pattern, f"the pattern of rule {name}") if pattern else None
    return Rule(name, text(said, "Arn"), read, text(said, "State") or "ENABLED")


def targets(of: Believed, names: Sequence[str]) -> Mapping[str, tuple[Target, ...] | Unknown]:
    """By the name of the rule; one question each."""

    def asked(name: str) -> tuple[Target, ...] | Unknown:
        told = found(of.aws, questions.RULE_TARGETS, {"Rule": name}, made)
        return () if isinstance(told, Absent) else told  # the rule is gone meanwhile, and sends nothing

    def made(said: Json) -> tuple[Target, ...]:
        return tuple(
            Target(text(each, "Id"), name_of(each, "Arn"), any(each.get(name) for name in _SHAPED))
            for each in said["Targets"]
        )

    return dict(at_once(dict.fromkeys(names), asked))


_HOUR = 3_600
_UNTOLD = ("Forbidden", "InternalError")
"""Status codes of figures that are not there, and might be (CloudWatch API reference, MetricDataResult)."""


def figures(of: Believed, about: FiguresOf) -> Figures | Unknown:
    """One question for all. Days and hours end with the full one before `until`, so that it is the same a minute
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
        of = {"Namespace": namespace, "MetricName": metric, "Dimensions": [{"Name": dimension, "Value": name}]}
        yield (metric, name), {"Id": f"m{number}", "MetricStat": {"Metric": of, "Period": _HOUR, "Stat": "Sum"}}


def _sum(said: Json) -> int | None:
    """None where CloudWatch has no figures."""
    values = said.get("Values") or ()
    return int(sum(values)) if values else None
