"""Files of a commit, read from a Git repository without a checkout or a clone.

A missing ref, common in shallow clones of CI, is an error with the command that fetches it; it is
never treated as an empty tree.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from a2a_gen.problems import ProjectError

_BLOB = "blob"
_LINK_MODE = "120000"


class BaselineError(ProjectError):
    """A baseline cannot be read; the cure is the command that would fetch it."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository, by its top folder."""

    root: Path

    def resolve_commit(self, ref: str) -> str:
        """Resolve a ref to a commit; an annotated tag resolves to the tagged commit."""
        process = _run_git(
            self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
        )
        if process.returncode:
            raise BaselineError(
                (
                    f"{ref}: no such commit in this "
                    f"repository{' (a shallow clone)' if self._is_shallow() else ''}"
                ),
                self._suggest_fetch(ref),
            )
        return process.stdout.decode().strip()

    def list_tags(self, pattern: str) -> tuple[str, ...]:
        """List tags that match a pattern such as ``v*``, the newest last."""
        process = _run_git(self.root, "tag", "--list", "--sort=creatordate")
        return tuple(tag for tag in process.stdout.decode().split() if fnmatchcase(tag, pattern))

    def find_last_change(self, path: str) -> str:
        """Return the commit that last changed a file, or an empty string."""
        return _run_git(self.root, "log", "-1", "--format=%H", "--", path).stdout.decode().strip()

    def read_files(
        self, commit: str, folder: str, is_included: Callable[[str], bool]
    ) -> Mapping[str, bytes]:
        """Read the included files below a folder of a commit, by path relative to it; a missing
        folder has no files.
        """
        prefix = "" if folder in ("", ".") else f"{folder}/"
        listed = _run_git(
            self.root,
            "ls-tree",
            "-r",
            "-z",
            "--full-tree",
            commit,
            *(["--", folder] if prefix else []),
        )
        if listed.returncode:
            raise BaselineError(
                f"{commit[:12]}: files cannot be listed: {_get_error_text(listed)}",
                self._suggest_fetch(commit),
            )
        names = dict(_parse_listing(listed.stdout))
        below = {
            path.removeprefix(prefix): name
            for path, name in names.items()
            if path.startswith(prefix)
        }
        read = {path: name for path, name in below.items() if is_included(path)}
        return dict(zip(read, self._read_blobs(tuple(read.values())), strict=True))

    def _read_blobs(self, names: tuple[str, ...]) -> Iterator[bytes]:
        process = _run_git(
            self.root, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()
        )
        rest = process.stdout
        for name in names:
            header, _, rest = rest.partition(b"\n")
            if header.endswith(b"missing") or not header:
                cure = "fetch the missing objects of a partial clone: git fetch --refetch"
                raise BaselineError(f"object {name[:12]}: not in this clone", cure)
            size = int(header.split()[-1])
            yield rest[:size]
            rest = rest[size + 1 :]

    def _is_shallow(self) -> bool:
        return _run_git(self.root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def _suggest_fetch(self, ref: str) -> str:
        remote, _, branch = ref.partition("/")
        if self._is_shallow() and ("~" in ref or "^" in ref):
            return "git fetch --unshallow"
        remotes = _run_git(self.root, "remote").stdout.decode().split()
        if branch and remote in remotes:
            return (
                f"git fetch {'--depth=1 ' if self._is_shallow() else ''}{remote} "
                f"{branch}:refs/remotes/{remote}/{branch}"
            )
        if self._is_shallow():
            return (
                f"git fetch --depth=1 origin tag {ref} (a tag), or git fetch --unshallow "
                "(anything else)"
            )
        fetch = f"git fetch {remotes[0]} {ref}, or " if remotes else ""
        return f"{fetch}correct the name; git branch --all and git tag list all refs"


def find_repository(start: Path) -> Repository:
    """Find the repository that contains a folder."""
    process = _run_git(start, "rev-parse", "--show-toplevel")
    if process.returncode:
        raise BaselineError(
            f"{start}: not in a Git repository: {_get_error_text(process)}",
            "name a folder or a file as the baseline, or run this in a clone",
        )
    return Repository(Path(process.stdout.decode().strip()))


def _parse_listing(listed: bytes) -> Iterator[tuple[str, str]]:
    for line in listed.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        words = facts.decode().split()
        if path and words[1] == _BLOB and words[0] != _LINK_MODE:
            yield path.decode("utf-8", "surrogateescape"), words[2]


def _run_git(
    folder: Path, *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - the git of the user
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the git of the user
            input=stdin,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise BaselineError(
            "git: not installed", "install git, or name a folder as the baseline"
        ) from error


def _get_error_text(process: subprocess.CompletedProcess[bytes]) -> str:
    return (
        process.stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")
    )
