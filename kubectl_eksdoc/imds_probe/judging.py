"""Findings about the metadata service of node sets: affected pods, option changes, unknown facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import HOST, OPTIONAL, POD, REQUIRED, Reach, verdict
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.missing_rights import allow, learned
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, pod_count
from kubectl_eksdoc.probes.pods import owner_of

from .affected import (
    AffectedPod,
    Assumed,
    Effect,
    IntendedOptions,
    PodEvidence,
    cut_off,
    ended_badly,
    fails,
    may_need,
    unexplained,
)
from .evidence import ENOUGH_DAYS, Counted, answered, in_all, rejected
from .sources import MetadataFacts, NodesAlike, counted_of

_MOST_PODS, _NAMED = 5, 3
NODES = "nodes: "
"""Prefix of the evidence line with the nodes and the source of their options."""


def judged(facts: MetadataFacts, alike: NodesAlike, affected: Sequence[AffectedPod], hops: int) -> Iterator[Finding]:
    """Findings of one node set; pods of one owner with the same effect are one finding. `hops`: the number that pods
    need. With assumed options, a difference of the next node is no finding."""
    assumed, counted = facts.assumed, counted_of(alike.nodes, facts)
    for effect in (Effect.BROKEN, Effect.WILL_BREAK):
        for same in _together(each for each in affected if each.effect is effect):
            yield _of_pods(alike, same, hops, assumed is not None)
    if assumed is None:
        yield from _next(alike, affected, facts.intent)
    yield from _tokens(alike, assumed, counted)
    yield from rejected(_subject(alike), counted or {})
    if alike.next.refused:
        yield _refused(alike)


def judged_whole(facts: MetadataFacts, groups: Sequence[tuple[NodesAlike, Sequence[AffectedPod]]]) -> Iterator[Finding]:
    """Findings that concern several node sets."""
    yield from _possible(facts, groups)
    # Pods without a known need are no reason for a change; one line names them.
    found = [each for _, affected in groups for each in affected if each.effect is Effect.NO_KNOWN_NEED]
    if found:
        owners = sorted({f"{owner.kind} {owner}" for owner in (owner_of(each.pod) for each in found)})
        yield Finding.of("imds-pods-possible/no-known-need", _cluster(facts), tuple(some(owners)), count=len(found))
    yield from _unknown(facts, [alike for alike, _ in groups])
    if facts.intent is not None:
        yield from _intended(facts, (alike for alike, _ in groups), facts.intent)
    identities = facts.told.identities
    if any(affected for _, affected in groups) and isinstance(identities, Unknown):  # otherwise it does not matter
        yield Finding.of(
            "imds-roles-unknown",
            _cluster(facts),
            remedy=(learned(identities),),
            identities_why=identities,
            lacking=identities.missing,
        )
    yield from in_all(_cluster(facts), facts.v1_calls or {})
    yield from _unread(facts)
    for read in facts.cluster.unread(kinds.NODES, kinds.PODS):
        yield Finding.of(
            "imds-pods-unread/lists",
            _cluster(facts),
            (read.detail,),
            remedy=(learned(read.lack),),
            plural=read.resource.plural,
            full_name=read.resource.full_name,
        )
    yield from _nowhere(facts, groups)
    yield from _unexplained(facts, groups)
    if facts.not_looked_into:
        yield Finding.of("imds-pods-unread/not-looked-into", _cluster(facts), not_looked_into=facts.not_looked_into)


def _cluster(facts: MetadataFacts) -> Subject:
    return Subject("Cluster", facts.cluster.identity.name)


def _unread(facts: MetadataFacts) -> Iterator[Finding]:
    """One finding for each reason why pods could not be read."""
    found: dict[str, list[tuple[Pod, Unknown]]] = {}
    for pod in facts.cluster.pods:
        looked = facts.inside.get(pod.key)
        if looked is None or not looked.unknown:
            continue
        if fails(pod, facts.cluster.observed_at) or (looked.started is None and may_need(pod)):  # else optional
            told = looked.unknown[0]
            found.setdefault(told.missing or told.why.replace(pod.name, ""), []).append((pod, told))
    for several in found.values():
        pod, told = several[0]
        one = len(several) == 1
        log = Remedy.of("read-log", namespace=pod.namespace, pod=pod.name)
        yield Finding.of(
            "imds-pods-unread/not-readable",
            Subject("Pod", pod.name, pod.namespace) if one else _cluster(facts),
            () if one else tuple(some([pod.key for pod, _ in several])),
            remedy=(allow(told.missing) if told.missing and not one else log,),
            count=len(several),
            why=told,
            lacking=told.missing,
        )


def _nowhere(facts: MetadataFacts, groups: Sequence[tuple[NodesAlike, Sequence[AffectedPod]]]) -> Iterator[Finding]:
    """Pods on nodes that do not exist; pods without a node, if no nodes were checked."""
    nodes = {name for alike, _ in groups for name in alike.nodes}
    pods = [each for each in facts.cluster.pods if not each.finished and each.node not in nodes]
    found = [each for each in pods if each.node or not groups]
    if found:
        yield Finding.of(
            "imds-pods-unread/nowhere",
            Subject("Pod", found[0].name, found[0].namespace) if len(found) == 1 else _cluster(facts),
            tuple(some([each.key for each in found])),
            count=len(found),
        )


def _unexplained(facts: MetadataFacts, groups: Sequence[tuple[NodesAlike, Sequence[AffectedPod]]]) -> Iterator[Finding]:
    """Failing pods without access to the service, whose log was read and has no known line."""
    told = {each.pod.key for _, affected in groups for each in affected if each.effect is not Effect.NO_KNOWN_NEED}
    alike_of = {name: alike for alike, _ in groups for name in alike.nodes}
    done = {pod.owner.uid for pod in facts.cluster.pods if pod.owner is not None and pod.phase == "Succeeded"}
    found = [
        pod
        for pod in facts.cluster.pods
        if pod.node in alike_of and pod.key not in told and _lacks(pod, alike_of[pod.node])
        if (looked := facts.inside.get(pod.key, PodEvidence())) and not looked.unknown
        if (ended_badly(pod, done) if pod.finished else unexplained(pod, looked, facts.cluster.observed_at))
    ]
    if found:
        first = found[0]
        yield Finding.of(
            "imds-pods-unread/unexplained",
            Subject("Pod", first.name, first.namespace) if len(found) == 1 else _cluster(facts),
            (*some([pod.key for pod in found]), *_weak(facts, found)),
            count=len(found),
            namespace=first.namespace,
            pod=first.name,
        )


def _weak(facts: MetadataFacts, pods: Sequence[Pod]) -> Iterator[str]:
    """The first line about the service, which does not prove the cause."""
    seen = (looked.weak for pod in pods if (looked := facts.inside.get(pod.key)) is not None)
    yield from (f"its log: {each.line}" for each in [next(filter(None, seen), None)] if each is not None)


def _lacks(pod: Pod, alike: NodesAlike) -> bool:
    """The pod cannot reach the service on its node. In the host network, only a disabled endpoint counts."""
    if not pod.calls.host_network:
        return cut_off(alike.here)
    options = alike.now.options
    return isinstance(options, MetadataOptions) and cut_off(verdict(options, HOST))


def _together(affected: Iterable[AffectedPod]) -> list[list[AffectedPod]]:
    found: dict[object, list[AffectedPod]] = {}
    for each in affected:
        owner = each.pod.owner.uid if each.pod.owner is not None else each.pod.key
        found.setdefault((owner, each.why, each.way_out), []).append(each)
    return list(found.values())


def _of_pods(alike: NodesAlike, same: Sequence[AffectedPod], hops: int, assumed: bool) -> Finding:
    broken = same[0].effect is Effect.BROKEN
    pods = sorted(each.pod.key for each in same)
    by = alike.now.by or ("" if broken and assumed else alike.next.by)
    each_by = by.startswith(("hop limit by", "tokens by"))
    made = f"; {'' if each_by else 'options by '}{by}" if by else ""
    evidence = [*some(pods), f"{NODES}{_group(alike)}{made}"]
    if same[0].line:
        evidence.append(f"its log: {same[0].line}")
    if same[0].source:
        evidence.append(f"source: {same[0].source}")
    until_then = _until_then(alike, hops) if same[0].asks and not same[0].own_role else ()
    return Finding.of(
        "imds-pods-broken" if broken else "imds-pods-will-break",
        owner_of(same[0].pod),
        tuple(evidence),
        remedy=(Remedy(_sentence(same[0].way_out), when=When.LATER), *until_then),
        count=len(same),
        why=same[0].why,
        where=same[0].where,
    )


def _until_then(alike: NodesAlike, hops: int) -> Iterator[Remedy]:
    """A remedy that moves no pods: options of the running instances, if they are known and may be changed."""
    options, named = alike.now.options, alike.name or len(alike.nodes) <= _MOST_PODS
    if not isinstance(options, MetadataOptions) or options.pending or alike.owner is NodeOwner.AUTO_MODE or not named:
        return
    if cut_off(alike.here):
        which = ("--nodegroup", alike.name) if alike.name else tuple(f"node/{name}" for name in alike.nodes)
        words = (*which, *(("--hops", str(hops)) if hops != POD else ()), "--apply", "--fix", "instance-options")
        yield Remedy.of("raise-hop-limit", command=shell("kubectl", "eksdoc", "imds-probe", *words))


def _possible(facts: MetadataFacts, groups: Sequence[tuple[NodesAlike, Sequence[AffectedPod]]]) -> Iterator[Finding]:
    """One finding for all; the node sets are its evidence."""
    evidence, every, now = list[str](), list[AffectedPod](), list[object]()
    for alike, affected in groups:
        found = [each for each in affected if each.effect is Effect.POSSIBLE]
        if found:
            now.append(alike.now.options)
            evidence.append(f"{_group(alike)}: {pod_count(len(found))}; {found[0].where}")
            evidence += some(reasons(found))
        every += found
    if every:
        whole = Finding.of(
            "imds-pods-possible/possible",
            _cluster(facts),
            tuple(evidence),
            count=len(every),
            whose=whose(every),
        )
        unread = tuple(each for each in now if isinstance(each, Unknown))
        yield replace(whole, lacks=unread) if len(unread) == len(now) else whole


def _intended(facts: MetadataFacts, every: Iterable[NodesAlike], intent: IntendedOptions) -> Iterator[Finding]:
    """One finding for all node sets, each a line of the evidence."""
    missed: dict[NodesAlike, str] = {}
    for alike in every:
        options = {"now": alike.now.options, "on the next node": alike.next.options}
        if found := [when for when, each in options.items() if intent.missed_by(each)]:
            missed[alike] = f"{_group(alike)}: {_in_words(options[found[0]])} ({' and '.join(found)})"
    if missed:
        groups = (("--nodegroup", each.name) if each.name else (f"node/{n}" for n in each.nodes) for each in missed)
        which = tuple(word for words in groups for word in words)
        yield Finding.of(
            "imds-intent-missed",
            _subject(next(iter(missed))) if len(missed) == 1 else _cluster(facts),
            tuple(missed.values()),
            found=next(iter(missed.values())) if len(missed) == 1 else ", ".join(map(_group, missed)),
            intent=str(intent),
            see=""
            if str(facts.assumed) == str(intent)
            else shell("kubectl", "eksdoc", "imds-probe", *which, "--assume", str(intent)),
        )


def _in_words(options: object) -> str:
    if not isinstance(options, MetadataOptions):
        return ""
    return f"the hop limit is {options.hop_limit}, and tokens are {options.tokens}"


def _next(alike: NodesAlike, affected: Sequence[AffectedPod], intent: IntendedOptions | None) -> Iterator[Finding]:
    if not alike.changes or (intent is not None and intent.met_by(alike.next.options)):
        return
    worse = cut_off(alike.later) and alike.here.reach is not Reach.CUT_OFF
    fails = worse and any(each.effect is not Effect.NO_KNOWN_NEED for each in affected)
    yield Finding.of(
        "imds-next-differs/fails" if fails else "imds-next-differs/passes",
        _subject(alike),
        here=alike.here.reach.value,
        later=alike.later.reach.value,
        why=alike.later.why,
        by=alike.next.by,
    )


def _tokens(alike: NodesAlike, assumed: Assumed | None, counted: Counted | None) -> Iterator[Finding]:
    """IMDSv1 is answered now, and not on the next node (EC2 user guide: programs that use it break)."""
    now, later = alike.now.options, alike.next.options
    if not isinstance(now, MetadataOptions) or not isinstance(later, MetadataOptions):
        return
    if now.endpoint and later.endpoint and (now.tokens, later.tokens) == (OPTIONAL, REQUIRED):
        told = answered(_subject(alike), counted or {}, alike.next.by)
        yield told or Finding.of(
            "imds-tokens-required",
            _subject(alike),
            tuple(some(alike.nodes)),
            by=alike.next.by,
            count="" if counted is not None else _count_v1(alike, assumed),  # or CloudWatch has too few
            days=ENOUGH_DAYS,
        )


def _refused(alike: NodesAlike) -> Finding:
    return Finding.of("imds-launch-refused", _subject(alike), tuple(some(alike.nodes)), by=alike.next.by)


def _count_v1(alike: NodesAlike, assumed: Assumed | None) -> str:
    which = ("--nodegroup", alike.name) if alike.name else (f"node/{alike.nodes[0]}",)
    if assumed is not None:
        which = (*which, "--assume", str(assumed))
    return shell("kubectl", "eksdoc", "imds-probe", *which, "--evidence", "cloudwatch")


def _unknown(facts: MetadataFacts, all_alike: Sequence[NodesAlike]) -> Iterator[Finding]:
    """One finding for each missing right, and for each other reason and time, whatever the number of node sets."""
    by_reason: dict[tuple[str, str], list[tuple[NodesAlike, bool]]] = {}
    for alike in all_alike:
        for service, now, found in ((alike.now, True, alike.here), (alike.next, False, alike.later)):
            if found.reach is Reach.UNKNOWN:
                reason = "", f"{alike.nodes[0]} {now}"
                if isinstance(unread := service.options, Unknown):
                    reason = unread.missing, "" if unread.missing else f"{now} {unread.why}"
                by_reason.setdefault(reason, []).append((alike, now))
    for (missing, _), about in by_reason.items():
        yield _of_reason(facts, missing, about)


def _of_reason(facts: MetadataFacts, missing: str, about: Sequence[tuple[NodesAlike, bool]]) -> Finding:
    """`missing`: the right, "" for none."""
    groups = list(dict.fromkeys(alike for alike, _ in about))
    first, now = about[0]
    when = " and ".join(sorted({"now" if now else "on the next node" for _, now in about}))
    service, found = (first.now, first.here) if now else (first.next, first.later)
    measured = [_measured(first)] if now else [] if missing else [Remedy.of("test-next-node")]
    return Finding.of(
        "imds-nodes-unknown",
        _subject(first) if len(groups) == 1 else _cluster(facts),
        tuple(some([_group(alike) for alike in groups] if len(groups) > 1 else first.nodes)),
        remedy=(*((allow(missing),) if missing else ()), *measured),
        when=when,
        why=service.options if isinstance(service.options, Unknown) and not missing else found.why,
        lacking=missing,
    )


def _measured(alike: NodesAlike) -> Remedy:
    if alike.windows:
        return Remedy.of("ask-windows")
    return Remedy.of("measure-there", node=alike.nodes[0])


def _subject(alike: NodesAlike) -> Subject:
    if not alike.name:
        return Subject("Node", alike.nodes[0])
    return Subject("NodePool" if alike.owner in _POOLED else "NodeGroup", alike.name)


_POOLED = (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE)


def _group(alike: NodesAlike) -> str:
    name = alike.name or alike.scaling_group
    return f"{name} ({len(alike.nodes)})" if name else alike.nodes[0]


def reasons(affected: Iterable[AffectedPod]) -> list[str]:
    """Reasons, by the owner of the pods."""
    owners = {owner_of(each.pod): each.why for each in affected}
    return sorted(f"{owner.kind} {owner}: {why}" for owner, why in owners.items())


def whose(affected: Iterable[AffectedPod]) -> str:
    """The workloads, at most three of them by name."""
    named = sorted({str(owner_of(each.pod)) for each in affected})
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")


def some(names: Sequence[str]) -> list[str]:
    if len(names) <= _MOST_PODS:
        return list(names)
    return [*names[:_MOST_PODS], f"and {len(names) - _MOST_PODS} more"]


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."
