"""Completion scripts, tried in the shell they are for."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from fathoms.cli.app import COMMANDS
from fathoms.questions.completion import command as completion


def completed(*words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    script = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _fathoms; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    found = subprocess.run(["bash", "-c", completion.bash() + script], capture_output=True, text=True, check=True)
    assert not found.stderr
    return found.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_flags_and_choices() -> None:
    assert completed("fathoms", "") == list(COMMANDS)
    assert completed("fathoms", "de") == ["depth", "demo"]
    assert completed("fathoms", "eval", "--by") == ["--by-topic"]
    assert completed("fathoms", "eval", "--ties", "s") == ["score-rank"]
    assert completed("fathoms", "papers", "r") == ["rm", "rtc"]
    assert completed("fathoms", "eval", "qr") == []  # left to file names
    assert "--rho" in completed("fathoms", "band", "-")
    assert "--rho" not in completed("fathoms", "eval", "-")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    from fathoms.cli.app import main

    with pytest.raises(SystemExit) as end:
        main(["completion", shell])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert "score-rank" in text
