"""Validation of the Corefile against the CoreDNS version that an update installs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_edits import CONFIG, EKS, TEXT, owners_of, text_of
from kubectl_eksdoc.kubernetes.corefile_plugins import JudgedCorefile, judged
from kubectl_eksdoc.kubernetes.redaction import is_digest
from kubectl_eksdoc.model.api_objects import Doc, named
from kubectl_eksdoc.model.coredns import NAME, SYSTEM
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import parse as version_of

from .prediction import AddonFacts, Fate, FieldChange, Mode

_EKS_WRITES = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)


def corefile(facts: AddonFacts, values: Doc | None, changes: Iterable[FieldChange], mode: Mode) -> Iterator[Finding]:
    """`values`: those that hold after the call. No finding if version and Corefile stay the same, EKS writes its own
    Corefile, or EKS does not offer the version."""
    if facts.addon.name != NAME or facts.offered is False:
        return
    text = _text_after(facts, values, changes, mode)
    if text is not None and (facts.now.version != facts.target.version or text != _live(facts.objects)):
        yield from by_version(text, facts.target.version)


def at_later_version(objects: Iterable[Doc], values: Doc | Unknown, target: str) -> Iterator[Finding]:
    """Check against a `target` that EKS offers only after the control plane is updated: the Corefile of the
    configuration values, or the live one unless EKS owns it and replaces it with that version."""
    text, live = _given(None if isinstance(values, Unknown) else values), _config(objects)
    if text is None and live is not None and owners_of(live) != (EKS,):
        text = text_of(live)
    if text is not None:
        yield from by_version(text, target)


def by_version(text: str, target: str) -> Iterator[Finding]:
    """No finding if the CoreDNS of that add-on version accepts the Corefile."""
    unread = JudgedCorefile(doubts=("a snapshot has a digest of it alone",))
    found = unread if is_digest(text) else judged(parse(text, None), version_of(target))
    subject = Subject("ConfigMap", NAME, SYSTEM)
    if found.refusals:
        yield Finding.of(
            "addon-corefile-refused/refused",
            subject,
            tuple(map(str, found.refusals[1:])),
            target=target,
            refusals=found.refusals[0],
            removeprefix=target.removeprefix("v"),
        )
    elif found.doubts:
        yield Finding.of(
            "addon-corefile-refused/unknown", subject, found.doubts[1:], target=target, doubts=found.doubts[0]
        )


def _text_after(facts: AddonFacts, values: Doc | None, changes: Iterable[FieldChange], mode: Mode) -> str | None:
    given = _given(values)
    if given is not None:
        return given
    fates = [each.fate(mode) for each in changes if each.field.of == CONFIG and each.field.path == TEXT]
    return None if any(fate in _EKS_WRITES for fate in fates) else _live(facts.objects)


def _given(values: Doc | None) -> str | None:
    text = None if values is None else values.get("corefile")
    return text if isinstance(text, str) else None


def _config(objects: Iterable[Doc]) -> Doc | None:
    return next((each for each in objects if named(each) == CONFIG), None)


def _live(objects: Iterable[Doc]) -> str | None:
    config = _config(objects)
    return None if config is None else text_of(config)
