"""What a run notes on the nodes it cordons, and the patches that write it and take it back.

``eksdoc.io/run`` is the run's id, ``eksdoc.io/prior`` what the node was before: compact JSON with ``unschedulable``,
and with ``annotations`` where one of the two was there already (of an earlier run), as it was. All of it is on the
node, so that any machine can take it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

RUN = "eksdoc.io/run"
PRIOR = "eksdoc.io/prior"

Node = Mapping[str, Any]
"""A node's document, as the server has it."""


class NoPrior(ValueError):
    """What the node was before cannot be told any more; the message says why."""


def run_of(node: Node) -> str:
    """The run that has cordoned it last, "" for none."""
    return str(_annotations(node).get(RUN, ""))


def unschedulable(node: Node) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def cordoned(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that cordons it for `run`; empty where there is nothing to do.

    A node that somebody has uncordoned since this run did it keeps the note of what it was before the run.
    """
    if run_of(node) == run and PRIOR in _annotations(node):
        return {} if unschedulable(node) else {"spec": {"unschedulable": True}}
    there = {key: _annotations(node)[key] for key in (RUN, PRIOR) if key in _annotations(node)}
    prior: dict[str, Any] = {"unschedulable": unschedulable(node)}
    if there:
        prior["annotations"] = there
    noted = {RUN: run, PRIOR: json.dumps(prior, separators=(",", ":"), sort_keys=True)}
    patch: dict[str, Any] = {"metadata": {"annotations": noted}}
    if not unschedulable(node):
        patch["spec"] = {"unschedulable": True}
    return patch


def restored(node: Node, run: str) -> dict[str, Any]:
    """The merge patch that makes it what it was before `run`; empty where `run` has not cordoned it.

    Only what the run has changed is taken back: a node that was cordoned before is not uncordoned, nor cordoned again.

    Raises:
        NoPrior: the note is gone, or is none of ours.
    """
    if run_of(node) != run:
        return {}
    prior = _prior(node)
    before = prior.get("annotations") or {}
    patch: dict[str, Any] = {"metadata": {"annotations": {key: before.get(key) for key in (RUN, PRIOR)}}}
    if not prior["unschedulable"]:
        patch["spec"] = {"unschedulable": None}
    return patch


def exactly(node: Node, patch: dict[str, Any]) -> dict[str, Any]:
    """The patch, to be refused unless the node is still this one, as it was when it was read."""
    meta = node.get("metadata") or {}
    version = {"uid": meta.get("uid"), "resourceVersion": meta.get("resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **version}}


def _prior(node: Node) -> dict[str, Any]:
    text = _annotations(node).get(PRIOR)
    if text is None:
        raise NoPrior(f"the annotation {PRIOR} is not there any more")
    try:
        prior = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise NoPrior(f"the annotation {PRIOR} cannot be read: {text!r}") from error
    if not isinstance(prior, dict) or not isinstance(prior.get("unschedulable"), bool):
        raise NoPrior(f"the annotation {PRIOR} does not say what was before: {text!r}")
    before = prior.get("annotations", {})
    if not isinstance(before, dict) or not all(isinstance(each, str) for each in before.values()):
        raise NoPrior(f"the annotation {PRIOR} does not say what was before: {text!r}")
    return prior


def _annotations(node: Node) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("annotations") or {}
