"""Label selectors of documents, read once for each document they stand in.

Source: apimachinery pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector), Kubernetes v1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.selectors import NOTHING, Selector, from_document

_MOST = 20_000


@dataclass(frozen=True, slots=True)
class Matcher:
    """`equal` are the labels that must be there as they are; `others` the rest of the selector, None without."""

    equal: dict[str, str]
    others: Selector | None = None

    def matches(self, labels: dict[str, str]) -> bool:
        return self.equal.items() <= labels.items() and (self.others is None or self.others.matches(labels))


NONE = Matcher({}, NOTHING)
EVERY = Matcher({})


class Selectors:
    """Mutable: remembers what it read. A document is a value, so the same one always reads the same."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Doc, Matcher]] = {}

    def of(self, selector: Doc | None) -> Matcher:
        """None matches nothing, an empty one everything, one that is not valid nothing."""
        if selector is None:
            return NONE
        held = self._read.get(id(selector))
        if held is not None:
            return held[1]
        if len(self._read) >= _MOST:
            self._read.clear()
        made = read(selector)
        self._read[id(selector)] = (selector, made)  # held with it, so that its id is not given again
        return made


def read(selector: Doc) -> Matcher:
    whole = from_document(selector)
    if not whole.valid:
        return NONE
    equal = {key: value or "" for key, value in (selector.get("matchLabels") or {}).items()}
    others = whole.requirements[len(equal) :]
    return Matcher(equal, Selector(others) if others else None)
