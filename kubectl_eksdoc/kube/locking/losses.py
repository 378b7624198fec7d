"""Why a lock is not ours any more, as it is said to whoever must stop for it."""

from __future__ import annotations

from kubectl_eksdoc.errors import LockInDoubt, LockLost


def given_back(where: str) -> LockLost:
    return LockLost(f"the lock {where} was given back", "Nothing more is done from here; resume the run.")


def removed(where: str) -> LockLost:
    return LockLost(f"the lock {where} was removed", "Somebody wanted this run to stop. Ask, then resume.")


def taken(where: str, holder: str) -> LockLost:
    """`holder` "": it is free."""
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows who goes on."
    return LockLost(f"the lock {where} is not ours any more: {holder or 'nobody'} holds it", hint, holder)


def changed_hands(where: str, holder: str) -> LockLost:
    """Somebody else held it since we renewed it last. `holder`: as in `taken`."""
    now = f"{holder or 'nobody'} holds it now"
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows what they did."
    return LockLost(f"somebody else took the lock {where} meanwhile; {now}", hint, holder)


def too_late(where: str, duration_s: float, failed: str) -> LockInDoubt:
    """`failed`: what became of the last try to renew it, "" where that went well and none was made since."""
    said = f"the lock {where} may be somebody else's by now: it was not renewed within {duration_s} s"
    if failed:
        hint = "Nothing more is done from here; mend that, then resume."
        return LockInDoubt(f"{said}; the last try: {failed}", hint, failed)
    return LockInDoubt(said, "This machine or its network stood still. Nothing more is done from here; resume the run.")


def again(error: LockLost) -> LockLost:
    """The same, for another thread to raise."""
    return LockLost(error.message, error.hint, error.holder)
