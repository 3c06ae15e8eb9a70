"""Text of JSON in blocks of whole objects, a line for each: as it lies where every line of a file
is an object, and otherwise with the objects of its array, or those that stand one after the other,
put on lines."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from crossdock.errors import CrossdockError, make_error
from crossdock.files.text_streams import blocks_of, first_of, whole_lines

FIRST_BYTES = 4 << 20  # tell columns and types, and are what an object has at most
_BLOCK_BYTES = 1 << 20
_SPACE = " \t\r\n"


class JsonText:
    """A file of JSON, or standard input. `finds_lines`: broken lines may stand before the first
    line that is an object."""

    def __init__(self, name: str, open_it: Callable[[], Any], *, finds_lines: bool = False) -> None:
        self.name = name
        self._open = open_it
        self._finds_lines = finds_lines

    @cached_property
    def first(self) -> str:
        """Its begin, without space."""
        with self._open() as stream:
            return first_of(stream, "utf-8").lstrip(_SPACE)

    @cached_property
    def has_lines(self) -> bool:
        """Whether a line of it is an object."""
        if self.first.startswith("["):
            return False
        lines = self.first.split("\n") if self._finds_lines else [self.first.partition("\n")[0]]
        return any(line.startswith("{") and is_object(line) for line in lines)

    def first_member_names(self) -> list[str]:
        """Of the first object, in order; none where its end is behind the text looked at."""
        try:
            member, _ = json.JSONDecoder().raw_decode(self.first.lstrip(_SPACE + "["))
        except (ValueError, RecursionError):
            return []
        return list(member) if isinstance(member, dict) else []

    def first_block(self) -> bytes:
        """The objects that tell columns and types."""
        return next(self.blocks(FIRST_BYTES), b"")

    def blocks(self, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
        """Blocks of lines, of some `size` bytes. DataError where an object is longer than 4 MiB, or
        what stands between objects is no JSON."""
        with self._open() as stream:
            if self.has_lines:
                yield from self._line_blocks(stream, size)
                return
            decoded = blocks_of(stream, "utf-8")
            for lines in _elements(decoded, self.name, self.first[:1], size):
                if lines:
                    yield lines.encode(errors="surrogateescape")

    def _line_blocks(self, stream: Any, size: int) -> Iterator[bytes]:
        held = b""
        while block := _filled(stream, size):
            held = (held + block).removeprefix(codecs.BOM_UTF8)
            if len(block) < size:
                break  # the end, whose last line is of this block
            end = held.rfind(b"\n") + 1
            if end:
                yield held[:end]
                held = held[end:]
            elif len(held) > FIRST_BYTES:
                raise _malformed(self.name, "a line", "it is longer than 4 MiB")
        if held:
            yield held + b"\n"  # pyarrow takes what no line ends for a block of its own

    def lines(self) -> Iterator[str]:
        """The objects, one or more a line; what is none is left out."""
        with self._open() as stream:
            decoded: Iterator[str] = blocks_of(stream, "utf-8")
            if not self.has_lines:
                decoded = _elements(decoded, self.name, self.first[:1], FIRST_BYTES)
            for block in whole_lines(decoded):
                yield from block.split("\n")[:-1]


def is_object(line: str | bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _filled(stream: Any, size: int) -> bytes:
    """So many bytes, less at the end alone: streams of servers and archives give what they have."""
    parts: list[bytes] = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _elements(blocks: Iterable[str], name: str, begin: str, size: int) -> Iterator[str]:
    """The elements of an array, or objects that stand one after the other, as lines, those of some
    `size` characters at a time."""
    decode = json.JSONDecoder().raw_decode
    is_array = begin == "["
    text, expected, number = "", "array" if is_array else "item", 0
    lines: list[str] = []
    length = 0

    def malformed(why: str) -> CrossdockError:
        what = f"element {number} of its array" if is_array else f"object {number} of its JSON"
        return _malformed(name, what, why)

    for block in blocks:
        text += block
        at = 0
        while (at := _behind_space(text, at)) < len(text):
            sign = _SIGNS.get((expected, text[at]))
            if sign is not None:
                expected, at = sign, at + 1
                continue
            if expected not in ("first", "item"):
                raise malformed(f"{text[at : at + 20]!r} stands there")
            try:
                value, end = decode(text, at)
            except ValueError:
                break  # its end may be in the next block
            except RecursionError:
                raise malformed("it is nested too deeply") from None
            if end == len(text) and not isinstance(value, dict):
                break  # a number may go on there
            if not isinstance(value, dict):
                raise malformed("it is no object")
            lines.append(text[at:end].replace("\n", " ") + "\n")
            length += end - at
            expected, number, at = "next" if is_array else "item", number + 1, end
        text = text[at:]
        if length >= size:
            yield "".join(lines)
            lines, length = [], 0
        if len(text) > 2 * FIRST_BYTES:
            break
    yield "".join(lines)
    if expected != ("end" if is_array else "item") or text:
        raise malformed("it does not end, or is longer than 4 MiB")


# What a sign of an array's own means where something is expected: what is expected then.
_SIGNS = {
    ("array", "["): "first", ("first", "]"): "end", ("next", ","): "item", ("next", "]"): "end",
}  # fmt: skip


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _malformed(name: str, what: str, why: str) -> CrossdockError:
    return make_error(
        "CD-302", f"{name!r} cannot be read: {what}: {why}",
        try_="an array of objects, or an object per line",
    )  # fmt: skip
