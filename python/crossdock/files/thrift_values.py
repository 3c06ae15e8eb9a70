"""Structs of Thrift's compact protocol as values that can be changed and written again, for footers
that this process has just written: nothing is checked."""

from __future__ import annotations

import struct
from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_LONG_LIST = 15


class Struct:
    """Fields by their numbers, each with its type."""

    def __init__(self) -> None:
        self.fields: dict[int, tuple[int, Any]] = {}

    def __contains__(self, field: int) -> bool:
        return field in self.fields

    def __getitem__(self, field: int) -> Any:
        value = self.fields[field][1]
        return value.items if isinstance(value, _Items) else value

    def __setitem__(self, field: int, value: Any) -> None:
        kind, known = self.fields[field]
        if isinstance(known, _Items):
            value = _Items(known.kind, list(value))
        self.fields[field] = kind, value

    def get(self, field: int, default: Any) -> Any:
        return default if field not in self.fields else self[field]

    def drop(self, field: int) -> None:
        del self.fields[field]


class _Items:
    """The elements of a list, of one type."""

    def __init__(self, kind: int, items: list[Any]) -> None:
        self.kind, self.items = kind, items


def read_struct(content: memoryview) -> Struct:
    """The struct at the begin of some bytes."""
    return _Reader(bytes(content)).struct()


def written_struct(value: Struct) -> bytes:
    """The bytes of a struct."""
    out = bytearray()
    _write_struct(value, out)
    return bytes(out)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self) -> Struct:
        result = Struct()
        field = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            field = field + step if step else self._integer()
            result.fields[field] = kind, self._value(kind, in_list=False)
        return result

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def _bytes(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def _value(self, kind: int, in_list: bool) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() if in_list else kind
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < _LONG_LIST else self._varint()
            return _Items(head & 15, [self._value(head & 15, in_list=True) for _ in range(count)])
        assert kind == _STRUCT, kind
        return self.struct()


def _write_varint(value: int, out: bytearray) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _write_integer(value: int, out: bytearray) -> None:
    _write_varint(value << 1 if value >= 0 else -(value << 1) - 1, out)


def _write_struct(value: Struct, out: bytearray) -> None:
    last = 0
    for field, (kind, item) in sorted(value.fields.items()):
        step = field - last
        if 0 < step < 16:
            out.append(step << 4 | kind)
        else:
            out.append(kind)
            _write_integer(field, out)
        last = field
        _write_value(kind, item, out, in_list=False)
    out.append(0)


def _write_value(kind: int, value: Any, out: bytearray, in_list: bool) -> None:
    if kind in (_TRUE, _FALSE):
        if in_list:
            out.append(value)
    elif kind == _BYTE:
        out.append(value)
    elif kind in _INTEGERS:
        _write_integer(value, out)
    elif kind == _DOUBLE:
        out += struct.pack("<d", value)
    elif kind == _BINARY:
        _write_varint(len(value), out)
        out += value
    elif kind in (_LIST, _SET):
        count = len(value.items)
        out.append(min(count, _LONG_LIST) << 4 | value.kind)
        if count >= _LONG_LIST:
            _write_varint(count, out)
        for item in value.items:
            _write_value(value.kind, item, out, in_list=True)
    else:
        _write_struct(value, out)
