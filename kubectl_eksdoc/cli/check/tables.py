"""``check --tables``: by which tables an upgrade is judged."""

from __future__ import annotations

from collections.abc import Sequence

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
    from kubectl_eksdoc.render.check.report import TablesReport

    if words:
        raise UsageError(f"{words[0]!r} is not understood: --tables shows all of them", "Name nothing.")
    return Answer(looks.answered(TablesReport(tables(), around.now().date()), options, around))
