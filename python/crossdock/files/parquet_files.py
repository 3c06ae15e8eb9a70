"""Reads Parquet files: by the engine while its plan runs, else by pyarrow.dataset.

Opening reads each footer once, in the engine; pyarrow says the Arrow schema of those that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from crossdock import _native
from crossdock.errors import make_error, reason_of
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr
from crossdock.files.batch_files import completed
from crossdock.files.far_files import of_each_far
from crossdock.files.far_parquet import Footer, open_far, read_footers
from crossdock.files.file_sources import DatasetFiles, FileOptions, Opened, path_values
from crossdock.files.parquet_keys import NO_KEYS, Decryption, decryption_properties
from crossdock.files.paths import Paths
from crossdock.files.reader_filters import to_pyarrow
from crossdock.files.sources import Source, Split, read_for
from crossdock.values.engine_types import engine_table
from crossdock.values.type_checks import checking_engine

if TYPE_CHECKING:
    from pyarrow.dataset import FileFragment, ParquetFileFormat, RowGroupInfo
    from pyarrow.parquet import FileDecryptionProperties

_UNREAD = "CD-102"  # the engine's error for what it does not read
_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 1 << 17
# Of each column: by itself pyarrow reads row groups as a whole, and all of them ahead.
_BUFFER_BYTES = 1 << 20
_FAR_BUFFER_BYTES = 8 << 20

_LEARNT = ("_read", "_is_encrypted", "_fault", "_footer_bytes")  # when files are opened


class ParquetSource(DatasetFiles):
    """Parquet files, whose footers are open for the engine's reader if it can read them. Encrypted
    ones are pyarrow's."""

    is_counted = True
    # Columns behind those of the files, which are fields of structs: the names of the struct's
    # column, and of the field in it.
    paths: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    _whole: ParquetSource | None = None  # which has fewer columns
    _read: _native.ParquetFiles | str = ""
    keys: FileDecryptionProperties | None = None
    _is_encrypted = False
    _fault = ""  # of the footer of a file
    _footers: tuple[Opened, _native.ParquetFiles | str] | None = None
    _footer_bytes: list[bytes] | None = None  # of files that lie elsewhere

    def __init__(
        self, paths: Paths, options: FileOptions, decryption: Decryption | None = None
    ) -> None:
        self.keys = decryption_properties(decryption)
        super().__init__(paths, "parquet", options)

    def dataset_format(self, file: str) -> ParquetFileFormat:
        import pyarrow.dataset as dataset

        options = dataset.ParquetFragmentScanOptions(decryption_properties=self.keys)
        return dataset.ParquetFileFormat(default_fragment_scan_options=options)

    def cause_and_advice(self, error: Exception) -> tuple[str, str]:
        cause, advice = super().cause_and_advice(error)
        if not any(word in cause.lower() for word in ("decrypt", "crypto")):
            return cause, advice
        if self.keys is None:
            return f"it is encrypted ({cause})", NO_KEYS
        return f"the keys of decryption= are not its own ({cause})", "those it was written with"

    def read_schemas(self) -> Sequence[pa.Schema]:
        import pyarrow.parquet as parquet

        numbers = list(range(len(self.files)))
        footers = read_footers(self.files) if self.is_far else None
        self._footer_bytes = None if footers is None else [one.tail for one in footers]
        self._read = self._opened_files(footers)
        if not isinstance(self._read, str):
            numbers = self._read.schema_numbers()
        different = sorted(set(numbers))
        read = self.of_each(
            different,
            lambda number: parquet.read_schema(
                self._schema_file(number), decryption_properties=self.keys
            ),
            self.files.__getitem__,
        )
        if self._fault:  # of which pyarrow said nothing: it ends the process at some of them
            raise make_error("CD-302", self._fault, try_="the file from where it came, once more")
        schemas = dict(zip(different, read, strict=True))
        return [schemas[number] for number in numbers]

    def _opened_files(self, footers: Sequence[Footer] | None) -> _native.ParquetFiles | str:
        """The files for the engine's reader, or why it does not read them: pyarrow says what is
        wrong, or reads them."""
        self._is_encrypted, self._fault = self.keys is not None, ""
        if self._is_encrypted:
            return "they are encrypted"
        try:
            if footers is None:
                return _native.ParquetFiles.open(self.files)
            return open_far(footers)
        except _native.NativeError as error:
            self._is_encrypted = error.args[0] == _UNREAD  # there is no other such file
            self._fault = "" if self._is_encrypted else reason_of(error)
            return reason_of(error)

    def with_fields(self, paths: Mapping[str, tuple[str, ...]]) -> Self:
        """The same files with further columns, which are fields of structs."""
        source = object.__new__(type(self))
        source.__dict__.update(self.__dict__)
        fields = [pa.field(name, type_at(self.schema, path)) for name, path in paths.items()]
        source.schema = pa.schema([*self.schema, *fields])
        source.paths = dict(paths)
        source._whole = self
        source._footers = None
        return source

    def current(self) -> Opened:
        if self._whole is None or self.is_part:
            return super().current()
        opened = self._whole.current()
        self._opened = opened
        self.__dict__.update({name: getattr(self._whole, name) for name in _LEARNT})
        return opened

    def uneven(self) -> frozenset[str]:
        uneven = super().uneven()
        return uneven.union(name for name, path in self.paths.items() if path[0] in uneven)

    def to_pyarrow(self, predicate: Expr) -> pc.Expression:
        return to_pyarrow(predicate, self.schema, self.paths)

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        """Of encrypted files what paths say: pyarrow ends the process where it looks for statistics
        of a column without its key (version 26)."""
        if not self._is_encrypted:
            return super().split_filter(parts)
        known = frozenset(self._opened.values.column_names)
        given = tuple(part for part in parts if part.columns() and part.columns() <= known)
        return given, tuple(part for part in parts if not any(part is one for one in given))

    def footers(self) -> _native.ParquetFiles | str:
        """The files for the engine's reader, or why it does not read them. DataError if they have
        changed."""
        if self.is_part:
            return "parts of files"
        with self.data_errors():
            opened = self.current()
        known = self._footers
        if known is None or known[0] is not opened:
            known = self._footers = opened, self._for_engine(opened)
        return known[1]

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        """Row groups are read by several threads; an interrupt ends the wait for them."""
        with self.data_errors():
            read = of_each_far(
                list(self._row_groups(predicate)),
                lambda part: list(self._group_batches(*part, columns, predicate)),
            )
            batches = [batch for part in read for batch in part]
            if not columns:
                return pa.Table.from_batches(batches, pa.schema([]))
            return pa.Table.from_batches(batches, self.schema_of(columns))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
        """Batch by batch: a dataset would have whole row groups of several files under way."""
        with self.data_errors():
            parts = self._row_groups(predicate)
            batches = (
                batch for part in parts for batch in self._group_batches(*part, columns, predicate)
            )
            return pa.RecordBatchReader.from_batches(self.schema_of(columns), batches)

    def _row_groups(self, predicate: Expr | None) -> Iterator[tuple[FileFragment, RowGroupInfo]]:
        """Fragments and row groups of them that may have rows."""
        opened = self.current()
        condition = None if predicate is None else self.to_pyarrow(predicate)
        for fragment in opened.fragments:
            with self.data_errors(fragment.path):
                kept = [fragment]
                if condition is not None:
                    kept = fragment.split_by_row_group(condition, opened.filterable.schema)
                groups = [group for part in kept for group in part.row_groups]
            yield from ((fragment, group) for group in groups)

    def _group_batches(
        self,
        fragment: FileFragment,
        group: RowGroupInfo,
        columns: tuple[str, ...],
        predicate: Expr | None,
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as parquet

        values = path_values(fragment, self._opened.values.schema)
        projected = self.schema_of(read_for(columns, predicate))
        buffered = _FAR_BUFFER_BYTES if self.is_far else _BUFFER_BYTES
        with (
            self.data_errors(fragment.path),
            fragment.filesystem.open_input_file(fragment.path) as stream,
            parquet.ParquetFile(
                stream,
                metadata=fragment.metadata,
                buffer_size=buffered,
                pre_buffer=False,
                decryption_properties=self.keys,
            ) as file,  # fmt: skip
        ):
            known = file.schema_arrow.names
            stored = [
                ".".join(self.paths.get(name, (name,)))
                for name in projected.names
                if self.paths.get(name, (name,))[0] in known and name not in values
            ]
            # One column tells how many rows there are.
            for batch in file.iter_batches(_batch_rows(group), [group.id], stored or known[:1]):
                whole = completed(self._with_columns(batch), projected, values)
                if predicate is not None:
                    whole = keep_rows(whole, predicate)
                yield whole.select(columns)

    def _with_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a file with the fields that it has as columns."""
        for name, path in self.paths.items():
            if type_at(batch.schema, path) is not None:
                column = batch.column(path[0])
                for part in path[1:]:
                    column = pc.struct_field(column, part)
                batch = batch.append_column(name, column)
        return batch

    def count_rows(self, predicate: Expr | None) -> int:
        files = self.footers() if predicate is None else ""
        return super().count_rows(predicate) if isinstance(files, str) else files.num_rows

    def stated_range(self, name: str) -> tuple[float, float] | None:
        """The least and the largest value of a column of numbers, days or instants, in the unit of
        its type (decimals: without a scale), as footers state them; None where they do not.
        DataError if the files have changed."""
        files = self._read if self.is_part else self.footers()
        if isinstance(files, str):
            return None
        none = pa.Table.from_batches([], self.schema_of((name,)))
        return files.stated_range(engine_table(checking_engine(), none))

    def _schema_file(self, number: int) -> Any:
        """What pyarrow reads the schema from: without row groups where the engine knows them, of
        which parsing takes most of the time."""
        if isinstance(self._read, str):
            return self._footer_file(number)
        return pa.BufferReader(self._read.schema_file(number))

    def _footer_file(self, number: int) -> Any:
        """What pyarrow reads the footer from: the file, or all that was read of one far away."""
        if self._footer_bytes is None:
            return self.files[number]
        return pa.BufferReader(b"PAR1" + self._footer_bytes[number])

    def _for_engine(self, opened: Opened) -> _native.ParquetFiles | str:
        files = self._read
        if isinstance(files, str):
            return files
        try:
            if opened.values.column_names:
                files = files.with_values(engine_table(checking_engine(), opened.values))
        except _native.NativeError as error:
            return reason_of(error)
        return files.with_paths(dict(self.paths)) if self.paths else files


def type_at(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType | None:
    """The type of a column, or of a field in the struct that it is of; None where there is none,
    or several of a name."""
    fields = list(schema)
    data_type = None
    for name in path:
        named = [field.type for field in fields if field.name == name]
        if len(named) != 1:
            return None
        data_type = named[0]
        fields = list(data_type) if pa.types.is_struct(data_type) else []
    return data_type


def _batch_rows(group: RowGroupInfo) -> int:
    """Of batches of some 8 MiB, as large as all columns of a row group are without compression."""
    rows = group.num_rows * _BATCH_BYTES // max(group.total_byte_size, 1)
    return int(max(1, min(_BATCH_ROWS, rows)))


def open_parquet(
    paths: Paths, options: FileOptions | None = None, decryption: Decryption | None = None
) -> Source:
    """A source over Parquet files. PathError or DataError when there is none to read; OptionError
    for keys that are none."""
    return ParquetSource(paths, options or FileOptions(), decryption)
