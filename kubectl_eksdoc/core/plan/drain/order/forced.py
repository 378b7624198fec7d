"""What the user forces about the order must name targets, and not contradict itself."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.plan.drain.order.waves import at_once, domains_of
from kubectl_eksdoc.core.plan.drain.policy import ALL, DrainPolicy
from kubectl_eksdoc.errors import UsageError


def check_named(policy: DrainPolicy, targets: Sequence[Node]) -> None:
    """
    Raises:
        UsageError: the order or a pin of `policy` names a node that is no target, or pins put more nodes into a wave
            than may be under way at once.
    """
    known = {node.name: node for node in targets}
    for flag, named in (("--order-file", policy.order_nodes), ("--pin", [node for node, _ in policy.pins])):
        strange = [name for name in named if name not in known]
        if strange:
            close = difflib.get_close_matches(strange[0], known, n=3)
            hint = f"close to it: {', '.join(close)}" if close else "leave it out, or make it a target"
            raise UsageError(f"{flag} names {strange[0]}, which is none of the {len(known)} targets", hint)
    room = at_once(policy, targets)
    together = Counter((wave, domain) for name, wave in policy.pins for domain in domains_of(known[name]))
    for (wave, domain), count in sorted(together.items()):
        if count > room.get(domain, count):
            words = "" if domain == ALL else f" of {domain}"
            raise UsageError(
                f"--pin puts {count} nodes{words} into wave {wave}, and --max-unavailable lets {room[domain]} be under "
                "way at once",
                "Pin fewer of them to that wave, or let more be under way.",
            )
