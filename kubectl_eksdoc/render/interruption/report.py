"""Whether Karpenter hears of interruptions, in every format; and what is missing, as documents.

Belongs here: which links, nodes and findings are shown, in which order and in which words; how documents are written.
Never here: what Karpenter, SQS or EventBridge do (that is `interruption`), what is asked of AWS or the
cluster.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.interruption.installs import upgrade
from kubectl_eksdoc.interruption.links import Link
from kubectl_eksdoc.interruption.outage import KARPENTER, sentences
from kubectl_eksdoc.interruption.plan import InterruptionPlan
from kubectl_eksdoc.interruption.repair import (
    AsJson,
    Missing,
    creates,
    helm_values,
    rights_policy,
    steps,
    template,
)
from kubectl_eksdoc.interruption.spot import NOTICE_S, AtRisk, SpotNode
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.render.encode import plain_value, to_json, to_yaml
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.report import Findings, Foot, Head, Points, Report, Section, Table
from kubectl_eksdoc.render.tables import Cell, Column, Drawn, Row, Title
from kubectl_eksdoc.render.text import clean, counted, joined

# The handling of interruptions in sentences.


def in_short(plan: InterruptionPlan) -> str:
    """The first lines: who hears, who dies."""
    return f"{_who(plan)} {_spot(plan)}"


def _who(plan: InterruptionPlan) -> str:
    facts, handled = plan.facts, plan.outage.handled
    if isinstance(facts.install, Unknown):
        return "How Karpenter is configured is not known, and so whether it hears of interruptions."
    if isinstance(facts.install, Absent):
        nodes = [node for node in facts.cluster.nodes if node.owner is NodeOwner.KARPENTER]
        if nodes:
            return f"There is no Karpenter, and {counted(len(nodes), 'node')} that it made."
        auto = facts.place.auto_mode or any(node.owner is NodeOwner.AUTO_MODE for node in facts.cluster.nodes)
        return (
            "EKS Auto Mode handles interruptions by itself: nothing is to be set." if auto else "There is no Karpenter."
        )
    head = f"Karpenter {facts.install.version or '(version not known)'} ({facts.install.key})"
    broken = [
        each.name
        for each in plan.links
        if each.failed and each.vital and each.code is not Code.of("interruption-provider-fails")
    ]
    if handled is False or broken:
        one = len(broken) == 1
        links = f"the link{'' if one else 's'} {joined(broken)} {'is' if one else 'are'} broken"
        return f"{head} receives no Spot interruption events: {links if broken else 'its log says so'}."
    if handled is None or plan.outage.by != KARPENTER:  # who else drains does not make Karpenter hear
        unsure = [
            each.name for each in plan.links if each.vital and each.status is not None and each.status.value != "pass"
        ]
        return f"Whether {head} receives Spot interruption events is not known: {', '.join(unsure[:3])}."
    lesser = [each.name for each in plan.links if each.failed]
    also = f", but not of everything else ({', '.join(lesser)})" if lesser else ""
    return f"{head} receives Spot interruption events{also}."


HANDLED = {True: "yes", False: "no", None: "unknown"}


def verdicts(plan: InterruptionPlan) -> tuple[str, ...]:
    """Of the two halves of the chain; () without a Karpenter to ask."""
    if not plan.links:
        return ()
    kinds = ", ".join(f"{kind} {HANDLED[so]}" for kind, so in plan.to_queue.items())
    return f"EventBridge delivers to the queue: {kinds}.", f"Karpenter reads the queue: {HANDLED[plan.to_karpenter]}."


def _spot(plan: InterruptionPlan) -> str:
    outage = plan.outage
    if not outage.nodes:
        others = sum(node.capacity_type == "spot" for node in plan.facts.cluster.nodes)
        return (
            f"None of Karpenter's nodes is Spot; {counted(others, 'Spot node')} {'is' if others == 1 else 'are'} "
            "others'."
            if others
            else "No node is known to be Spot."
        )
    pods = sum(len(each.dying) for each in outage.nodes)
    dns = next((each for each in outage.losers if each.dns), None)
    names = f", among them {dns.on_spot} of {dns.ready} CoreDNS" if dns is not None else ""
    now = (
        f" {counted(len(outage.interrupted), 'of them has', 'of them have')} a notice NOW."
        if outage.interrupted
        else ""
    )
    return f"{counted(len(outage.nodes), 'Spot node')} of Karpenter with {counted(pods, 'pod')}{names}.{now}"


def karpenter(install: KarpenterInstall) -> str:
    """``kube-system/karpenter v1.5.0``."""
    return f"{install.key} {install.version or install.tag or '(version not known)'}"


_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
    None: Cell("·", Tone.FAINT),
}
_SOME = 8
_NOTHING = "This command changes nothing. All evidence: -o wide; for a program: -o json"
_PRINT = "This command changes nothing; it prints: --print stack | commands | iam | helm-values. All evidence: -o wide"


@dataclass(frozen=True, slots=True)
class InterruptionReport(Report):
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read."""

    of: ClassVar[str] = "an answer about interruptions"

    plan: InterruptionPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section]:
        """One page: who hears, link by link; what the next interruption takes; what is found. `full`: every node and
        all evidence."""
        plan = self.plan
        yield Head(in_short(plan))
        yield Table(Title("Links", ": from EventBridge to Karpenter"), _links(plan.links))
        yield Points(Title("Verdicts"), verdicts(plan))
        yield Table(Title("Spot nodes", " of Karpenter"), _nodes(plan.outage.nodes, full), "nodes")
        yield Table(Title("Who loses pods", " with one Spot node"), _losers(plan.outage.losers, full), "workloads")
        yield Points(Title("The next interruption"), sentences(plan.outage))
        yield Findings(plan.findings)
        yield Points(Title("Notes"), self.cluster.notes)
        yield Foot(_PRINT if plan.missing is not None else _NOTHING)

    def result(self) -> object:
        from kubectl_eksdoc.render.interruption.result import InterruptionResult

        return InterruptionResult.of(self)


