"""The verbs of the `crossdock` command, one file each."""
