"""Values on their way between Arrow and the engine: types, checks, streams, picked rows."""