def _links(links: tuple[Link, ...]) -> Drawn:
    columns = [Column(""), Column("LINK"), Column("WHAT IS THERE", floor=24, lines=3)]
    return columns, [[_SIGNS[each.status], each.name, each.what] for each in links]


def _nodes(nodes: tuple[SpotNode, ...], full: bool) -> Drawn:
    columns = [
        Column("NODE", floor=12, middle=True),
        Column("NODEPOOL", drop=2),
        Column("TYPE", drop=3),
        Column("ZONE", drop=1),
        Column("NOTICE"),
        Column("PODS", right=True),
        Column("CRITICAL", right=True, short="CRIT."),
        Column("A DRAIN WAITS FOR", floor=20),
    ]
    return columns, [_node(each, full) for each in nodes]


def _node(each: SpotNode, full: bool) -> Row:
    held = ", ".join(each.holds) if full else f"{counted(len(each.holds), 'pod')} that may not go"
    return [
        each.name,
        each.node.group or "-",
        each.node.instance_type or "-",
        each.node.zone or "-",
        Cell("NOW", Tone.BAD) if each.heard else "-",
        str(len(each.dying)),
        Cell(str(len(each.critical)), Tone.WARN) if each.critical else "-",
        Cell(held, Tone.WARN) if each.holds else _grace(each),
    ]


def _grace(each: SpotNode) -> str | Cell:
    """Seconds at most before system-critical pods have their turn."""
    text = f"grace periods, {each.before_s} s"
    return Cell(text, Tone.WARN) if each.before_s >= NOTICE_S else text if each.before_s else "-"


def _losers(losers: tuple[AtRisk, ...], full: bool) -> Drawn:
    columns = [
        Column("WORKLOAD", floor=20, middle=True),
        Column("READY", right=True),
        Column("ON SPOT", right=True),
        Column("AT ONCE", right=True),
        Column("WITH", floor=10, middle=True),
        Column(""),
    ]
    kept = losers if full else losers[:_SOME]
    rows: list[Row] = [list(_loser(each)) for each in kept]
    if len(kept) < len(losers):
        rows.append([f"and {len(losers) - len(kept)} more (-o wide)", "", "", "", "", ""])
    return columns, rows


def _loser(each: AtRisk) -> Iterator[str | Cell]:
    yield str(each.subject)
    yield str(each.ready)
    yield str(each.on_spot)
    yield Cell(str(each.at_once), Tone.BAD if each.all_at_once else None)
    yield each.node
    said = ["cluster DNS"] if each.dns else ["system-critical"] if each.critical else []
    said += ["all of it"] if each.all_at_once else []
    yield ", ".join(said)


# What is missing as text that can be piped to a file: a stack, commands, a policy, Helm values.
#
# Comments in YAML and in a script say what the document cannot do. JSON has none: what is printed there is the policy.


