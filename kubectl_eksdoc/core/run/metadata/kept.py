"""What is done, as a journal keeps it: so that who comes later can go on with it, or go back."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions, SaidOptions
from kubectl_eksdoc.core.model.metadata_acts import Act, OnClass, OnInstances, OnTemplate, SetOptions


def to_doc(act: Act) -> Doc:
    """As JSON has it."""
    match act:
        case OnInstances(each):
            return {"on": "instances", "each": [_set_to_doc(one) for one in each]}
        case OnTemplate():
            return {
                "on": "template",
                "group": act.group,
                "template": act.id,
                "source": act.source,
                "before": _said_to_doc(act.before),
                "hopLimit": act.hop_limit,
                "version": act.version,
                "release": act.release,
                "nodes": list(act.nodes),
            }
        case OnClass():
            return {
                "on": "class",
                "name": act.name,
                "before": act.before,
                "hopLimit": act.hop_limit,
                "nodes": list(act.nodes),
                "switch": act.switch,
            }


def _set_to_doc(one: SetOptions) -> Doc:
    before = one.before
    was = {"tokens": before.tokens, "hopLimit": before.hop_limit, "endpoint": before.endpoint, "ipv6": before.ipv6}
    return {"node": one.node, "instance": one.instance, "before": was, "hopLimit": one.hop_limit}


def _said_to_doc(said: SaidOptions) -> Doc:
    told = {"hopLimit": said.hop_limit, "endpoint": said.endpoint, "ipv6": said.ipv6, "tags": said.tags}
    return {"tokens": said.tokens, **told}


def from_doc(doc: Doc) -> Act:
    """
    Raises:
        KeyError, TypeError, ValueError: it is none of `to_doc`.
    """
    on = doc["on"]
    if on == "instances":
        return OnInstances(tuple(_set_from_doc(each) for each in _list(doc["each"])))
    nodes = tuple(map(str, _list(doc["nodes"])))
    if on == "template":
        text = {key: str(doc[key]) for key in ("group", "template", "version", "release")}
        before, source, hops = _said_from_doc(doc["before"]), int(doc["source"]), int(doc["hopLimit"])
        return OnTemplate(
            text["group"], text["template"], source, before, hops, text["version"], text["release"], nodes
        )
    if on == "class":
        was = doc["before"]
        before_hops = None if was is None else int(was)
        return OnClass(str(doc["name"]), before_hops, int(doc["hopLimit"]), nodes, bool(doc["switch"]))
    raise ValueError(f"nothing is done on {on!r}")


def _set_from_doc(doc: Doc) -> SetOptions:
    was = doc["before"]
    before = MetadataOptions(str(was["tokens"]), int(was["hopLimit"]), bool(was["endpoint"]), bool(was["ipv6"]))
    return SetOptions(str(doc["node"]), str(doc["instance"]), before, int(doc["hopLimit"]))


def _said_from_doc(doc: Doc) -> SaidOptions:
    hops = doc["hopLimit"]
    switches = (None if doc[key] is None else bool(doc[key]) for key in ("endpoint", "ipv6", "tags"))
    return SaidOptions(str(doc["tokens"]), None if hops is None else int(hops), *switches)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is wanted, and there is {type(value).__name__}")
    return value
