"""API versions of custom resources that go with a version of the software that brings them, not with Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version


@frozen
class CustomApi:
    """`kinds` in `api_version`, none for all of it. `removed`: the first version of `software` that does not serve it,
    None where none is announced; `deprecated`: the first that says so, None where that is not told. `replacement` as
    people write it, "" where nothing replaces it."""

    api_version: str
    kinds: tuple[str, ...]
    software: str
    removed: Version | None
    source: KnowledgeSource
    deprecated: Version | None = None
    replacement: str = ""


CUSTOM_ROWS = records(CustomApi, "custom_apis")


def custom_api(api_version: str, kind: str, more: Iterable[CustomApi] = ()) -> CustomApi | None:
    """Its row, of `more` before those of the table; None where its makers have announced nothing."""
    found = (
        row for row in (*more, *CUSTOM_ROWS) if row.api_version == api_version and (not row.kinds or kind in row.kinds)
    )
    return next(found, None)
