"""The answer of a command about many clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.cli.fleet.options import FleetChoice
from kubectl_eksdoc.cli.fleet.passing import Passed, connection_of
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.findings import Severity
    from kubectl_eksdoc.core.model.fleet import Member
    from kubectl_eksdoc.render.look import Look

_SHOWN = 3
_OF_FILES = ("@", "./", "../", "/", "~/")
"""What begins so can be no context that was meant."""


def over_fleet(
    choice: FleetChoice,
    passed: Passed,
    options: GlobalOptions,
    around: Surroundings,
    least: Severity | None = None,
) -> Answer:
    """Each of them judged as the command would judge it alone. `least`: what is less severe does not count.

    Raises:
        EksdocError: which clusters they are cannot be told.
        KeyboardInterrupt: it was told to end; so was whatever was begun for it.
    """
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.model.findings import Severity
    from kubectl_eksdoc.flows.fleet import ask_fleet
    from kubectl_eksdoc.render.fleet import FORMATS, FleetView
    from kubectl_eksdoc.wiring import fleet

    FORMATS.check(options.output)
    members = _members(choice, options)
    aside = looks.decide(options, around.stderr, around.environ)
    around.note(aside.signs(_first_line(choice, passed, len(members))))
    asking = around.open_members(partial(passed.words, options), passed.kind, dict(around.environ), choice.timeout_s)
    with ProgressLine(around.stderr) as progress, fleet.told_to_end() as told:
        plan = ask_fleet(
            members,
            asking,
            choice.at_once,
            told,
            lambda done, names: progress.show(_far(done, len(members), names, aside)),
            lambda member: fleet.whose(member, connection_of(options, member)),
            Severity.INFO if least is None else least,
        )
    view = FleetView(plan, passed.command, {**passed.given, **choice.given})
    look = looks.decide(options, around.stdout, around.environ)
    return Answer(FORMATS.render(view, options.output, look), plan.exit_code)


def _members(choice: FleetChoice, options: GlobalOptions) -> tuple[Member, ...]:
    from kubectl_eksdoc.core.plan.fleet import choosing
    from kubectl_eksdoc.wiring import fleet

    path = fleet.file_of(choice.text)
    if path and choice.text.startswith(_OF_FILES):
        found = fleet.entries(path, choosing.WANTED)
        if all(isinstance(each, Mapping) for each in found):  # whatever the kubeconfig has, they say it themselves
            return choosing.listed(found, (), f"--fleet {path}")
    contexts = fleet.contexts(options.connection)
    if not path:
        return choosing.named(choice.text, contexts)
    if choice.text in contexts:
        raise UsageError(
            f"--fleet {choice.text} is a context, and a file here as well",
            f"Write @{path} for the file, or {choice.text}, with a comma behind it for the context.",
        )
    return choosing.listed(fleet.entries(path, choosing.WANTED), contexts, f"--fleet {path}")


def _first_line(choice: FleetChoice, passed: Passed, count: int) -> str:
    clusters = "1 cluster" if count == 1 else f"{count} clusters"
    pace = f"{min(choice.at_once, count)} at once, {values.duration_text(choice.timeout_s)} for each at most"
    return f"fleet {choice.text} · {clusters} · {passed.command} · {pace}"


def _far(done: int, count: int, names: Sequence[str], look: Look) -> str:
    """In one line: a second one would not be rewritten."""
    from kubectl_eksdoc.render.text import cut, listing, shown

    said = f"{done} of {count} clusters answered; asking {listing(names, _SHOWN, look)}"
    return cut(shown(said, look), look.width - 1, look)
