"""What an add-on's update would change: AWS's side, the live objects and who uses them, put together and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kubectl_eksdoc.addon_diff.facts import AddonFacts, Asked, OfVersion
from kubectl_eksdoc.addon_diff.manifests import Known
from kubectl_eksdoc.addon_diff.plan import AddonPlan, Judge, plan_update
from kubectl_eksdoc.addon_diff.rendering import objects_of
from kubectl_eksdoc.addon_diff.schema.allowed import SchemaPaths
from kubectl_eksdoc.addon_diff.schema.paths import paths
from kubectl_eksdoc.addon_diff.since import Since, since
from kubectl_eksdoc.addon_diff.usage import USED_BY, usage
from kubectl_eksdoc.flows.ports import Objects
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, Named, at
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import AddonSide, VersionSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.aws.configuration import Broken
from kubectl_eksdoc.model.cluster import Cluster

JudgeBy = Callable[[Doc, Doc], "tuple[Broken, ...] | Unknown"]

KINDS = USED_BY
"""What of the cluster is read as a whole: who uses what the add-on switches."""


def plan_addon(
    cluster: Cluster, eks: EksCluster, side: AddonSide, objects: Objects, asked: Asked, judge: JudgeBy
) -> AddonPlan:
    """`judge` says what of values (the second) a schema (the first) does not allow.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    return plan_update(addon_facts(cluster, eks, side, objects, asked.manifest), asked, judge_of(side.target, judge))


def plan_steps(plan: AddonPlan, versions: Sequence[VersionSide], judge: JudgeBy) -> tuple[AddonPlan, ...]:
    """The update by each of `versions` in turn, the last of them its target: every step from the one before, with the
    values that it proposed, so that they hold for the whole way. What a step changes by itself is not in the objects,
    which are those of now: look again before each."""
    found: list[AddonPlan] = []
    facts = plan.facts
    for version in versions:
        facts = replace(facts, target=_version(version), offered=True, steps=(version.version,))
        asked = plan.asked if not found else Asked(plan.asked.mode)
        step = plan_update(facts, asked, judge_of(version, judge))
        found.append(step)
        values = step.way_out.values if step.way_out is not None else asked.values
        facts = replace(facts, now=facts.target, values=facts.values if values is None else values)
    return tuple(found)


def first_owned(
    plan: AddonPlan, versions: Sequence[str], ask: Callable[[Sequence[str]], Sequence[VersionSide]]
) -> tuple[Since, ...]:
    """`versions` of the way after the installed one, the oldest first; each is asked for once at most."""
    known: dict[str, OfVersion] = {of.version: of for of in (plan.facts.now, plan.facts.target)}

    def schema_of(version: str) -> SchemaPaths | Unknown:
        if version not in known:
            known[version] = _version(ask((version,))[0])
        return known[version].schema

    return since(plan.changes, (plan.facts.now.version, *versions), schema_of)


def addon_facts(
    cluster: Cluster, eks: EksCluster, side: AddonSide, objects: Objects, manifest: Known | None = None
) -> AddonFacts:
    """An add-on without a version is not installed yet. The objects of a `manifest` that a user gives are read, too.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    live: list[Doc] = []
    unread: list[tuple[Named, Unknown]] = []
    for of in dict.fromkeys((*objects_of(side.addon.name), *(manifest.names if manifest else ()))):
        found = objects.one(of) if of.kind in _READ else Unknown(f"objects of the kind {of.kind} are not read here")
        if isinstance(found, Unknown):
            unread.append((of, found))
        elif isinstance(found, Absent):
            continue  # a version may not have it yet
        elif at(found, "metadata", "managedFields") is None:
            unread.append((of, _NO_OWNERS))
        else:
            live.append(found)
    return AddonFacts(
        eks,
        side.addon,
        _version(side.now),
        _version(side.target),
        side.values,
        tuple(live),
        tuple(unread),
        usage(cluster),
        side.offered,
        side.steps,
        bool(side.addon.version),
        manifest,
    )


_READ = frozenset(resource.kind for resource in kinds.SINGLE)


def judge_of(target: VersionSide, judge: JudgeBy) -> Judge:
    """What of values the target's schema does not allow."""
    schema = target.schema
    if isinstance(schema, Unknown):
        unknown = schema
        return lambda _: unknown
    known = schema
    return lambda values: judge(known, values)


_NO_OWNERS = Unknown("it was read without its managedFields: a dump needs kubectl get --show-managed-fields")


def _version(side: VersionSide) -> OfVersion:
    schema = side.schema if isinstance(side.schema, Unknown) else paths(side.schema)
    return OfVersion(side.version, side.chart, schema)
