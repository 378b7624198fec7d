"""The page from its head to its foot: the answer first, then what stands against it, the way, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.baseline.changes import Since
from kubectl_eksdoc.render.check.page import head
from kubectl_eksdoc.render.check.page.checklist import checklist
from kubectl_eksdoc.render.check.page.drain import drain
from kubectl_eksdoc.render.check.page.findings import findings
from kubectl_eksdoc.render.check.page.hurting import causes, changes
from kubectl_eksdoc.render.check.page.judged import accepted, beside, judged
from kubectl_eksdoc.render.check.page.shown import Shown
from kubectl_eksdoc.render.check.page.style import STYLE
from kubectl_eksdoc.render.check.page.unknown import unknown
from kubectl_eksdoc.render.check.view import CheckView
from kubectl_eksdoc.render.html import put
from kubectl_eksdoc.render.identity import called
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.pages import Section, framed, origin
from kubectl_eksdoc.render.since.screen import title
from kubectl_eksdoc.render.text import rfc3339


def page(view: CheckView, look: Look) -> str:
    """The check as one HTML document."""
    shown, cluster = Shown(view), view.plan.facts.cluster
    tool = f"kubectl eksdoc {view.tool_version}"
    top = put(head.route(shown), origin(cluster, tool))
    name = f"Upgrade check of {called(cluster)}"
    return framed(
        name, STYLE, top, head.first(shown), _sections(shown, view.since), f"{tool} · nothing was changed", look
    )


def _sections(shown: Shown, since: Since | None) -> Iterator[Section]:
    plan = shown.plan
    observed = plan.facts.cluster.observed_at
    yield Section("since", "Since", title(since, observed) if since is not None else "", beside(since))
    count = len([each for part in shown.parts for each in part.counting])
    unsure = sum(len(part.unknown) for part in shown.parts)
    yield Section("causes", "Likely causes", "Likely causes", causes(plan))
    moment = rfc3339(plan.changes.since) if plan.changes is not None else ""
    yield Section("changed", "Changed", f"Changed since {moment}", changes(plan))
    yield Section("findings", "Findings", f"Findings by area, the worst first ({count})", findings(shown))
    yield Section("way", "The way", f"The way to {in_words(plan.facts.way.target)}, step by step", checklist(shown))
    yield Section("drain", "Nodes", "The replacement of the nodes", drain(shown))
    suppressed = f"Suppressed: found, and accepted for a time ({len(plan.suppressed)})"
    yield Section("suppressed", "Suppressed", suppressed, accepted(plan))
    yield Section("unknown", "Unknown", f"Not known, and why ({unsure})", unknown(shown))
    yield Section("judged", "What was judged", "What was judged, and by what", judged(shown))
