"""Facts of add-on updates, read from AWS and the cluster: EKS versions, live objects, pods that use the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.addon_side import addon_past, addon_side, chart_defaults, creation_side, version_side
from kubectl_eksdoc.aws.asking import at_once
from kubectl_eksdoc.aws.eks import values_of
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsNoSuchName, UsageError, ValuesError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import AddonPast, AddonSide, TerraformPlan, VersionSide
from kubectl_eksdoc.model.api_objects import HELM_TEMPLATE, Doc, ObjectName, at, named
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.session.session import AwsUse, ClusterNeeds, ClusterSession

from .after import look_back
from .after_facts import PastFacts, UpdateReview
from .always_applied import ObjectSearch, searched
from .expected import EKS
from .fields import USED_BY, usage
from .guards import Guard, Sending, refusals, sending
from .manifests import NearestManifest, every_object, knows_all, objects_of
from .outcome import AddonRollback, way_back
from .plan import AddonPlan, Judge, SchemaSince, plan_update, since
from .prediction import AddonFacts, AddonUpdateRequest, OfVersion
from .schema import SchemaPaths, paths
from .terraform_judging import judged, of_change, unjudged
from .terraform_requests import (
    AddonRequest,
    Kind,
    declared,
    generations,
    requests,
)
from .terraform_result import (
    JudgedAddonChange,
    PlannedAddonChange,
    RequestScope,
    TerraformJudgement,
    scope_of,
    whole,
)

KINDS = USED_BY
"""Kinds that are listed completely: the users of the settings that an add-on switches."""

HISTORIES = tuple(kinds.HISTORY_OF.values())
"""Kinds in which earlier pod templates are stored."""

NEEDS = ClusterNeeds("addon-diff", KINDS, every_object(), aws=AwsUse.REQUIRED)


def addon_names(session: ClusterSession) -> tuple[str, ...]:
    """Names of the add-ons that EKS manages, sorted.

    Raises:
        AwsDenied: the request to list them is denied.
    """
    found = session.require(eks.addon_names)
    if isinstance(found, Unknown):
        raise AwsDenied(found.why, "", found.missing)
    return found


def side_of(session: ClusterSession, name: str, wish: str | None) -> AddonSide:
    """Read an add-on as `aws.addon_side.addon_side` does. The error for an unknown name suggests a similar one."""
    try:
        return session.require(addon_side, name, wish)
    except AwsMissing as error:
        raise _with_what_comes_close(session, name, error) from None


def past_of(session: ClusterSession, name: str, update: str) -> AddonPast:
    """Read a past update as `aws.addon_side.addon_past` does. The error for an unknown name suggests a similar one."""
    try:
        return session.require(addon_past, name, update)
    except AwsMissing as error:
        raise _with_what_comes_close(session, name, error) from None


def _with_what_comes_close(session: ClusterSession, name: str, error: AwsMissing) -> AwsMissing:
    known = session.require(eks.addon_names)
    if isinstance(known, Unknown) or name in known:
        return error
    return AwsNoSuchName(f"{error.message}{maybe(name, known)}", error.hint)


def versions_of(session: ClusterSession, name: str, versions: Sequence[str]) -> tuple[VersionSide, ...]:
    """In the given order; one request for each version, two at a time."""
    found = dict(at_once(dict.fromkeys(versions), lambda version: session.require(version_side, name, version)))
    return tuple(found[version] for version in versions)


def plan_addon(session: ClusterSession, side: AddonSide, asked: AddonUpdateRequest) -> AddonPlan:
    """Read the facts of an add-on and plan its update.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    return plan_update(addon_facts(session, side, asked.manifest), asked, judge_of(side.target))


def plan_steps(plan: AddonPlan, versions: Sequence[VersionSide]) -> tuple[AddonPlan, ...]:
    """Plan the update in steps, one for each of `versions`, the target last. Each step starts from the previous one,
    with the values proposed for it, so they hold for the whole path. The objects are those of now, without the changes
    of earlier steps: plan again before each step. A manifest that the user gives applies to the last step."""
    found: list[AddonPlan] = []
    facts = plan.facts
    for version in versions:
        manifest = plan.facts.manifest if version is versions[-1] else None
        facts = replace(facts, target=_version(version), offered=True, steps=(version.version,), manifest=manifest)
        asked = plan.asked if not found else AddonUpdateRequest(plan.asked.mode)
        step = plan_update(facts, asked, judge_of(version))
        found.append(step)
        values = step.way_out.values if step.way_out is not None else asked.values
        facts = replace(facts, now=facts.target, values=facts.values if values is None else values)
    return tuple(found)


def first_owned(
    plan: AddonPlan, versions: Sequence[str], ask: Callable[[Sequence[str]], Sequence[VersionSide]]
) -> tuple[SchemaSince, ...]:
    """`versions` are those after the installed one, oldest first; each is requested at most once."""
    known: dict[str, OfVersion] = {of.version: of for of in (plan.facts.now, plan.facts.target)}

    def schema_of(version: str) -> SchemaPaths | Unknown:
        if version not in known:
            known[version] = _version(ask((version,))[0])
        return known[version].schema

    return since(plan.changes, (plan.facts.now.version, *versions), schema_of)


