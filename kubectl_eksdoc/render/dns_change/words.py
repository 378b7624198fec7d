"""A change of CoreDNS in sentences."""

from __future__ import annotations

import difflib
from typing import cast

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.corefile import Corefile
from kubectl_eksdoc.core.plan.dns.change.change import COREFILE, Change, Texts
from kubectl_eksdoc.core.plan.dns.change.wishes import Place
from kubectl_eksdoc.core.rules.corefile.parser import parse
from kubectl_eksdoc.core.rules.corefile.plugins import lameduck_s
from kubectl_eksdoc.core.rules.keeping.secrets import printed, printed_corefile
from kubectl_eksdoc.core.run.dns.taking_up import Taken, Verified
from kubectl_eksdoc.core.run.stages import Stage
from kubectl_eksdoc.render.dns_change.view import DnsChangeView
from kubectl_eksdoc.render.encode import Json, to_yaml
from kubectl_eksdoc.render.text import counted, joined


def wished(change: Change) -> str:
    """``lameduck 20s, on-demand nodes only``."""
    wishes = change.wishes
    parts = [f"lameduck {wishes.lameduck_s}s"] if wishes.lameduck_s is not None else []
    if wishes.place is not None:
        parts.append("no Spot nodes" if wishes.place is Place.ON_DEMAND else "any nodes")
    if wishes.scale is not None:
        parts.append(f"{wishes.scale.least} to {wishes.scale.most} replicas")
    return joined(parts)


def how(change: Change) -> str:
    if change.managed:
        return f"by the configuration values of the add-on coredns {change.version}, so that its updates keep it"
    return "by a server-side apply of its ConfigMap: EKS does not manage this CoreDNS"


def verdict(view: DnsChangeView) -> str:
    """One sentence without its full stop."""
    what = f"CoreDNS: {wished(view.change)}" if view.change is not None else "CoreDNS"
    if view.verified is not None or view.ended is not None or view.applied:
        return f"{what}: {_came_of(view)}"
    if view.guards:
        return f"{what}: nothing is changed"
    if view.change is not None and view.change.nothing:
        return f"{what}: it is so already, and kept where it lasts"
    return f"{what}: nothing was changed yet"


def _came_of(view: DnsChangeView) -> str:
    ended = view.ended
    if ended is not None and ended.stage in (Stage.FAILED, Stage.CANCELLED):
        return "EKS could not do it, and nothing of it holds"
    if ended is not None and not ended.whole:
        return "it goes on in EKS"
    done = "EKS has done it" if ended is not None else "it is applied" if view.applied else "it was made"
    if view.verified is not None:
        return f"{done}; {taken(view.verified)}"
    return f"{done}; no pod takes it up by itself" if view.after else done


def taken(verified: Verified) -> str:
    if verified.unread:
        return f"which pods have taken it up is not known: {verified.unread}"
    if verified.all:
        count = len(verified.stands)
        return "its pod has taken it up" if count == 1 else f"all {count} pods have taken it up"
    parts = []
    for each, said in _SAID.items():
        count = len(verified.of(each))
        if count:
            parts.append(f"{counted(count, 'pod')} {said[count != 1]}")
    return joined(parts)


_SAID = {
    Taken.VERIFIED: ("has taken it up", "have taken it up"),
    Taken.REFUSED: ("has refused it", "have refused it"),
    Taken.NOT_YET: ("has not yet", "have not yet"),
    Taken.UNKNOWN: ("is not known", "are not known"),
}


def diff(texts: Texts) -> list[str]:
    """Unified, with enough around it to see which server block it is in."""
    before, after = (printed_corefile(text).splitlines() for text in (texts.before, texts.after))
    return list(difflib.unified_diff(before, after, "Corefile (today)", "Corefile (new)", lineterm="", n=3))


def values_diff(before: Doc, after: Doc) -> list[str]:
    """Of the add-on's values as YAML; the Corefile is named only."""
    old, new = _as_yaml(before), _as_yaml(after)
    found = difflib.unified_diff(old, new, "values (today)", "values (new)", lineterm="", n=2)
    return [line for line in found if not line.startswith("@@")]


def _as_yaml(values: Doc) -> list[str]:
    text = values.get(COREFILE)
    named = f"{len(text.splitlines())} lines, lameduck {_lameduck(text)}" if isinstance(text, str) else ""
    said = printed(values) | ({COREFILE: named} if named else {})
    return to_yaml(cast(Json, {key: said[key] for key in sorted(said)})).splitlines() if said else []


def _lameduck(text: str) -> str:
    corefile = parse(text)
    found = lameduck_s(corefile) if isinstance(corefile, Corefile) else None
    return "?" if found is None else f"{found:g}s"


def command(said: tuple[str, ...]) -> str:
    """For a shell."""
    return shell(*said)
