"""Queries as nodes: made from what is asked for, checked, and rewritten before they run."""
