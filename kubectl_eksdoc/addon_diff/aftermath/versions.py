"""Which version and configuration values an add-on had before an update and since, by what EKS tells of updates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate, UpdateHistory

_VERSION, _VALUES = "AddonVersion", "ConfigurationValues"
_DONE = "Successful"
_NEVER = datetime(1, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class UpdateVersions:
    """`was` and `version`: before the update and since, "" if that is not known. `values_before` and `values` likewise.
    `begun`: when each update that succeeded began; `whole`: nothing is missing of what EKS lists. `gently`: it
    was asked for with NONE, and succeeded."""

    was: str
    version: str
    values_before: Doc | Unknown
    values: Doc | Unknown
    begun: tuple[datetime, ...]
    whole: bool
    gently: bool = False


def course(
    update: EksAddonUpdate, history: UpdateHistory | Unknown, version_now: str, values_now: Doc | Unknown
) -> UpdateVersions:
    """`version_now` and `values_now`: of today, which are those since the update if no later one changed them."""
    known = history.updates if isinstance(history, UpdateHistory) else ()
    done = [
        each for each in known if isinstance(each, EksAddonUpdate) and (each.status == _DONE or each.id == update.id)
    ]
    if update.id not in {each.id for each in done}:
        done.append(update)
    done.sort(key=lambda each: each.begun or _NEVER)
    place = next(at for at, each in enumerate(done) if each.id == update.id)
    before, since, later = done[:place], done[: place + 1], done[place + 1 :]
    whole = isinstance(history, UpdateHistory) and not history.unseen and _all_known(history)
    given = history.values if isinstance(history, UpdateHistory) else {}
    never_after = whole and not any(each.id in given for each in later)
    values = _last_values(since, given)
    if values is None:
        values = values_now if never_after else _NOT_TOLD
    values_before = _last_values(before, given)
    if values_before is None:
        # Nobody gave any, with this update or after it: today's are those of before, too.
        values_before = values_now if never_after and update.id not in given else _NOT_TOLD
    version = update.parameter(_VERSION)
    if not version and not any(each.parameter(_VERSION) for each in later):
        version = version_now
    was = next((said for each in reversed(before) if (said := each.parameter(_VERSION))), "")
    begun = tuple(each.begun for each in done if each.begun is not None)
    gently = update.status == _DONE and update.parameter("ResolveConflicts") == Mode.NONE.value
    return UpdateVersions(was, version, values_before, values, begun, whole, gently)


_NOT_TOLD = Unknown("no update that EKS tells of says which configuration values held then")


def _all_known(history: UpdateHistory) -> bool:
    return not any(isinstance(each, Unknown) for each in history.updates)


def _last_values(done: list[EksAddonUpdate], given: object) -> Doc | Unknown | None:
    if not isinstance(given, dict):
        return None
    return next((given[each.id] for each in reversed(done) if each.id in given), None)


def version_in(template: Doc, name: str) -> str:
    """The tag of the image of the container that is called as its object, which EKS tags with the add-on's version; ""
    where there is none."""
    containers = at(template, "spec", "containers")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and container.get("name") == name and isinstance(container.get("image"), str):
            tag: str = container["image"].rpartition("/")[2].partition("@")[0].partition(":")[2]
            return tag.replace("-minimal", "")
    return ""
