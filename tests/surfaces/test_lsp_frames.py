"""The framing of LSP's base protocol, without any stream."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sidecar.surfaces.lsp.frames import INVALID_REQUEST, PARSE_ERROR, FrameReader, Message, Refused, encode


def frame(value: object) -> bytes:
    return encode(json.dumps(value))


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=3), max_size=5), st.data())
def test_messages_survive_any_cut_of_the_stream(values: list[dict[str, str]], data: st.DataObject) -> None:
    stream = b"".join(frame(value) for value in values)
    reader, events = FrameReader(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        events += list(reader.feed(stream[:size]))
        stream = stream[size:]
    assert events == [Message(value) for value in values]


def test_junk_between_messages_is_skipped() -> None:
    stream = b"hello\r\n\r\nX-Other: 3\r\n" + frame({"a": 1}) + b"\x00\xff junk\n" + frame({"b": 2})
    assert list(FrameReader().feed(stream)) == [Message({"a": 1}), Message({"b": 2})]


def test_header_names_in_any_case_and_further_headers_are_taken() -> None:
    stream = b"content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}"
    assert list(FrameReader().feed(stream)) == [Message({})]


def test_an_absurd_length_is_refused_at_once_and_the_next_message_is_read() -> None:
    reader = FrameReader()
    (refused,) = reader.feed(b"Content-Length: 99999999999\r\n\r\n")
    assert isinstance(refused, Refused) and refused.code == INVALID_REQUEST
    assert list(reader.feed(b'{"jsonrpc": "2.0"}' + frame({"a": 1}))) == [Message({"a": 1})]


def test_a_body_over_the_limit_is_passed_over() -> None:
    reader = FrameReader(limit=lambda: 1000)
    stream = frame({"text": "x" * 50_000}) + frame({"a": 1})
    first, second = reader.feed(stream)
    assert isinstance(first, Refused)
    assert second == Message({"a": 1})


def test_a_length_that_is_no_number_is_refused() -> None:
    for length in (b"-5", b"many", b"1e3", b"9" * 400):
        events = list(FrameReader().feed(b"Content-Length: " + length + b"\r\n\r\n" + frame({"a": 1})))
        assert isinstance(events[0], Refused), length
        assert events[1:] == [Message({"a": 1})]


def test_a_header_with_thousands_of_blanks_takes_no_longer_than_to_read_it() -> None:
    """With an expression that can divide blanks between three places, this test would take hours."""
    blanks = b" \t" * 4000
    for line in (b"Content-Length:" + blanks + b"x", b"Content-Length" + blanks, b"Content-Length:" + blanks + b"2\rx"):
        events = list(FrameReader().feed(line + b"\r\n" + frame({"a": 1})))
        assert events[-1] == Message({"a": 1}), line[:20]
    assert list(FrameReader().feed(b"Content-Length" + blanks + b":\t2 \t\r\n\r\n{}")) == [Message({})]


def test_bodies_that_are_not_json_are_refused_with_the_reason() -> None:
    for body in (b"{", b"\xff\xfe", b"NaN", b"[" * 100_000, b"9" * 10_000, b""):
        stream = b"Content-Length: %d\r\n\r\n" % len(body) + body + frame({"a": 1})
        events = list(FrameReader().feed(stream))
        assert isinstance(events[0], Refused) and events[0].code == PARSE_ERROR, body[:10]
        assert events[1:] == [Message({"a": 1})]


def test_what_is_sent_counts_bytes_not_characters() -> None:
    assert encode('"ü😋"').startswith(b"Content-Length: 8\r\n\r\n")
