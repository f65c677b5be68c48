"""Nearest-neighbour search. `chroma` runs Chroma in a worker process, `chroma_server` uses a Chroma server, and
`in_memory` compares with every vector. `four_bits` multiplies small integers for the vectors that the engine holds in
memory."""
