"""Findings of an add-on update from its field changes, in the requested conflict mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.api_objects import ObjectName, nested_field, object_name
from kubectl_eksdoc.model.connection import object_words as words
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Confidence, Unknown, missing_rights

from .always_applied import always_applied_fields
from .expected import EKS, ApplyEvidence, owners_of
from .exposure import field_severity
from .fields import MISSING, AddonField, AffectedUsers, effect_of, leaves, shorten, value_text
from .manifests import addon_manifests, is_complete, known_manifests, objects_of
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, Prediction

UnreadObject = tuple[ObjectName, Unknown]


def change_findings(
    facts: AddonFacts,
    request: AddonUpdateRequest,
    changes: Sequence[FieldChange],
    unread_objects: Sequence[UnreadObject],
) -> Iterator[Finding]:
    """Unsorted."""
    requested_paths = {leaf.path for leaf in leaves(request.values or {})}
    for change in changes:
        if change.config in requested_paths and change.fate(request.mode) in (Fate.RESET, Fate.FOLLOWS):
            yield from _requested_change_findings(facts, request.mode, change, changes)
        elif change.at_risk:
            yield from _field_findings(facts, request.mode, change, changes)
    if not facts.objects and not unread_objects and (facts.installed or not objects_of(facts.addon.name)):
        yield _no_objects_finding(facts)
    yield from _search_findings(facts)
    # The manifest of another version does not prove what this one applies.
    name, target = facts.addon.name, facts.target.version
    shipped_manifests = addon_manifests(name, facts.addon.version, target, True, facts.manifest)
    if target != facts.addon.version and shipped_manifests is not None and not shipped_manifests.target.is_exact:
        known_versions = [each.version for each in known_manifests(name)]
        versions = (
            ", ".join(known_versions)
            if len(known_versions) <= _MAX_VERSIONS
            else f"{len(known_versions)} versions, to {known_versions[-1]}"
        )
        evidence = (f"public manifests of {name}: {versions}", *eks_ownership_evidence(facts))
        yield Finding.of(
            "addon-field-unknown/nearest",
            Subject("Addon", name),
            evidence,
            addon_name=name,
            target=target,
            known=shipped_manifests.target.source_version,
        )
    yield from _recreated_findings(facts)
    for object_ref, reason in unread_objects:
        yield Finding.of(
            "addon-object-unread/judged",
            _subject(object_ref),
            (reason.why,),
            right=reason.missing,
            of=object_ref,
            lacking=reason.missing or reason.why,
        )


def _no_objects_finding(facts: AddonFacts) -> Finding:
    return Finding.of(
        "addon-object-unread/nothing-seen",
        Subject("Addon", facts.addon.name),
        ("it is not known here which objects it is made of, or none of them is there",),
        addon_name=facts.addon.name,
    )


_MAX_VERSIONS = 3


def eks_ownership_evidence(facts: AddonFacts) -> Iterator[str]:
    """Evidence that holds for every version if EKS is the only owner of all fields that were read."""
    try:
        owners = {owner for live in facts.objects for owner in owners_of(live) if owner.subresource != "status"}
    except MalformedEntries:
        return
    other_managers = {owner.manager for owner in owners - {EKS}}
    if facts.objects and other_managers <= {"kube-controller-manager"}:
        yield "EKS alone owns the fields that were read: no conflict is possible, only what a user removed may return"


_COREDNS_PDB = ObjectName("policy/v1", "PodDisruptionBudget", "kube-system", "coredns")


def _recreated_findings(facts: AddonFacts) -> Iterator[Finding]:
    """Absent objects that both versions have: if EKS applies them, a user has deleted them."""
    name, values = facts.addon.name, facts.values
    shipped_manifests = addon_manifests(name, facts.addon.version, facts.target.version, True, facts.manifest)
    both_manifests = (
        ()
        if shipped_manifests is None or shipped_manifests.is_distant
        else (shipped_manifests.current, shipped_manifests.target)
    )
    absent = [
        object_ref
        for object_ref in facts.absent
        if both_manifests and all(each.fields_of(object_ref) for each in both_manifests)
    ]
    is_disabled = not isinstance(values, Unknown) and nested_field(values, "podDisruptionBudget", "enabled") is False
    if (
        _COREDNS_PDB in facts.absent
        and not is_disabled
        and always_applied_fields(_COREDNS_PDB, facts.addon.version, True)
    ):
        absent.append(_COREDNS_PDB)  # EKS's own object, which no public manifest has
    if absent and facts.installed:
        objects = tuple(map(str, absent))
        subject = Subject("Addon", name)
        yield Finding.of("addon-field-unknown/created-again", subject, objects, some_of=shorten(objects))


def _search_findings(facts: AddonFacts) -> Iterator[Finding]:
    """Objects of the add-on that no known manifest has, and kinds that could not be listed."""
    search, name = facts.search, facts.addon.name
    subject = Subject("Addon", name)
    if facts.objects and facts.manifest is None and not is_complete(name):
        read = ", ".join(str(object_name(each)) for each in facts.objects)
        yield Finding.of("addon-object-unread/not-all-seen", subject, (f"read: {read}",), addon_name=name)
    elif search.unlisted_in_manifest:
        object_names = tuple(map(str, search.unlisted_in_manifest))
        yield Finding.of(
            "addon-object-unread/beyond-manifest",
            subject,
            object_names,
            addon_name=name,
            some_of=shorten(object_names),
            given=facts.manifest is not None,
        )
    if search.without_addon:
        unassigned = tuple(map(str, search.without_addon))
        remedies = tuple(
            Remedy.of("look-for-fields", object=each, command=_get_command(each)) for each in search.without_addon[:3]
        )
        yield Finding.of(
            "addon-object-unread/whose",
            subject,
            unassigned,
            remedy=remedies,
            addon_name=name,
            some_of=shorten(unassigned),
        )
    if search.unreadable_kinds:
        rights = ", ".join(missing_rights(*search.unreadable_kinds.values()))
        yield Finding.of(
            "addon-object-unread/unlisted",
            subject,
            tuple(f"{kind}: {reason}" for kind, reason in search.unreadable_kinds.items()),
            rights=rights,
            addon_name=name,
            some_of=shorten([*search.unreadable_kinds]),
            lacking=rights or "; ".join(dict.fromkeys(each.why for each in search.unreadable_kinds.values())),
        )


def _get_command(object_ref: ObjectName) -> str:
    """kubectl accepts a kind for its resource (``DaemonSet.apps``). Values are not printed: a Secret may have one."""
    kind = str(object_ref).partition(" ")[0]
    namespace_flags = ("-n", object_ref.namespace) if object_ref.namespace else ()
    return shell(
        "kubectl", "get", *namespace_flags, *words(kind, object_ref.name), "-o", "jsonpath={.metadata.managedFields}"
    )


def _subject(object_ref: ObjectName) -> Subject:
    return Subject(object_ref.kind, object_ref.name, object_ref.namespace)


_CODES = {
    Fate.RESET: "addon-field-reset",
    Fate.REMOVED: "addon-field-reset",
    Fate.CONFLICT: "addon-field-conflict",
    Fate.KEPT: "addon-field-kept",
    Fate.UNKNOWN: "addon-field-unknown",
}


def _field_findings(
    facts: AddonFacts, mode: Mode, change: FieldChange, changes: Sequence[FieldChange]
) -> Iterator[Finding]:
    fate = change.fate(mode)
    code = _CODES.get(fate)
    if code is None:
        return
    if fate in (Fate.RESET, Fate.REMOVED) and change.changes_in_every_mode:
        code = "addon-field-changed-in-every-mode"
    severity, evidence = field_severity(facts, change, changes, mode)
    is_kept, is_set_by_values = fate is Fate.KEPT, change.witness is ApplyEvidence.VALUES
    if is_kept and not is_set_by_values:
        severity, evidence = Severity.LOW, tuple(f"if it were lost: {each}" for each in evidence)
    elif is_kept or fate is Fate.CONFLICT:
        severity = Severity.MEDIUM  # the values have no effect, or the update just fails
    is_by_nearest_manifest, value_after = change.witness is ApplyEvidence.NEAREST, change.by_mode[mode].value
    if is_by_nearest_manifest:
        code = "addon-field-unknown"
    yield Finding.of(
        f"{code}/at-risk"
        if not is_kept or is_by_nearest_manifest
        else "addon-field-kept/not-held"
        if is_set_by_values
        else "addon-field-kept/unsure"
        if change.confidence(mode) is Confidence.LOW
        else "addon-field-kept/kept",
        _subject(change.field.of),
        (*evidence, *_evidence(change, mode)),
        severity=severity,
        remedy=_remedies(facts, change, fate),
        field=field_name(change.field),
        live=value_text(change.live, change.field),
        who=" and ".join(change.owners) or "nobody",
        reset=fate in (Fate.RESET, Fate.REMOVED),
        again=fate is Fate.RESET and change.live in ("", MISSING),
        removed=fate is Fate.REMOVED,
        conflict=fate is Fate.CONFLICT,
        kept=is_kept,
        nearest=is_by_nearest_manifest,
        value=value_text(value_after, change.field) if fate is Fate.RESET else "",
        wanted=value_text(change.by_mode[Mode.OVERWRITE].value) if is_set_by_values else "",
    )
    if change.expands and mode is not Mode.PRESERVE and fate is not Fate.UNKNOWN:
        yield Finding.of(
            "addon-ownership-grows",
            _subject(change.field.of),
            field=field_name(change.field),
            version=facts.target.version,
        )


def _requested_change_findings(
    facts: AddonFacts, mode: Mode, change: FieldChange, changes: Sequence[FieldChange]
) -> Iterator[Finding]:
    """A change that the values of the call set is no loss, unless pods use what they disable."""
    severity, evidence = field_severity(facts, change, changes, mode)
    effect = effect_of(change.field)
    if effect is None or effect.users is not AffectedUsers.BRANCH_PODS or severity is Severity.LOW:
        return
    field, value = field_name(change.field), value_text(change.by_mode[mode].value)
    yield Finding.of(
        "addon-field-reset/by-values", _subject(change.field.of), evidence, severity=severity, field=field, value=value
    )


GIVE_VALUES, DECLARE_VALUES, UPDATE_PRESERVING = (
    Remedy.of("give-values"),
    Remedy.of("declare-values"),
    Remedy.of("update-preserving"),
)


def _remedies(facts: AddonFacts, change: FieldChange, fate: Fate) -> tuple[Remedy, ...]:
    schema = facts.target.schema
    is_settable = change.config and (isinstance(schema, Unknown) or not schema.is_refused(change.config))
    by_hand = UPDATE_PRESERVING if change.fate(Mode.PRESERVE) is Fate.KEPT else Remedy.of("set-by-hand")
    remedies = (GIVE_VALUES, DECLARE_VALUES) if is_settable else (by_hand,)
    if change.witness is ApplyEvidence.ROLE:
        remedies = (Remedy.of("give-role", role=change.live), DECLARE_VALUES)
    return (*remedies, Remedy.of("try-update")) if fate is Fate.KEPT else remedies


def field_name(field: AddonField) -> str:
    """``DISABLE_TCP_EARLY_DEMUX of init container aws-vpc-cni-init``, ``.data.Corefile``."""
    short_name = field.variable or str(field).rpartition(" - ")[2]
    if not field.variable:
        return short_name
    return f"{short_name} of {'init ' if field.is_in_init_container else ''}container {field.container}"


def _evidence(change: FieldChange, mode: Mode) -> Iterator[str]:
    yield str(change.field)
    if change.witness is not None:
        yield f"why EKS applies it: {change.witness.value}"
    yield f"confidence: {change.confidence(mode).value}"


def may_return_findings(predictions: Sequence[Prediction]) -> Iterator[Finding]:
    """One finding for each object: a user has removed fields that its manifest has in every version."""
    for prediction in predictions:
        if prediction.may_return:
            yield Finding.of(
                "addon-field-unknown/may-return",
                _subject(prediction.object_ref),
                ("where EKS applies one, it is restored in every mode, NONE and PRESERVE too",),
                some_of=shorten([field_name(field) for field in prediction.may_return]),
            )


def refused_findings(predictions: Sequence[Prediction], mode: Mode) -> Iterator[Finding]:
    """The updated object would be invalid, so the API server refuses the update."""
    for prediction in predictions:
        if mode in prediction.refused:
            modes = ", ".join(other.value for other in prediction.refused)
            yield Finding.of(
                "addon-update-refused",
                _subject(prediction.object_ref),
                (f"so it is with {modes}",),
                said=prediction.refused[mode],
            )


def shared_findings(predictions: Sequence[Prediction]) -> Iterator[Finding]:
    """One finding for each object: a Helm installation of the add-on owns the same fields."""
    for prediction in predictions:
        if prediction.shared:
            yield Finding.of(
                "addon-field-unknown/shared",
                _subject(prediction.object_ref),
                ("where the version changes one, NONE fails on it and OVERWRITE takes it",),
                some_of=shorten([field_name(field) for field in prediction.shared]),
            )
