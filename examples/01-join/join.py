"""Joins orders with customers and prints who ordered what. The same in C++: join.cpp."""

import crossdock as xd
import pyarrow as pa

orders = pa.table(
    {
        "order": [101, 102, 103, 104, 105],
        "customer": [1, 2, 1, 9, 3],
        "amount": [250, 120, 75, 310, 90],
    }
)
customers = pa.table(
    {
        "id": [1, 2, 3],
        "name": ["Ada", "Grace", "Edsger"],
        "city": ["London", "New York", "Nuenen"],
    }
)

with xd.connect() as dock:
    # A left join: order 104 stays, though customer 9 is not known.
    joined = dock.from_arrow(orders).join(customers, on={"customer": "id"}, how="left")
    result = joined.select("order", "name", "city", "amount").collect()

# The order of a join's rows is not defined.
for row in result.sort_by("order").to_pylist():
    cells = ("-" if value is None else str(value) for value in row.values())
    print("".join(cell.ljust(10) for cell in cells).rstrip())
print(f"{result.num_rows} rows")
