"""What is estimated of tables in memory from few of their rows."""

from __future__ import annotations

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.estimates import Estimator


@pytest.mark.parametrize("run", [1, 2, 4, 8, 100])
def test_runs_of_equal_keys_are_seen_whatever_their_length(dock: xd.Dock, run: int) -> None:
    """Also where the sample's distances are multiples of it."""
    rows = 1024 * 200 + 1
    keys = dock.from_arrow(pa.table({"k": [i // run for i in range(rows)]}))
    distinct = Estimator()(keys.narrowed()).distinct("k")
    assert distinct is not None
    assert rows / run / 2 < distinct < rows / run * 2
