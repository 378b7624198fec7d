"""What m and one more key mark: whole groups of nodes at once."""

from __future__ import annotations

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.sheets.nodes import IMAGE

MENU = (
    "mark…  o older kubelet than the control plane  a not its group's newest AMI  g this group  f all shown  i invert"
    "  n none"
)

Found = tuple[frozenset[str], str]


def marked(key: str, model: Model, here: str | None) -> Found | str:
    """The marks after it and in words what it did, or why there is nothing to do."""
    assert model.facts is not None, "there are nodes"
    nodes, now = model.facts.nodes.nodes, model.choice.ask.marked
    if key == "n":
        return frozenset(), "no node is marked any more"
    if key == "i":
        return frozenset(nodes) - now, "the marks are inverted"
    if key == "f":
        return _more(now, model.shown_nodes, "that are shown")
    if key == "g":
        group = nodes[here].group if here in nodes and here is not None else ""
        if not group:
            return "m g: the node under the cursor has no group"
        return _more(now, (name for name, node in nodes.items() if node.group == group), f"of {group}")
    if key == "o":
        return _old_kubelets(model, now)
    if key == "a":
        return _old_images(model, now)
    return f"m {key} marks nothing: o, a, g, f, i or n"


def _old_kubelets(model: Model, now: frozenset[str]) -> Found | str:
    assert model.facts is not None, "there are nodes"
    said = model.facts.cluster.identity.server_version
    server = parse(said)
    if server is None:
        return f"m o: the control plane's version is not known ({said or 'nothing said it'})"
    minor = Version(server.major, server.minor)
    nodes = model.facts.nodes.nodes.values()
    return _more(
        now, (n.name for n in nodes if n.kubelet and n.kubelet.older_than(minor)), f"with a kubelet before {minor}"
    )


def _old_images(model: Model, now: frozenset[str]) -> Found | str:
    """Which AMI is the newest of a group is read off its youngest node."""
    assert model.facts is not None, "there are nodes"
    youngest: dict[str, Node] = {}
    nodes = [n for n in model.facts.nodes.nodes.values() if n.group and IMAGE in n.labels and n.created_at]
    if not nodes:
        return "m a: no node says which AMI it was made from"
    for node in nodes:
        other = youngest.get(node.group)
        if other is None or (node.created_at and other.created_at and node.created_at > other.created_at):
            youngest[node.group] = node
    old = (n.name for n in nodes if n.labels[IMAGE] != youngest[n.group].labels[IMAGE])
    return _more(now, old, "that are not made from the AMI of their group's youngest node")


def _more(now: frozenset[str], names: object, which: str) -> Found | str:
    found = frozenset(names)  # type: ignore[call-overload]
    if not found:
        return f"there are no nodes {which}"
    return now | found, f"{counted(len(found), 'node')} {which} {'is' if len(found) == 1 else 'are'} marked"
