"""The sum by which CoreDNS tells which Corefile it runs: in a line of its log, and in a metric.

It is none of the text: it is that of the parsed blocks as Go prints them in JSON, SHA-512 now and MD5 in older
versions. So spaces within a line do not change it, and a line more does. Sources: coredns, plugin/reload/reload.go
(parse); github.com/coredns/caddy, caddyfile (ServerBlock, Token); Go, encoding/json. Held against the sums that CoreDNS
prints for the Corefile of kubeadm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kubectl_eksdoc.core.model.corefile import Block, Corefile, Directive, Import, Token


def sums(corefile: Corefile) -> tuple[str, ...]:
    """Each by which a version of CoreDNS may call it, in hexadecimal digits; () where the text does not tell it: a file
    is imported, or the environment is asked."""
    blocks = [_block(corefile, block) for block in corefile.servers]
    if corefile.imports or any(block is None for block in blocks):
        return ()
    printed = f"[{','.join(block for block in blocks if block is not None)}]".encode("utf-8", "replace")
    return hashlib.sha512(printed).hexdigest(), hashlib.md5(printed, usedforsecurity=False).hexdigest()


def _block(corefile: Corefile, block: Block) -> str | None:
    tokens: dict[str, list[Token]] = {}
    for each in corefile.whole(block):
        if isinstance(each, Import) or _imports(each):
            return None
        tokens.setdefault(each.name, []).extend(each.tokens)
    if any(token.environment for token in (*block.keys, *(one for every in tokens.values() for one in every))):
        return None
    keys = ",".join(_string(key.text) for key in block.keys)
    plugins = ",".join(f"{_string(name)}:{_tokens(tokens[name])}" for name in sorted(tokens))
    return f'{{"Keys":[{keys}],"Tokens":{{{plugins}}}}}'


def _imports(directive: Directive) -> bool:
    """Within its block, where CoreDNS puts in what is imported."""
    lines = [token.line for token in directive.tokens]
    return any(
        token.text == "import" and token.line != before
        for token, before in zip(directive.tokens[1:], lines, strict=False)
    )


def _tokens(tokens: Iterable[Token]) -> str:
    found = (f'{{"File":"","Line":{token.line},"Text":{_string(token.text)}}}' for token in tokens)
    return f"[{','.join(found)}]"


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_BY_NUMBER = frozenset("<>&\u2028\u2029")
"""Escaped though JSON does not ask for it (encoding/json, HTMLEscape)."""


def _string(text: str) -> str:
    return '"' + "".join(map(_sign, text)) + '"'


def _sign(sign: str) -> str:
    if sign in _ESCAPED:
        return _ESCAPED[sign]
    return f"\\u{ord(sign):04x}" if sign < " " or sign in _BY_NUMBER else sign
