"""Where rows come from and go to: sources of all formats, near and far, and writers."""
