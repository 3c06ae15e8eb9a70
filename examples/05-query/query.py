"""A whole query: who ordered the most, of orders of at least 100. The same in C++: query.cpp."""

import crossdock as xd
import pyarrow as pa

ORDERS = pa.table(
    {
        "order": [101, 102, 103, 104, 105, 106],
        "customer": [1, 2, 1, 9, 3, 1],
        "pieces": [5, 12, 3, 4, 9, 2],
        "price": [50, 10, 25, 60, 11, 80],
    }
)
CUSTOMERS = pa.table({"id": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"]})

with xd.connect() as dock:
    orders = dock.from_arrow(ORDERS).with_columns(amount=xd.col("pieces") * xd.col("price"))
    joined = orders.filter(xd.col("amount") >= 100).join(CUSTOMERS, on={"customer": "id"})
    sums = joined.group_by("name").agg(sum=xd.sum("amount")).sort(xd.desc("sum")).collect()

for row in sums.to_pylist():
    print(f"{row['name']:<10}{row['sum']}")
