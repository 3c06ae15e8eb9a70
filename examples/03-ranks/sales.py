"""The best cities of made sales, computed by as many processes as there are."""

import crossdock as xd
import pyarrow as pa

SALES, SHOPS = 1_000_000, 500

with xd.connect() as dock:
    # Each process has some of the sales: here every size-th one. Files are shared by themselves.
    numbers = range(dock.rank, SALES, dock.size)
    sales = pa.table({"shop": [n * 7 % SHOPS for n in numbers], "price": [n % 97 for n in numbers]})
    shops = pa.table({"shop": range(SHOPS), "city": [f"city {n % 40}" for n in range(SHOPS)]})
    best = (
        dock.from_arrow(sales)
        .join(dock.from_arrow(shops, replicated=True), on="shop")
        .group_by("city")
        .agg(sold=xd.count(), price=xd.sum("price"))
        .top_k(3, "price", xd.asc("city"))
    )
    best.show()
