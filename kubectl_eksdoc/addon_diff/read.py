"""Facts of add-on updates, read from AWS and the cluster: EKS versions, live objects, pods that use the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.addon_side import addon_past, addon_side, chart_defaults, creation_side, version_side
from kubectl_eksdoc.aws.asking import ask_concurrently
from kubectl_eksdoc.aws.eks import parse_values
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsNoSuchName, UsageError, ValuesError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import AddonHistoryFacts, AddonUpdateFacts, AddonVersionDetails, TerraformPlan
from kubectl_eksdoc.model.api_objects import HELM_TEMPLATE, Doc, ObjectName, nested_field, object_name
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.session.session import AwsRequirement, ClusterNeeds, ClusterSession

from .always_applied import ObjectSearch, assign_objects
from .expected import EKS
from .fields import USAGE_KINDS, read_usage
from .guards import Guard, UpdateToSend, choose_update, find_guards
from .manifests import NearestManifest, all_objects, is_complete, objects_of
from .outcome import AddonRollback, plan_rollback
from .past_update import review_past_update
from .past_update_facts import PastFacts, UpdateReview
from .plan import AddonPlan, SchemaSince, ValuesValidator, first_schema_versions, plan_update
from .prediction import AddonFacts, AddonUpdateRequest, AddonVersionFacts
from .schema import SchemaPaths, read_schema
from .terraform_judging import judge_change, of_change, without_plan
from .terraform_requests import (
    AddonRequest,
    RequestKind,
    find_declaration,
    provider_generations,
    read_requests,
)
from .terraform_result import (
    JudgedAddonChange,
    PlannedAddonChange,
    RequestScope,
    TerraformJudgement,
    plan_findings,
    scope_of,
)

KINDS = USAGE_KINDS
"""Kinds that are listed completely: the users of the settings that an add-on switches."""

HISTORIES = tuple(kinds.HISTORY_KINDS.values())
"""Kinds in which earlier pod templates are stored."""

NEEDS = ClusterNeeds("addon-diff", KINDS, all_objects(), aws=AwsRequirement.REQUIRED)


def addon_names(session: ClusterSession) -> tuple[str, ...]:
    """Names of the add-ons that EKS manages, sorted.

    Raises:
        AwsDenied: the request to list them is denied.
    """
    names = session.require(eks.addon_names)
    if isinstance(names, Unknown):
        raise AwsDenied(names.why, "", names.missing)
    return names


def read_addon(session: ClusterSession, name: str, wanted_version: str | None) -> AddonUpdateFacts:
    """Read an add-on as `aws.addon_side.addon_side` does. The error for an unknown name suggests a similar one."""
    try:
        return session.require(addon_side, name, wanted_version)
    except AwsMissing as error:
        raise _suggest_addon(session, name, error) from None


def read_past_update(session: ClusterSession, name: str, update: str) -> AddonHistoryFacts:
    """Read a past update as `aws.addon_side.addon_past` does. The error for an unknown name suggests a similar one."""
    try:
        return session.require(addon_past, name, update)
    except AwsMissing as error:
        raise _suggest_addon(session, name, error) from None


def _suggest_addon(session: ClusterSession, name: str, error: AwsMissing) -> AwsMissing:
    names = session.require(eks.addon_names)
    if isinstance(names, Unknown) or name in names:
        return error
    return AwsNoSuchName(f"{error.message}{did_you_mean(name, names)}", error.hint)


def read_versions(session: ClusterSession, name: str, versions: Sequence[str]) -> tuple[AddonVersionDetails, ...]:
    """In the given order; one request for each version, two at a time."""
    sides = dict(
        ask_concurrently(dict.fromkeys(versions), lambda version: session.require(version_side, name, version))
    )
    return tuple(sides[version] for version in versions)


def plan_addon_update(session: ClusterSession, side: AddonUpdateFacts, request: AddonUpdateRequest) -> AddonPlan:
    """Read the facts of an add-on and plan its update.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    return plan_update(read_addon_facts(session, side, request.manifest), request, validator_for(side.target))


