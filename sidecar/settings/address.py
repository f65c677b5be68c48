"""Addresses of servers that a user names in the settings, and the headers that their proxies require."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

CHROMA = "chroma+"
"""The prefix of an address that says that the server is Chroma, in settings that also accept other servers."""
_CLOUD = "trychroma.com"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,8000}[\x21-\x7e])?")
_PLACE = re.compile(r"[A-Za-z0-9._-]{1,128}")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server's address, without a password: `url` has no query; `tenant` and `database` are Chroma's."""

    url: str
    chroma: bool = False
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(urlsplit(self.url).hostname or "")

    @property
    def is_cloud(self) -> bool:
        """Whether the server is Chroma Cloud, which has its own limits."""
        host = (urlsplit(self.url).hostname or "").lower()
        return host == _CLOUD or host.endswith(f".{_CLOUD}")

    @property
    def is_private(self) -> bool:
        """Whether what is sent to it is protected from readers on the way."""
        return self.is_loopback or self.url.startswith("https:")


def server_address(text: str) -> ServerAddress:
    """Parses `[chroma+]http[s]://HOST[:PORT][/PATH][?tenant=T&database=D]`. Raises ValueError with the reason."""
    chroma = text.startswith(CHROMA)
    found = urlsplit(text.removeprefix(CHROMA))
    if found.scheme not in ("http", "https") or not found.hostname or (found.port or 1) < 1:
        raise ValueError("it must begin with http:// or https:// and name a server")
    if "@" in found.netloc or found.fragment:
        raise ValueError("it must have no password and no fragment")
    asked = parse_qsl(found.query, keep_blank_values=True, strict_parsing=bool(found.query))
    wrong = [key for key, value in asked if key not in ("tenant", "database") or not _PLACE.fullmatch(value)]
    if wrong or len(dict(asked)) < len(asked):
        raise ValueError("only tenant=NAME and database=NAME may follow its question mark")
    return ServerAddress(f"{found.scheme}://{found.netloc}{found.path.rstrip('/')}", chroma, **dict(asked))


def server_headers(lines: Sequence[str]) -> dict[str, str]:
    """Parses lines `Name: value`. Raises ValueError, which names no value, because it may be a password."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name.strip()) or not _VALUE.fullmatch(value.strip()):
            raise ValueError("each must be written as `Name: value`")
        headers[name.strip()] = value.strip()
    return headers


def is_loopback(host: str) -> bool:
    """Whether a host name or address stands for this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
