"""The OpenAPI 3.1 document, derived from the tools: served at /openapi.json and stored as docs/openapi.json.

It needs no web library. `routes.py` has the paths, `app.py` the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sidecar import __version__
from sidecar.errors import SidecarError
from sidecar.surfaces.http.faults import ANSWER_HEADER
from sidecar.surfaces.http.query import shown_name
from sidecar.surfaces.http.routes import OPENAPI, TOOLS, get_paths, post_path
from sidecar.tools.spec import ToolSpec

ABOUT = """\
Every tool of sidecar as POST /tools/NAME with its parameters as one JSON object, and the searches as GET too. \
Every request needs a token, in the header `Authorization: Bearer TOKEN`."""

REQUEST_FAULTS: Mapping[int, str] = {
    401: "The token is missing or wrong.",
    403: "The Host or Origin header does not name this server.",
    404: "There is no such path or tool, or what the tool should work on does not exist.",
    405: "The method is not allowed here; the header Allow lists those that are.",
    408: "The body did not arrive in time.",
    413: "The body is larger than 16 MiB.",
    415: "The body is not application/json.",
    504: "A tool that only reads did not answer in time.",
}
CONFLICT = 409
OWN, FAMILY = "Error", "FamilyError"
ASKS = "A conflict, or a question to a person: `question` holds it, and a request header brings the answer."

ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "code": {
            "type": "string",
            "description": "One of those in docs/tools.md.",
            "examples": ["INDEX_NOT_FOUND"],
        },
        "userMessage": {"type": "string", "description": "The sentence for a person."},
        "detail": {"type": "string", "description": "What exactly went wrong, and what to do."},
        "facts": {"type": "object", "description": "The same, for programs."},
        "question": {"$ref": "#/components/schemas/Question"},
    },
    "required": ["code", "userMessage"],
}
_TEXT = {"type": "string"}
QUESTION_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": f"What the header {ANSWER_HEADER} names."},
        **{name: _TEXT for name in ("tool", "message", "detail", "accept", "decline")},
        "destructive": {"type": "boolean"},
    },
    "required": ["id", "tool", "message", "detail", "accept", "decline", "destructive"],
}
ANSWER_PARAMETER = {
    "name": ANSWER_HEADER,
    "in": "header",
    "required": False,
    "description": "A person's answer to a question of this same request: ID=accept or ID=decline; or nobody.",
    "schema": _TEXT,
}


def document(tools: Iterable[ToolSpec]) -> dict[str, Any]:
    """Returns the whole document for these tools."""
    listed = tuple(tools)
    statuses = sorted({error.http_status for error in _errors(SidecarError)} | set(REQUEST_FAULTS))
    schemas: dict[str, Any] = {"Error": ERROR_SCHEMA, "Question": QUESTION_SCHEMA}
    paths: dict[str, Any] = dict(_own_paths())
    for tool in listed:
        schemas.update(_schemas(tool))
        paths[post_path(tool)] = {"post": _post(tool, statuses)}
    for path, tool in get_paths(listed).items():
        paths[path] = {"get": _get(path, tool, statuses)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sidecar", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": dict(_failures(statuses)),
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _post(tool: ToolSpec, statuses: list[int]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{tool.params.__name__}"}}}
    required = bool(tool.input_schema().get("required"))
    parameters = {"parameters": [ANSWER_PARAMETER]} if tool.question else {}
    return {
        **_operation(tool, tool.name),
        **parameters,
        "requestBody": {"required": required, "content": content},
        "responses": _responses(tool, statuses),
    }


def _get(path: str, tool: ToolSpec, statuses: list[int]) -> dict[str, Any]:
    schema = tool.input_schema()
    parameters = [
        {
            "name": shown_name(name),
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": field["description"],
            "schema": _query_schema(field),
        }
        for name, field in schema["properties"].items()
    ]
    name = f"read_{path.strip('/').replace('/', '_')}"
    return {**_operation(tool, name), "parameters": parameters, "responses": _responses(tool, statuses)}


def _query_schema(field: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of a query parameter: the text alternative if the parameter has one, otherwise its own schema.

    A list is sent by repeating the name.
    """
    texts = [choice for choice in field.get("anyOf", ()) if choice.get("type") == "string"]
    plain = {key: value for key, value in field.items() if key not in {"anyOf", "description", "examples"}}
    return {**plain, **texts[0]} if texts else plain


def _operation(tool: ToolSpec, operation_id: str) -> dict[str, Any]:
    return {
        "operationId": operation_id,
        "tags": [tool.family],
        "summary": tool.summary,
        "description": tool.description,
    }


def _responses(tool: ToolSpec, statuses: list[int]) -> dict[str, Any]:
    results = [{"$ref": f"#/components/schemas/{name}"} for name in tool.result_schemas()]
    schema = results[0] if len(results) == 1 else {"anyOf": results}
    responses: dict[str, Any] = {
        "200": {"description": "The tool's result.", "content": {"application/json": {"schema": schema}}}
    }
    kind = OWN if tool.dialect.error_body is None else FAMILY
    return {**responses, **{str(status): {"$ref": f"#/components/responses/{kind}{status}"} for status in statuses}}


def _failures(statuses: list[int]) -> Iterator[tuple[str, Any]]:
    """Yields two responses for each status: in sidecar's own form, and in the form of tool families that have their
    own."""
    for status in statuses:
        said = ASKS if status == CONFLICT else REQUEST_FAULTS.get(status, "The tool failed; the body says why.")
        for kind, body in ((OWN, {"$ref": "#/components/schemas/Error"}), (FAMILY, {"type": "object"})):
            yield f"{kind}{status}", {"description": said, "content": {"application/json": {"schema": body}}}


def _own_paths() -> Iterator[tuple[str, Any]]:
    about = {"/": "What this server is", TOOLS: "The tools that are enabled", OPENAPI: "This document"}
    for path, summary in about.items():
        responses: dict[str, Any] = {
            "200": {"description": summary, "content": {"application/json": {"schema": {"type": "object"}}}},
            **{str(status): {"$ref": f"#/components/responses/{OWN}{status}"} for status in (401, 403, 405)},
        }
        name = path.strip("/").replace(".", "_") or "root"
        yield path, {"get": {"operationId": f"about_{name}", "summary": summary, "responses": responses}}


def _schemas(tool: ToolSpec) -> dict[str, Any]:
    """Returns the tool's schemas by name, including those that they share.

    Raises ValueError if one name stands for two different schemas.
    """
    found: dict[str, Any] = {}
    for name, schema in {tool.params.__name__: tool.input_schema(), **tool.result_schemas()}.items():
        inner = schema.get("$defs", {})
        whole = {key: value for key, value in schema.items() if key != "$defs"}
        for shape, part in {**inner, name: whole}.items():
            moved = _moved(part)
            if found.setdefault(shape, moved) != moved:
                raise ValueError(f"two shapes are called {shape}")
    return found


def _moved(node: Any) -> Any:
    """Returns the schema with its references changed to point into this document's components."""
    if isinstance(node, dict):
        return {
            key: value.replace("#/$defs/", "#/components/schemas/") if key == "$ref" else _moved(value)
            for key, value in node.items()
        }
    return [_moved(item) for item in node] if isinstance(node, list) else node


def _errors(root: type[SidecarError]) -> Iterator[type[SidecarError]]:
    """Yields all subclasses of an error."""
    for error in root.__subclasses__():
        yield error
        yield from _errors(error)
