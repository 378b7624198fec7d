"""How kube-proxy is told to send what Services get: its mode, of its configuration as EKS keeps it in a ConfigMap."""

from __future__ import annotations

import re

from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at

CONFIG = ObjectName("v1", "ConfigMap", "kube-system", "kube-proxy-config")
"""As EKS calls it."""
IPVS = "ipvs"

_MODE = re.compile(r"(?:^|[{,])[ \t]*[\"']?mode[\"']?[ \t]*:[ \t]*[\"']?(\w*)", re.MULTILINE)


def configuration(config: Doc) -> str:
    """As it stands in the ConfigMap; "" where it has none."""
    return str(at(config, "data", "config") or at(config, "data", "config.conf") or "")


def mode(text: str) -> str:
    """As configured, iptables where that is left out; "" where there is no configuration."""
    found = _MODE.search(text)
    return "" if not text.strip() else (found[1] if found else "") or "iptables"
