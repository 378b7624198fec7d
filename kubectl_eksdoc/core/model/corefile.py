"""A Corefile as it was read: its text, and where in it everything stands.

The text is kept whole, so printing gives back what was parsed; an edit replaces a span of it and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """`text` without quotes and escapes, as CoreDNS takes it; ``source[start:end]`` is how it was written. `line` from
    1: where it begins."""

    text: str
    line: int
    start: int
    end: int

    @property
    def last_line(self) -> int:
        """Where it ends: a quoted one may go over several."""
        return self.line + self.text.count("\n")

    @property
    def environment(self) -> bool:
        """Its value is put together when CoreDNS starts: ``{$NAME}`` or ``{%NAME%}``."""
        return "{$" in self.text or "{%" in self.text


@dataclass(frozen=True, slots=True)
class Directive:
    """One use of a plugin in a block; the first of `tokens` is its name."""

    tokens: tuple[Token, ...]

    @property
    def name(self) -> str:
        return self.tokens[0].text

    @property
    def line(self) -> int:
        return self.tokens[0].line


@dataclass(frozen=True, slots=True)
class Import:
    """`target` names a snippet, or a file that this text does not hold; at the top `block` is not there."""

    keyword: Token
    target: Token


@dataclass(frozen=True, slots=True)
class Block:
    """A server block, or a snippet if `snippet` names one. `keys` are its zones as written, without commas. `body` in
    its order; `opened` and `closed` are its braces, None where it has none (which is allowed for a single block)."""

    keys: tuple[Token, ...]
    body: tuple[Directive | Import, ...]
    opened: Token | None = None
    closed: Token | None = None
    snippet: str = ""

    @property
    def directives(self) -> tuple[Directive, ...]:
        """Its own, without those that it imports."""
        return tuple(each for each in self.body if isinstance(each, Directive))

    def named(self, name: str) -> tuple[Directive, ...]:
        return tuple(each for each in self.directives if each.name == name)


@dataclass(frozen=True, slots=True)
class Corefile:
    """`blocks` and `imports` at the top, each in their order."""

    text: str
    blocks: tuple[Block, ...] = ()
    imports: tuple[Import, ...] = ()

    def __str__(self) -> str:
        """As it was written, to the last byte."""
        return self.text

    @property
    def servers(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if not block.snippet)

    @property
    def snippets(self) -> dict[str, Block]:
        return {block.snippet: block for block in self.blocks if block.snippet}

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its server blocks import, which may hold anything."""
        found = [*self.imports, *(each for block in self.servers for each in self.whole(block))]
        return tuple(each.target.text for each in found if isinstance(each, Import))

    def whole(self, block: Block, within: tuple[str, ...] = ()) -> Iterator[Directive | Import]:
        """What of `block` CoreDNS sees: with what its snippets hold in the place of their imports. An `Import` that is
        left is of a file, which this text does not hold, or of one of the snippets that it is `within`."""
        inside = (*within, block.snippet)
        for each in block.body:
            held = self.snippets.get(each.target.text) if isinstance(each, Import) else None
            if isinstance(each, Directive):
                yield self._filled(each)
            elif held is None or held.snippet in inside:
                yield each
            else:
                yield from self.whole(held, inside)

    def _filled(self, of: Directive) -> Directive:
        """With snippets that are imported within its own block, where a line begins with ``import``."""
        tokens = list[Token]()
        at = 0
        while at < len(of.tokens):
            token, after = of.tokens[at], of.tokens[at + 1 : at + 2]
            begins = at > 0 and of.tokens[at - 1].last_line < token.line
            held = self.snippets.get(after[0].text) if begins and token.text == "import" and after else None
            if held is None:
                tokens.append(token)
                at += 1
            else:
                for each in held.body:
                    tokens += each.tokens if isinstance(each, Directive) else (each.keyword, each.target)
                at += 2
        return Directive(tuple(tokens))


@dataclass(frozen=True, slots=True)
class Refusal:
    """What CoreDNS says to a Corefile that it does not take: `plugin` is "" for the grammar; `line` 0 where it names
    none. `said` are its words, without where."""

    said: str
    line: int = 0
    plugin: str = ""

    def __str__(self) -> str:
        where = f"Corefile:{self.line} - " if self.line else ""
        return f"plugin/{self.plugin}: {where}{self.said}" if self.plugin else f"{where}{self.said}"
