"""Every tool there is, named one by one: adding a tool adds a line here."""

from __future__ import annotations

from sidecar.tools import code_index, code_search
from sidecar.tools.spec import ToolSpec

ALL_TOOLS: tuple[ToolSpec, ...] = (
    code_index.CREATE_INDEX,
    code_search.SEARCH_CODE,
    code_search.SEARCH_DOCS,
    code_search.SEARCH_BY_PATH,
    code_index.GET_INDEX_STATUS,
    code_index.GET_CONFIG,
    code_index.REINDEX_PROJECT,
    code_index.REINDEX_FILE,
    code_index.DELETE_INDEX,
    code_index.EXPLAIN_PATH,
)
