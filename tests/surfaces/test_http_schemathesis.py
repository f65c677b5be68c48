"""The OpenAPI document against the real process: schemathesis makes requests from it, good and bad, and looks for a
server error, an undocumented status, a body that does not fit, a request that is taken though the schema forbids it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sidecar.surfaces.http.openapi import document
from sidecar.tools.registry import ALL_TOOLS
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment

pytest_plugins = ["schemathesis.pytest.plugin"]
pytestmark = pytest.mark.process

EXAMPLES = 10
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_dict(document(ALL_TOOLS))
schema.config.generation.update(modes=list(schemathesis.GenerationMode))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("schemathesis")
    (folder / "work").mkdir()
    (folder / "work" / "net.py").write_text("def open_connection(host):\n    return dial(host)\n")
    (folder / "work" / "guide.md").write_text("# Logging\n\nSet the level.\n")
    with Served(folder / "work", environment(folder / "home"), ["--toolsets", "all"]) as served:
        assert served.post("create_index", answer="nobody").status == 200
        yield served
        assert served.end() == (0, "")


@pytest.fixture(scope="module")
def connection(served: Served) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {served.token}"
        yield session


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_what_the_document_promises_holds(case: Case[Any], served: Served, connection: requests.Session) -> None:
    response = case.call(base_url=served.url, session=connection, timeout=PATIENCE_S)
    assert "Traceback" not in response.text
    case.validate_response(response, checks=CHECKS)
