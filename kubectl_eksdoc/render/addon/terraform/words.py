"""A Terraform plan that was judged, in sentences."""

from __future__ import annotations

from kubectl_eksdoc.addon_diff.terraform.requests import AddonRequest, Kind
from kubectl_eksdoc.addon_diff.terraform.result import Change, Judged, named
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.addon.terraform.view import TerraformView
from kubectl_eksdoc.render.text import counted, joined


def verdict(view: TerraformView) -> str:
    """``plan.json: 2 add-on changes in shop: 1 fails, 1 is unknown``."""
    judgement = view.judgement
    changes = judgement.changes
    if not changes:
        what = f"{judgement.addon} of {view.name} is not" if judgement.addon else f"no add-on of {view.name} is"
        if judgement.findings:
            return f"{_file(view)}: {what} seen to change: not all of it is known"
        return f"{_file(view)}: {what} changed: nothing to do"
    found = [outcome(each) for each in changes]
    counts = [(found.count(each), each) for each in ("fails", "is unknown", "loses nothing")]
    parts = joined([f"{count} {_plural(what, count)}" for count, what in counts if count])
    return f"{_file(view)}: {counted(len(changes), 'add-on change')} in {view.name}: {parts}"


def outcome(judged: Judged) -> str:
    statuses = {each.status for each in judged.findings}
    if Status.FAIL in statuses:
        return "fails"
    return "is unknown" if Status.UNKNOWN in statuses else "loses nothing"


def _plural(what: str, count: int) -> str:
    return what if count == 1 else {"fails": "fail", "is unknown": "are unknown", "loses nothing": "lose nothing"}[what]


def _file(view: TerraformView) -> str:
    return "standard input" if view.judgement.plan.file == "-" else view.judgement.plan.file


def asks(change: Change) -> str:
    """``update of vpc-cni from v1.19.5-eksbuild.1 to v1.20.4-eksbuild.2; resolve_conflicts = "OVERWRITE"``."""
    request = change.request
    if request.kind is Kind.FORGET:
        return f"removal of {change.addon} from Terraform's state, and not from the cluster"
    what = f"{_KINDS[request.kind]} of {change.addon}"
    if request.kind is Kind.UPDATE:
        what += f" from {named(request.before)} to {named(request.after)}" if request.sends_version else ""
    elif request.kind in (Kind.CREATE, Kind.REPLACE):
        what += f" at {named(request.after)}"
    if request.kind is Kind.DELETE:
        return what
    mode = change.evidence.removeprefix(f"Terraform: {request.address}, ")
    return f"{what}; {mode}"


_KINDS = {
    Kind.CREATE: "creation",
    Kind.UPDATE: "update",
    Kind.REPLACE: "replacement",
    Kind.DELETE: "deletion",
}


def left_out(requests: tuple[AddonRequest, ...]) -> str:
    """ "" where there are none."""
    if not requests:
        return ""
    names = ", ".join(f"{each.address} (cluster {named(each.cluster)})" for each in requests)
    return f"Left out, as they are of other clusters: {names}"
