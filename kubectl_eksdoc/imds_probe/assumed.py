"""What if the next nodes had other metadata options: who would be affected, before it is so. And which are meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from kubectl_eksdoc.amazon.metadata_service import OPTIONAL, REQUIRED
from kubectl_eksdoc.model.aws.machines import Image, MetadataOptions

AL2023 = "AL2023"
TAG = "tag:"
_MOST, _NAMED = 5, 3


def settings(text: str, names: Collection[str]) -> dict[str, str] | None:
    """``hops=1,tokens=required``, with spaces where a tag takes no comma: each of `names` once at the most."""
    found: dict[str, str] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, _, value = part.partition("=")
        fits = {
            "hops": value.isascii() and value.isdigit() and 1 <= int(value or 0) <= 64,
            "tokens": value in (REQUIRED, OPTIONAL),
            "ami": value.upper() == AL2023,
        }
        if name not in names or name in found or not fits[name]:
            return None
        found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class IntendedOptions:
    """The options that are meant: `hops` at most, None and "" where anything is. `tag`: that one of the cluster says
    it, "" where it is known."""

    hops: int | None = None
    tokens: str = ""
    tag: str = ""

    @classmethod
    def of(cls, text: str) -> IntendedOptions | None:
        """None for a text that is no intent."""
        found = settings(text, ("hops", "tokens"))
        if found is None:
            return None
        return cls(int(found["hops"]) if "hops" in found else None, found.get("tokens", ""))

    def __str__(self) -> str:
        """As the flag takes it."""
        if self.tag:
            return f"{TAG}{self.tag}"
        return ",".join(f"{name}={value}" for name, value in (("hops", self.hops), ("tokens", self.tokens)) if value)

    def missed_by(self, options: object) -> bool:
        """They are known, and are not what is meant; with a disabled endpoint nothing is left to limit."""
        if not isinstance(options, MetadataOptions) or not options.endpoint:
            return False
        wide = self.hops is not None and options.hop_limit > self.hops
        return wide or bool(self.tokens and options.tokens != self.tokens)

    def met_by(self, options: object) -> bool:
        return isinstance(options, MetadataOptions) and options.endpoint and not self.missed_by(options)


@dataclass(frozen=True, slots=True)
class Assumed:
    """`hops` and `tokens` of every next instance, None and "" where they stay; `image`: `AL2023`, or "" for none."""

    hops: int | None = None
    tokens: str = ""
    image: str = ""

    def __str__(self) -> str:
        """As the flag takes it."""
        given = (("hops", self.hops), ("tokens", self.tokens), ("ami", self.image))
        return ",".join(f"{name}={value}" for name, value in given if value)

    def options(self, without: object) -> MetadataOptions:
        """`without`: what it would be else. What is not known there, and not assumed, is the stricter."""
        base = without if isinstance(without, MetadataOptions) else MetadataOptions(REQUIRED, 2)
        hops = base.hop_limit if self.hops is None else self.hops
        return replace(base, tokens=self.tokens or base.tokens, hop_limit=hops, pending=False)

    def ami_type(self, of: str) -> str:
        """Of a managed node group that has now the type `of`."""
        return f"AL2023_{of.partition('_')[2]}" if self.image and of.startswith("AL2_") else of

    def of_image(self, image: Image) -> Image:
        return replace(image, v2=True) if self.image else image
