"""[!] Rights: kinds that are hidden from the user, actions that are denied, and the roles that would allow them."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.in_cluster.roles import roles
from kubectl_eksdoc.model.permissions import PlanPermissions
from kubectl_eksdoc.report.text import Look, Tone, shown

from .keymap import FootBar, HelpPart, Hint, KeyBinding, ScreenPage
from .line_table import LineTable
from .model import AskRights, Model, PlannedCluster, ReadAnew
from .panel import Prose
from .shell import plain
from .tables import budgets
from .tables.pods import text_of

_ROLE = "eksdoc-missing"
_FOOT = (
    Hint("y", "copy the missing roles as YAML", ("copy",)),
    Hint("t", "check again", ("again",)),
    Hint("esc", "back", ("back",)),
)


class RightsScreen(Screen[None]):
    """Mutable: the result of the check of rights."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS = [
        ("escape,q,exclamation_mark", "back"),
        ("y", "copy"),
        ("t,ctrl+r", "again"),
    ]

    def __init__(self, needs: PlanPermissions, facts: PlannedCluster, view: DrainView | None, ascii: bool) -> None:
        super().__init__()
        self._needs = needs
        self._facts = facts
        self._view = view
        self._look = Look(ascii=ascii)
        self.denied: budgets.Denied = None

    def compose(self) -> ComposeResult:
        yield Static(id="identity")
        yield LineTable(id="rights", classes="framed")
        yield Prose(id="rights-about")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        who = self._facts.cluster.identity
        said = f"eksdoc  {who.cluster or who.context}  what you may read and do"
        self.query_one("#identity", Static).update(plain(shown(said, self._look)))
        self.query_one("#rights").border_title = plain(shown("[!] Rights, the missing first", self._look))
        self.query_one("#rights-about").border_title = plain(shown("what it means", self._look))
        self.query_one("#foot", FootBar).show(_FOOT)
        self.query_one("#rights").focus()
        self.show()
        self.post_message(AskRights())

    def show(self) -> None:
        if not self.query("#rights-about"):
            return  # it is being closed
        cluster = self._facts.cluster
        self.query_one("#rights", LineTable).show(budgets.rights_sheet(cluster, self._needs, self.denied))
        self._tell()

    @on(LineTable.Moved)
    def _tell(self) -> None:
        """Explain the effect of all missing rights, and of the right under the cursor."""
        table = self.query_one("#rights", LineTable)
        lines = budgets.rights_about(self._facts.cluster, self._needs, self.denied, self._view)
        if table.key is not None:
            verb, of, _, lost = map(text_of, table.sheet.cells(table.key))
            lines = [*lines, "", (f"Without {verb[2:]} {of}: {lost}.", Tone.FAINT)]
        self.query_one("#rights-about", Prose).show(lines)

    def learn(self, denied: budgets.Denied) -> None:
        """Set the denied rights."""
        self.denied = denied
        self.show()

    def learn_facts(self, facts: PlannedCluster, view: DrainView | None) -> None:
        """The cluster was read again."""
        self._facts, self._view = facts, view
        self.show()

    def action_back(self) -> None:
        self.dismiss()

    def action_copy(self) -> None:
        missing = budgets.missing(self._facts.cluster, self._needs, self.denied)
        if not missing:
            self.notify("y: no right is missing that is known of", timeout=4)
            return
        self.app.copy_to_clipboard(roles(_ROLE, missing))
        said = "; ".join(each.said for each in missing)
        self.notify(shown(f"copied, as YAML: {said}", self._look), timeout=8, markup=False)

    def action_again(self) -> None:
        self.post_message(ReadAnew())
        self.post_message(AskRights())


# Reasons why a key has no effect now: an unavailable key reports its reason.


_NEED_PLAN = ("move_node", "pin", "pin_last", "compare", "run", "dry_run")
_NEED_FACTS = ("command", "run", "by_hand")
_BEING_MADE = "the plan is still being made"
_NOTHING_READ = "nothing is read yet"

NO_CONTEXTS = "x: a dump and the demo have no other contexts"


def why_not(key: KeyBinding, model: Model, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if key.action == "nothing":
        return "k9s kills with it, so here it does nothing, and nothing here deletes a pod"
    if elsewhere := key.elsewhere(page):
        return elsewhere
    if model.facts is None and (
        key.part in (HelpPart.MARK, HelpPart.PLAN) or key.action in (*_NEED_PLAN, *_NEED_FACTS)
    ):
        return _NOTHING_READ
    if key.action == "rights" and (model.facts is None or model.old):
        return _NOTHING_READ
    if model.old and (key.action in _NEED_PLAN or key.action in _NEED_FACTS):
        return "this is an old view: nothing is planned or done before the cluster is read"
    if key.action == "undo" and not model.choice.past:
        return "there is nothing to undo"
    if key.action == "redo" and not model.choice.future:
        return "there is nothing to redo"
    if key.action in _NEED_PLAN and model.view is None:
        return _BEING_MADE if model.stale and model.choice.ask.marked else "there is no plan yet: mark nodes first"
    if key.action in ("run", "dry_run") and model.stale:
        return _BEING_MADE
    policy = model.choice.ask.policy
    if key.action in ("run", "dry_run") and (policy.assume_fixed or policy.assume_budgets):
        return "this plan assumes a cause fixed that is not: space on [4] undoes that, then it can be run"
    if key.action in ("run", "dry_run") and model.view is not None and not model.view.wave_of:
        return "no node in the plan can be drained: [4] says why"
    if key.action == "command" and not model.choice.ask.marked:
        return "no node is marked, so there is no command to copy"
    return ""
