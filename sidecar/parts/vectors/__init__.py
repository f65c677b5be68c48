"""Nearest-neighbour search. `chroma` is Chroma in a worker process, `exact` compares with every vector in memory."""
