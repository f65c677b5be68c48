"""Team snapshots: an index as one file, made in one checkout (usually by CI) and taken over in others."""
