"""One schema of many files: columns by name, each of a type that holds the values of all files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions.evaluation import plain_type


def unified_schema(
    files: Sequence[str], schemas: Sequence[pa.Schema]
) -> tuple[pa.Schema, frozenset[str]]:
    """The schema of all `files`, which have these schemas, and the names of its columns that are
    not the same in all. A file without a column has NULL there. Columns are in the order of the
    first file, then in that in which others add them. Nothing is compared where all are equal.

    Errors: DataError, with both files, for types without a common one, names that differ in
    nothing but case, and files that share no column.
    """
    first = schemas[0]
    others = [pair for pair in zip(files, schemas, strict=True) if not pair[1].equals(first)]
    if not others:
        return first, frozenset()
    fields = {field.name: field for field in first}
    origins = dict.fromkeys(fields, files[0])
    uneven: set[str] = set()
    for file, schema in others:
        if fields and len(schema) and not fields.keys() & set(schema.names):
            raise _differing(
                f"{file!r} has no column of {files[0]!r}",
                columns=f"{', '.join(schema.names)} and {', '.join(first.names)}",
            )
        _require_same_case(file, schema, origins)
        for field in schema:
            known = fields.get(field.name)
            if known is None:
                fields[field.name] = field.with_nullable(True)
                origins[field.name] = file
                uneven.add(field.name)
            elif not known.equals(field):
                fields[field.name] = _common(known, field, (origins[field.name], file))
                uneven.add(field.name)
        for name in fields.keys() - set(schema.names):
            fields[name] = fields[name].with_nullable(True)
            uneven.add(name)
    return pa.schema(list(fields.values())), frozenset(uneven)


def require_same_schemas(files: Sequence[str], schemas: Sequence[pa.Schema]) -> None:
    """DataError for a file whose columns are others than those of the first, or of other types;
    their order may differ."""
    first = {field.name: field.type for field in schemas[0]}
    for file, schema in zip(files, schemas, strict=True):
        if schema.equals(schemas[0]):
            continue
        types = {field.name: field.type for field in schema}
        differences = [f"no column {name!r}" for name in first if name not in types]
        differences += [f"a further column {name!r}" for name in types if name not in first]
        differences += [
            f"column {name!r} of type {types[name]} instead of {data_type}"
            for name, data_type in first.items()
            if types.get(name, data_type) != data_type
        ]
        if differences:
            raise make_error(
                "CD-302",
                f"{file!r} has other columns than {files[0]!r}: {', '.join(differences)}",
                try_="union_by_name=True, which gives NULL and wider types",
            )


def _require_same_case(file: str, schema: pa.Schema, origins: dict[str, str]) -> None:
    """DataError for a column that is another one in other files but for upper and lower case: the
    rows of each file would be NULL in the column of the other."""
    by_case = {name.casefold(): name for name in origins if name not in schema.names}
    for name in schema.names:
        other = by_case.get(name.casefold())
        if name not in origins and other is not None:
            raise _differing(f"column {name!r} of {file!r} is {other!r} in {origins[other]!r}")


def _common(known: pa.Field, field: pa.Field, files: tuple[str, str]) -> pa.Field:
    """A field that holds the values of both: integers, floats, decimals, dates, times and lists of
    several widths, NULL alone, dictionaries and views and what they stand for. A date beside times
    without a zone is its midnight."""
    types = [known.type, field.type]
    local = [t for t in types if pa.types.is_timestamp(t) and t.tz is None]
    if len(local) == 1 and any(map(pa.types.is_date32, types)):
        return known.with_type(local[0]).with_nullable(known.nullable or field.nullable)
    if known.type != field.type:
        types = [plain_type(data_type) for data_type in types]
        if not all(map(pa.types.is_dictionary, types)):
            types = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
    if any(map(pa.types.is_decimal, types)):
        types = [_with_digits(data_type) for data_type in types]
    try:
        if len({_is_binary(data_type) for data_type in types}) > 1:
            raise pa.ArrowTypeError
        schemas = [
            pa.schema([old.with_type(new)]) for old, new in zip((known, field), types, strict=True)
        ]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise _differing(
            f"column {field.name!r} is of type {known.type} in {files[0]!r}, and of type "
            f"{field.type} in {files[1]!r}"
        ) from None


def _with_digits(data_type: pa.DataType) -> pa.DataType:
    """An integer type as a decimal one that holds its values. (pyarrow takes one too few of int64,
    version 26.)"""
    if not pa.types.is_integer(data_type):
        return data_type
    bits = data_type.bit_width - pa.types.is_signed_integer(data_type)
    return pa.decimal128(len(str(2**bits)), 0)


def _is_binary(data_type: pa.DataType) -> bool:
    """Whether values are bytes: as a text they could be anything, so neither stands for the
    other."""
    return bool(pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type))


def _differing(what: str, **parts: str) -> CrossdockError:
    return make_error(
        "CD-302", what, **parts, try_="read the files apart, then cast, rename and unite them"
    )
