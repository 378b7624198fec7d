"""A patch of an EC2NodeClass, of exactly the object that was read."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.metadata_acts import OnClass
from kubectl_eksdoc.core.run.metadata.became import Became, Done, class_patch, of_class
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.flows.metadata_fix.world import FixWorld, note


def on_class(act: OnClass, world: FixWorld) -> Done:
    """The server says what it would do with it before anything is written down as asked for.

    Raises:
        Drifted: it is not as it was.
        JournalError: it cannot be written down.
        ClusterError: the server does not take it.
    """
    began_s = world.clock.monotonic()
    now = world.classes.one(act.name)
    part = of_class(act, now)
    if part.became is Became.AS_BEFORE and not isinstance(now, (Absent, Unknown)):
        body = class_patch(act, now)
        world.classes.patch(act.name, body, dry=True)
        world.tell(f"EC2NodeClass {act.name}: the API server would take it (dry run)")
        world.journal.write({"entry": "asking", "what": part.what})
        world.classes.patch(act.name, body)
        note(world, {"entry": "asked", "what": part.what})
        part = of_class(act, world.classes.one(act.name))
        world.tell(str(part))
    elif part.became is not Became.DONE:
        note(world, {"entry": "refused", "why": str(part)})
        raise Drifted(f"{part}: it is not as it was", "Nothing was changed. Look again.")
    return Done(act, world.clock.monotonic() - began_s, (part,))
