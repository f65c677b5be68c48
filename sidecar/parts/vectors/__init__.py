"""Nearest-neighbour search: `chroma` runs Chroma in a worker process, `in_memory` compares with every vector."""
