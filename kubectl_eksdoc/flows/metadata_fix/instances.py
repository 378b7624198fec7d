"""Options of running instances, one call after the other, until all of them are in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.machines import Instance
from kubectl_eksdoc.core.model.metadata_acts import OnInstances, SetOptions
from kubectl_eksdoc.core.run.metadata.became import Became, Done, Part, of_instance
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled, JournalError
from kubectl_eksdoc.flows.metadata_fix.world import FixWorld, note, waited


def on_instances(act: OnInstances, world: FixWorld, watch_s: float) -> Done:
    """
    Raises:
        JournalError: the first of them cannot be written down.
        AwsError: nothing can be asked, or the first of them is refused to whoever asks.
    """
    return _Instances(act, world, watch_s).done()


@dataclass(slots=True)
class _Instances:
    """Mutable: what was asked for so far."""

    act: OnInstances
    world: FixWorld
    watch_s: float
    asked: list[SetOptions] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def done(self) -> Done:
        began_s = self.world.clock.monotonic()
        left = self._ask_all(self._read())
        left = self._until_applied(began_s) or left
        now = self._read_at_last()
        parts = tuple(self._part(each, now) for each in self.act.each)
        return Done(self.act, self.world.clock.monotonic() - began_s, parts, left)

    def _read(self) -> Mapping[str, Instance | Absent | Unknown]:
        return self.world.aws.instances([each.instance for each in self.act.each])

    def _read_at_last(self) -> Mapping[str, Instance | Absent | Unknown]:
        try:
            return self._read()
        except AwsError as error:
            return {each.instance: Unknown(error.message) for each in self.act.each}

    def _part(self, each: SetOptions, now: Mapping[str, Instance | Absent | Unknown]) -> Part:
        part = of_instance(each, now[each.instance])
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
            if part.became is not Became.AS_BEFORE:
                self.world.tell(f"{part}: it is left as it is")
                continue
            if self.world.told():
                return "it was told to stop"
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
            self.asked.append(each)
            return error.message
        self.asked.append(each)
        note(self.world, {"entry": "asked", "instance": each.instance})
        self.world.tell(f"{each}: asked for")
        return ""

    def _until_applied(self, began_s: float) -> str:
        while self.asked:
            try:
                now = self._read()
            except AwsError as error:
                self.world.tell(f"AWS does not answer: {error.message}")
                return f"what became of it is not known: {error.message}"
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
