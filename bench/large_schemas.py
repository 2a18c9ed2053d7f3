"""Large schemas of real projects, from packages that the tests install too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PEERS = Path(__file__).parents[1] / "tests" / "peers" / "environments.py"


def find_vega_lite() -> tuple[Path, Path]:
    """Find the schemas of vega-lite 6.4.1, from altair, and of 6.5.0, from npm; what is missing is
    installed.
    """
    altair, npm = (_install(each) for each in ("real-schemas", "npm-schemas"))
    older = next(
        altair.parents[1].glob(
            "lib/python*/site-packages/altair/vegalite/v6/schema/vega-lite-schema.json"
        )
    )
    return older, npm.parent / "vega-lite/package/build/vega-lite-schema.json"


def _install(peer: str) -> Path:
    return Path(
        subprocess.run(
            [sys.executable, str(_PEERS), peer], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.strip()
    )
