"""The summary that stands directly above the prompt of a drain."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Surroundings

if TYPE_CHECKING:
    from kubectl_eksdoc.core.run.limits import Limits
    from kubectl_eksdoc.render.drain import DrainView


def show_in_short(
    view: DrainView, options: GlobalOptions, limits: Limits, reached_by: Sequence[str], around: Surroundings
) -> None:
    """It is no answer, so it goes to stderr; `reached_by`: the words that lead to the cluster and the journal."""
    from kubectl_eksdoc.render.drain.confirmation import confirmation

    look = looks.decide(options, around.stderr, around.environ)
    rollback = shlex.join(["kubectl", "eksdoc", "drain", "rollback", *reached_by])
    say(around.stderr, confirmation(view, look, run_options.guards(limits), rollback))
