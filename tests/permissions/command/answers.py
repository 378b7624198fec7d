"""Requirements for an answer without some right: unknown or refused with the right's name, and never better than with
it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.cli.running import Ran
from tests.permissions.command.granted_users import Held

BUG = 70
NO_CLUSTER, NO_AWS = 3, 4


def findings(ran: Ran) -> list[dict[str, Any]]:
    """The findings of an answer in JSON, [] if it has none."""
    found = json.loads(ran.out) if ran.out else {}
    return list(found.get("findings", ())) if isinstance(found, dict) else []


def without_times(ran: Ran) -> Any:
    """The answer without times."""
    found: dict[str, Any] = json.loads(ran.out)
    return {
        key: value for key, value in found.items() if key not in ("metadata", "at", "file", "bytes", "changedSince")
    }


def verdicts(ran: Ran) -> list[tuple[str, str, str]]:
    """Code, status and subject of each finding: the other fields may say how long ago something happened."""
    return [(each["code"], each["status"], str(each["subject"])) for each in findings(ran)]


def problems(whole: Ran, fewer: Ran, right: Held, required: bool) -> list[str]:
    """Faults of the answer `fewer`, of a user without `right`, compared with the `whole` one."""
    if fewer.code == BUG or "Traceback" in fewer.err:
        return [f"a bug: {fewer.err[-400:]}"]
    if required:
        refused = fewer.code == NO_CLUSTER and right.said in fewer.err
        return [] if refused else [f"it is required, and the exit code is {fewer.code}: {fewer.err[-300:]}"]
    found = [] if named(right, fewer) else [f"it is nowhere named: {fewer.err[-300:]}"]
    return found if is_unknown_without(right.said, fewer) else found + better(whole, fewer)


def is_unknown_without(right: str, ran: Ran) -> bool:
    """Whether a finding is unknown because of this missing right, or action, not of one with the same prefix."""
    name = re.compile(rf"{re.escape(right)}(?![\w./-])")
    return any(name.search(each.get("missing", "")) for each in findings(ran) if each["status"] == "unknown")


def better(whole: Ran, fewer: Ran) -> list[str]:
    """Whether more findings pass though fewer facts are known, and no finding names the missing right."""
    if fewer.code in (NO_CLUSTER, NO_AWS):
        return []
    found = [] if fewer.code or not whole.code else [f"exit code {whole.code} became 0"]
    failing = {each["code"] for each in findings(whole) if each["status"] == "fail"}
    still = {each["code"] for each in findings(fewer) if each["status"] in ("fail", "unknown")}
    return found + [f"{code} failed, and is not there any more" for code in sorted(failing - still)]


def named(right: Held, ran: Ran) -> bool:
    """Whether the right is named, or its list is among the forbidden kinds."""
    if right.said in ran.out or right.said in ran.err:
        return True
    document = json.loads(ran.out) if ran.out else {}
    read: list[Mapping[str, Any]] = (document.get("metadata") or {}).get("kindsRead") or []
    kind = right.said.partition(" ")[2]
    return right.verb == "list" and any(each["resource"] == kind and each["state"] == "forbidden" for each in read)
