"""[!] Rights: kinds that are hidden from the user, actions that are denied, and the roles that would allow them."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.in_cluster.roles import missing_rights_yaml
from kubectl_eksdoc.model.permissions import PlanPermissions
from kubectl_eksdoc.report.text import Appearance, Tone, printable

from .keymap import FootBar, HelpPart, Hint, KeyBinding, ScreenPage
from .line_table import LineTable
from .model import CheckRights, Model, ReadAgain, ScreenFacts
from .panel import Prose
from .shell import escape_markup
from .tables import budgets
from .tables.pods import text_of_cell

_ROLE_NAME = "eksdoc-missing"
_FOOT_HINTS = (
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

    def __init__(self, needs: PlanPermissions, facts: ScreenFacts, view: DrainView | None, ascii: bool) -> None:
        super().__init__()
        self._needs = needs
        self._facts = facts
        self._view = view
        self._appearance = Appearance(ascii=ascii)
        self.denied: budgets.DeniedRights = None

    def compose(self) -> ComposeResult:
        yield Static(id="identity")
        yield LineTable(id="rights", classes="framed")
        yield Prose(id="rights-about")
        yield FootBar(id="foot")

    def on_mount(self) -> None:
        identity = self._facts.cluster.identity
        title = f"eksdoc  {identity.cluster or identity.context}  what you may read and do"
        self.query_one("#identity", Static).update(escape_markup(printable(title, self._appearance)))
        self.query_one("#rights").border_title = escape_markup(
            printable("[!] Rights, the missing first", self._appearance)
        )
        self.query_one("#rights-about").border_title = escape_markup(printable("what it means", self._appearance))
        self.query_one("#foot", FootBar).show(_FOOT_HINTS)
        self.query_one("#rights").focus()
        self.show()
        self.post_message(CheckRights())

    def show(self) -> None:
        if not self.query("#rights-about"):
            return  # it is being closed
        cluster = self._facts.cluster
        self.query_one("#rights", LineTable).show(budgets.rights_sheet(cluster, self._needs, self.denied))
        self._show_explanation()

    @on(LineTable.Moved)
    def _show_explanation(self) -> None:
        """Explain the effect of all missing rights, and of the right under the cursor."""
        table = self.query_one("#rights", LineTable)
        lines = budgets.rights_lines(self._facts.cluster, self._needs, self.denied, self._view)
        if table.key is not None:
            verb, resource, _, lost = map(text_of_cell, table.sheet.cells(table.key))
            lines = [*lines, "", (f"Without {verb[2:]} {resource}: {lost}.", Tone.FAINT)]
        self.query_one("#rights-about", Prose).show(lines)

    def update_denied(self, denied: budgets.DeniedRights) -> None:
        """Set the denied rights."""
        self.denied = denied
        self.show()

    def update_facts(self, facts: ScreenFacts, view: DrainView | None) -> None:
        """The cluster was read again."""
        self._facts, self._view = facts, view
        self.show()

    def action_back(self) -> None:
        self.dismiss()

    def action_copy(self) -> None:
        missing = budgets.missing_rights(self._facts.cluster, self._needs, self.denied)
        if not missing:
            self.notify("y: no right is missing that is known of", timeout=4)
            return
        self.app.copy_to_clipboard(missing_rights_yaml(_ROLE_NAME, missing))
        missing_text = "; ".join(each.scoped_right for each in missing)
        self.notify(printable(f"copied, as YAML: {missing_text}", self._appearance), timeout=8, markup=False)

    def action_again(self) -> None:
        self.post_message(ReadAgain())
        self.post_message(CheckRights())


# Reasons why a key has no effect now: an unavailable key reports its reason.


_PLAN_ACTIONS = ("move_node", "pin", "pin_last", "compare", "run", "dry_run")
_FACTS_ACTIONS = ("command", "run", "by_hand")
_PLAN_PENDING = "the plan is still being made"
_NOTHING_READ = "nothing is read yet"

NO_CONTEXTS = "x: a dump and the demo have no other contexts"


def unavailable_reason(key: KeyBinding, model: Model, page: ScreenPage) -> str:
    """One clause; "" if the key has its effect."""
    if key.action == "nothing":
        return "k9s kills with it, so here it does nothing, and nothing here deletes a pod"
    if other_pages := key.other_pages_only(page):
        return other_pages
    if model.facts is None and (
        key.part in (HelpPart.MARK, HelpPart.PLAN) or key.action in (*_PLAN_ACTIONS, *_FACTS_ACTIONS)
    ):
        return _NOTHING_READ
    if key.action == "rights" and (model.facts is None or model.is_old):
        return _NOTHING_READ
    if model.is_old and (key.action in _PLAN_ACTIONS or key.action in _FACTS_ACTIONS):
        return "this is an old view: nothing is planned or done before the cluster is read"
    if key.action == "undo" and not model.choice.past:
        return "there is nothing to undo"
    if key.action == "redo" and not model.choice.future:
        return "there is nothing to redo"
    if key.action in _PLAN_ACTIONS and model.view is None:
        return (
            _PLAN_PENDING
            if model.is_stale and model.choice.plan_input.marked
            else "there is no plan yet: mark nodes first"
        )
    if key.action in ("run", "dry_run") and model.is_stale:
        return _PLAN_PENDING
    policy = model.choice.plan_input.policy
    if key.action in ("run", "dry_run") and (policy.assume_fixed or policy.assume_budgets):
        return "this plan assumes a cause fixed that is not: space on [4] undoes that, then it can be run"
    if key.action in ("run", "dry_run") and model.view is not None and not model.view.wave_of:
        return "no node in the plan can be drained: [4] says why"
    if key.action == "command" and not model.choice.plan_input.marked:
        return "no node is marked, so there is no command to copy"
    return ""
