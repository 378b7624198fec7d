"""Rows that a user adds to the tables of the package, or puts in the place of theirs (check --tables FILE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.amazon.upgrades.custom_apis import CustomApi, custom_api
from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi, goes, removed_api
from kubectl_eksdoc.model.versions import Version

if TYPE_CHECKING:  # manifests alone must not pay for software
    from kubectl_eksdoc.amazon.upgrades.addon_needs import CompatibilityTable


@dataclass(frozen=True, slots=True)
class Tables:
    """The first row of a kind in a version counts, and before those of the package."""

    removed_apis: tuple[RemovedApi, ...] = ()
    custom_apis: tuple[CustomApi, ...] = ()
    compatibility: tuple[CompatibilityTable, ...] = ()

    def removed_api(self, api_version: str, kind: str) -> RemovedApi | None:
        """As `removed_apis.removed_api`."""
        own = (row for row in self.removed_apis if (row.api_version, row.kind) == (api_version, kind))
        return next(own, None) or removed_api(api_version, kind)

    def gone(self, api_version: str, kind: str, now: Version, target: Version) -> RemovedApi | None:
        """As `removed_apis.gone`."""
        row = self.removed_api(api_version, kind)
        return row if row is not None and goes(row, now, target) else None

    def custom_api(self, api_version: str, kind: str) -> CustomApi | None:
        """As `custom_apis.custom_api`."""
        return custom_api(api_version, kind, self.custom_apis)
