"""What the options allow a drain to do, as the plan's result prints it: made from where each is declared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kubectl_eksdoc.drain.policy import AT_ONCE, DrainPolicy
from kubectl_eksdoc.model import options
from kubectl_eksdoc.model.options import Kind, options_of
from kubectl_eksdoc.render.result import Count, Lines, Meta, Positive, Printed, Text, Texts, made_of

_HINTS: Mapping[Kind, Any] = {
    options.SWITCH: bool,
    options.OFF_SWITCH: bool,
    options.GRACE: Count | None,
    options.WHOLE_SECONDS: Count,
    options.TIME: Positive | None,
    options.SELECTOR: Text | None,
    options.NODES: Count | None,
    options.PERCENTAGE: Annotated[int, Meta(ge=1, le=100)] | None,
    options.RATE: Annotated[float, Meta(gt=0)] | None,
    options.EFFORT: Count,
    options.POD_NAMES: Annotated[Lines, Meta(extra_json_schema={"uniqueItems": True})],
    options.CODES: Texts,
    options.NAMES_IN_A_FILE: Texts,
    AT_ONCE: Annotated[str, Meta(pattern="^((zone|nodegroup)=)?[0-9]+%?(, (zone|nodegroup)=[0-9]+%?)*$")] | None,
}
"""What a kind of option is in JSON."""


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


_OPTIONS = {_snake(each.json): each for each in options_of(DrainPolicy)}
"""By the names of the result's fields."""

_PAIRS: Mapping[str, type[Printed]] = {
    name: made_of(
        f"{each.json[:1].upper()}{each.json[1:]}Entry",
        zip(each.option.kind.pair, (Text, Positive), strict=True),
        __name__,
    )
    for name, each in _OPTIONS.items()
    if each.option.kind.pair[0]
}


def _hint(name: str, kind: Kind) -> Any:
    pair: Any = _PAIRS.get(name)
    if pair is not None:
        return tuple[pair, ...]
    return Literal[kind.choices] if kind.choices else _HINTS[kind]


def _of(cls: type[Printed], facts: DrainPolicy) -> Printed:
    found = {_snake(name): value for name, value in options.plain(facts).items()}
    pairs = {name: [pair(**each) for each in found[name]] for name, pair in _PAIRS.items()}
    return cls.filled(**{**found, **pairs})


if TYPE_CHECKING:

    class OptionsResult(Printed): ...

else:
    OptionsResult = made_of(
        "OptionsResult",
        [(name, _hint(name, each.option.kind)) for name, each in _OPTIONS.items()],
        __name__,
        __doc__="What the options allow this drain to do; null: no limit, or each pod's own.",
        descriptions={name: each.option.help for name, each in _OPTIONS.items()},
        of=classmethod(_of),
    )
