"""``-o table`` and ``-o wide``: the Corefile and the values before and after, what is sent, and what came of it."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.dns.change.change import COREFILE, Change
from kubectl_eksdoc.core.plan.dns.change.landing import Landing, Seat
from kubectl_eksdoc.core.run.dns.taking_up import Stand, Taken
from kubectl_eksdoc.render.dns_change import words
from kubectl_eksdoc.render.dns_change.view import DnsChangeView
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, more, titled
from kubectl_eksdoc.render.tables import Cell, Column, Row
from kubectl_eksdoc.render.text import counted, shown, wrap
from kubectl_eksdoc.render.times import duration

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
        [*_verdict(view, look), *wrap(shown(f"It is made {words.how(change)}.", look), look.columns)],
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
    return [look.paint(line, Tone.TITLE) for line in wrap(shown(words.verdict(view), look), look.columns)]


def _wrapped(lines: list[str], look: Look) -> list[str]:
    return [line for text in lines for line in wrap(shown(text, look), look.columns, MARGIN, MARGIN * 2)]


def _corefile(change: Change, look: Look) -> list[str]:
    if change.corefile is None:
        return []
    lines = _coloured(words.diff(change.corefile), look)
    return titled(Title("Corefile"), lines or [f"{MARGIN}its text stays; it is not in the add-on's values yet"], look)


def _values(change: Change, view: DnsChangeView, look: Look) -> list[str]:
    after = view.values if view.values is not None else change.values
    if change.before is None or after is None:
        return []
    lines = _coloured(words.values_diff(change.before, after), look)
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
    lines = [MARGIN + shown(words.command(each), look) for each in change.not_done]
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
