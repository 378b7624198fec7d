"""``kubectl eksdoc completion``: install, remove and list the completers of kubectl, and print scripts for shells.

Belongs here: its commands, their output, the scripts for shells.
Never here: the completions at the cursor.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.completers import (
    Completer,
    CompleterState,
    InstalledCompleters,
    installed_completers,
    is_on_path,
    link_completer,
    program_folder,
    unlink_completer,
)

from . import streams
from .context import CommandAnswer, CommandContext
from .flags import LEVELS, GlobalOptions
from .options import add_command, add_dry_run, dry_run_from_args
from .parser import Commands

# Scripts with which shells complete ``kubectl-eksdoc`` as a command of its own. They call it with ``__complete``.
#
# No script evaluates the typed words, and none needs a program outside the shell.


BASH = r"""# bash completion for kubectl-eksdoc. Here and now: source <(kubectl-eksdoc completion bash)
_kubectl_eksdoc() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word i
    # bash splits words at : and =, too: what no space is between is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
            line=${line#"${line%%[![:space:]]*}"}
            words+=("")
        fi
        [[ $line == "$word"* ]] || word=$line
        words[${#words[@]} - 1]+=$word
        line=${line#"$word"}
    done
    # Words stand as they were typed: what quotes and backslashes mean is all that is taken from them.
    for i in "${!words[@]}"; do
        word=${words[i]}
        [[ $word == '~/'* ]] && word=${HOME-}${word#'~'}
        case $word in
            \'*) word=${word:1} word=${word%\'} ;;
            \"*) word=${word:1} word=${word%\"} ;;
            *) word=${word//\\/} ;;
        esac
        words[i]=$word
    done
    local typed=${words[${#words[@]} - 1]} piece=${COMP_WORDS[COMP_CWORD]} offers=() offer directive=0 quoted=""
    [[ $piece == [\'\"]* ]] && quoted=${piece:0:1} piece=${piece:1}
    piece=${piece//\\/}
    while IFS= read -r offer; do
        offers+=("${offer%%$'\t'*}")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    ((${#offers[@]})) || return 0
    directive=${offers[${#offers[@]} - 1]#:}
    unset "offers[${#offers[@]} - 1]"
    # Offers are of the value behind --flag=, and only what stands behind the last : or = is replaced.
    [[ $typed == -*=* ]] && typed=${typed#*=}
    [[ $piece == [:=] || $typed == "" ]] && piece=""
    local before=${typed%"$piece"}
    COMPREPLY=()
    for offer in ${offers[@]+"${offers[@]}"}; do
        offer=${offer#"$before"}
        case $quoted in
            \') offer=${offer//\'/\'\\\'\'} ;;
            \") for i in '\' '$' '`' '"'; do offer=${offer//"$i"/"\\$i"}; done ;;
            *) [[ $offer == *[!A-Za-z0-9_.,:/=@%+-]* ]] && printf -v offer %q "$offer" ;;
        esac
        COMPREPLY+=("$offer")
    done
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 4 || ${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
    return 0
}
complete -F _kubectl_eksdoc kubectl-eksdoc
"""

ZSH = r"""#compdef kubectl-eksdoc
# zsh completion for kubectl-eksdoc. Here and now: source <(kubectl-eksdoc completion zsh)
_kubectl_eksdoc() {
    local -a answer offers space
    local each value directive
    # Words stand as they were typed, the one at the cursor without what opens a quote.
    local -a typed=("${(@Q)words[1,CURRENT-1]}")
    typed=("${(@)typed/#\~\//$HOME/}")
    answer=("${(@f)$("$typed[1]" __complete "${(@)typed[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    directive=${answer[-1]#:}
    [[ $directive == <-> ]] || return 1
    for each in "${(@)answer[1,-2]}"; do
        value=${each%%$'\t'*}
        value=${value//:/\\:}
        [[ $each == *$'\t'* ]] && value="$value:${each#*$'\t'}"
        offers+=("$value")
    done
    compset -P '-*='
    ((directive & 2)) && space=(-S '')
    if (($#offers)); then
        _describe -t eksdoc 'kubectl eksdoc' offers "${space[@]}"
    elif ((!(directive & 4))); then
        _files
    fi
}
if [[ $funcstack[1] == _kubectl_eksdoc ]]; then
    _kubectl_eksdoc "$@"
else
    compdef _kubectl_eksdoc kubectl-eksdoc
fi
"""

FISH = r"""# fish completion for kubectl-eksdoc. Here and now: kubectl-eksdoc completion fish | source
function __kubectl_eksdoc_complete
    # Words stand as they were typed, the one at the cursor with its quotes and backslashes.
    set -l words (commandline -opc | string replace -r -- '^~/' "$HOME/")
    set -l typed (commandline -ct | string replace -r -- '^(|-.*?=)["\']' '$1' | string replace -ar -- '\\\\(.)' '$1')
    set -l answer ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
    test (count $answer) -gt 0; or return
    set -l directive (string replace -r '^:' '' -- $answer[-1])
    set -l before (string match -r -- '^-.*?=' "$typed")
    if test (count $answer) -gt 1
        for each in $answer[1..-2]
            printf '%s%s\n' "$before" "$each"
        end
    else if test "$directive" = 0
        for each in (__fish_complete_path (string replace -r -- '^-.*?=' '' "$typed"))
            printf '%s%s\n' "$before" "$each"
        end
    end
end
complete -c kubectl-eksdoc -f -a '(__kubectl_eksdoc_complete)'
"""

BY_SHELL = {"bash": BASH, "zsh": ZSH, "fish": FISH}


# ``kubectl eksdoc completion``: the links to the completers that kubectl runs, and their state.


NAME = "completion"

_ABOUT = """\
Install or remove shell completion of kubectl eksdoc: commands, flags, their values, and names of contexts, nodes, node
groups and runs. kubectl 1.26 or newer calls the program kubectl_complete-eksdoc, which pip installs and krew does not.

Names are read from the cluster, and names of add-ons from AWS, with the credentials of the command. Completion waits at
most one second; results are cached in ~/.cache/eksdoc for one minute. EKSDOC_COMPLETION_OFFLINE=1 turns reading off.
"""
_INSTALL = """\
Create a link kubectl_complete-X next to each program kubectl-X of this tool. Existing files are kept. Completion of
kubectl itself must be set up for your shell: kubectl completion --help
"""
_UNINSTALL = """\
Remove the links that "completion install" created, and nothing else.
"""
_STATUS = """\
Show for each program kubectl-X of this tool whether kubectl finds its completer. Exit codes: 0 all have one, 1 not all.
"""
_SCRIPT_ABOUT = {
    "bash": """\
Print the bash completion script for the command kubectl-eksdoc. For this shell:
source <(kubectl-eksdoc completion bash). For all shells, add that line to ~/.bashrc.
""",
    "zsh": """\
Print the zsh completion script for the command kubectl-eksdoc. For this shell, after compinit:
source <(kubectl-eksdoc completion zsh). For all shells, save it as _kubectl-eksdoc in a folder of $fpath.
""",
    "fish": """\
Print the fish completion script for the command kubectl-eksdoc. For this shell:
kubectl-eksdoc completion fish | source. For all shells, save it as ~/.config/fish/completions/kubectl-eksdoc.fish.
""",
}
_VERSION_NOTE = "kubectl asks them from 1.26 on; which version yours is tells: kubectl version --client"


def add_to(commands: Commands) -> None:
    about = "install or remove shell completion"
    parser = commands.add_parser(NAME, help=about, description=_ABOUT)
    GlobalOptions.add_to(parser, level=LEVELS - 2)
    subparsers = parser.add_commands()
    add_subcommand(
        subparsers, "install", "create the links for completion by kubectl", _INSTALL, install, has_dry_run=True
    )
    add_subcommand(subparsers, "uninstall", "remove them", _UNINSTALL, uninstall, has_dry_run=True)
    add_subcommand(subparsers, "status", "list the links and what is missing", _STATUS, show_status)
    for shell, script in BY_SHELL.items():
        add_subcommand(
            subparsers,
            shell,
            f"print the {shell} completion script",
            _SCRIPT_ABOUT[shell],
            partial(_print_script, script),
        )


def add_subcommand(
    subparsers: Commands,
    name: str,
    about: str,
    description: str,
    command: Callable[..., CommandAnswer],
    has_dry_run: bool = False,
) -> None:
    parser = add_command(subparsers, name, about, "[flags]", description, "", command)
    if has_dry_run:
        add_dry_run(parser, "show what would be done")


def install(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``completion install``.

    Raises:
        UsageError: the location of this program is unknown, or its folder cannot be written to.
    """
    installed, dry_run = _find_installed(args.words, context), is_dry_run(args)
    lines = [_install_line(each, dry_run) for each in installed.completers if each.state is not CompleterState.DANGLING]
    return lines_answer(
        [*lines, *_path_notes(installed)], any(each.state is CompleterState.OTHER for each in installed.completers)
    )


def uninstall(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``completion uninstall``. Raises: as `install`."""
    installed, dry_run = _find_installed(args.words, context), is_dry_run(args)
    links = (each for each in installed.completers if each.state in (CompleterState.LINK, CompleterState.DANGLING))
    return remove_links({each.path: partial(unlink_completer, each) for each in links}, installed.folder, dry_run)


def remove_links(remove_by_path: Mapping[Path, Callable[[], None]], folder: Path, dry_run: bool) -> CommandAnswer:
    """Remove the links of this tool; each path has a function that removes it. Raises: as `run_or_usage_error`."""
    lines = []
    for path, remove in remove_by_path.items():
        if not dry_run:
            run_or_usage_error(remove, f"remove {path}")
        lines.append(f"{dry_run_text(dry_run, 'remove', 'removed')} {path}")
    return lines_answer(lines or [f"nothing to remove: there is no link of this tool in {folder}"], False)


def show_status(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run ``completion status``. Raises: as `install`."""
    installed = _find_installed(args.words, context)
    lines = [_state_text(each) for each in installed.completers]
    missing = any(each.state not in (CompleterState.LINK, CompleterState.SCRIPT) for each in installed.completers)
    if any(each.state is CompleterState.MISSING for each in installed.completers):
        lines.append("To make what is missing: kubectl eksdoc completion install")
    return lines_answer([*lines, *_path_notes(installed), _VERSION_NOTE], missing or not installed.on_path)


def _print_script(script: str, args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    _check_no_words(args.words)
    return CommandAnswer(script)


def is_dry_run(args: argparse.Namespace) -> bool:
    if args.dry == "server":
        raise UsageError("--dry-run=server asks a server, and links lie on this machine", "Give --dry-run alone.")
    return bool(dry_run_from_args(args))


def _check_no_words(words: Sequence[str]) -> None:
    if words:
        raise UsageError(f"{words[0]!r} is not understood: it is about all programs of this tool", "Name nothing.")


def folder_and_notes(words: Sequence[str], context: CommandContext) -> tuple[Path, list[str]]:
    """The folder of this program, and a note where it is not on PATH.

    Raises:
        UsageError: there are words, or the location of the program is unknown.
    """
    folder = _program_folder(words, context)
    return folder, [] if is_on_path(folder, context.environ) else [_not_on_path(folder)]


def _program_folder(words: Sequence[str], context: CommandContext) -> Path:
    _check_no_words(words)
    folder = program_folder(sys.argv[0], context.environ)
    if folder is None:
        raise UsageError(
            "it is not known where this program was found: no kubectl-eksdoc lies on PATH",
            "Install it with pip or krew, and add its folder to PATH.",
        )
    return folder


def _find_installed(words: Sequence[str], context: CommandContext) -> InstalledCompleters:
    folder = _program_folder(words, context)
    try:
        return installed_completers(folder, context.environ)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from error


def _install_line(completer: Completer, dry_run: bool) -> str:
    if completer.state is CompleterState.MISSING:
        if not dry_run:
            run_or_usage_error(lambda: link_completer(completer), f"make {completer.path}")
        return f"{dry_run_text(dry_run, 'make', 'made')} {completer.path} -> {completer.target}"
    if completer.state is CompleterState.OTHER:
        return f"left alone: {completer.path} is something else; move it away, and install again"
    return (
        "there already: "
        f"{completer.path}{' (a script, as pip installs it)' if completer.state is CompleterState.SCRIPT else ''}"
    )


def dry_run_text(dry_run: bool, infinitive: str, past_tense: str) -> str:
    return f"would {infinitive}" if dry_run else past_tense


def run_or_usage_error(change: Callable[[], None], action: str) -> None:
    try:
        change()
    except OSError as error:
        raise UsageError(
            f"cannot {action}: {error.strerror or error}", "Who installed the program may do it."
        ) from error


def _state_text(completer: Completer) -> str:
    state = {
        CompleterState.LINK: "a link is there",
        CompleterState.SCRIPT: "a script is there, as pip installs it",
        CompleterState.MISSING: "missing",
        CompleterState.DANGLING: "a link without its program: kubectl eksdoc completion uninstall removes it",
        CompleterState.OTHER: "something else has its name",
    }[completer.state]
    shadowed_by = (
        f"; but kubectl runs {completer.shadowed_by}, which comes earlier on PATH" if completer.shadowed_by else ""
    )
    return f"{completer.path.name}: {state}{shadowed_by}"


def _path_notes(installed: InstalledCompleters) -> list[str]:
    return [] if installed.on_path else [_not_on_path(installed.folder)]


def _not_on_path(folder: Path) -> str:
    return f"{folder} is not on PATH, so kubectl does not find what lies there"


def lines_answer(lines: Sequence[str], has_problem: bool) -> CommandAnswer:
    return CommandAnswer("".join(f"{line}\n" for line in lines), streams.FAILS if has_problem else streams.CLEAN)
