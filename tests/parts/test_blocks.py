"""Blocks come out of a pipe unchanged, and everything that is not a whole block within the limit is refused."""

from __future__ import annotations

import io

import pytest

from sidecar.parts.blocks import FrameError, read_block, write_block


def written(*pieces: bytes) -> bytes:
    stream = io.BytesIO()
    write_block(stream, *pieces)
    return stream.getvalue()


def test_blocks_come_back_in_order_and_then_the_end() -> None:
    stream = io.BytesIO(written(b"one", b"", b" more") + written() + written(b"two"))
    assert [read_block(stream) for _ in range(4)] == [b"one more", b"", b"two", None]


@pytest.mark.parametrize("kept", range(1, len(written(b"ab"))))
def test_a_stream_that_ends_inside_a_block_is_refused(kept: int) -> None:
    with pytest.raises(FrameError, match="ended inside"):
        read_block(io.BytesIO(written(b"ab")[:kept]))


def test_a_block_over_the_limit_is_refused_before_it_is_read() -> None:
    stream = io.BytesIO(written(b"abc") + b"rest")
    with pytest.raises(FrameError, match="3 bytes is over the limit of 2"):
        read_block(stream, most=2)
    assert stream.read() == b"abcrest"
