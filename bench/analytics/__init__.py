"""What people try first that is not TPC-H: group-bys, joins and page views of one wide table."""
