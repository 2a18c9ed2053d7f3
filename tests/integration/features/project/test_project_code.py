"""Code of a project that cannot be imported, as `a2a-gen serve` reports it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = """
[agent]
name = "shouter"
description = "Shouts."
version = "1.2.3"

[skills.shout]
handler = "shouting:shout"
description = "Says it louder."
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import nothere",
            (
                r"shouting.py\", line 1, in <module>\n    import nothere\n"
                r"ModuleNotFoundError: No module named 'nothere'$"
            ),
        ),
        ("def shout(:", r"shouting.py\", line 1\n    def shout\(:\n *\^\nSyntaxError: .*$"),
        (
            "def of(text):\n    return int(text)\n\nof('x')",
            r"line 4, in <module>[\s\S]*line 2, in of[\s\S]*ValueError: invalid literal .*$",
        ),
        (
            "import os\nos.nothing",
            (
                r"line 2, in <module>\n    os.nothing\n(    .*\n)?"
                r"AttributeError: module 'os' has no attribute 'nothing'.*$"
            ),
        ),
        ("", r"^error: .*a2a.toml:8: skills.shout.handler: there is no shout in shouting$"),
    ],
    ids=["import", "syntax", "own error", "own attribute", "not there"],
)
def test_a_failed_import_has_its_traceback(tmp_path: Path, code: str, said: str) -> None:
    """The traceback has the frames of the project only, and no misleading fix."""
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "shouting.py").write_text(f"{code}\n")
    done = subprocess.run(
        [sys.executable, "-m", "a2a_gen", "serve", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(said, done.stderr.rstrip()), done.stderr
    assert "a2a_runtime/" not in done.stderr
    assert "a2a-gen build" not in done.stderr
