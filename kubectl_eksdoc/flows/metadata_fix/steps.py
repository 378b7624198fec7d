"""Options of running instances, one call after the other, until all of them are in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.drain.run.stages import Stage, stage_of
from kubectl_eksdoc.errors import (
    AwsDenied,
    AwsError,
    AwsLogin,
    AwsMissing,
    AwsRefused,
    AwsThrottled,
    ClusterError,
    Drifted,
    JournalError,
)
from kubectl_eksdoc.flows.metadata_fix.world import (
    REFUSALS,
    FixWorld,
    MetadataAws,
    NodeClasses,
    members_after,
    note,
    waited,
)
from kubectl_eksdoc.imds_probe.run import (
    Became,
    Done,
    Part,
    class_patch,
    of_class,
    of_group,
    of_instance,
    stage_by_group,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Issue, Update
from kubectl_eksdoc.model.aws.machines import Instance
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate, SetOptions

# What a journal knows of a fix that was begun before.


@dataclass(frozen=True, slots=True)
class Past:
    """What is known to have been done before: the number of the version, and EKS's id of the update. `taken`: by
    instance or name, what AWS or the API server has taken; `tried`: with what may have been taken, too."""

    number: int = 0
    update: str = ""
    taken: frozenset[str] = frozenset()
    tried: frozenset[str] = frozenset()


def past_of(entries: Iterable[Doc]) -> Past:
    """By the entries of its journal, in their order."""
    number, update, taken, tried = 0, "", set[str](), set[str]()
    for each in entries:
        number, update = int(each.get("number") or number), str(each.get("update") or update)
        what, entry = str(each.get("instance") or each.get("what") or ""), each.get("entry")
        if what and entry in ("asking", "asked"):
            tried.add(what)
        if what and entry == "asked":
            taken.add(what)
        if what and entry == "refused" and what not in taken:
            tried.discard(what)
    return Past(number, update, frozenset(taken), frozenset(tried))


def unfinished(entries: Sequence[Doc]) -> bool:
    """Something was changed, or may have been, and the fix was broken off before its end and not reverted since."""
    past, last = past_of(entries), {str(each.get("entry")): each for each in entries}
    closed = "undone" in last or ("ended" in last and not last["ended"].get("left"))
    return not closed and bool(past.tried or past.number)


def _set_back(part: Part) -> Part:
    return Part(part.what, Became.SET_BACK, part.why)


# Options of running instances, one call after the other, until all of them are in force.


def on_instances(act: OnInstances, world: FixWorld, watch_s: float, past: Past = Past()) -> Done:
    """
    Raises:
        JournalError: the first of them cannot be written down.
        AwsError: nothing can be asked, or the first of them is refused to whoever asks.
    """
    return _Instances(act, world, watch_s, past).done()


@dataclass(slots=True)
class _Instances:
    """Mutable: what was asked for so far."""

    act: OnInstances
    world: FixWorld
    watch_s: float
    past: Past
    asked: list[SetOptions] = field(default_factory=list)
    ours: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def done(self) -> Done:
        began_s = self.world.clock.monotonic()
        left = self._ask_all(self._read())
        left = self._until_applied(began_s) or left
        now = self._read_at_last()
        parts = tuple(self._part(each, now) for each in self.act.each)
        ours = self.past.tried | self.ours
        there = (Became.DONE, Became.PENDING)
        with_parts = zip(self.act.each, parts, strict=True)
        changed = tuple(each.instance for each, part in with_parts if part.became in there and each.instance in ours)
        return Done(self.act, self.world.clock.monotonic() - began_s, parts, left, changed=changed)

    def _read(self) -> Mapping[str, Instance | Absent | Unknown]:
        return self.world.aws.instances([each.instance for each in self.act.each])

    def _read_at_last(self) -> Mapping[str, Instance | Absent | Unknown]:
        try:
            return self._read()
        except AwsError as error:
            return {each.instance: Unknown(error.message) for each in self.act.each}

    def _part(self, each: SetOptions, now: Mapping[str, Instance | Absent | Unknown]) -> Part:
        part = of_instance(each, now[each.instance])
        if part.became is Became.AS_BEFORE and each.instance in self.past.taken:
            return _set_back(part)
        why = self.refused.get(each.instance)
        return Part(part.what, part.became, why) if why and part.became is Became.AS_BEFORE else part

    def _ask_all(self, now: Mapping[str, Instance | Absent | Unknown]) -> str:
        """Those that are as they were; why not all of them, a clause."""
        for each in self.act.each:
            part = of_instance(each, now[each.instance])
            if part.became is Became.PENDING:
                self.asked.append(each)  # by whoever was broken off
            if part.became is Became.UNKNOWN:
                self.refused[each.instance] = f"it was not changed, as it could not be read: {part.why}"
            if part.became is not Became.AS_BEFORE or each.instance in self.past.taken:
                self.world.tell(f"{self._part(each, now)}: it is left as it is")
                continue
            if self.world.told():
                return "it was stopped"
            left = self._ask(each)
            if left:
                return left
        return ""

    def _ask(self, each: SetOptions) -> str:
        """Why nothing more is asked for, a clause."""
        try:
            self.world.journal.write({"entry": "asking", "instance": each.instance})
        except JournalError as error:
            if not self.asked:
                raise
            return f"the journal cannot be written: {error.message}"
        try:
            self.world.aws.set_options(each)
        except (AwsDenied, AwsLogin, AwsThrottled) as error:  # so it is of all others, too
            note(self.world, {"entry": "refused", "instance": each.instance, "why": error.message})
            if not self.asked:
                raise
            return error.message
        except (AwsMissing, AwsRefused) as error:
            note(self.world, {"entry": "refused", "instance": each.instance, "why": error.message})
            self.refused[each.instance] = error.message
            self.world.tell(f"{each.instance} ({each.node}): {error.message}")
            return ""
        except AwsError as error:
            note(self.world, {"entry": "in-doubt", "instance": each.instance, "why": error.message})
            self._asked_for(each)
            return error.message
        self._asked_for(each)
        note(self.world, {"entry": "asked", "instance": each.instance})
        self.world.tell(f"{each}: asked for")
        return ""

    def _asked_for(self, each: SetOptions) -> None:
        self.asked.append(each)
        self.ours.add(each.instance)

    def _until_applied(self, began_s: float) -> str:
        while self.asked:
            try:
                now = self._read()
            except AwsError as error:
                self.world.tell(f"AWS does not answer: {error.message}")
                return f"the result is unknown: {error.message}"
            parts = [of_instance(each, now[each.instance]) for each in self.asked]
            for part in parts:
                if part.became is Became.DONE and self.said.get(part.what) != str(part):
                    self.said[part.what] = str(part)
                    self.world.tell(str(part))
            if not any(part.became in (Became.PENDING, Became.AS_BEFORE) for part in parts):
                return ""
            left = waited(self.world, began_s, self.watch_s)
            if left:
                return left
        return ""


# A patch of an EC2NodeClass, of exactly the object that was read.


def on_class(act: OnClass, world: FixWorld, past: Past = Past()) -> Done:
    """The server says what it would do with it before anything is written down as asked for.

    Raises:
        Drifted: it is not as it was.
        JournalError: it cannot be written down.
        ClusterError: the server does not take it.
    """
    began_s = world.clock.monotonic()
    now = world.classes.one(act.name)
    part, ours = of_class(act, now), f"EC2NodeClass {act.name}" in past.tried
    if part.became is Became.AS_BEFORE and part.what in past.taken:
        part = _set_back(part)
        world.tell(f"{part}: it is left as it is")
    elif part.became is Became.AS_BEFORE and not isinstance(now, (Absent, Unknown)):
        body = class_patch(act, now)
        world.classes.patch(act.name, body, dry=True)
        world.tell(f"EC2NodeClass {act.name}: the API server would take it (dry run)")
        world.journal.write({"entry": "asking", "what": part.what})
        world.classes.patch(act.name, body)
        note(world, {"entry": "asked", "what": part.what})
        part, ours = of_class(act, world.classes.one(act.name)), True
        world.tell(str(part))
    elif part.became is not Became.DONE:
        note(world, {"entry": "refused", "why": str(part)})
        raise Drifted(f"{part}: it is not as it was", "Nothing was changed. Look again.")
    changed = (act.name,) if ours and part.became is Became.DONE else ()
    return Done(act, world.clock.monotonic() - began_s, (part,), changed=changed)


# A new version of a launch template, and the update of its node group to it, followed until EKS has ended it.


def on_template(act: OnTemplate, token: str, past: Past, world: FixWorld, watch_s: float) -> Done:
    """
    Raises:
        JournalError: it cannot be written down.
        AwsError: the version or the update is refused, or nobody knows whether it was begun.
    """
    began_s = world.clock.monotonic()
    number = act.to or past.number or _version(act, token, world)
    update, stage, errors, left = "", Stage.SUCCESSFUL, tuple[Issue, ...](), ""
    if not (act.to and not past.update and _is_at(act, number, world)):  # else by an update whose answer was lost
        update = past.update or _begun(act, past, world) or _update(act, number, token, world)
        stage, errors, left = _followed(act, number, update, began_s, world, watch_s)
    part = _group_part(act, number, stage, world)
    if part.became is Became.AS_BEFORE and stage is Stage.SUCCESSFUL:
        part = _set_back(part)
    told = stage is Stage.SUCCESSFUL and not act.to
    names, nodes = members_after(act.group, act.hop_limit, world) if told else ((), ())
    seconds = world.clock.monotonic() - began_s
    limit = "as it was before the fix" if act.to else f"hop limit {act.hop_limit}"
    made = Part(f"launch template {act.id} version {number}", Became.DONE, limit)
    changed = (act.group,) if part.became in (Became.DONE, Became.PENDING) else ()
    return Done(act, seconds, (made, part), left, number, update, stage, errors, nodes, names, changed=changed)


def _version(act: OnTemplate, token: str, world: FixWorld) -> int:
    """One that was made before an answer was lost is found again."""
    known = world.aws.version_of(act, token)
    if isinstance(known, int) and known:
        note(world, {"entry": "version", "number": known})
        return known
    world.journal.write({"entry": "asking", "what": "version"})
    try:
        number = world.aws.new_version(act, token)
    except REFUSALS as error:
        note(world, {"entry": "refused", "what": "version", "why": error.message})
        raise
    except AwsError as error:
        note(world, {"entry": "in-doubt", "what": "version", "why": error.message})
        raise
    note(world, {"entry": "version", "number": number})
    world.tell(f"launch template {act.id}: version {number} is made, and used by nothing yet")
    return number


def _begun(act: OnTemplate, past: Past, world: FixWorld) -> str:
    """An update that was asked for, and whose answer was lost: only of a version that was known to be made before."""
    known = world.aws.update_to(act, past.number) if past.number and not act.to else ""
    if isinstance(known, Unknown):
        world.tell(
            f"node group {act.group}: whether the update has begun is not known: {known.why} ({known.missing}). It is "
            "asked for again with the same token, by which EKS begins it once"
        )
        return ""
    if known:
        note(world, {"entry": "asked", "update": known})
    return known


def _is_at(act: OnTemplate, number: int, world: FixWorld) -> bool:
    return of_group(act, number, world.aws.group(act.group)).became is Became.DONE


def _check_group(act: OnTemplate, number: int, world: FixWorld) -> None:
    """An update to another template or AMI that came meanwhile is not reverted by one of ours. Raises Drifted."""
    part = of_group(act, number, world.aws.group(act.group))
    if part.became not in (Became.AS_BEFORE, Became.DONE, Became.PENDING):
        note(world, {"entry": "refused", "what": "update", "why": str(part)})
        unused = "" if act.to else f"; version {number} of its launch template is unused"
        raise Drifted(f"{part}: it is not as it was when the fix was shown", f"It was not changed{unused}.")


def _update(act: OnTemplate, number: int, token: str, world: FixWorld) -> str:
    _check_group(act, number, world)
    world.journal.write({"entry": "asking", "what": "update"})
    try:
        update = world.aws.update_group(act, number, token)
    except REFUSALS as error:
        note(world, {"entry": "refused", "what": "update", "why": error.message})
        raise
    except AwsError as error:
        note(world, {"entry": "in-doubt", "what": "update", "why": error.message})
        hint = f"If it has, it continues in EKS. --resume looks for it first, and starts no second one. {error.hint}"
        raise AwsError(f"it is unknown whether the update has begun: {error.message}", hint) from error
    note(world, {"entry": "asked", "update": update.id})
    world.tell(f"node group {act.group}: update {update.id} to version {number} has begun")
    return update.id


def _followed(
    act: OnTemplate, number: int, ident: str, began_s: float, world: FixWorld, watch_s: float
) -> tuple[Stage, tuple[Issue, ...], str]:
    """How EKS ended it, or how it stands and why it is followed no longer."""
    stage, said = Stage.ASKED, ""
    while True:
        errors: tuple[Issue, ...] = ()
        try:
            told = world.aws.update(act.group, ident)
            if isinstance(told, Update):
                stage, errors, more = stage_of(told), told.errors, ""
            else:
                stage = stage_by_group(world.aws.group(act.group), number, stage)
                more = f" (by the node group itself: {told.said if isinstance(told, Absent) else told.why})"
            line = f"update {ident}: {stage.value}{more}"
        except AwsError as error:
            line = f"AWS does not answer; the update continues in EKS: {error.message}"
        if line != said:
            said = line
            world.tell(line)
        if stage.ended:
            return stage, errors, ""
        left = waited(world, began_s, watch_s)
        if left:
            return stage, errors, left


def _group_part(act: OnTemplate, number: int, stage: Stage, world: FixWorld) -> Part:
    try:
        part = of_group(act, number, world.aws.group(act.group))
    except AwsError as error:
        return Part(f"node group {act.group}", Became.UNKNOWN, error.message)
    if part.became is Became.AS_BEFORE and not stage.ended:
        return Part(part.what, Became.PENDING, part.why)
    return part


# What AWS and the cluster would say to a fix: nothing is changed.


def tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> tuple[bool, tuple[str, ...]]:
    """Whether all of it would be taken, and what was said, a line each.

    Raises:
        AwsError, ClusterError: nothing can be asked.
    """
    found = list(_tried(act, token, aws, classes))
    return all(well for well, _ in found), tuple(line for _, line in found)


def _tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> Iterator[tuple[bool, str]]:
    match act:
        case OnInstances(each):
            for one in each:
                try:
                    aws.set_options(one, dry=True)
                    yield True, f"{one}: EC2 would take it"
                except (AwsDenied, AwsMissing, AwsRefused) as error:
                    yield False, f"{one}: {error.message}"
        case OnTemplate():
            try:
                if not act.to:
                    aws.new_version(act, token, dry=True)
                    yield True, f"launch template {act.id}: EC2 would make the version"
            except (AwsDenied, AwsMissing, AwsRefused) as error:
                yield False, f"launch template {act.id}: {error.message}"
            yield True, f"node group {act.group}: EKS has no dry run, so whether it takes the update is not known"
        case OnClass():
            yield _class(act, classes)


def _class(act: OnClass, classes: NodeClasses) -> tuple[bool, str]:
    what = f"EC2NodeClass {act.name}"
    now = classes.one(act.name)
    if isinstance(now, (Absent, Unknown)):
        return False, f"{what}: {now.said if isinstance(now, Absent) else now.why}"
    try:
        classes.patch(act.name, class_patch(act, now), dry=True)
    except ClusterError as error:
        return False, f"{what}: {error.message}"
    return True, f"{what}: the API server would take it"
