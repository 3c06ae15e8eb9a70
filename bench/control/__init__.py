"""The control plane: how long it takes to plan a channel, and how much memory a plan needs."""
