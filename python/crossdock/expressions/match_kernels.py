"""Lists of what a regular expression finds in strings, and of what is between: by RE2, as the
engine's functions of patterns. Values are Arrays and ChunkedArrays of strings; all is pure and
thread-safe. ArrowException for a pattern that is none."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.values.arrow_kinds import ArrayLike, Datum

_MAY_MISS = re.compile(r"\||\)[?*]|\)\{0")  # a group of a pattern with it
_SIGNS = tuple(map(chr, range(1, 32)))  # of which strings mostly have none


def split_matches(value: Datum, pattern: str) -> Datum:
    """What is between matches, the first and the last part among them."""
    if isinstance(value, pa.Scalar):
        return split_matches(pa.array([value], value.type), pattern)[0]
    sign = _sign_beside(value)  # pyarrow's own split of empty matches has no end
    return pc.split_pattern(pc.replace_substring_regex(value, pattern, sign), sign)


def all_matches(value: Datum, option: tuple[str, int]) -> Datum:
    """The matches of a pattern, or of one of its groups, from left to right."""
    pattern, group = option
    if isinstance(value, pa.Scalar):
        return all_matches(pa.array([value], value.type), option)[0]
    sign = _sign_beside(value)
    marked = pc.replace_substring_regex(value, f"(?:{pattern})" if group == 0 else pattern,
                                        f"{sign}\\{group}{sign}")  # fmt: skip
    matches = _every_other(pc.split_pattern(marked, sign))
    if group and _MAY_MISS.search(pattern) and pc.any(pc.equal(matches.flatten(), "")).as_py():
        raise pa.ArrowInvalid(f"group {group} of {pattern!r} is empty or missing in a match")
    return matches


def _sign_beside(value: ArrayLike) -> str:
    """A character that no string has."""
    for sign in _SIGNS:
        if not pc.any(pc.match_substring(value, sign)).as_py():
            return sign
    raise pa.ArrowInvalid("all matches of strings with 31 different control characters")


def _every_other(lists: ArrayLike) -> pa.Array:
    """The second element of each list, the fourth, and so on."""
    whole = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    lengths = pc.fill_null(pc.list_value_length(whole), 0).cast(pa.int64())
    begins = pc.subtract(pc.cumulative_sum(lengths), lengths)
    elements = pc.list_flatten(whole)
    places = pc.subtract(pa.arange(0, len(elements), 1), begins.take(pc.list_parent_indices(whole)))
    kept = elements.filter(pc.equal(pc.bit_wise_and(places, 1), 1))
    counts = pc.divide(lengths, 2)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(counts)])
    mask = pc.is_null(whole) if whole.null_count else None
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), kept, mask=mask)
