"""The finding codes of ``krew-lint``, each with the component that refuses it and its source; with `codes` they are the
one registry of the tool.

Paths are those of github.com/kubernetes-sigs/krew; the rules are the same in v0.4.5, v0.5.0 and later.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from kubectl_eksdoc.model.findings import Code


class Whose(str, Enum):
    """The component that refuses it; `SILENT`: all accept it, and it does not work."""

    KREW = "krew refuses it"
    VALIDATOR = "validate-krew-manifest refuses it"
    SILENT = "nothing refuses it, and it does not work"


_VALIDATE = "internal/index/validation/validate.go"
_VALIDATOR = "cmd/validate-krew-manifest/main.go"
_DOWNLOAD = "internal/download/downloader.go"
_INSTALL = "internal/installation/install.go"
_MOVE = "internal/installation/move.go"
_SCANNER = "internal/index/indexscanner/scanner.go"

# The manifest -----------------------------------------------------------------------------------
FIELD_TYPE = Code("krew-field-type", "A field is of another type", "Text where a list is wanted, a list where text is.")
API_VERSION = Code("krew-api-version", "The apiVersion", "There is one: krew.googlecontainertools.github.com/v1alpha2.")
KIND = Code("krew-kind", "The kind", "There is one: Plugin.")
NAME = Code(
    "krew-name",
    "A name that is not allowed",
    "Letters, digits, _ and - of ASCII, and no name of a device of Windows (CON, NUL, COM1, …).",
)
NAME_DIFFERS = Code(
    "krew-name-differs", "The name is not that of the file", "An index finds a plugin by its file: NAME.yaml."
)
FILE_NAME = Code("krew-file-name", "The ending of the file", "It is .yaml; .yml is not checked.")
SHORT = Code("krew-short-description", "The short description", "It is there, and in one line.")
VERSION = Code(
    "krew-version", "The version", "A lower-case v and a semantic version of three numbers: v1.2.3, v1.2.3-rc.1."
)
PLATFORMS = Code("krew-platforms", "No platform", "Without one nobody can install it.")
URI = Code("krew-uri", "No address of an archive", "Each platform has its uri.")
BIN = Code("krew-bin", "No program is named", "Each platform has its bin: the file in the archive that is linked.")
SHA256 = Code("krew-sha256", "The checksum's form", "64 hexadecimal digits, in lower case only.")
FILES = Code("krew-files", "A list of files that is empty, or lacks from or to", "Leave files out for all of them.")
SELECTOR = Code(
    "krew-selector",
    "The selector of a platform",
    "Labels or expressions on os and arch, and on nothing else, as selectors of Kubernetes are written.",
)
PLATFORM_UNKNOWN = Code(
    "krew-platform-unknown",
    "A platform that matches no machine",
    "The pairs of os and arch that the validator knows: there is no s390x and no riscv64.",
)
PLATFORM_OVERLAP = Code(
    "krew-platform-overlap", "Two platforms match one machine", "krew itself would take the one that stands first."
)
BUILTIN = Code(
    "krew-name-builtin", "A command of kubectl has the name", "kubectl looks for no plugin where it has a command."
)

# The archive ------------------------------------------------------------------------------------
FORMAT = Code(
    "krew-archive-format",
    "The archive's format",
    "A tar in gzip, or a zip, as its first bytes tell and not its name: no plain tar, xz or bz2, no script.",
)
SUM = Code(
    "krew-archive-sum",
    "The archive has another checksum",
    "krew compares it first.",
)
ENTRY_PATH = Code(
    "krew-archive-path",
    "An entry that leads away",
    "krew unpacks no entry with .. anywhere in its name, or with / or \\ before it.",
)
ENTRY_KIND = Code(
    "krew-archive-entry",
    "An entry that is neither file nor folder",
    "Symbolic and hard links, pipes and devices in a tar end the installation, and so does what is packed in a way "
    "that krew does not know.",
)
ZIP_LINK = Code(
    "krew-archive-link", "A link in a zip", "It is unpacked as a file that holds the name of what it leads to."
)
ENTRY_TWICE = Code(
    "krew-archive-twice",
    "Two entries that get in each other's way",
    "A file where a folder is needed ends the installation; of a file that is in a tar twice, the end of the longer "
    "one stays.",
)
ENTRY_MODE = Code(
    "krew-archive-mode",
    "Rights of entries",
    "They are kept as they are: 0755 of folders and programs and 0644 of all else let everybody use the plugin.",
)
MOVE = Code(
    "krew-files-move",
    "Files that cannot be moved",
    "from is a pattern of Go's filepath.Match (* does not cross /, ** is *), and matches what is still there: entries "
    "are moved, one after the other. to is a clean path inside.",
)
BIN_MISSING = Code("krew-bin-missing", "The program is not installed", "No file is there as bin names it.")
BIN_OUTSIDE = Code(
    "krew-bin-outside", "The program is outside of the installation", "krew reports success, and links nothing."
)
BIN_MODE = Code("krew-bin-mode", "The program cannot be run", "krew adds no right to run it; 0644 stays 0644.")
BIN_WINDOWS = Code(
    "krew-bin-windows",
    "What Windows is to run is no program of Windows",
    "Its link ends in .exe, so a script behind it is refused when it is called.",
)
LICENCE = Code("krew-licence", "No licence is installed", "A file called LICENSE, COPYING or alike, in any folder.")

SOURCES: Mapping[Code, tuple[Whose, str]] = {
    FIELD_TYPE: (Whose.KREW, _SCANNER),
    API_VERSION: (Whose.KREW, _VALIDATE),
    KIND: (Whose.KREW, _VALIDATE),
    NAME: (Whose.KREW, _VALIDATE),
    NAME_DIFFERS: (Whose.KREW, _VALIDATE),
    FILE_NAME: (Whose.VALIDATOR, _VALIDATOR),
    SHORT: (Whose.KREW, _VALIDATE),
    VERSION: (Whose.KREW, _VALIDATE),
    PLATFORMS: (Whose.KREW, _VALIDATE),
    URI: (Whose.KREW, _VALIDATE),
    BIN: (Whose.KREW, _VALIDATE),
    SHA256: (Whose.KREW, _VALIDATE),
    FILES: (Whose.KREW, _VALIDATE),
    SELECTOR: (Whose.KREW, _VALIDATE),
    PLATFORM_UNKNOWN: (Whose.VALIDATOR, _VALIDATOR),
    PLATFORM_OVERLAP: (Whose.VALIDATOR, _VALIDATOR),
    BUILTIN: (Whose.SILENT, "pkg/cmd/plugin.go of github.com/kubernetes/kubectl"),
    FORMAT: (Whose.KREW, _DOWNLOAD),
    SUM: (Whose.KREW, "internal/download/verifier.go"),
    ENTRY_PATH: (Whose.KREW, _DOWNLOAD),
    ENTRY_KIND: (Whose.KREW, _DOWNLOAD),
    ZIP_LINK: (Whose.SILENT, _DOWNLOAD),
    ENTRY_TWICE: (Whose.KREW, _DOWNLOAD),
    ENTRY_MODE: (Whose.SILENT, _DOWNLOAD),
    MOVE: (Whose.KREW, _MOVE),
    BIN_MISSING: (Whose.KREW, _INSTALL),
    BIN_OUTSIDE: (Whose.SILENT, _INSTALL),
    BIN_MODE: (Whose.SILENT, _INSTALL),
    BIN_WINDOWS: (Whose.SILENT, _INSTALL),
    LICENCE: (Whose.VALIDATOR, _VALIDATOR),
}

ALL: tuple[Code, ...] = tuple(SOURCES)