def plan_steps(plan: AddonPlan, versions: Sequence[AddonVersionDetails]) -> tuple[AddonPlan, ...]:
    """Plan the update in steps, one for each of `versions`, the target last. Each step starts from the previous one,
    with the values proposed for it, so they hold for the whole path. The objects are those of now, without the changes
    of earlier steps: plan again before each step. A manifest that the user gives applies to the last step."""
    steps: list[AddonPlan] = []
    facts = plan.facts
    for version in versions:
        manifest = plan.facts.manifest if version is versions[-1] else None
        facts = replace(facts, target=_read_version(version), offered=True, steps=(version.version,), manifest=manifest)
        request = plan.request if not steps else AddonUpdateRequest(plan.request.mode)
        step = plan_update(facts, request, validator_for(version))
        steps.append(step)
        values = step.way_out.values if step.way_out is not None else request.values
        facts = replace(facts, current=facts.target, values=facts.values if values is None else values)
    return tuple(steps)


def read_first_schema_versions(
    plan: AddonPlan, versions: Sequence[str], read_side: Callable[[Sequence[str]], Sequence[AddonVersionDetails]]
) -> tuple[SchemaSince, ...]:
    """`versions` are those after the installed one, oldest first; each is requested at most once."""
    versions_by_name: dict[str, AddonVersionFacts] = {
        version_facts.version: version_facts for version_facts in (plan.facts.current, plan.facts.target)
    }

    def schema_of(version: str) -> SchemaPaths | Unknown:
        if version not in versions_by_name:
            versions_by_name[version] = _read_version(read_side((version,))[0])
        return versions_by_name[version].schema

    return first_schema_versions(plan.changes, (plan.facts.current.version, *versions), schema_of)


def read_addon_facts(
    session: ClusterSession, side: AddonUpdateFacts, manifest: NearestManifest | None = None
) -> AddonFacts:
    """Read the facts of an add-on, including the objects of a user's `manifest`. An add-on without a version is not
    installed yet.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    live: list[Doc] = []
    unreadable: list[tuple[ObjectName, Unknown]] = []
    absent: list[ObjectName] = []
    known_objects = tuple(dict.fromkeys((*objects_of(side.addon.name), *(manifest.names if manifest else ()))))
    search = ObjectSearch()
    if side.addon.version:
        # An add-on whose manifests are known completely has no objects of kinds other than the usual ones.
        include_others = (False,) if is_complete(side.addon.name) else (False, True)
        results = (session.applied.applied_by(EKS.manager, with_others) for with_others in include_others)
        search = assign_objects(results, side.addon.name, known_objects)
    for object_ref in (*known_objects, *search.unlisted_in_manifest):
        doc = _reason_not_read(object_ref) or session.objects.read_object(object_ref)
        if isinstance(doc, Unknown):
            unreadable.append((object_ref, doc))
        elif isinstance(doc, Absent):
            absent.append(object_ref)  # this version may lack the object
        elif nested_field(doc, "metadata", "managedFields") is None:
            unreadable.append((object_ref, _NO_MANAGED_FIELDS))
        else:
            live.append(doc)
    return AddonFacts(
        session.verified_aws.cluster,
        side.addon,
        _read_version(side.now),
        _read_version(side.target),
        side.values,
        tuple(live),
        tuple(unreadable),
        read_usage(session.cluster),
        side.offered,
        side.steps,
        bool(side.addon.version),
        manifest,
        search,
        tuple(absent),
        session.profile,
    )


def _reason_not_read(object_ref: ObjectName) -> Unknown | None:
    if object_ref.kind == HELM_TEMPLATE:
        return _TEMPLATE_NOT_RENDERED
    if object_ref.kind == kinds.SECRETS.kind:
        return Unknown("what is in Secrets is never read")
    is_known = (object_ref.api_version.rpartition("/")[0], object_ref.kind) in _KNOWN_KINDS
    return None if is_known else Unknown(f"the schema of the kind {object_ref.kind} is not known here")


_KNOWN_KINDS = frozenset((each.group, each.kind) for each in kinds.MANIFEST_KINDS)
"""The merge rules of Kubernetes kinds are known. Those of a custom resource are only in its CRD."""

_TEMPLATE_NOT_RENDERED = Unknown(
    "helm has to fill it in, or to fetch it: give what helm template prints with --manifest"
)


def validator_for(target: AddonVersionDetails) -> ValuesValidator:
    """Validates values against the target's schema."""
    from kubectl_eksdoc.aws.validating import find_violations

    schema = target.schema
    if isinstance(schema, Unknown):
        unknown_schema = schema
        return lambda _: unknown_schema
    known_schema = schema
    return lambda values: find_violations(known_schema, values)


