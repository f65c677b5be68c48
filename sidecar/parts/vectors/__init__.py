"""Nearest-neighbour search: `chroma` runs Chroma in a worker process, `in_memory` compares with every vector,
`integer_products` multiplies small integers for the vectors that the engine holds itself."""
