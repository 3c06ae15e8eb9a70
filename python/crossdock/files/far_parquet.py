"""Footers of Parquet files that lie elsewhere, and the engine's reader over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crossdock import _native
from crossdock.files.far_files import FarFile, of_each_far, place_of, size_of
from crossdock.files.range_reads import RangeReads

_TAIL_BYTES = 64 << 10  # in which most footers are
_END_BYTES = 8  # the length of the footer, and the magic behind it
_MAGIC = (b"PAR1", b"PARE")  # the latter of encrypted footers
_FOOTER_BYTES_MOST = 256 << 20


@dataclass(frozen=True)
class Footer:
    """The end of a file, with all of its footer where it has one."""

    file: FarFile
    size: int
    tail: bytes


def read_footers(files: Sequence[str]) -> list[Footer]:
    """The footers of files, several at once. Raises what their file systems raise."""
    far = [file if isinstance(file, FarFile) else FarFile(file, *place_of(file)) for file in files]
    reads = RangeReads(far)

    def read(number: int) -> Footer:
        size = size_of(far[number])
        tail = reads.tail(number, size, _TAIL_BYTES)
        needed = int.from_bytes(tail[-_END_BYTES:-4], "little") + _END_BYTES
        if tail[-4:] in _MAGIC and len(tail) < needed <= min(size, _FOOTER_BYTES_MOST):
            tail = reads.tail(number, size, needed)
        return Footer(far[number], size, tail)

    return of_each_far(range(len(far)), read)


def open_far(footers: Sequence[Footer]) -> _native.ParquetFiles:
    """Files for the engine, which asks for ranges of them. NativeError."""
    reads = RangeReads([footer.file for footer in footers])
    described = [(str(footer.file), footer.size, footer.tail) for footer in footers]
    return _native.ParquetFiles.open_remote(described, reads.ask)
