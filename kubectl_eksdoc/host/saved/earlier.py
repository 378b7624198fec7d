"""What a command found earlier, to compare a new answer with it."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.earlier import Earlier
from kubectl_eksdoc.host.documents.fields import Fields
from kubectl_eksdoc.host.saved.answer import read_answer
from kubectl_eksdoc.host.saved.metadata import finding, identity, known, options, source


def read_earlier(path: str, kind: str, command: str) -> Earlier:
    """The answer of `command` that was saved at `path`, a document of `kind`. Raises: as `read_answer`."""
    return read_answer(path, kind, command, lambda document: _earlier(document, path))


def _earlier(document: Mapping[str, object], path: str) -> Earlier:
    """What an older version does not write yet is left open."""
    answer = Fields(document)
    metadata = answer.inside("metadata")
    return Earlier(
        file=path,
        identity=identity(metadata.inside("cluster")),
        source=source(metadata),
        observed_at=metadata.moment("observedAt"),
        tool_version=metadata.text("toolVersion"),
        options=options(metadata.inside("options")),
        read=frozenset(each.text("resource") for each in metadata.each("kindsRead") if known(each)),
        findings=tuple(map(finding, answer.each("findings"))),
        suppressed=tuple(finding(each.inside("finding")) for each in _if_there(answer, "suppressed")),
        codes=_codes(answer),
        addons=frozenset(each.text("name") for each in _if_there(answer, "addons")),
        way=_way(answer),
    )


def _if_there(answer: Fields, key: str) -> tuple[Fields, ...]:
    return tuple(answer.each(key)) if key in answer.names() else ()


def _codes(answer: Fields) -> frozenset[str] | None:
    if "checks" not in answer.names():
        return None
    return frozenset(code for check in answer.each("checks") for code in check.texts("codes"))


def _way(answer: Fields) -> str:
    if "way" not in answer.names():
        return ""
    way = answer.inside("way")
    return f"{way.text('now')} → {way.text('target')}"
