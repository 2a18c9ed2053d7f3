"""Programs from Debian's packages, unpacked into a folder once on a machine: nothing is installed,
and no rights are needed for that.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

CACHE = Path.home() / ".cache" / "a2a-gen" / "peers"


def unpack(program: str, *packages: str) -> Path:
    """Download and unpack packages, and return their root; raise with the fix if that fails.

    ``program`` is a path below it.
    """
    root = CACHE / Path(program).name
    if not (root / program).exists():
        root.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(
                ["apt-get", "download", *packages],  # noqa: S607 - the system's own
                cwd=root,
                check=True,
                capture_output=True,
            )
            for package in root.glob("*.deb"):
                subprocess.run(
                    ["dpkg", "-x", str(package), str(root)],  # noqa: S607 - as above
                    check=True,
                    capture_output=True,
                )
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(
                f"{packages[0]}: its packages cannot be downloaded ({error}); run this on "
                "Debian or Ubuntu with a network"
            ) from error
    return root