def addon_facts(session: ClusterSession, side: AddonSide, manifest: NearestManifest | None = None) -> AddonFacts:
    """Read the facts of an add-on, including the objects of a user's `manifest`. An add-on without a version is not
    installed yet.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    live: list[Doc] = []
    unread: list[tuple[ObjectName, Unknown]] = []
    absent: list[ObjectName] = []
    known = tuple(dict.fromkeys((*objects_of(side.addon.name), *(manifest.names if manifest else ()))))
    search = ObjectSearch()
    if side.addon.version:
        # An add-on whose manifests are known completely has no objects of kinds other than the usual ones.
        parts = (False,) if knows_all(side.addon.name) else (False, True)
        found = (session.applied.applied_by(EKS.manager, others) for others in parts)
        search = searched(found, side.addon.name, known)
    for of in (*known, *search.more):
        doc = _not_read(of) or session.objects.one(of)
        if isinstance(doc, Unknown):
            unread.append((of, doc))
        elif isinstance(doc, Absent):
            absent.append(of)  # this version may lack the object
        elif at(doc, "metadata", "managedFields") is None:
            unread.append((of, _NO_OWNERS))
        else:
            live.append(doc)
    return AddonFacts(
        session.believed.cluster,
        side.addon,
        _version(side.now),
        _version(side.target),
        side.values,
        tuple(live),
        tuple(unread),
        usage(session.cluster),
        side.offered,
        side.steps,
        bool(side.addon.version),
        manifest,
        search,
        tuple(absent),
        session.profile,
    )


def _not_read(of: ObjectName) -> Unknown | None:
    if of.kind == HELM_TEMPLATE:
        return _NOT_RENDERED
    if of.kind == kinds.SECRETS.kind:
        return Unknown("what is in Secrets is never read")
    known = (of.api_version.rpartition("/")[0], of.kind) in _KNOWN
    return None if known else Unknown(f"the schema of the kind {of.kind} is not known here")


_KNOWN = frozenset((each.group, each.kind) for each in kinds.APPLIED)
"""The merge rules of Kubernetes kinds are known. Those of a custom resource are only in its CRD."""

_NOT_RENDERED = Unknown("helm has to fill it in, or to fetch it: give what helm template prints with --manifest")


def judge_of(target: VersionSide) -> Judge:
    """Validates values against the target's schema."""
    from kubectl_eksdoc.aws.validating import broken

    schema = target.schema
    if isinstance(schema, Unknown):
        unknown = schema
        return lambda _: unknown
    known = schema
    return lambda values: broken(known, values)


_NO_OWNERS = Unknown("it was read without its managedFields: a dump needs kubectl get --show-managed-fields")


def _version(side: VersionSide) -> OfVersion:
    schema = side.schema if isinstance(side.schema, Unknown) else paths(side.schema)
    return OfVersion(side.version, side.chart, schema)


# A past update: revisions of pod templates, EKS's records, live objects, pods that use the settings.


def look_back_on(session: ClusterSession, past: AddonPast) -> UpdateReview:
    """Review a past update.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    side = AddonSide(past.addon, past.now, past.now, past.values, True, (past.now.version,))
    now = addon_facts(session, side)
    wanted = {(of.kind, of.namespace) for of in map(named, now.objects) if of.kind in kinds.HISTORY_OF}
    kept: dict[str, tuple[Doc, ...] | Unknown] = {}
    for kind, namespace in sorted(wanted):
        found, before = session.histories.listed(kinds.HISTORY_OF[kind], namespace), kept.get(kind, ())
        kept[kind] = (
            found if isinstance(found, Unknown) else before if isinstance(before, Unknown) else (*before, *found)
        )
    facts = PastFacts(now, past.update, past.history, kept)
    return look_back(facts, lambda version: chart_defaults(past.addon.name, version), judge_of(past.now))


# The request that an update would send.


@frozen
class PreparedAddonUpdate:
    """`plan` is of the request that is sent: the user's, or `guards.UpdateToSend.request`. `guards`: the reasons not to
    send it."""

    plan: AddonPlan
    sending: Sending
    guards: tuple[Guard, ...]
    back: AddonRollback | Unknown

    @property
    def same(self) -> tuple[object, ...]:
        """Values that must not change between the preview and the request."""
        facts, mode = self.plan.facts, self.plan.asked.mode
        fields = [(str(change.field), change.live, change.by_mode[mode]) for change in self.plan.changes]
        found = sorted((each.code.name, each.severity.value, each.message) for each in self.plan.findings)
        addon = (facts.addon.version, facts.addon.status, facts.addon.configuration, facts.target.version)
        return addon, self.plan.asked, fields, found, [each.why for each in self.guards]


def prepared(
    session: ClusterSession, side: AddonSide, asked: AddonUpdateRequest, as_asked: bool
) -> PreparedAddonUpdate:
    """Plan the update that is sent. `is_as_asked`: send only values that the user gave.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    first = plan_addon(session, side, asked)
    what = sending(first, as_asked)
    plan = first if what.asked == asked else plan_addon(session, side, what.asked)
    return PreparedAddonUpdate(plan, what, refusals(plan, what.on_purpose), way_back(first))