_NO_MANAGED_FIELDS = Unknown("it was read without its managedFields: a dump needs kubectl get --show-managed-fields")


def _read_version(side: AddonVersionDetails) -> AddonVersionFacts:
    schema = side.schema if isinstance(side.schema, Unknown) else read_schema(side.schema)
    return AddonVersionFacts(side.version, side.chart, schema)


# A past update: revisions of pod templates, EKS's records, live objects, pods that use the settings.


def review_update(session: ClusterSession, past: AddonHistoryFacts) -> UpdateReview:
    """Review a past update.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    side = AddonUpdateFacts(past.addon, past.now, past.now, past.values, True, (past.now.version,))
    current_facts = read_addon_facts(session, side)
    kinds_by_namespace = {
        (object_ref.kind, object_ref.namespace)
        for object_ref in map(object_name, current_facts.objects)
        if object_ref.kind in kinds.HISTORY_KINDS
    }
    revisions: dict[str, tuple[Doc, ...] | Unknown] = {}
    for kind, namespace in sorted(kinds_by_namespace):
        listed, earlier = session.histories.list_history(kinds.HISTORY_KINDS[kind], namespace), revisions.get(kind, ())
        revisions[kind] = (
            listed if isinstance(listed, Unknown) else earlier if isinstance(earlier, Unknown) else (*earlier, *listed)
        )
    facts = PastFacts(current_facts, past.update, past.history, revisions)
    return review_past_update(facts, lambda version: chart_defaults(past.addon.name, version), validator_for(past.now))


# The request that an update would send.


@frozen
class PreparedAddonUpdate:
    """`plan` is of the request that is sent: the user's, or `guards.UpdateToSend.request`. `guards`: the reasons not to
    send it."""

    plan: AddonPlan
    update_to_send: UpdateToSend
    guards: tuple[Guard, ...]
    rollback: AddonRollback | Unknown

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Values that must not change between the preview and the request."""
        facts, mode = self.plan.facts, self.plan.request.mode
        fields = [(str(change.field), change.live, change.by_mode[mode]) for change in self.plan.changes]
        findings = sorted((each.code.name, each.severity.value, each.message) for each in self.plan.findings)
        addon = (facts.addon.version, facts.addon.status, facts.addon.configuration, facts.target.version)
        return addon, self.plan.request, fields, findings, [each.why for each in self.guards]


