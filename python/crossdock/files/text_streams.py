"""Files of text as streams of UTF-8: decompressed and decoded, block by block."""

from __future__ import annotations

import atexit
import codecs
import io
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crossdock.files.far_files import open_stream
from crossdock.values.streaming import under_way

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 1 << 20


class LinesFile(io.RawIOBase):
    """Blocks of text as a file of UTF-8, which fails where the interpreter ends."""

    def __init__(self, blocks: Iterator[str]) -> None:
        self._blocks = blocks
        self._left = memoryview(b"")
        self._is_cut = False
        _live.add(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with under_way():
            if self._is_cut:
                raise OSError("the interpreter ends")
            while not self._left:
                block = next(self._blocks, None)
                if block is None:
                    return 0
                self._left = memoryview(block.encode(errors="surrogateescape"))
            count = min(len(buffer), len(self._left))
            buffer[:count] = self._left[:count]
            self._left = self._left[count:]
            return count

    def cut(self) -> None:
        self._is_cut = True


# A thread of pyarrow that reads such a file ahead, or lets it go, and meets an interpreter that is
# gone ends in the middle of it, and pyarrow waits for it for ever. It ends by itself where a read
# fails.
_live: weakref.WeakSet[LinesFile] = weakref.WeakSet()
_END_S = 0.5  # of files that are held by more than threads


@atexit.register
def _end_files() -> None:
    last = time.monotonic() + _END_S
    for file in list(_live):
        file.cut()
    while _live and time.monotonic() < last:
        time.sleep(0.005)


def first_text(path: str, encoding: str) -> str:
    """The begin of a file; what is not in the encoding is replaced, and found when it is read."""
    with open_stream(path) as stream:
        return first_of(stream, encoding)


def first_of(stream: pa.NativeFile, encoding: str) -> str:
    """The same of an open file."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(stream.read(_BLOCK_BYTES))
    return text.removeprefix("\ufeff")


def decoded_blocks(path: str, encoding: str) -> Iterator[str]:
    """A file as text, decompressed if its name says so. Raises OSError, UnicodeDecodeError."""
    with open_stream(path) as stream:
        yield from blocks_of(stream, encoding)


def blocks_of(stream: pa.NativeFile, encoding: str) -> Iterator[str]:
    """The same of an open file."""
    # Of what should be UTF-8 pyarrow says itself which column is not.
    decoder = codecs.getincrementaldecoder(encoding)(
        "surrogateescape" if encoding == "utf-8" else "strict"
    )
    is_first = True
    while block := stream.read(_BLOCK_BYTES):
        text = decoder.decode(block)
        yield text.removeprefix("\ufeff") if is_first else text
        is_first = False
    yield decoder.decode(b"", final=True)


def whole_lines(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks that end where a line ends."""
    held: list[str] = []
    for block in blocks:
        end = block.rfind("\n") + 1
        if not end:
            held.append(block)
            continue
        yield "".join((*held, block[:end]))
        held = [block[end:]]
    rest = "".join(held)
    if rest:
        yield rest if rest.endswith("\n") else rest + "\n"
