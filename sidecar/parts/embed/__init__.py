"""Embeddings: models on disk, text into vectors, vectors kept.

`catalog` finds and checks a model's files, `onnx` runs it, `kept` stores what it made. Nothing here knows
about files of a workspace, chunks or search.
"""
