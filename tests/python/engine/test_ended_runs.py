"""What a run had is given back when it ends, and not when Python's collector runs next."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.engine.execution import Execution

LEFT = pa.table({"k": [1, 2, 2, 3], "v": [1, 2, 3, 4]})
RIGHT = pa.table({"k": [2, 3], "name": ["a" * 40, "b" * 40]})


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("how", ["collect", "count", "profile"])
def test_an_execution_is_in_no_circle(how: str) -> None:
    with xd.connect(threads=1, ranks="off") as dock:
        joined = dock.from_arrow(LEFT).join(dock.from_arrow(RIGHT), on="k")
        for relation in (joined, joined.sort("v"), joined.group_by("name").agg(s=xd.sum("v"))):
            getattr(relation, how)()
        assert not [one for one in gc.get_objects() if isinstance(one, Execution)]
