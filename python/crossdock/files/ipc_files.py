"""Reads Arrow IPC files and streams. They hold arrays as they lie in memory, so these are checked
before anything else reads them: kernels of pyarrow.dataset would see them first, and its scan has
crashed when it ended with the error of a damaged file while it read ahead (version 26)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from crossdock.errors import first_line, make_error
from crossdock.files.batch_files import BatchFiles
from crossdock.files.far_files import open_file, place_of
from crossdock.files.file_sources import FileOptions
from crossdock.files.paths import Paths
from crossdock.files.sources import Source
from crossdock.values.validation import require_valid


def open_ipc(paths: Paths, options: FileOptions | None = None) -> Source:
    """A source over Arrow IPC files (Feather version 2), and files in the IPC stream format."""
    return IpcSource(paths, options or FileOptions())


class IpcSource(BatchFiles):
    """Arrow IPC files and streams, read batch by batch."""

    def __init__(self, paths: Paths, options: FileOptions) -> None:
        super().__init__(paths, "ipc", options)
        self.is_counted = all(map(_is_ipc_file, self.files))

    def schema_of_file(self, path: str) -> pa.Schema:
        opened = pa.ipc.open_file if _is_ipc_file(path) else pa.ipc.open_stream
        with open_file(path) as file:
            try:
                return opened(file).schema
            except pa.ArrowException as error:
                raise make_error(
                    "CD-302",
                    f"{path!r} is neither an Arrow IPC file nor a stream: {first_line(error)}",
                ) from error

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        read = _file_batches(path, columns) if _is_ipc_file(path) else _stream_batches(path)
        for batch in read:
            require_valid(batch, repr(path))
            yield batch

    def rows_of_file(self, path: str) -> int:
        if not _is_ipc_file(path):
            return super().rows_of_file(path)
        import pyarrow.dataset as dataset

        system, place = place_of(path)
        return int(dataset.IpcFileFormat().make_fragment(place, system).count_rows())


def _file_batches(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with open_file(path) as file:
        stored = pa.ipc.open_file(file).schema.names
        numbers = [stored.index(name) for name in columns if name in stored]
        # No numbers would mean all columns, of which one tells the number of rows as well.
        options = pa.ipc.IpcReadOptions(included_fields=sorted(numbers) or [0])
        with pa.ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def _stream_batches(path: str) -> Iterator[pa.RecordBatch]:
    with open_file(path) as file, pa.ipc.open_stream(file) as reader:
        yield from reader


def _is_ipc_file(name: str) -> bool:
    with open_file(name) as file:
        return bool(file.read(6) == b"ARROW1")
