"""What an answer without some right must be: unknown or refused with its name, and never better than with it."""

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
    """Of an answer in JSON, [] of one that has none."""
    found = json.loads(ran.out) if ran.out else {}
    return list(found.get("findings", ())) if isinstance(found, dict) else []


def without_times(ran: Ran) -> Any:
    """All that an answer says of the cluster."""
    found: dict[str, Any] = json.loads(ran.out)
    return {
        key: value for key, value in found.items() if key not in ("metadata", "at", "file", "bytes", "changedSince")
    }


def verdicts(ran: Ran) -> list[tuple[str, str, str]]:
    """Code, status and subject of each finding: what is said besides may tell how long ago something was."""
    return [(each["code"], each["status"], str(each["subject"])) for each in findings(ran)]


def problems(whole: Ran, fewer: Ran, right: Held, required: bool) -> list[str]:
    """What is wrong with the answer `fewer`, of somebody without `right`, beside the `whole` one."""
    if fewer.code == BUG or "Traceback" in fewer.err:
        return [f"a bug: {fewer.err[-400:]}"]
    if required:
        refused = fewer.code == NO_CLUSTER and right.said in fewer.err
        return [] if refused else [f"it is required, and the exit code is {fewer.code}: {fewer.err[-300:]}"]
    found = [] if named(right, fewer) else [f"it is nowhere named: {fewer.err[-300:]}"]
    return found if is_unknown_without(right.said, fewer) else found + better(whole, fewer)


def is_unknown_without(right: str, ran: Ran) -> bool:
    """A finding says that it is unknown for want of this right, or action, not of one whose name begins alike."""
    name = re.compile(rf"{re.escape(right)}(?![\w./-])")
    return any(name.search(each.get("missing", "")) for each in findings(ran) if each["status"] == "unknown")


def better(whole: Ran, fewer: Ran) -> list[str]:
    """Where less is known and more is said to be well, and no finding says that it is for want of a right."""
    if fewer.code in (NO_CLUSTER, NO_AWS):
        return []
    found = [] if fewer.code or not whole.code else [f"exit code {whole.code} became 0"]
    failing = {each["code"] for each in findings(whole) if each["status"] == "fail"}
    still = {each["code"] for each in findings(fewer) if each["status"] in ("fail", "unknown")}
    return found + [f"{code} failed, and is not there any more" for code in sorted(failing - still)]


def named(right: Held, ran: Ran) -> bool:
    """Or, of a list, said to be forbidden among the kinds that were read."""
    if right.said in ran.out or right.said in ran.err:
        return True
    document = json.loads(ran.out) if ran.out else {}
    read: list[Mapping[str, Any]] = (document.get("metadata") or {}).get("kindsRead") or []
    kind = right.said.partition(" ")[2]
    return right.verb == "list" and any(each["resource"] == kind and each["state"] == "forbidden" for each in read)
