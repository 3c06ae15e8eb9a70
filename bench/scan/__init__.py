"""What is done with files before any operator: first rows, look-ups, searches, copies."""
