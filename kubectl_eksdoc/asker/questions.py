"""A question, as it is sent, and whether what came back answers it."""

from __future__ import annotations

import secrets

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

_GOOD = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


class DnsQuery:
    """One of its own kind: with an id and a name that nobody has asked before, so that no answer of before fits it and
    no cache knows it. The name is below one that the cluster's DNS answers itself, so what is upstream is not measured.
    """

    def __init__(self, below: str, v6: bool) -> None:
        name = dns.name.from_text(f"eksdoc-{secrets.token_hex(6)}.{below}")
        kind = dns.rdatatype.AAAA if v6 else dns.rdatatype.A
        self._asked = dns.message.make_query(name, kind)
        self.wire = self._asked.to_wire()

    def judged(self, wire: bytes) -> str | None:
        """Nothing for an answer; why it is a bad one (``SERVFAIL``, ``truncated``, ``malformed``); None for what
        is not meant for this question."""
        if wire[:2] != self.wire[:2]:
            return None
        try:
            answer = dns.message.from_wire(wire, ignore_trailing=True)
        except (dns.message.Truncated, dns.exception.DNSException, ValueError):
            return "malformed"
        if not self._asked.is_response(answer):
            return None
        if answer.flags & dns.flags.TC:
            return "truncated"
        code = answer.rcode()
        return "" if code in _GOOD else dns.rcode.to_text(code)
