"""Embedding models: finding, downloading and running them, and caching the vectors that they make.

`catalog` and `published` describe models and find their files, `fetch` downloads them, `onnx` runs them, and `kept` is
the embedding cache. Nothing here knows about the files of a workspace, chunks or search.
"""
