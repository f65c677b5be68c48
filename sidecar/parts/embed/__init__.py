"""Embedding models: finding, downloading and running them, and caching the vectors that they make.

`catalog` and `published` describe models and find their files, `fetch` downloads them, `onnx` runs them, and `cache` is
the embedding cache, which `shared` lends to several users. Nothing here deals with files of a workspace, chunks or
search.
"""
