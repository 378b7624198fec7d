"""``check --tables``: by which tables an upgrade is judged."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import UsageError


def shown_tables(options: GlobalOptions, words: Sequence[str], around: Surroundings) -> Answer:
    """
    Raises:
        UsageError: it is asked for in another form than a table.
    """
    from kubectl_eksdoc.check.tables import tables
    from kubectl_eksdoc.render.check.tables import short, wide

    if words:
        raise UsageError(f"{words[0]!r} is not understood: --tables shows all of them", "Name nothing.")
    forms = {"table": short, "wide": wide}
    if options.output not in forms:
        raise UsageError(f"--tables has no output -o {options.output}", f"Use {' or '.join(forms)}.")
    shown = looks.decide(options, around.stdout, around.environ)
    return Answer(forms[options.output](tables(), around.now().date(), shown), exits.CLEAN)