_FILE = "interruption-values.yaml"
_WHOSE = "aws sts get-caller-identity --query Account --output text"


def printed(what: str, stack: str, missing: Missing, install: KarpenterInstall) -> str:
    """ "" where nothing is missing of what this could make. `stack`: its name."""
    return _PRINTERS[what](stack, missing, install)


def _stack(stack: str, missing: Missing, install: KarpenterInstall) -> str:
    if not missing.in_stack:
        return ""
    return _comments(_about_stack(stack, missing, install)) + to_yaml(plain_value(template(missing, install)))


def _about_stack(stack: str, missing: Missing, install: KarpenterInstall) -> Iterator[str]:
    yield "Only what is missing, for a stack of its own: to update another one with it, Karpenter's or one of before,"
    yield "deletes the rest of that. Where there is a stack of this name, give --stack-name another one."
    yield creates(stack, missing.region)
    if missing.policy is not None and not missing.queue:
        yield "QueuePolicy replaces the policy of the queue: this one is what is there, and one statement more. If"
        yield "another stack or Terraform keeps that policy, change it there; to delete this stack deletes the policy."
    if missing.key_policy is not None:
        yield "The policy of the queue's key is not in it, as the key is there already: --print commands has it."
    if missing.setting:
        yield f"Karpenter must be told the queue as well: --print helm-values > {_FILE}"
        yield upgrade(install, _FILE)
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _commands(stack: str, missing: Missing, install: KarpenterInstall) -> str:
    if not missing.anything:
        return ""
    lines = ["#!/bin/sh", *(f"# {clean(line)}" for line in _about_commands(missing)), "set -eu"]
    if missing.region:
        lines.append(
            f"export AWS_REGION={shlex.quote(missing.region)} AWS_DEFAULT_REGION={shlex.quote(missing.region)}"
        )
    if missing.account:
        mine = shlex.quote(missing.account)
        lines.append(f'[ "$({_WHOSE})" = {mine} ] || {{ echo "not the credentials of account {mine}" >&2; exit 1; }}')
    for step in steps(missing, install):
        lines += ["", f"# {clean(step.about)}", shell(*map(_word, step.words))]
    if missing.setting:
        lines += ["", "# The setting, merged into the values that the release has."]
        values = to_yaml(plain_value(helm_values(missing.queue_name, install)))
        lines += [f"cat > {_FILE} <<'EOF'", values.rstrip("\n"), "EOF", upgrade(install, _FILE)]
    return "\n".join(lines) + "\n"


def _about_commands(missing: Missing) -> Iterator[str]:
    yield f"What interruption handling lacks{_in_account(missing)}. What is there is not dropped."
    if missing.rights and not missing.role:
        yield f"Which role Karpenter has is not known; it needs {', '.join(missing.rights)}: --print iam"
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _in_account(missing: Missing) -> str:
    return f" in account {missing.account}" if missing.account else ""


def _word(word: str | AsJson) -> str:
    return word if isinstance(word, str) else json.dumps(_nested(word.document), separators=(",", ":"))


def _nested(value: Any) -> Any:
    """What is `AsJson` within a document is a text there."""
    if isinstance(value, AsJson):
        return json.dumps(_nested(value.document), separators=(",", ":"))
    if isinstance(value, Mapping):
        return {key: _nested(each) for key, each in value.items()}
    return [_nested(each) for each in value] if isinstance(value, (list, tuple)) else value


def _iam(_stack: str, missing: Missing, install: KarpenterInstall) -> str:
    return to_json(plain_value(rights_policy(missing.queue_arn, install, missing.key)))


def _values(_stack: str, missing: Missing, install: KarpenterInstall) -> str:
    return _comments(_about_values(install)) + to_yaml(plain_value(helm_values(missing.queue_name, install)))


def _about_values(install: KarpenterInstall) -> Iterator[str]:
    version = install.tag or install.version or "(version not known)"
    yield f"To be merged into the values of the chart of Karpenter {version}."
    yield upgrade(install, _FILE)


def _comments(lines: Iterator[str]) -> str:
    return "".join(f"# {clean(line)}\n" for line in lines)


_PRINTERS: Mapping[str, Callable[[str, Missing, KarpenterInstall], str]] = {
    "stack": _stack,
    "commands": _commands,
    "iam": _iam,
    "helm-values": _values,
}
