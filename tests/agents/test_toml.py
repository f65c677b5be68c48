"""One table of a TOML text is set and removed, and nothing else in it moves."""

from __future__ import annotations

import pytest

from sidecar.agents.damaged import NotChanged
from sidecar.agents.record import Written
from sidecar.agents.toml import value_at, with_keys, without

WAY = ("mcp_servers", "sidecar")
ENTRY = {"command": "sidecar", "args": ["mcp"]}
FILES = {
    "empty": "",
    "settings alone": '# mine\nmodel = "x"   # the best\n',
    "no line end": 'model = "x"',
    "another server": 'model = "x"\n\n[mcp_servers.other]\ncommand = "y"\n\n[tui]\ntheme = "dark"\n',
    "dotted keys": 'mcp_servers.other.command = "y"\n',
    "in one line": 'mcp_servers = { other = { command = "y" } }\n',
    "a table of tables": '[mcp_servers]\n# all of them\n[mcp_servers.other]\ncommand = "y"\n',
    "out of order": '[mcp_servers.a]\ncommand = "y"\n\n[tui]\nx = 1\n\n[mcp_servers.other]\ncommand = "z"\n',
    "a list of tables": '[[hooks]]\nname = "a"\n\n[[hooks]]\nname = "b"\n',
    "a byte order mark": '\ufeffmodel = "x"\n',
    "Windows' line ends": 'model = "x"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_table_is_added_and_every_line_stays(text: str) -> None:
    after = with_keys(text, WAY, ENTRY)
    assert value_at(after, WAY) == ENTRY
    kept = iter(after)
    assert all(character in kept for character in text)
    assert ("\r\n" in text) == ("\r\n" in after)
    assert after.count("\n") - after.count("\r\n") in (0, after.count("\n"))


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_what_was_added_can_be_taken_back_to_the_byte(text: str) -> None:
    after = with_keys(text, WAY, ENTRY)
    written = Written.of(text, after, "")
    assert written is not None
    assert written.taken_back(after) == text


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_table_is_removed_and_the_others_stay(text: str) -> None:
    left = without(with_keys(text, WAY, ENTRY), WAY)
    assert value_at(left, WAY) is None
    assert value_at(left, ("mcp_servers", "other")) == value_at(text, ("mcp_servers", "other"))
    assert value_at(left, ("tui",)) == value_at(text, ("tui",))
    assert left.count("#") == text.count("#")


def test_what_a_person_added_to_the_table_stays() -> None:
    text = '[mcp_servers.sidecar]\ncommand = "/old/sidecar" # here\nargs = ["mcp"]\nstartup_timeout_sec = 20\n'
    assert with_keys(text, WAY, ENTRY) == text.replace("/old/sidecar", "sidecar")


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.sidecar.command = "/old/sidecar"\nmcp_servers.sidecar.args = ["mcp"]\nmodel = "x"\n',
        'mcp_servers = { sidecar = { command = "/old/sidecar", args = ["mcp"] } }\n',
        '[mcp_servers]\nsidecar = { command = "/old/sidecar", args = ["mcp"] }\n\n[tui]\nx = 1\n',
        '[mcp_servers.a]\nx = 1\n[tui]\nx = 1\n[mcp_servers.sidecar]\ncommand = "/old/sidecar"\nargs = ["mcp"]\n',
    ],
)
def test_however_it_is_written_the_entry_is_renewed_in_its_place_and_removed(text: str) -> None:
    assert with_keys(text, WAY, ENTRY) == text.replace("/old/sidecar", "sidecar")
    left = without(text, WAY)
    assert "sidecar" not in left
    kept = iter(text)
    assert all(character in kept for character in left)


def test_the_table_is_what_the_documentation_shows() -> None:
    after = with_keys('model = "x"\n', WAY, ENTRY)
    assert after == 'model = "x"\n\n[mcp_servers.sidecar]\ncommand = "sidecar"\nargs = ["mcp"]\n'


@pytest.mark.parametrize("text", ["model = ", "[mcp_servers", "a = 1\na = 2\n", "mcp_servers = 5\n"])
def test_a_damaged_text_is_refused(text: str) -> None:
    with pytest.raises(NotChanged, match=r"not valid TOML|something else than a table"):
        with_keys(text, WAY, ENTRY)
