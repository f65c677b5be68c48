"""A file that another program wrote an instant ago is in the answer, or the answer says that it may lack something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import cycle, repeat
from pathlib import Path

import pytest
from mcp import Client

from tests.daemon.data_folder import SIDECAR, DataFolder, call
from tests.patience import PATIENCE_S

WORDS = "carburettor espresso lighthouse pomegranate quicksand saxophone".split()
SAID = ("results may be stale", "next commit")


def into_a_new_file(work: Path, word: str, text: str) -> str:
    (work / f"{word}.py").write_text(text)
    return f"{word}.py"


def into_a_file_that_is_there(work: Path, word: str, text: str) -> str:
    (work / "unit0.py").write_text(text)
    return "unit0.py"


def into_a_new_folder(work: Path, word: str, text: str) -> str:
    (work / word / "inner").mkdir(parents=True)
    (work / word / "inner/unit.py").write_text(text)
    return f"{word}/inner/unit.py"


async def watched(agent: Client) -> None:
    """Returns once the daemon watches the files."""

    async def poll() -> None:
        while not (await call(agent, "get_index_status", {})).structured_content["watcherActive"]:
            await asyncio.sleep(0.02)

    await asyncio.wait_for(poll(), PATIENCE_S)


async def silent_misses(work: Path, asks: Client, writes: Iterable[Callable[[Path, str, str], str]]) -> list[str]:
    """Returns the files, each written just before the question, that an answer lacks without saying so."""
    silent = []
    for word, write in zip(WORDS, writes, strict=False):
        path = write(work, word, f"def {word}(beans):\n    return beans\n")
        answer = (await call(asks, "search_code", {"query": word, "mode": "fts"})).structured_content
        found = path in [hit["path"] for hit in answer["results"]]
        if not found and not any(said in answer.get("notice", "") for said in SAID):
            silent.append(f"{path}: {answer.get('notice', '')}")
    return silent


WRITES = [into_a_new_file, into_a_file_that_is_there, into_a_new_folder]
STRATEGIES = ["realtime", "lazy", "git"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_what_was_written_just_before_the_question_is_found_or_said_to_be_missing(
    indexed: DataFolder, work: Path, strategy: str, write: Callable[[Path, str, str], str]
) -> None:
    indexed.env["SIDECAR_INDEXING_STRATEGY"] = strategy
    async with indexed.mcp(work) as agent:
        await call(agent, "search_code", {"query": "convert_unit_1"})
        await watched(agent)
        assert await silent_misses(work, agent, repeat(write)) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_process_that_only_reads_beside_the_daemon_finds_it_or_says_so_too(
    indexed: DataFolder, work: Path, strategy: str
) -> None:
    indexed.env["SIDECAR_INDEXING_STRATEGY"] = strategy
    async with indexed.mcp(work) as agent, indexed.mcp(work, program=(*SIDECAR, "--standalone")) as reader:
        await call(agent, "search_code", {"query": "convert_unit_1"})
        await watched(agent)
        assert await silent_misses(work, reader, cycle(WRITES)) == []
