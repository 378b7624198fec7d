"""Edits of a Corefile that keep every other byte unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at
from kubectl_eksdoc.model.coredns import COREFILE, NAME, SYSTEM, Block, Corefile, Directive, Import, Token

from .corefile_plugins import health_plugins, lameducks, unread
from .managed_fields import MalformedEntries, read

_STEP = "    "
"""Indentation of a new line if no other line shows it."""


@frozen
class NotEdited:
    """The Corefile cannot be edited; `why` in a clause."""

    why: str


@frozen
class _Change:
    """Replaces ``text[start:end]`` by `replacement`."""

    start: int
    end: int
    put: str


def with_lameduck(corefile: Corefile, seconds: int) -> str | NotEdited:
    """Set the total time CoreDNS waits when it stops (`corefile_plugins.lameduck_s`): each health plugin gets its
    share, because they wait one after the other. Without a health plugin, one is added to the first server block."""
    health = [each for block in corefile.blocks for each in block.named("health")]
    if unread(corefile) or any(_elsewhere(corefile.text, token) for each in health for token in each.tokens):
        return NotEdited("a variable, or a snippet within health, may set lameduck as well")
    plugins = len(health_plugins(corefile))
    value = _share(seconds, plugins)
    changes = [change for each in health for change in _in_health(corefile.text, each, value)]
    if not plugins:  # a snippet that is not imported has no effect
        if corefile.files:
            return NotEdited(f"it imports {', '.join(corefile.files)}, which may hold the plugin health")
        block = next((each for each in corefile.servers if each.opened is not None), None)
        if block is None:
            return NotEdited("it has no server block with braces")
        changes = [_new_health(corefile.text, block, value)]
    return _changed(corefile.text, changes)


def _elsewhere(text: str, token: Token) -> bool:
    """Whether the token's value is defined elsewhere."""
    return token.text == "import" or any(each in text[token.start : token.end] for each in ("{$", "{%"))


def _share(seconds: int, plugins: int) -> str:
    """The share of one plugin in whole seconds, or in milliseconds rounded down."""
    each, rest = divmod(seconds, max(1, plugins))
    return f"{seconds * 1000 // plugins}ms" if rest else f"{each}s"


def _in_health(text: str, health: Directive, value: str) -> list[_Change]:
    held = list(lameducks((health,)))
    if held:
        return [_Change(token.start, token.end, value) for token in held if token.text != value]
    opened = next((token for token in health.tokens if token.text == "{" and token.line == health.line), None)
    indent = _indent(text, health.tokens[0].start)
    if opened is not None:
        follows = health.tokens[health.tokens.index(opened) + 1]
        return [_below(text, opened, follows, f"{_line_end(text)}{indent}{_STEP}lameduck {value}", indent)]
    end, new = health.tokens[-1].end, _line_end(text)
    rest = _end_of_line(text, end)
    below = _Change(rest, rest, f"{new}{indent}{_STEP}lameduck {value}{new}{indent}}}")
    return [below, _Change(end, end, " {")]  # of two changes at one position the first ends up after the second


def _new_health(text: str, block: Block, value: str) -> _Change:
    assert block.opened is not None
    first = next((each for each in block.body if _first(each).line > block.opened.line), None)
    indent = _indent(text, _first(first).start) if first is not None else _STEP
    new = _line_end(text)
    put = f"{new}{indent}health {{{new}{indent}{_STEP}lameduck {value}{new}{indent}}}"
    follows = _first(block.body[0]) if block.body else block.closed
    assert follows is not None, "who is opened is closed"
    return _below(text, block.opened, follows, put, "")


def _below(text: str, opened: Token, follows: Token, put: str, indent: str) -> _Change:
    """Insert text after the line of a brace, so that a comment on that line stays. Tokens that follow on the line are
    moved below, so that they are not taken for arguments."""
    if follows.line == opened.line:
        return _Change(opened.end, opened.end, f"{put}{_line_end(text)}{indent}")
    at = _end_of_line(text, opened.end)
    return _Change(at, at, put)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - (text[end - 1 : end] == "\r")


def _first(of: Directive | Import) -> Token:
    return of.tokens[0] if isinstance(of, Directive) else of.keyword


def _indent(text: str, at: int) -> str:
    """The white space between the beginning of the line and this position."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin:at] if text[begin:at].isspace() else ""


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _changed(text: str, changes: list[_Change]) -> str:
    for each in sorted(changes, key=lambda each: each.start, reverse=True):
        text = text[: each.start] + each.put + text[each.end :]
    return text


# The hash by which CoreDNS identifies its running Corefile: in a line of its log, and in a metric.
#
# It is not the hash of the text, but of the parsed blocks as Go prints them in JSON: SHA-512 now, MD5 in older
# versions. So spaces within a line do not change it, and an additional line does. Sources: coredns,
# plugin/reload/reload.go (parse); github.com/coredns/caddy, caddyfile (ServerBlock, Token); Go, encoding/json. Verified
# against the hashes that CoreDNS prints for the Corefile of kubeadm.


def sums(corefile: Corefile) -> tuple[str, ...]:
    """The hashes that versions of CoreDNS print for it, in hexadecimal digits; () if the text does not determine it: it
    imports a file, or uses environment variables."""
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
    """Whether a directive contains an import in its block, where CoreDNS inserts the imported text."""
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
"""Escaped although JSON does not require it (encoding/json, HTMLEscape)."""


def _string(text: str) -> str:
    return '"' + "".join(map(_sign, text)) + '"'


def _sign(sign: str) -> str:
    if sign in _ESCAPED:
        return _ESCAPED[sign]
    return f"\\u{ord(sign):04x}" if sign < " " or sign in _BY_NUMBER else sign


# The ConfigMap of the Corefile: its text, and the field managers that own it.


CONFIG = ObjectName("v1", "ConfigMap", SYSTEM, NAME)
TEXT = ("f:data", f"f:{COREFILE}")
"""Path of the text in managedFields."""
EKS = "eks"
"""Field manager of EKS add-ons."""


def text_of(config: Doc) -> str | None:
    """The Corefile in a ConfigMap, None if there is none."""
    text = at(config, "data", COREFILE)
    return text if isinstance(text, str) else None


def owners_of(doc: Doc, path: tuple[str, ...] = TEXT) -> tuple[str, ...]:
    """Managers of that field, or of a field below it, sorted; empty if the managedFields cannot be read."""
    try:
        owned = ((owner, each) for owner, entry in read(doc).items() for each in entry.fields)
        return tuple(sorted({owner.manager for owner, each in owned if each[: len(path)] == path}))
    except MalformedEntries:
        return ()
