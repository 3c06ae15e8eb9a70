"""SQL: statements become relations. DataFusion parses, binds and decorrelates over schemas alone;
its plan arrives as Substrait and is built from our nodes, with joins in an order of our own."""
