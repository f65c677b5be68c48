"""`search_index`, which means two things: it searches a named document index (000), or indexes files by patterns (004).

With one of the two families enabled it has that family's pure schema; with both, flat optional parameters decide.
"""

from __future__ import annotations

from sidecar.tools.dialect import SEMANTIC
from sidecar.tools.semantic import FAMILY, PatternIndexResult, PatternsParams, index_patterns
from sidecar.tools.spec import ToolSpec

SEARCH_INDEX_PATTERNS = ToolSpec(
    name="search_index",
    family=FAMILY,
    summary="Index files by glob patterns",
    params=PatternsParams,
    result=PatternIndexResult,
    run=index_patterns,
    read_only=False,
    idempotent=True,
    dialect=SEMANTIC,
    described_in="search_index_patterns",
)