def prepare_update(
    session: ClusterSession, side: AddonUpdateFacts, request: AddonUpdateRequest, is_as_asked: bool
) -> PreparedAddonUpdate:
    """Plan the update that is sent. `is_as_asked`: send only values that the user gave.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    user_plan = plan_addon_update(session, side, request)
    update_to_send = choose_update(user_plan, is_as_asked)
    plan = user_plan if update_to_send.request == request else plan_addon_update(session, side, update_to_send.request)
    return PreparedAddonUpdate(
        plan, update_to_send, find_guards(plan, update_to_send.is_intended), plan_rollback(user_plan)
    )


# Add-on changes of a Terraform plan, and their effect on the cluster.


def judge_terraform(plan: TerraformPlan, session: ClusterSession, addon: str = "") -> TerraformJudgement:
    """Judge the add-on changes of a plan. `addon`: only this add-on, "" for all.

    Raises:
        ClusterError, AwsError: the cluster or AWS cannot be reached.
    """
    addon_requests = [
        each for each in read_requests(plan) if not addon or each.addon == addon or isinstance(each.addon, Unknown)
    ]
    scopes = [scope_of(each, session.verified_aws.cluster) for each in addon_requests]
    other_requests = tuple(
        each for each, scope in zip(addon_requests, scopes, strict=True) if scope is RequestScope.ELSEWHERE
    )
    local_requests = [
        each for each, scope in zip(addon_requests, scopes, strict=True) if scope is not RequestScope.ELSEWHERE
    ]
    changes = tuple(_judge_change(_planned_change(plan, each), session) for each in local_requests)
    return TerraformJudgement(
        plan,
        changes,
        other_requests,
        tuple(plan_findings(plan, session.verified_aws.cluster, local_requests, other_requests, addon)),
        addon,
    )


def _planned_change(plan: TerraformPlan, request: AddonRequest) -> PlannedAddonChange:
    return PlannedAddonChange(request, find_declaration(plan, request), provider_generations(plan, request.resource))


def _judge_change(change: PlannedAddonChange, session: ClusterSession) -> JudgedAddonChange:
    request = change.request
    if scope_of(request, session.verified_aws.cluster) is RequestScope.UNKNOWN:
        cluster = session.verified_aws.cluster.name
        finding = of_change(change, "addon-terraform-unknown/of-cluster", addon=change.addon, cluster=cluster)
        return without_plan(change, finding)
    if isinstance(request.addon, Unknown) or not request.addon:
        return without_plan(change, of_change(change, "addon-terraform-unknown/of-addon"))
    if request.kind in (RequestKind.DELETE, RequestKind.FORGET) or (
        request.kind is RequestKind.REPLACE and not request.preserves_objects
    ):
        return without_plan(
            change
        )  # a deletion or a removal from the state: its fields are deleted or stay as they are
    try:
        return _judge_request(change, request.addon, session)
    except ValuesError as error:
        return without_plan(change, of_change(change, "addon-terraform-clash/values", why=error.message, do=error.hint))
    except AwsMissing as error:
        return without_plan(change, _missing_finding(change, error))
    except (AwsDenied, UsageError) as error:
        missing_right = error.missing if isinstance(error, AwsDenied) else ""
        return without_plan(
            change, of_change(change, "addon-terraform-unknown/denied", why=error.message, right=missing_right)
        )


def _judge_request(change: PlannedAddonChange, name: str, session: ClusterSession) -> JudgedAddonChange:
    """Plan the update or creation that a change requests.

    Raises:
        ValuesError: its configuration values are invalid.
        AwsMissing: EKS does not manage the add-on, or does not know it.
        AwsDenied, UsageError: the facts cannot be read.
    """
    values = _requested_values(change.request)
    is_creation = change.request.kind is RequestKind.CREATE
    side = _read_creation(name, change.request, session) if is_creation else _read_installed(change.request, session)
    if side is None:
        address, cluster = change.request.address, change.request.cluster
        return without_plan(
            change, of_change(change, "addon-terraform-clash/there", addon=name, address=address, cluster=cluster)
        )
    return judge_change(change, read_addon_facts(session, side), values, validator_for(side.target))


def _requested_values(request: AddonRequest) -> Doc | None:
    """The values after the change, None if EKS keeps the current ones or they are unknown. A created add-on has only
    the values that are sent; an empty text counts as none."""
    if not request.sends_values:
        return {} if request.kind is RequestKind.REPLACE else None
    if isinstance(request.values, Unknown):
        return None
    return parse_values(request.values) if request.values and request.values.strip() else {}


def _wanted_version(request: AddonRequest) -> str:
    return request.after if isinstance(request.after, str) else ""


def _read_installed(request: AddonRequest, session: ClusterSession) -> AddonUpdateFacts:
    return read_addon(session, str(request.addon), _wanted_version(request) if request.sends_version else None)


def _read_creation(name: str, request: AddonRequest, session: ClusterSession) -> AddonUpdateFacts | None:
    """None if EKS manages the add-on already."""
    try:
        read_addon(session, name, None)
    except AwsMissing:
        return session.require(creation_side, name, _wanted_version(request))
    return None


def _missing_finding(change: PlannedAddonChange, error: AwsMissing) -> Finding:
    if change.request.kind is RequestKind.CREATE:
        return of_change(change, "addon-terraform-clash/not-offered", why=error.message)
    return of_change(change, "addon-terraform-clash/not-there", addon=change.addon)
