"""The `crossdock` command: one file per verb."""
