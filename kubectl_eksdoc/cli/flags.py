"""The global flags as data: kubectl's and ours, supported and refused ones.

The parser, ``kubectl eksdoc options`` and the table of the README are built from these two tables. kubectl's flags are
those of its ``kubectl options`` (cli-runtime's config flags).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import Connection

from . import values
from .parser import RefusedFlag

if TYPE_CHECKING:
    from kubectl_eksdoc.model.cluster import Identity

OUTPUTS = ("table", "wide", "json", "yaml", "markdown", "html", "name", "junit", "sarif")


class FlagValueKind(str, Enum):
    """The kind of value that a flag takes."""

    TEXT = "text"
    SWITCH = "switch"  # nothing, or =true / =false
    REPEATED = "repeated"
    SECONDS = "seconds"
    OUTPUT = "output"


@frozen
class Flag:
    """`names_text`: its names with a space between them, the long one last. `field`: the field that it fills, of
    `Connection` where that has one and of `GlobalOptions` otherwise, "" where the field has the name of the flag.
    Without a `metavar` it is a switch."""

    names_text: str
    about: str
    metavar: str = ""
    kind: FlagValueKind = FlagValueKind.TEXT
    is_own: bool = False
    field: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.names_text.split())

    @property
    def long(self) -> str:
        return self.names[-1]

    @property
    def dest(self) -> str:
        return self.field or self.long.lstrip("-").replace("-", "_")

    @property
    def value_kind(self) -> FlagValueKind:
        return self.kind if self.metavar else FlagValueKind.SWITCH

    @property
    def help_name(self) -> str:
        """As in the help: ``-n, --namespace NAME``."""
        return f"{', '.join(self.names)} {self.metavar}".rstrip()


SUPPORTED_FLAGS: tuple[Flag, ...] = (
    Flag("--kubeconfig", "the kubeconfig file to use instead of $KUBECONFIG", "PATH"),
    Flag("--context", "the kubeconfig's context to use; it decides region and account too", "NAME"),
    Flag("--cluster", "the kubeconfig's cluster entry to use", "NAME"),
    Flag("--user", "the kubeconfig's user entry to use", "NAME"),
    Flag("-s --server", "address of the API server", "URL"),
    Flag("--token", "bearer token for the API server", "TOKEN"),
    Flag("--as", "user to impersonate", "NAME", field="impersonate_user"),
    Flag(
        "--as-group",
        "group to impersonate; may be repeated",
        "NAME",
        FlagValueKind.REPEATED,
        field="impersonate_groups",
    ),
    Flag("--as-uid", "UID to impersonate", "UID", field="impersonate_uid"),
    Flag(
        "--request-timeout",
        "longest wait for one answer: 30, 30s, 2m, 1h; 0: no limit; default: 75s",
        "TIME",
        FlagValueKind.SECONDS,
    ),
    Flag(
        "--read-timeout",
        "longest time for reading the cluster and AWS, all answers and retries together; 0: no limit; default: 5m",
        "TIME",
        FlagValueKind.SECONDS,
        is_own=True,
    ),
    Flag("--insecure-skip-tls-verify", "do not check the API server's certificate"),
    Flag("--certificate-authority", "file with the certificate authority's certificates", "PATH"),
    Flag("--client-certificate", "file with the client's certificate", "PATH"),
    Flag("--client-key", "file with the client's key", "PATH"),
    Flag("--tls-server-name", "name to expect in the server's certificate", "NAME"),
    Flag("--disable-compression", "ask for answers that are not compressed"),
    Flag("-n --namespace", "accepted as kubectl drain accepts it: the pods of a node are of all namespaces", "NAME"),
    Flag("-A --all-namespaces", "always so: nodes hold pods of all namespaces"),
    Flag("--region", "AWS region, where the kubeconfig does not say it", "NAME", is_own=True),
    Flag("--cluster-name", "EKS cluster, where the kubeconfig does not say it", "NAME", is_own=True),
    Flag("--profile", "AWS profile (default: as the kubeconfig has it)", "NAME", is_own=True),
    Flag(
        "-o --output",
        "table, wide, json, yaml, markdown, html, name, junit or sarif",
        "FORMAT",
        FlagValueKind.OUTPUT,
        is_own=True,
    ),
    Flag("--no-headers", "tables without their first line", is_own=True),
    Flag("--no-color", "no colours, as when NO_COLOR is set or stdout is no terminal", is_own=True),
    Flag("--ascii", "ASCII output only", is_own=True),
    Flag("--debug", "show where an error came from", is_own=True),
)


REFUSED_FLAGS: Mapping[str, str] = {
    "--cache-dir": "nothing of the API is cached on disk; names for the Tab key are, in XDG_CACHE_HOME",
    "-v --v": "there are no verbosity levels; --debug shows where an error came from",
    "--vmodule": "there are no verbosity levels",
    "--username": "the API server dropped basic authentication in 1.19; use --token or a kubeconfig user",
    "--password": "the API server dropped basic authentication in 1.19; use --token or a kubeconfig user",
    "--as-user-extra": "extra fields cannot be impersonated; --as, --as-group and --as-uid can",
    "--match-server-version": "versions are compared where they matter, never for their own sake",
    "--profile-output": "kubectl's profiling is kubectl's own",
    "--log-flush-frequency": "there is no log to flush",
    "--kuberc": "preferences of kubectl are not read",
    "--warnings-as-errors": "the API server's warnings are not shown; findings have exit codes",
    "--template": "there are no templates; use -o json and a JSON tool",
    "--sort-by": "the order of a plan is part of the plan; use -o json and a JSON tool",
    "--show-labels": "labels are not part of a plan; use kubectl get nodes --show-labels",
    "-w --watch": "a plan is made once, of one observation",
    "-f --filename": "nodes are named or selected; for a dump use --snapshot PATH",
}
"""Flags of kubectl that are not supported, by their names; the reason ends the sentence "NAME is not supported: …"."""


LEVELS = 3
"""Depths at which global flags are accepted: ``kubectl eksdoc HERE drain HERE plan HERE``."""

_KUBECTL_OUTPUTS = ("jsonpath", "custom-columns", "go-template", "template")


@frozen
class GlobalOptions:
    """kubectl's global flags and ours. `connection` has the flags that select the cluster."""

    connection: Connection = Connection()
    namespace: str = ""
    region: str = ""
    cluster_name: str = ""
    profile: str = ""
    output: str = "table"
    all_namespaces: bool = False
    no_headers: bool = False
    no_color: bool = False
    ascii: bool = False
    debug: bool = False

    @property
    def identity(self) -> Identity:
        """The cluster as the user names it."""
        from kubectl_eksdoc.model.cluster import Identity

        return Identity(cluster=self.cluster_name, region=self.region)

    @property
    def profile_flag(self) -> tuple[str, ...]:
        """The profile flag for awscli; in one word where the name would be taken for a flag."""
        if self.profile.startswith("-"):
            return (f"--profile={self.profile}",)
        return ("--profile", self.profile) if self.profile else ()

    @staticmethod
    def add_to(parser: argparse.ArgumentParser, level: int, own_flags: Sequence[str] = ()) -> None:
        """Add the global flags; `level` is the number of commands before them. `own_flags`: flags of kubectl that this
        command supports itself."""
        for flag in SUPPORTED_FLAGS:
            _add_flag(parser, flag, level)
        for names, reason in REFUSED_FLAGS.items():
            if names.split()[-1] in own_flags:
                continue
            parser.add_argument(
                *names.split(),
                action=RefusedFlag,
                nargs="?",  # a switch as well, as "=true" may follow it
                const=reason,
                default=argparse.SUPPRESS,
                help=argparse.SUPPRESS,
            )

    @staticmethod
    def from_args(args: argparse.Namespace) -> GlobalOptions:
        """The flags that were given at any level; the last one wins, repeated flags add up."""
        option_values: dict[str, Any] = {}
        for flag in SUPPORTED_FLAGS:
            if flag.value_kind is FlagValueKind.REPEATED:
                values_by_level = (getattr(args, f"{flag.dest}_{level}", ()) for level in range(LEVELS))
                option_values[flag.dest] = tuple(word for words in values_by_level for word in words)
            elif hasattr(args, flag.dest):
                option_values[flag.dest] = getattr(args, flag.dest)
        connection = {f.name: option_values.pop(f.name) for f in fields(Connection) if f.name in option_values}
        return GlobalOptions(connection=Connection(**connection), **option_values)


def _add_flag(parser: argparse.ArgumentParser, flag: Flag, level: int) -> None:
    # Without a default: the default at a deeper level would override a value from a higher level.
    settings: dict[str, Any] = {"dest": flag.dest, "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    if flag.value_kind is FlagValueKind.SWITCH:
        parser.add_argument(*flag.names, action="switch", **settings)
        return
    settings["metavar"] = flag.metavar
    if flag.value_kind is FlagValueKind.REPEATED:
        parser.add_argument(*flag.names, action="append", **(settings | {"dest": f"{flag.dest}_{level}"}))
    elif flag.value_kind is FlagValueKind.SECONDS:
        parser.add_argument(*flag.names, type=values.seconds, **settings)
    elif flag.value_kind is FlagValueKind.OUTPUT:
        parser.add_argument(*flag.names, type=_parse_output, **settings)
    else:
        parser.add_argument(*flag.names, **settings)


def _parse_output(text: str) -> str:
    if text.partition("=")[0] in _KUBECTL_OUTPUTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not supported; use -o json and a JSON tool such as jq")
    return values.OneOf(OUTPUTS, "output format")(text)
