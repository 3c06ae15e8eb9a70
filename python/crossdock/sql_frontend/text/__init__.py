"""The text of SQL: its tokens, statements, and what a query becomes before DataFusion reads it."""
