"""Print a script that completes commands, flags and their choices in your shell.

bash: add `eval "$(fathoms completion bash)"` to ~/.bashrc; zsh: the same with zsh to ~/.zshrc, after compinit; fish:
`fathoms completion fish > ~/.config/fish/completions/fathoms.fish`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from fathoms.cli import options

EXAMPLES = (
    ("complete in bash from now on: put this into ~/.bashrc", 'eval "$(fathoms completion bash)"'),
    ("the same for fish", "fathoms completion fish > ~/.config/fish/completions/fathoms.fish"),
)

BASH = """_fathoms() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$current"))
    return
  fi
  case "$command $before" in
{choices}
  esac
  if [ -z "$words" ] && [[ $current == -* ]]; then
    case "$command" in
{flags}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _fathoms fathoms
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(args: Namespace) -> int:
    if args.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(fish() if args.shell == "fish" else bash(), end="")
    return 0


def known() -> Iterator[tuple[str, ArgumentParser]]:
    """Each command with its parser."""
    from fathoms.cli.app import COMMANDS, add_arguments

    for name in COMMANDS:
        parser = ArgumentParser(prog=f"fathoms {name}")
        add_arguments(name, parser)
        yield name, parser


def offered(parser: ArgumentParser) -> dict[str, list[str]]:
    """Each flag with what may follow it, if that is a choice; under "" the choices of the first argument."""
    offers: dict[str, list[str]] = {}
    for action in parser._actions:
        choices = options.words_of(action)
        if action.option_strings:
            offers |= dict.fromkeys(action.option_strings, choices)
        elif choices:
            offers.setdefault("", choices)
    return offers


def bash() -> str:
    """Falls back on file names where a flag or an argument has no choices."""
    names, choices, flags = [], [], []
    for name, parser in known():
        names.append(name)
        options = offered(parser)
        flags.append(f'      {name}) words="{" ".join(flag for flag in options if flag)}" ;;')
        for flag, words in options.items():
            if words:
                choices.append(f'    "{name} {flag or name}") words="{" ".join(words)}" ;;')
    return BASH.format(commands=" ".join(names), choices="\n".join(choices), flags="\n".join(flags))


def fish() -> str:
    from fathoms.cli.app import COMMANDS

    lines = [f"complete -c fathoms -n __fish_use_subcommand -a {name} -d '{help}'" for name, help in COMMANDS.items()]
    for name, parser in known():
        after = f"complete -c fathoms -n '__fish_seen_subcommand_from {name}'"
        for flag, words in offered(parser).items():
            if not flag:
                lines.append(f"{after} -a '{' '.join(words)}'")
                continue
            kind = "-l" if flag.startswith("--") else "-s"
            lines.append(f"{after} {kind} {flag.lstrip('-')}" + (f" -x -a '{' '.join(words)}'" if words else ""))
    return "\n".join(lines) + "\n"
