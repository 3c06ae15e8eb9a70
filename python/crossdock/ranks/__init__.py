"""Docks over ranks: processes that were started together and share the work of each query."""
