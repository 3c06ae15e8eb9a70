"""Checks the subject of a commit: `area: what changed`, of at most 72 characters.

A hook of pre-commit calls it with the file that holds the message (.pre-commit-config.yaml).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
FORM = re.compile(r"^[a-z][\w/, -]*: \S")
FREE = ("Merge ", "Revert ", "fixup! ", "squash! ")


def fault_of(message: str) -> str:
    """What is wrong with a message; nothing if it is fine."""
    subject, _, rest = message.partition("\n")
    if subject.startswith(FREE):
        return ""
    if not FORM.match(subject):
        return f"the subject is not `area: what changed`: {subject!r}"
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters; the limit is {LONGEST}"
    if rest.strip() and not rest.startswith("\n"):
        return "an empty line has to stand between the subject and the body"
    return ""


def main(arguments: list[str]) -> int:
    fault = fault_of(Path(arguments[0]).read_text(encoding="utf-8"))
    if fault:
        print(f"commit: {fault}\n  try      exchange: one flush less per phase", file=sys.stderr)
    return int(bool(fault))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
