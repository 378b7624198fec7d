"""``-o table`` and ``-o wide``: the Corefile and the values before and after, what is sent, and what came of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import cast

from kubectl_eksdoc.addon_diff.run.way_back import WayBack
from kubectl_eksdoc.coredns_lameduck.change.change import COREFILE, Change, Texts
from kubectl_eksdoc.coredns_lameduck.change.placing import Landing, Seat
from kubectl_eksdoc.coredns_lameduck.change.wishes import Place
from kubectl_eksdoc.coredns_lameduck.run import Stand, Taken, Verified
from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.kubernetes.corefile.parser import parse
from kubectl_eksdoc.kubernetes.corefile.plugins import lameduck_s
from kubectl_eksdoc.kubernetes.keeping import printed, printed_corefile
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.render.addon.commands import given
from kubectl_eksdoc.render.addon_update import WayBackText
from kubectl_eksdoc.render.addon_update.commands import way_back_text
from kubectl_eksdoc.render.dns_change import DnsChangeView
from kubectl_eksdoc.render.encode import Json, to_yaml
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title, drawn, findings, more, titled
from kubectl_eksdoc.render.text import counted, duration, joined, shown, wrap

# A change of CoreDNS in sentences.


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


_MOST = 8
_TONES = {
    Taken.VERIFIED: Tone.GOOD,
    Taken.NOT_YET: Tone.WARN,
    Taken.REFUSED: Tone.BAD,
    Taken.UNKNOWN: Tone.UNKNOWN,
}


def table(view: DnsChangeView, look: Look) -> str:
    return _text(view, look, full=False)


def wide(view: DnsChangeView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: DnsChangeView, look: Look, full: bool) -> str:
    over = view.ended is not None or view.applied or view.verified is not None
    parts = _after(view, look, full) if over else _before(view, look, full)
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _before(view: DnsChangeView, look: Look, full: bool) -> list[list[str]]:
    change = view.change
    assert change is not None, "nothing was done yet"
    return [
        [*_verdict(view, look), *wrap(shown(f"It is made {how(change)}.", look), look.columns)],
        _corefile(change, look),
        _values(change, view, look),
        _landing(change.landing, bool(change.refusals), look, full),
        findings(view.findings, "", look, full, named=True),
        _sent(view, look),
        _left_to_you(change, look),
        _back(view, look),
        _guards(view, look),
        _weighty(view, look),
    ]


def _after(view: DnsChangeView, look: Look, full: bool) -> list[list[str]]:
    stands = view.verified.stands if view.verified is not None else ()
    wants_back = any(each.taken is Taken.REFUSED for each in stands) or (
        view.ended is not None and not view.ended.whole
    )
    lines = [f"{each.code}: {each.message}" for each in view.ended.errors] if view.ended is not None else []
    if view.ended is not None and view.ended.left:
        lines.append(f"It is followed no longer: {view.ended.left}.")
    rolls = view.change is None or bool(set(view.change.set) - {COREFILE})
    rollouts = [str(each) for each in view.ended.rollouts if rolls or not each.done] if view.ended is not None else []
    return [
        _verdict(view, look),
        titled(Title("What EKS says"), _wrapped(lines, look), look),
        titled(Title("Rollout"), _wrapped(rollouts, look), look),
        drawn(Title("The new Corefile in each pod"), _stands(stands), look, full),
        findings(view.after, "", look, full, named=True),
        _left_to_you(view.change, look) if view.change is not None else [],
        _back(view, look) if wants_back or full else [],
        _written(view, look),
    ]


def _verdict(view: DnsChangeView, look: Look) -> list[str]:
    return [look.paint(line, Tone.TITLE) for line in wrap(shown(verdict(view), look), look.columns)]


def _wrapped(lines: list[str], look: Look) -> list[str]:
    return [line for text in lines for line in wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)]


def _corefile(change: Change, look: Look) -> list[str]:
    if change.corefile is None:
        return []
    lines = _coloured(diff(change.corefile), look)
    return titled(Title("Corefile"), lines or [f"{MARGIN}its text stays; it is not in the add-on's values yet"], look)


def _values(change: Change, view: DnsChangeView, look: Look) -> list[str]:
    after = view.values if view.values is not None else change.values
    if change.before is None or after is None:
        return []
    lines = _coloured(values_diff(change.before, after), look)
    if change.affinity_source:
        said = f"The affinity is given as a whole, made of that of {change.affinity_source}."
        lines += _wrapped([said], look)
    return titled(Title("Configuration values", ": today and new, the Corefile left out"), lines, look)


def _coloured(lines: list[str], look: Look) -> list[str]:
    tones = {"+": Tone.GOOD, "-": Tone.BAD}
    return [
        look.paint(MARGIN + shown(line, look), tones[line[0]]) if line[:1] in tones else MARGIN + shown(line, look)
        for line in lines
    ]


def _landing(found: Landing | None, refused: bool, look: Look, full: bool) -> list[str]:
    if found is None:
        return []
    title = f": {counted(len(found.fitting), 'node')} of {len(found.seats)} in {counted(len(found.zones), 'zone')}"
    columns = [
        Column("NODE", floor=12, middle=True),
        Column("ZONE"),
        Column("CAPACITY", drop=1),
        Column("A POD OF COREDNS", floor=20),
    ]
    kept = (
        found.seats if full else [*_one_of_each_zone(found), *[seat for seat in found.seats if not seat.fits][:_MOST]]
    )
    rows: list[Row] = [
        [
            each.node,
            each.zone or "-",
            each.capacity or "-",
            Cell("fits", Tone.GOOD) if each.fits else Cell("; ".join(each.why), Tone.WARN if refused else None),
        ]
        for each in kept
    ]
    lines = drawn(Title("Where it may run", title), (columns, rows), look, full)
    return [*lines, *more(len(found.seats) - len(kept), look)]


def _one_of_each_zone(found: Landing) -> list[Seat]:
    return list({seat.zone: seat for seat in reversed(found.fitting)}.values())[::-1]


def _sent(view: DnsChangeView, look: Look) -> list[str]:
    if not view.command:
        return []
    lines = []
    if view.mode:
        lines.append(f"One UpdateAddon of coredns to the version that it has, with {view.mode}.")
        if view.mode == "OVERWRITE":
            lines.append("Somebody else has what is set, so that only OVERWRITE makes it hold.")
        for each in view.resets:
            lines.append(f"It also resets {each}, which somebody has set (--accept-reset).")
    for held in view.conflicts:
        lines.append(f"{held.field} is taken from {held.owner} (--force-conflicts), who may write it again.")
    others = "becomes another" if view.changes == 1 else "become others"
    lines.append(f"{counted(view.changes, 'value')} {others}. The same without this tool:")
    return titled(Title("What is sent"), [*_wrapped(lines, look), MARGIN + shown(view.command, look)], look)


def _left_to_you(change: Change, look: Look) -> list[str]:
    if not change.not_done:
        return []
    said = "The Deployment of a CoreDNS that EKS does not manage is not changed here: do it where it is declared, or"
    lines = [MARGIN + shown(command(each), look) for each in change.not_done]
    return titled(Title("Left to you"), [*_wrapped([said], look), *lines], look)


def _back(view: DnsChangeView, look: Look) -> list[str]:
    return titled(Title("The way back"), [MARGIN + shown(each, look) for each in view.back], look)


def _guards(view: DnsChangeView, look: Look) -> list[str]:
    lines = []
    for guard in view.guards:
        lines += [f"✗ {guard.why}", *(f"  → {line}" for line in guard.hint.splitlines())]
    return titled(Title("Nothing is changed"), _wrapped(lines, look), look)


def _weighty(view: DnsChangeView, look: Look) -> list[str]:
    lines = [f"- {each.severity.value}, {each.status.value}: {each.message}" for each in view.weighty[:_MOST]]
    if len(view.weighty) > _MOST:
        lines.append(f"- and {len(view.weighty) - _MOST} more: all are among the findings above")
    return titled(Title("To be acknowledged"), _wrapped(lines, look), look)


def _stands(stands: tuple[Stand, ...]) -> tuple[list[Column], list[Row]]:
    columns = [
        Column("POD", floor=16, middle=True),
        Column("NODE", floor=10, middle=True, drop=1),
        Column("TAKEN UP"),
        Column("BY", drop=2),
        Column("WHY", floor=20),
    ]
    rows: list[Row] = [
        [
            each.pod.partition("/")[2],
            each.node or "-",
            Cell(each.taken.value, _TONES[each.taken]),
            each.by or "-",
            each.why or "-",
        ]
        for each in stands
    ]
    return columns, rows


def _written(view: DnsChangeView, look: Look) -> list[str]:
    lines = []
    if view.verified is not None:
        left = f": {view.verified.left}" if view.verified.left else ""
        lines = wrap(f"Looked at for {duration(view.verified.seconds)}{left}.", look.columns)
    return [*lines, shown(f"Journal: {view.journal}", look)] if view.journal else lines  # a path is one line


# The same change without this tool, and the way back, as lines for a shell.


def update_addon(eks: EksCluster, version: str, mode: str, values: Doc) -> str:
    said = ["aws", "eks", "update-addon", "--cluster-name", eks.name, "--addon-name", "coredns"]
    said += ["--addon-version", version, "--resolve-conflicts", mode]
    said += ["--region", eks.region] if eks.region else []
    return shell(*said, "--configuration-values", given(values))


def apply_config(config: Doc, force: bool, kubectl: Sequence[str]) -> str:
    """Server-side, from standard input."""
    secret = printed(config) != config  # then it is a file of one's own
    apply = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc"]
    apply += ["-f", "configmap.json" if secret else "-", *(["--force-conflicts"] if force else [])]
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return shell(*apply) if secret else f"{shell('printf', '%s', text)} | {shell(*apply)}"


def back_of_update(back: WayBack | Unknown, eks: EksCluster, file: str, reached_by: Sequence[str]) -> tuple[str, ...]:
    found = way_back_text(back, eks.name, eks.region, file, reached_by)
    return found.commands if isinstance(found, WayBackText) else (f"# {found}",)


def back_of_map(file: str, kubectl: Sequence[str]) -> tuple[str, ...]:
    """`file` holds the Corefile of before, and nothing else of the ConfigMap."""
    said = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc", "-f", file]
    return (shell(*said),)
