"""From the Substrait plan that DataFusion makes of a query to nodes and expressions of ours."""
