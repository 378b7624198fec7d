"""Validation of the Corefile against the CoreDNS version that an update installs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import (
    COREDNS_CONFIG_MAP,
    COREFILE_FIELD,
    EKS_MANAGER,
    corefile_text,
    field_owners,
)
from kubectl_eksdoc.kubernetes.corefile_plugins import CorefileVerdict, check_corefile
from kubectl_eksdoc.kubernetes.redaction import is_digest
from kubectl_eksdoc.model.api_objects import Doc, object_name
from kubectl_eksdoc.model.coredns import NAME, SYSTEM_NAMESPACE
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import parse_version as version_of

from .prediction import AddonFacts, Fate, FieldChange, Mode

_EKS_EFFECTS = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)


def corefile_findings(
    facts: AddonFacts, values: Doc | None, changes: Iterable[FieldChange], mode: Mode
) -> Iterator[Finding]:
    """`values`: those that hold after the call. No finding if version and Corefile stay the same, EKS writes its own
    Corefile, or EKS does not offer the version."""
    if facts.addon.name != NAME or facts.offered is False:
        return
    text = _corefile_after(facts, values, changes, mode)
    if text is not None and (facts.current.version != facts.target.version or text != _live_corefile(facts.objects)):
        yield from findings_by_version(text, facts.target.version)


def at_later_version(objects: Iterable[Doc], values: Doc | Unknown, target: str) -> Iterator[Finding]:
    """Check against a `target` that EKS offers only after the control plane is updated: the Corefile of the
    configuration values, or the live one unless EKS owns it and replaces it with that version."""
    text, config_map = _corefile_in_values(None if isinstance(values, Unknown) else values), _find_config_map(objects)
    if text is None and config_map is not None and field_owners(config_map) != (EKS_MANAGER,):
        text = corefile_text(config_map)
    if text is not None:
        yield from findings_by_version(text, target)


def findings_by_version(text: str, target: str) -> Iterator[Finding]:
    """No finding if the CoreDNS of that add-on version accepts the Corefile."""
    not_read = CorefileVerdict(doubts=("a snapshot has a digest of it alone",))
    judged_corefile = not_read if is_digest(text) else check_corefile(parse_corefile(text, None), version_of(target))
    subject = Subject("ConfigMap", NAME, SYSTEM_NAMESPACE)
    if judged_corefile.refusals:
        yield Finding.of(
            "addon-corefile-refused/refused",
            subject,
            tuple(map(str, judged_corefile.refusals[1:])),
            target=target,
            refusals=judged_corefile.refusals[0],
            removeprefix=target.removeprefix("v"),
        )
    elif judged_corefile.doubts:
        yield Finding.of(
            "addon-corefile-refused/unknown",
            subject,
            judged_corefile.doubts[1:],
            target=target,
            doubts=judged_corefile.doubts[0],
        )


def _corefile_after(facts: AddonFacts, values: Doc | None, changes: Iterable[FieldChange], mode: Mode) -> str | None:
    from_values = _corefile_in_values(values)
    if from_values is not None:
        return from_values
    fates = [
        each.fate(mode) for each in changes if each.field.of == COREDNS_CONFIG_MAP and each.field.path == COREFILE_FIELD
    ]
    return None if any(fate in _EKS_EFFECTS for fate in fates) else _live_corefile(facts.objects)


def _corefile_in_values(values: Doc | None) -> str | None:
    text = None if values is None else values.get("corefile")
    return text if isinstance(text, str) else None


def _find_config_map(objects: Iterable[Doc]) -> Doc | None:
    return next((each for each in objects if object_name(each) == COREDNS_CONFIG_MAP), None)


def _live_corefile(objects: Iterable[Doc]) -> str | None:
    config = _find_config_map(objects)
    return None if config is None else corefile_text(config)
