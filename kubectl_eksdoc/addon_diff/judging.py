"""Findings of an add-on update from its field changes, in the requested conflict mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.api_objects import ObjectName, at, named
from kubectl_eksdoc.model.connection import named as words
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject
from kubectl_eksdoc.model.kinds import Confidence, Unknown, missing_rights

from .always_applied import standing
from .expected import EKS, Witness, owners_of
from .exposure import exposed
from .fields import MISSING, AddonField, Users, effect_of, leaves, some_of, value_of
from .manifests import all_known, knows_all, manifests, objects_of
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, Prediction

Unread = tuple[ObjectName, Unknown]


def judged(
    facts: AddonFacts, asked: AddonUpdateRequest, changes: Sequence[FieldChange], unread: Sequence[Unread]
) -> Iterator[Finding]:
    """Unsorted."""
    wanted = {leaf.path for leaf in leaves(asked.values or {})}
    for change in changes:
        if change.config in wanted and change.fate(asked.mode) in (Fate.RESET, Fate.FOLLOWS):
            yield from _on_purpose(facts, asked.mode, change, changes)
        elif change.at_risk:
            yield from _of_field(facts, asked.mode, change, changes)
    if not facts.objects and not unread and (facts.installed or not objects_of(facts.addon.name)):
        yield _nothing_seen(facts)
    yield from _of_search(facts)
    # The manifest of another version does not prove what this one applies.
    name, target = facts.addon.name, facts.target.version
    shipped = manifests(name, facts.addon.version, target, True, facts.manifest)
    if target != facts.addon.version and shipped is not None and not shipped.target.exact:
        known = [each.version for each in all_known(name)]
        versions = ", ".join(known) if len(known) <= _MOST_VERSIONS else f"{len(known)} versions, to {known[-1]}"
        evidence = (f"public manifests of {name}: {versions}", *owned_by_eks(facts))
        yield Finding.of(
            "addon-field-unknown/nearest",
            Subject("Addon", name),
            evidence,
            addon_name=name,
            target=target,
            known=shipped.target.known,
        )
    yield from _created_again(facts)
    for of, why in unread:
        yield Finding.of(
            "addon-object-unread/judged",
            _subject(of),
            (why.why,),
            right=why.missing,
            of=of,
            lacking=why.missing or why.why,
        )


def _nothing_seen(facts: AddonFacts) -> Finding:
    return Finding.of(
        "addon-object-unread/nothing-seen",
        Subject("Addon", facts.addon.name),
        ("it is not known here which objects it is made of, or none of them is there",),
        addon_name=facts.addon.name,
    )


_MOST_VERSIONS = 3


def owned_by_eks(facts: AddonFacts) -> Iterator[str]:
    """Evidence that holds for every version if EKS is the only owner of all fields that were read."""
    try:
        owners = {owner for live in facts.objects for owner in owners_of(live) if owner.subresource != "status"}
    except MalformedEntries:
        return
    others = {owner.manager for owner in owners - {EKS}}
    if facts.objects and others <= {"kube-controller-manager"}:
        yield "EKS alone owns the fields that were read: no conflict is possible, only what a user removed may return"


_DNS_BUDGET = ObjectName("policy/v1", "PodDisruptionBudget", "kube-system", "coredns")


def _created_again(facts: AddonFacts) -> Iterator[Finding]:
    """Absent objects that both versions have: if EKS applies them, a user has deleted them."""
    name, values = facts.addon.name, facts.values
    shipped = manifests(name, facts.addon.version, facts.target.version, True, facts.manifest)
    both = () if shipped is None or shipped.far else (shipped.now, shipped.target)
    found = [of for of in facts.absent if both and all(each.of(of) for each in both)]
    off = not isinstance(values, Unknown) and at(values, "podDisruptionBudget", "enabled") is False
    if _DNS_BUDGET in facts.absent and not off and standing(_DNS_BUDGET, facts.addon.version, True):
        found.append(_DNS_BUDGET)  # EKS's own object, which no public manifest has
    if found and facts.installed:
        objects = tuple(map(str, found))
        subject = Subject("Addon", name)
        yield Finding.of("addon-field-unknown/created-again", subject, objects, some_of=some_of(objects))


def _of_search(facts: AddonFacts) -> Iterator[Finding]:
    """Objects of the add-on that no known manifest has, and kinds that could not be listed."""
    search, name = facts.search, facts.addon.name
    subject = Subject("Addon", name)
    if facts.objects and facts.manifest is None and not knows_all(name):
        read = ", ".join(str(named(each)) for each in facts.objects)
        yield Finding.of("addon-object-unread/not-all-seen", subject, (f"read: {read}",), addon_name=name)
    elif search.more:
        more = tuple(map(str, search.more))
        yield Finding.of(
            "addon-object-unread/beyond-manifest",
            subject,
            more,
            addon_name=name,
            some_of=some_of(more),
            given=facts.manifest is not None,
        )
    if search.whose:
        whose = tuple(map(str, search.whose))
        remedies = tuple(Remedy.of("look-for-fields", object=each, command=_get(each)) for each in search.whose[:3])
        yield Finding.of(
            "addon-object-unread/whose", subject, whose, remedy=remedies, addon_name=name, some_of=some_of(whose)
        )
    if search.unlisted:
        rights = ", ".join(missing_rights(*search.unlisted.values()))
        yield Finding.of(
            "addon-object-unread/unlisted",
            subject,
            tuple(f"{kind}: {why}" for kind, why in search.unlisted.items()),
            rights=rights,
            addon_name=name,
            some_of=some_of([*search.unlisted]),
            lacking=rights or "; ".join(dict.fromkeys(each.why for each in search.unlisted.values())),
        )


def _get(of: ObjectName) -> str:
    """kubectl accepts a kind for its resource (``DaemonSet.apps``). Values are not printed: a Secret may have one."""
    kind = str(of).partition(" ")[0]
    where = ("-n", of.namespace) if of.namespace else ()
    return shell("kubectl", "get", *where, *words(kind, of.name), "-o", "jsonpath={.metadata.managedFields}")


def _subject(of: ObjectName) -> Subject:
    return Subject(of.kind, of.name, of.namespace)


_CODES = {
    Fate.RESET: "addon-field-reset",
    Fate.REMOVED: "addon-field-reset",
    Fate.CONFLICT: "addon-field-conflict",
    Fate.KEPT: "addon-field-kept",
    Fate.UNKNOWN: "addon-field-unknown",
}


def _of_field(facts: AddonFacts, mode: Mode, change: FieldChange, changes: Sequence[FieldChange]) -> Iterator[Finding]:
    fate = change.fate(mode)
    code = _CODES.get(fate)
    if code is None:
        return
    if fate in (Fate.RESET, Fate.REMOVED) and change.in_every_mode:
        code = "addon-field-changed-in-every-mode"
    severity, why = exposed(facts, change, changes, mode)
    kept, not_held = fate is Fate.KEPT, change.witness is Witness.VALUES
    if kept and not not_held:
        severity, why = Severity.LOW, tuple(f"if it were lost: {each}" for each in why)
    elif kept or fate is Fate.CONFLICT:
        severity = Severity.MEDIUM  # the values have no effect, or the update just fails
    nearest, after = change.witness is Witness.NEAREST, change.by_mode[mode].value
    if nearest:
        code = "addon-field-unknown"
    yield Finding.of(
        f"{code}/at-risk"
        if not kept or nearest
        else "addon-field-kept/not-held"
        if not_held
        else "addon-field-kept/unsure"
        if change.confidence(mode) is Confidence.LOW
        else "addon-field-kept/kept",
        _subject(change.field.of),
        (*why, *_evidence(change, mode)),
        severity=severity,
        remedy=_remedies(facts, change, fate),
        field=calls(change.field),
        live=value_of(change.live, change.field),
        who=" and ".join(change.owners) or "nobody",
        reset=fate in (Fate.RESET, Fate.REMOVED),
        again=fate is Fate.RESET and change.live in ("", MISSING),
        removed=fate is Fate.REMOVED,
        conflict=fate is Fate.CONFLICT,
        kept=kept,
        nearest=nearest,
        value=value_of(after, change.field) if fate is Fate.RESET else "",
        wanted=value_of(change.by_mode[Mode.OVERWRITE].value) if not_held else "",
    )
    if change.expands and mode is not Mode.PRESERVE and fate is not Fate.UNKNOWN:
        yield Finding.of(
            "addon-ownership-grows",
            _subject(change.field.of),
            field=calls(change.field),
            version=facts.target.version,
        )


def _on_purpose(
    facts: AddonFacts, mode: Mode, change: FieldChange, changes: Sequence[FieldChange]
) -> Iterator[Finding]:
    """A change that the values of the call set is no loss, unless pods use what they disable."""
    severity, why = exposed(facts, change, changes, mode)
    effect = effect_of(change.field)
    if effect is None or effect.users is not Users.BRANCH_PODS or severity is Severity.LOW:
        return
    field, value = calls(change.field), value_of(change.by_mode[mode].value)
    yield Finding.of(
        "addon-field-reset/by-values", _subject(change.field.of), why, severity=severity, field=field, value=value
    )


KEEP, DECLARE, LEAVE = Remedy.of("give-values"), Remedy.of("declare-values"), Remedy.of("update-preserving")


def _remedies(facts: AddonFacts, change: FieldChange, fate: Fate) -> tuple[Remedy, ...]:
    schema = facts.target.schema
    settable = change.config and (isinstance(schema, Unknown) or not schema.refuses(change.config))
    by_hand = LEAVE if change.fate(Mode.PRESERVE) is Fate.KEPT else Remedy.of("set-by-hand")
    found = (KEEP, DECLARE) if settable else (by_hand,)
    if change.witness is Witness.ROLE:
        found = (Remedy.of("give-role", role=change.live), DECLARE)
    return (*found, Remedy.of("try-update")) if fate is Fate.KEPT else found


def calls(field: AddonField) -> str:
    """``DISABLE_TCP_EARLY_DEMUX of init container aws-vpc-cni-init``, ``.data.Corefile``."""
    what = field.variable or str(field).rpartition(" - ")[2]
    if not field.variable:
        return what
    return f"{what} of {'init ' if field.starts_first else ''}container {field.container}"


def _evidence(change: FieldChange, mode: Mode) -> Iterator[str]:
    yield str(change.field)
    if change.witness is not None:
        yield f"why EKS applies it: {change.witness.value}"
    yield f"confidence: {change.confidence(mode).value}"


def may_return(predictions: Sequence[Prediction]) -> Iterator[Finding]:
    """One finding for each object: a user has removed fields that its manifest has in every version."""
    for each in predictions:
        if each.may_return:
            yield Finding.of(
                "addon-field-unknown/may-return",
                _subject(each.of),
                ("where EKS applies one, it is restored in every mode, NONE and PRESERVE too",),
                some_of=some_of([calls(field) for field in each.may_return]),
            )


def refused(predictions: Sequence[Prediction], mode: Mode) -> Iterator[Finding]:
    """The updated object would be invalid, so the API server refuses the update."""
    for each in predictions:
        if mode in each.refused:
            modes = ", ".join(other.value for other in each.refused)
            yield Finding.of(
                "addon-update-refused", _subject(each.of), (f"so it is with {modes}",), said=each.refused[mode]
            )


def shared(predictions: Sequence[Prediction]) -> Iterator[Finding]:
    """One finding for each object: a Helm installation of the add-on owns the same fields."""
    for each in predictions:
        if each.shared:
            yield Finding.of(
                "addon-field-unknown/shared",
                _subject(each.of),
                ("where the version changes one, NONE fails on it and OVERWRITE takes it",),
                some_of=some_of([calls(field) for field in each.shared]),
            )
