"""Write requirements-dev.lock: the newest versions that pyproject.toml allows, for every platform, with hashes.

pip install uv && python release/lock.py
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAD = """\
# The development environment as it was last tested, every file with its hash. To work in it:
#     pip install --require-hashes -r requirements-dev.lock && pip install --no-deps -e .
# To write it anew after a change of pyproject.toml:
#     pip install uv && python release/lock.py
"""


def main() -> None:
    command = ["uv", "pip", "compile", "pyproject.toml", "--quiet", "--no-header", "--no-emit-index-url"]
    how = ["--all-extras", "--universal", "--python-version", "3.11", "--generate-hashes"]
    done = subprocess.run([*command, *how], cwd=ROOT, check=True, capture_output=True, text=True)
    (ROOT / "requirements-dev.lock").write_text(HEAD + done.stdout)


if __name__ == "__main__":
    main()
