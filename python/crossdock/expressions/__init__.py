"""Expressions of columns: what they are, which types they have, and how each is computed, in the
engine or by pyarrow."""
