"""The schemas by which objects are merged and owned: of custom resources the one of their definition, as it is now."""

from __future__ import annotations

from kubectl_eksdoc.core.rules.api.schema import Schema, schema_of, schema_of_custom
from kubectl_eksdoc.core.sim.cluster.store import Store
from kubectl_eksdoc.embedded.api.definitions import DEFINITIONS, schema_in
from kubectl_eksdoc.embedded.api.resources import Served


class Schemas:
    """Mutable: keeps the latest schema of every custom resource that was asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._custom: dict[tuple[str, str], tuple[int, Schema]] = {}

    def of(self, served: Served) -> Schema:
        definition = self._store.get(DEFINITIONS, ("", served.full_name)) if served.custom else None
        if definition is None:
            return schema_of(served.api_version, served.kind)
        place = (served.full_name, served.version)
        held = self._custom.get(place)
        if held is None or held[0] != definition.version:
            declared = schema_in(definition.doc, served.version)
            plain = schema_of(served.api_version, served.kind)
            held = definition.version, plain if declared is None else schema_of_custom(declared)
            self._custom[place] = held
        return held[1]
