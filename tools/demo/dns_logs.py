"""The logs of the demo's CoreDNS: the start-up lines, without errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from kubectl_eksdoc.model.coredns import NAME, is_coredns
from kubectl_eksdoc.model.nodes import LogKey
from tools.demo.incidents import COREFILE
from tools.demo.meta import Json

_STARTED = f"""\
.:53
[INFO] plugin/reload: Running configuration SHA512 = {hashlib.sha512(COREFILE.encode()).hexdigest()}
CoreDNS-1.11.4
linux/amd64, go1.23.8,
"""


def logs(pods: Iterable[Json]) -> Mapping[LogKey, str]:
    """The log of each of its `pods`."""
    described = (pod["metadata"] for pod in pods)
    own = (each for each in described if is_coredns(each["namespace"], each["labels"]))
    return {LogKey(each["namespace"], each["name"], NAME): _STARTED for each in own}
