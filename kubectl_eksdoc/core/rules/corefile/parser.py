"""From tokens to blocks. Source: github.com/coredns/caddy, caddyfile/parse.go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.core.model.corefile import Block, Corefile, Directive, Import, Refusal, Token
from kubectl_eksdoc.core.rules.corefile.dispenser import Dispenser, Refused
from kubectl_eksdoc.core.rules.corefile.lexer import tokens

_VARIABLE = re.compile(r"\{\$([^{}]+)\}|\{%([^{}]+)%\}")


def parse(text: str, environment: Mapping[str, str] | None = None) -> Corefile | Refusal:
    """What CoreDNS's parser makes of it. Files that it imports are not in the text: they are kept as `Import`.
    `environment`: those of CoreDNS' variables that are known."""
    try:
        return _Parser(text, environment).corefile()
    except Refused as refused:
        return refused.refusal


class _Parser:
    """Mutable: it goes over the tokens once."""

    def __init__(self, text: str, environment: Mapping[str, str] | None) -> None:
        self._text = text
        self._over = Dispenser([_filled(each, environment) for each in tokens(text)])
        self._blocks: list[Block] = []
        self._imports: list[Import] = []
        self._ended = False

    def corefile(self) -> Corefile:
        while self._over.next():
            self._block()
            if self._ended:
                break
        self._defined_first()
        return Corefile(self._text, tuple(self._blocks), tuple(self._imports))

    def _defined_first(self) -> None:
        """A snippet is there from its definition on: before it, its name is that of a file."""
        defined: set[str] = set()
        later = {block.snippet for block in self._blocks if block.snippet}
        for block in self._blocks:
            if block.snippet:
                defined.add(block.snippet)
            for each in block.body if not block.snippet else ():
                if isinstance(each, Import) and each.target.text in later - defined:
                    said = f"Error during parsing: File to import not found: {each.target.text}"
                    raise Refused(Refusal(said, each.target.line))

    def _block(self) -> None:
        keys = self._keys()
        if self._ended:
            # keys without anything behind them are a block without plugins
            if keys:
                self._blocks.append(Block(tuple(keys), ()))
            return
        if not keys and self._over.value != "{":
            return
        name = _snippet(keys)
        if name:
            self._snippet(keys, name)
            return
        opened = self._over.token if self._over.value == "{" else None
        if opened is None:
            self._over.back()
        body, closed = self._body()
        if opened is not None and closed is None and self._over.value != "}":
            # caddy asks for a "}" as the last token of all, be it of a block within this one
            raise self._over.syntax_error("}")
        self._blocks.append(Block(tuple(keys), tuple(body), opened, closed if opened is not None else None))

    def _keys(self) -> list[Token]:
        """It stands at the first token of a block, and in the end at its opening brace or at what is in it."""
        over, keys, another = self._over, list[Token](), False
        while True:
            if over.value == "import" and over.on_new_line:
                self._imports.append(self._import())
                if not over.next():
                    self._ended = True
                    return keys
                continue
            if over.value == "{":
                if another:
                    raise over.error("Expected another address but had '{' - check for extra comma")
                return keys
            token = over.token
            another = token.text.endswith(",")
            if token.text:
                keys.append(replace(token, text=token.text[:-1]) if another else token)
            if not over.next():
                if another:
                    raise over.error("Unexpected EOF")
                self._ended = True
                return keys
            if not another and over.on_new_line:
                return keys

    def _snippet(self, keys: list[Token], name: str) -> None:
        over = self._over
        if over.value != "{":
            raise over.syntax_error("{")
        if any(block.snippet == name for block in self._blocks):
            raise over.error(f"redeclaration of previously declared snippet {name}")
        opened, body = over.token, list[Directive | Import]()
        while over.next():
            if over.value == "}":
                self._blocks.append(Block(tuple(keys), tuple(body), opened, over.token, name))
                return
            body.append(self._import() if over.value == "import" else self._directive())
        raise over.syntax_error("}")

    def _body(self) -> tuple[list[Directive | Import], Token | None]:
        """Up to the closing brace, or to the end."""
        over, body = self._over, list[Directive | Import]()
        while over.next():
            if over.value == "}":
                return body, over.token
            body.append(self._import() if over.value == "import" else self._directive())
        return body, None

    def _directive(self) -> Directive:
        over, depth = self._over, 0
        found = [over.token]
        while over.next():
            if over.value == "{":
                depth += 1
            elif over.on_new_line and depth == 0:
                over.back()
                break
            elif over.value == "}" and depth > 0:
                depth -= 1
            elif over.value == "}":
                raise over.error("Unexpected '}' because no matching opening brace")
            found.append(over.token)
        if depth > 0:
            raise over.error("Unexpected EOF")
        return Directive(tuple(found))

    def _import(self) -> Import:
        over, keyword = self._over, self._over.token
        if not over.next_argument():
            raise over.argument_error()
        target = over.token
        if not target.text:
            raise over.error("Import requires a non-empty filepath")
        if over.next_argument():
            raise over.error("Import takes only one argument (glob pattern or file)")
        return Import(keyword, target)


def _filled(token: Token, environment: Mapping[str, str] | None) -> Token:
    if environment is None or not token.environment:
        return token
    return replace(token, text=_VARIABLE.sub(lambda found: environment.get(found[1] or found[2], found[0]), token.text))


def _snippet(keys: list[Token]) -> str:
    """The name of ``(name)``, "" for none."""
    if len(keys) == 1 and keys[0].text.startswith("(") and keys[0].text.endswith(")"):
        return keys[0].text[1:-1]
    return ""
