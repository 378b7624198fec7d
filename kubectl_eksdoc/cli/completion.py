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
    Installed,
    folder_of,
    installed_in,
    link,
    on_path,
    unlink,
)

from . import streams
from .context import CommandAnswer, CommandContext
from .flags import LEVELS, GlobalOptions
from .options import add_command, add_dry_run, dry_from
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
_SHELL = {
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
_NO_VERSION = "kubectl asks them from 1.26 on; which version yours is tells: kubectl version --client"


def add_to(commands: Commands) -> None:
    about = "install or remove shell completion"
    parser = commands.add_parser(NAME, help=about, description=_ABOUT)
    GlobalOptions.add_to(parser, level=LEVELS - 2)
    under = parser.add_commands()
    add_under(under, "install", "create the links for completion by kubectl", _INSTALL, install, dry=True)
    add_under(under, "uninstall", "remove them", _UNINSTALL, uninstall, dry=True)
    add_under(under, "status", "list the links and what is missing", _STATUS, status)
    for shell, script in BY_SHELL.items():
        add_under(under, shell, f"print the {shell} completion script", _SHELL[shell], partial(_printed, script))


def add_under(
    under: Commands, name: str, about: str, description: str, command: Callable[..., CommandAnswer], dry: bool = False
) -> None:
    parser = add_command(under, name, about, "[flags]", description, "", command)
    if dry:
        add_dry_run(parser, "show what would be done")


def install(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``completion install``.

    Raises:
        UsageError: the location of this program is unknown, or its folder cannot be written to.
    """
    found, dry = _found(args.words, around), is_dry(args)
    said = [_made(each, dry) for each in found.completers if each.state is not CompleterState.DANGLING]
    return answer([*said, *_path(found)], any(each.state is CompleterState.OTHER for each in found.completers))


def uninstall(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``completion uninstall``. Raises: as `install`."""
    found, dry = _found(args.words, around), is_dry(args)
    there = (each for each in found.completers if each.state in (CompleterState.LINK, CompleterState.DANGLING))
    return unlinked({each.path: partial(unlink, each) for each in there}, found.folder, dry)


def unlinked(there: Mapping[Path, Callable[[], None]], folder: Path, dry: bool) -> CommandAnswer:
    """Remove the links of this tool; each path has a function that removes it. Raises: as `run_or_usage_error`."""
    said = []
    for path, remove in there.items():
        if not dry:
            done(remove, f"remove {path}")
        said.append(f"{would(dry, 'remove', 'removed')} {path}")
    return answer(said or [f"nothing to remove: there is no link of this tool in {folder}"], False)


def status(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Run ``completion status``. Raises: as `install`."""
    found = _found(args.words, around)
    lines = [_stands(each) for each in found.completers]
    missing = any(each.state not in (CompleterState.LINK, CompleterState.SCRIPT) for each in found.completers)
    if any(each.state is CompleterState.MISSING for each in found.completers):
        lines.append("To make what is missing: kubectl eksdoc completion install")
    return answer([*lines, *_path(found), _NO_VERSION], missing or not found.on_path)


def _printed(script: str, args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    _no_words(args.words)
    return CommandAnswer(script)


def is_dry(args: argparse.Namespace) -> bool:
    if args.dry == "server":
        raise UsageError("--dry-run=server asks a server, and links lie on this machine", "Give --dry-run alone.")
    return bool(dry_from(args))


def _no_words(words: Sequence[str]) -> None:
    if words:
        raise UsageError(f"{words[0]!r} is not understood: it is about all programs of this tool", "Name nothing.")


def located(words: Sequence[str], around: CommandContext) -> tuple[Path, list[str]]:
    """The folder of this program, and a note where it is not on PATH.

    Raises:
        UsageError: there are words, or the location of the program is unknown.
    """
    folder = _folder(words, around)
    return folder, [] if on_path(folder, around.environ) else [_off(folder)]


def _folder(words: Sequence[str], around: CommandContext) -> Path:
    _no_words(words)
    folder = folder_of(sys.argv[0], around.environ)
    if folder is None:
        raise UsageError(
            "it is not known where this program was found: no kubectl-eksdoc lies on PATH",
            "Install it with pip or krew, and add its folder to PATH.",
        )
    return folder


def _found(words: Sequence[str], around: CommandContext) -> Installed:
    folder = _folder(words, around)
    try:
        return installed_in(folder, around.environ)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from error


def _made(each: Completer, dry: bool) -> str:
    if each.state is CompleterState.MISSING:
        if not dry:
            done(lambda: link(each), f"make {each.path}")
        return f"{would(dry, 'make', 'made')} {each.path} -> {each.target}"
    if each.state is CompleterState.OTHER:
        return f"left alone: {each.path} is something else; move it away, and install again"
    return (
        f"there already: {each.path}{' (a script, as pip installs it)' if each.state is CompleterState.SCRIPT else ''}"
    )


def would(dry: bool, do: str, done: str) -> str:
    return f"would {do}" if dry else done


def done(do: Callable[[], None], what: str) -> None:
    try:
        do()
    except OSError as error:
        raise UsageError(f"cannot {what}: {error.strerror or error}", "Who installed the program may do it.") from error


def _stands(each: Completer) -> str:
    told = {
        CompleterState.LINK: "a link is there",
        CompleterState.SCRIPT: "a script is there, as pip installs it",
        CompleterState.MISSING: "missing",
        CompleterState.DANGLING: "a link without its program: kubectl eksdoc completion uninstall removes it",
        CompleterState.OTHER: "something else has its name",
    }[each.state]
    other = f"; but kubectl runs {each.other}, which comes earlier on PATH" if each.other else ""
    return f"{each.path.name}: {told}{other}"


def _path(found: Installed) -> list[str]:
    return [] if found.on_path else [_off(found.folder)]


def _off(folder: Path) -> str:
    return f"{folder} is not on PATH, so kubectl does not find what lies there"


def answer(lines: Sequence[str], fails: bool) -> CommandAnswer:
    return CommandAnswer("".join(f"{line}\n" for line in lines), streams.FAILS if fails else streams.CLEAN)
