"""The words that lead to the same cluster or dump once more, for the command lines that an answer proposes."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.cli.flags import HONOURED, Flag, Takes
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.core.model.commands import Reach
from kubectl_eksdoc.core.model.connection import IN_CLUSTER, Connection
from kubectl_eksdoc.wiring.sources import SourceChoice

_SECRET = "token"
_USUAL = Connection()


def words(source: SourceChoice, options: GlobalOptions, context: str) -> tuple[str, ...]:
    """Flags as they were given, with `context` in place of "the current one", and never a token."""
    if source.demo:
        return ("--demo",)
    if source.snapshot:
        return _with("--snapshot", source.snapshot)
    found = [word for flag in HONOURED for word in _given(flag, options.connection)]
    named = options.connection.context or options.connection.server or context in ("", IN_CLUSTER)
    return tuple(found) if named else (*_with("--context", context), *found)


def with_aws(source: SourceChoice, options: GlobalOptions, context: str) -> tuple[str, ...]:
    """The same for a command that asks AWS, too."""
    aws = {"--cluster-name": options.cluster_name, "--region": options.region, "--profile": options.profile}
    return (*words(source, options, context), *(word for flag in aws if aws[flag] for word in _with(flag, aws[flag])))


def reach(source: SourceChoice, options: GlobalOptions, context: str) -> Reach:
    """By which words a command that is proposed leads to the same cluster. Of the demo nothing can be changed, and a
    snapshot does not say how its cluster is reached."""
    plain = words(source, options, context)
    if source.demo:
        return Reach(plain, (), (*plain, "--dry-run"))
    if not source.live:
        return Reach(plain)
    ours = with_aws(source, options, context)
    return Reach(ours, plain, ours, ("--profile", options.profile) if options.profile else ())


def _given(flag: Flag, connection: Connection) -> Iterable[str]:
    value = getattr(connection, flag.dest, None)
    if value is None or value == getattr(_USUAL, flag.dest) or flag.dest == _SECRET:
        return ()
    if flag.takes is Takes.SWITCH:
        return (flag.long,)
    if flag.takes is Takes.REPEATED:
        return tuple(word for each in value for word in _with(flag.long, each))
    return _with(flag.long, f"{value:g}" if isinstance(value, float) else str(value))


def _with(flag: str, value: str) -> tuple[str, ...]:
    """In one word where the value alone would be taken for a flag: a context may be called ``-prod``."""
    return (f"{flag}={value}",) if value.startswith("-") and value != "-" else (flag, value)
