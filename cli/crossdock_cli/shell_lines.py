"""Lines of a terminal for the shell, by prompt_toolkit: history, completion, several lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crossdock.session import Dock
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from crossdock_cli import output, rows
from crossdock_cli.shell import COMMANDS, KEYWORDS, Shell

_PROMPT = "crossdock> "


class ShellCompleter(Completer):
    """Keywords, tables and columns that begin with the word at the cursor; behind FROM and JOIN
    tables alone, and at the beginning of a line dot commands."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """What may stand at the cursor."""
        del complete_event
        before = document.text_before_cursor
        if before.lstrip().startswith(".") and " " not in before.strip():
            word = before.strip()
            yield from (Completion(c, -len(word)) for c in COMMANDS if c.startswith(word))
            return
        word = document.get_word_before_cursor()
        words = before[: len(before) - len(word)].split()
        behind = words[-1].lower() if words else ""
        tables = self._shell.tables()
        if behind not in ("from", "join", ".schema"):
            tables = [*self._shell.columns(), *tables, *_in_case_of(word)]
        lowered = word.lower()
        if not lowered and behind not in ("from", "join", ".schema"):
            return
        for name in dict.fromkeys(tables):
            if name.lower().startswith(lowered):
                yield Completion(name, -len(word))


def _in_case_of(word: str) -> list[str]:
    """The keywords, in lower case unless the word has capitals."""
    return KEYWORDS if word[:1].isupper() else [keyword.lower() for keyword in KEYWORDS]


def run_shell(dock: Dock, shown: rows.Shown) -> None:
    """Reads and runs lines until .quit or Ctrl-D."""
    shell = Shell(dock, shown)
    output.say("crossdock sql: statements end with ;  .help shows the commands")
    for entered in _lines_of_terminal(shell, _history()):
        if not shell.enter(entered):
            return


def _history() -> Path:
    """Where entered lines are kept, readable by this user alone."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    file = Path(base).expanduser() / "crossdock" / "sql_history"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600, exist_ok=True)
    return file


def _lines_of_terminal(shell: Shell, history: Path) -> Iterator[str]:
    """What is entered, statement by statement, until Ctrl-D."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=Condition(lambda: _is_complete(session, shell)))
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        completer=ShellCompleter(shell),
        complete_while_typing=False,
        key_bindings=bindings,
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: _continued(session, shell, number),
    )
    while True:
        try:
            yield session.prompt(_PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _continued(session: Any, shell: Shell, number: int) -> str:
    """What stands before a line: "...", or what the lines before it have opened and not closed."""
    before = "\n".join(session.default_buffer.text.split("\n")[:number])
    return f"{shell.opened(before) or '...':>{len(_PROMPT) - 2}}> "


def _is_complete(session: Any, shell: Shell) -> bool:
    buffer = session.default_buffer
    is_at_end = not buffer.document.text_after_cursor.strip()
    return is_at_end and shell.is_complete(buffer.text)
