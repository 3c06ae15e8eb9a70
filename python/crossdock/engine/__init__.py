"""Nodes as plans of the engine, and their runs."""
