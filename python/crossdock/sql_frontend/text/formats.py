"""`format('{:.2f} of {}', a, b)` and `printf('%.2f of %s', a, b)` as strings and formatted values
one behind the other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crossdock.sql_frontend.text.tokens import quoted, quoted_string

_OF_FORMAT = re.compile(r"(?P<same>\{\{|\}\})|\{(?P<place>\d*)(?::(?P<how>[^{}]*))?\}")
_OF_PRINTF = re.compile(
    r"(?P<same>%%)|%(?P<flags>[-+ 0#,]*)(?P<width>\d*)(?P<digits>\.\d+)?(?P<kind>[diuoxXeEfFgGcs])"
)
_KINDS = {"i": "d", "u": "d"}


def formatted(name: str, template: str, values: Sequence[str]) -> str | None:
    """The call of a function with a constant template; None for a template that is none, or of more
    values than there are."""
    pattern = _OF_FORMAT if name == "format" else _OF_PRINTF
    parts, end, count = list[str](), 0, 0
    for match in pattern.finditer(template):
        parts.append(template[end : match.start()])
        end = match.end()
        if match["same"]:
            parts[-1] += match["same"][0]
            parts.append("")
            continue
        place = int(match["place"]) if name == "format" and match["place"] else count
        count += 1
        if place >= len(values):
            return None
        how = match["how"] or "" if name == "format" else _as_format(match)
        parts.append(f"{quoted('format')}({values[place]}, {quoted_string(how)})")
    parts.append(template[end:])
    rest = "".join(pattern.split(template)[:: pattern.groups + 1])
    if any(letter in rest for letter in ("{}" if name == "format" else "%")):
        return None
    said = [part if i % 2 else quoted_string(part) for i, part in enumerate(parts) if part]
    return f"({' || '.join(said) or quoted_string('')})"


def _as_format(match: re.Match[str]) -> str:
    """What `format` has behind the colon for the same."""
    flags, kind = match["flags"], _KINDS.get(match["kind"], match["kind"])
    align = "<" if "-" in flags else ">" if match["width"] else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zeros = "0" if "0" in flags and "-" not in flags else ""
    how = ("" if zeros else align) + sign + ("#" if "#" in flags else "") + zeros + match["width"]
    return how + ("," if "," in flags else "") + (match["digits"] or "") + kind
