"""Orders of all processes, grouped by customer where they land."""

import crossdock as xd
import pyarrow as pa

with xd.join_group() as group, xd.connect() as dock:
    # Each process has some of the orders: here every size-th one.
    numbers = range(group.rank, 1_000_000, group.size)
    orders = pa.table({"customer": [n % 5 for n in numbers], "amount": [n % 97 for n in numbers]})
    with group.channel(orders.schema, by="customer") as channel:
        channel.send(orders)
        mine = pa.Table.from_batches(channel, orders.schema)
    totals = dock.from_arrow(mine).group_by("customer").agg(n=xd.count(), amount=xd.sum("amount"))
    whole = group.collect(totals.collect())

if whole is not None:
    for customer, n, amount in zip(*whole.sort_by("customer").to_pydict().values(), strict=True):
        print(f"customer {customer}   {n:,} orders   {amount:,}")
