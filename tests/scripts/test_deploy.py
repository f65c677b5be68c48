"""The container file and the systemd unit: what they copy exists, and the commands they run are commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from sidecar.surfaces.cli.options import parse
from sidecar.surfaces.cli.sharing import sharing_of

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
UNIT = (ROOT / "deploy" / "sidecar.service").read_text()


def instructions(name: str) -> list[str]:
    """Returns the arguments of each such instruction in the container file, with continued lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(name).strip() for line in joined.split("\n") if line.startswith(name + " ")]


def test_the_container_copies_what_there_is_and_the_wheel() -> None:
    [copied] = instructions("COPY")
    *sources, _ = copied.split()
    assert [source for source in sources if not (ROOT / source).exists()] == ["dist/*.whl"]


def test_the_container_serves_a_group_as_nobody_special_with_its_data_in_a_volume() -> None:
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["sidecar"]
    sharing = sharing_of(parse(json.loads(instructions("CMD")[0])))
    assert sharing is not None and sharing.behind_proxy
    [user] = instructions("USER")
    # Kubernetes can tell from a number, and not from a name, that this is not root.
    assert int(user) > 0 and f"useradd --system --uid {user} --create-home --home-dir /var/lib/sidecar" in DOCKERFILE
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nVOLUME ")
    assert json.loads(instructions("VOLUME")[0]) == ["/var/lib/sidecar"]
    assert "SIDECAR_HOME=/var/lib/sidecar/" in DOCKERFILE


def test_the_container_is_healthy_when_the_port_that_it_opens_says_so() -> None:
    [port] = instructions("EXPOSE")
    assert f"127.0.0.1:{port}/health" in instructions("HEALTHCHECK")[0]
    assert f'"--port", "{port}"' in instructions("CMD")[0]


def test_the_unit_serves_a_group_with_tls() -> None:
    [started] = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    program, *words = shlex.split(started)
    assert Path(program).name == "sidecar"
    sharing = sharing_of(parse(words))
    assert sharing is not None and sharing.certificate and sharing.key
    loaded = re.findall(r"^LoadCredential=(\S+):", UNIT, re.MULTILINE)
    assert sorted(loaded) == sorted(Path(one).name for one in (sharing.certificate, sharing.key))


def test_the_unit_takes_away_what_the_server_does_not_need() -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.MULTILINE))
    assert settings["User"] == "sidecar" and settings["CapabilityBoundingSet"] == ""
    for name in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictNamespaces"):
        assert settings[name] == "true", name
    assert settings["ProtectSystem"] == "strict"
    assert f"SIDECAR_HOME=/var/lib/{settings['StateDirectory']}" in settings["Environment"]
