"""At most ten entries of updates: the oldest are put together as "ancient-changes", by API version.

Source: apimachinery, util/managedfields/internal/capmanagers.go. Appliers are not counted.
"""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.ownership.entries import Entry, FieldManager, Owners

MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


def capped(owners: Owners) -> dict[FieldManager, Entry]:
    """`owners`, the oldest updaters merged into those of the same version until there are few enough."""
    result = dict(owners)
    updaters = sorted((o for o in owners if o.operation == "Update"), key=lambda o: (owners[o].time, o))
    surplus = len(updaters) - MOST_UPDATERS
    first: dict[str, FieldManager] = {}
    for owner in updaters:
        if surplus <= 0:
            break
        oldest = first.setdefault(owner.api_version, owner)
        if oldest == owner:
            continue
        bucket = FieldManager(_ANCIENT, "Update", owner.api_version, "")
        older = result.pop(oldest) if bucket not in result else result[bucket]
        entry = result.pop(owner)
        result[bucket] = Entry(entry.fields | older.fields, owner.api_version, entry.time)
        surplus -= 1
    return result
