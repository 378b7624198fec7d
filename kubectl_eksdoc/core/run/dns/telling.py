"""What CoreDNS tells of the Corefile that it runs, in its metrics and in its log.

The metric is there only after a reload (a pod that has started since has none), and it names the sum of the new
Corefile even where CoreDNS has refused that and goes on with the old one: only together with the count of failures does
it say anything. The log line comes when a configuration really runs, at the start as well.
Sources: coredns, plugin/reload/{reload,metrics}.go; coremain/run.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubectl_eksdoc.core.model.corefile import Directive, Refusal
from kubectl_eksdoc.core.rules.corefile.parser import parse

_VERSION = re.compile(r'^coredns_reload_version_info\{[^}]*\bvalue="([0-9a-f]+)"[^}]*\}\s+1(?:\.0+)?\s*$', re.MULTILINE)
_FAILED = re.compile(
    r"^coredns_reload_failed_(?:total|count)(?:_total)?(?:\{[^}]*\})?\s+([0-9.eE+]+)\s*$", re.MULTILINE
)
_RUNS = re.compile(r"plugin/reload: Running configuration (?:SHA512|MD5) = ([0-9a-f]+)")
_KEEPS = (
    "plugin/reload: Corefile changed but reload failed",
    "plugin/reload: Corefile parse failed",
    "plugin/reload: Corefile load failed",
)
_LONGEST = 240
_OWN_HOST = ("", "0.0.0.0", "::", "[::]")


@dataclass(frozen=True, slots=True)
class Metrics:
    """`digest`: of the Corefile that it read last, "" before any reload. `failed`: reloads that failed since it
    started."""

    digest: str
    failed: float


@dataclass(frozen=True, slots=True)
class Logged:
    """By the last line that says anything: `digest` of what runs, or why the new one does not (`refused`)."""

    digest: str = ""
    refused: str = ""


def metrics_of(text: str) -> Metrics | None:
    """None: it is not what the plugin reload tells."""
    failed = _FAILED.search(text)
    if failed is None:
        return None
    versions = _VERSION.findall(text)
    return Metrics(versions[-1] if versions else "", float(failed.group(1)))


def metrics_port(text: str) -> int | None:
    """On which CoreDNS with that Corefile tells its metrics to others; None for nowhere: by default only its own pod
    hears them (plugin/metrics: localhost:9153)."""
    corefile = parse(text)
    if isinstance(corefile, Refusal):
        return None
    for each in (each for block in corefile.servers for each in corefile.whole(block)):
        if isinstance(each, Directive) and each.name == "prometheus" and len(each.tokens) > 1:
            host, _, port = each.tokens[1].text.rpartition(":")
            if host in _OWN_HOST and port.isdigit():
                return int(port)
    return None


def logged(text: str) -> Logged:
    found = Logged()
    for line in text.splitlines():
        runs = _RUNS.search(line)
        if runs is not None:
            found = Logged(runs.group(1))
        for each in _KEEPS:
            if each in line:
                found = Logged("", line.partition(each)[2].lstrip(": ").strip()[:_LONGEST] or each)
    return found
