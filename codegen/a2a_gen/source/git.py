"""Reading the files of a commit out of a Git repository: no checkout, no clone, nothing written.

A ref that is not there, which is common in the shallow clones that CI makes, ends with the command that would fetch it, and never with an empty tree.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from a2a_gen.problems import GeneratorError

_BLOB = "blob"
_LINK_MODE = "120000"


class BaselineError(GeneratorError):
    """What should be compared with is not there: what, and the command that would get it."""

    exit_code = 3

    def __init__(self, text: str, cure: str) -> None:
        super().__init__(f"{text}\n    fix: {cure}")


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository, by the folder at its top."""

    root: Path

    def resolve_commit(self, ref: str) -> str:
        """Find the commit that a ref means; a tag with a message of its own means the commit that it tags."""
        done = _run_git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if done.returncode:
            raise BaselineError(
                f"there is no commit {ref} in this repository{' (a shallow clone)' if self._is_shallow() else ''}", self._suggest_fetch(ref)
            )
        return done.stdout.decode().strip()

    def list_tags(self, pattern: str) -> tuple[str, ...]:
        """Find tags by a pattern such as ``v*``, the newest last."""
        done = _run_git(self.root, "tag", "--list", "--sort=creatordate")
        return tuple(tag for tag in done.stdout.decode().split() if fnmatchcase(tag, pattern))

    def find_last_change(self, path: str) -> str:
        """Find the commit that last changed a file; empty when none did."""
        return _run_git(self.root, "log", "-1", "--format=%H", "--", path).stdout.decode().strip()

    def read_files(self, commit: str, folder: str, is_included: Callable[[str], bool]) -> Mapping[str, bytes]:
        """Read the wanted files below a folder as a commit has them, by their path relative to it; a folder that is not there has none."""
        prefix = "" if folder in ("", ".") else f"{folder}/"
        listed = _run_git(self.root, "ls-tree", "-r", "-z", "--full-tree", commit, *(["--", folder] if prefix else []))
        if listed.returncode:
            raise BaselineError(f"the files of {commit[:12]} cannot be listed: {_get_error_text(listed)}", self._suggest_fetch(commit))
        names = dict(_parse_listing(listed.stdout))
        below = {path.removeprefix(prefix): name for path, name in names.items() if path.startswith(prefix)}
        read = {path: name for path, name in below.items() if is_included(path)}
        return dict(zip(read, self._read_blobs(tuple(read.values())), strict=True))

    def _read_blobs(self, names: tuple[str, ...]) -> Iterator[bytes]:
        done = _run_git(self.root, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        rest = done.stdout
        for name in names:
            header, _, rest = rest.partition(b"\n")
            if header.endswith(b"missing") or not header:
                cure = "fetch what a partial clone left out: git fetch --refetch"
                raise BaselineError(f"the object {name[:12]} is not in this clone", cure)
            size = int(header.split()[-1])
            yield rest[:size]
            rest = rest[size + 1 :]

    def _is_shallow(self) -> bool:
        return _run_git(self.root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def _suggest_fetch(self, ref: str) -> str:
        remote, _, branch = ref.partition("/")
        if self._is_shallow() and ("~" in ref or "^" in ref):
            return "git fetch --unshallow"
        if branch and remote in _run_git(self.root, "remote").stdout.decode().split():
            return f"git fetch {'--depth=1 ' if self._is_shallow() else ''}{remote} {branch}:refs/remotes/{remote}/{branch}"
        if self._is_shallow():
            return f"git fetch --depth=1 origin tag {ref} (a tag), or git fetch --unshallow (anything else)"
        return f"git fetch origin {ref}, or correct the name; git branch --all and git tag show what is there"


def find_repository(start: Path) -> Repository:
    """Find the repository that a folder is in."""
    done = _run_git(start, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise BaselineError(
            f"{start} is in no Git repository: {_get_error_text(done)}", "name a folder or a file as the baseline, or run this in a clone"
        )
    return Repository(Path(done.stdout.decode().strip()))


def _parse_listing(listed: bytes) -> Iterator[tuple[str, str]]:
    for line in listed.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        words = facts.decode().split()
        if path and words[1] == _BLOB and words[0] != _LINK_MODE:
            yield path.decode("utf-8", "surrogateescape"), words[2]


def _run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(folder), *arguments], input=stdin, capture_output=True, check=False)  # noqa: S603, S607 - the user's own git
    except FileNotFoundError as error:
        raise BaselineError("git is not installed", "install git, or name a folder as the baseline") from error


def _get_error_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")