# Add-on changes of a Terraform plan, and their effect on the cluster.


def judge_terraform(plan: TerraformPlan, session: ClusterSession, addon: str = "") -> TerraformJudgement:
    """Judge the add-on changes of a plan. `addon`: only this add-on, "" for all.

    Raises:
        ClusterError, AwsError: the cluster or AWS cannot be reached.
    """
    asked = [each for each in requests(plan) if not addon or each.addon == addon or isinstance(each.addon, Unknown)]
    scopes = [scope_of(each, session.believed.cluster) for each in asked]
    elsewhere = tuple(each for each, scope in zip(asked, scopes, strict=True) if scope is RequestScope.ELSEWHERE)
    here = [each for each, scope in zip(asked, scopes, strict=True) if scope is not RequestScope.ELSEWHERE]
    changes = tuple(_judged(_change(plan, each), session) for each in here)
    return TerraformJudgement(
        plan, changes, elsewhere, tuple(whole(plan, session.believed.cluster, here, elsewhere, addon)), addon
    )


def _change(plan: TerraformPlan, request: AddonRequest) -> PlannedAddonChange:
    return PlannedAddonChange(request, declared(plan, request), generations(plan, request.resource))


def _judged(change: PlannedAddonChange, session: ClusterSession) -> JudgedAddonChange:
    request = change.request
    if scope_of(request, session.believed.cluster) is RequestScope.UNKNOWN:
        cluster = session.believed.cluster.name
        open_ = of_change(change, "addon-terraform-unknown/of-cluster", addon=change.addon, cluster=cluster)
        return unjudged(change, open_)
    if isinstance(request.addon, Unknown) or not request.addon:
        return unjudged(change, of_change(change, "addon-terraform-unknown/of-addon"))
    if request.kind in (Kind.DELETE, Kind.FORGET) or (request.kind is Kind.REPLACE and not request.keeps):
        return unjudged(change)  # a deletion or a removal from the state: its fields are deleted or stay as they are
    try:
        return _asked_for(change, request.addon, session)
    except ValuesError as error:
        return unjudged(change, of_change(change, "addon-terraform-clash/values", why=error.message, do=error.hint))
    except AwsMissing as error:
        return unjudged(change, _missing(change, error))
    except (AwsDenied, UsageError) as error:
        right = error.missing if isinstance(error, AwsDenied) else ""
        return unjudged(change, of_change(change, "addon-terraform-unknown/denied", why=error.message, right=right))


def _asked_for(change: PlannedAddonChange, name: str, session: ClusterSession) -> JudgedAddonChange:
    """Plan the update or creation that a change requests.

    Raises:
        ValuesError: its configuration values are invalid.
        AwsMissing: EKS does not manage the add-on, or does not know it.
        AwsDenied, UsageError: the facts cannot be read.
    """
    values = _values(change.request)
    creates = change.request.kind is Kind.CREATE
    side = _creation(name, change.request, session) if creates else _side(change.request, session)
    if side is None:
        address, cluster = change.request.address, change.request.cluster
        return unjudged(
            change, of_change(change, "addon-terraform-clash/there", addon=name, address=address, cluster=cluster)
        )
    return judged(change, addon_facts(session, side), values, judge_of(side.target))


def _values(request: AddonRequest) -> Doc | None:
    """The values after the change, None if EKS keeps the current ones or they are unknown. A created add-on has only
    the values that are sent; an empty text counts as none."""
    if not request.sends_values:
        return {} if request.kind is Kind.REPLACE else None
    if isinstance(request.values, Unknown):
        return None
    return values_of(request.values) if request.values and request.values.strip() else {}


def _wish(request: AddonRequest) -> str:
    return request.after if isinstance(request.after, str) else ""


def _side(request: AddonRequest, session: ClusterSession) -> AddonSide:
    return side_of(session, str(request.addon), _wish(request) if request.sends_version else None)


def _creation(name: str, request: AddonRequest, session: ClusterSession) -> AddonSide | None:
    """None if EKS manages the add-on already."""
    try:
        side_of(session, name, None)
    except AwsMissing:
        return session.require(creation_side, name, _wish(request))
    return None


def _missing(change: PlannedAddonChange, error: AwsMissing) -> Finding:
    if change.request.kind is Kind.CREATE:
        return of_change(change, "addon-terraform-clash/not-offered", why=error.message)
    return of_change(change, "addon-terraform-clash/not-there", addon=change.addon)
