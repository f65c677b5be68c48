"""Nearest-neighbour search: `chroma` runs Chroma in a worker process; `exact` compares with every vector in memory and
serves tests.
"""
