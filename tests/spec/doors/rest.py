"""The REST door: the real `sidecar serve`, called over HTTP; by GET where a person would type the URL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.spec.doors import Answer, ToolFailed
from tests.surfaces.http_client import Reply, Served

GET = {"search_code": "/code/search", "search_docs": "/docs", "search_by_path": "/paths", "explain_path": "/explain"}
TYPES = {"query": str, "pattern": str, "path": str, "mode": str, "top_k": int, "limit": int, "compact": bool}


class Door:
    name: ClassVar[str] = "rest"

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._served = Served(workspace, env)

    async def __aenter__(self) -> Door:
        await asyncio.to_thread(self._served.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        status, err = await asyncio.to_thread(self._served.end)
        assert (status, err) == (0, "")

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._call, tool, arguments, answer)

    def _call(self, tool: str, arguments: dict[str, Any], answer: Answer | None) -> dict[str, Any]:
        reply = self._send(tool, arguments, None)
        if reply.status == 409 and "question" in reply.json:
            said = f"{reply.json['question']['id']}={answer}" if answer else "nobody"
            reply = self._send(tool, arguments, said)
        body: dict[str, Any] = reply.json
        if reply.status == 200:
            return body
        if "userMessage" in body:
            raise ToolFailed(body["code"], f"{body['userMessage']} {body.get('detail', '')}".strip(), body)
        raise ToolFailed(body.get("code", str(reply.status)), body.get("message") or body.get("error") or "", body)

    def _send(self, tool: str, arguments: dict[str, Any], answer: str | None) -> Reply:
        if tool in GET and all(type(value) is TYPES.get(name) for name, value in arguments.items()):
            return self._served.get(GET[tool], **{k: str(v) for k, v in arguments.items()})
        return self._served.post(tool, arguments, answer)
