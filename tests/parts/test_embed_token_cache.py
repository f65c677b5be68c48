"""Words and their parts are tokenised once, and a text gets the tokens that the library gives the whole of it."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from sidecar.parts.embed.catalog import models_folder
from sidecar.parts.embed.onnx import OnnxEmbedder, told_of, without_normaliser
from sidecar.parts.embed.published import Shelf
from sidecar.parts.embed.token_cache import (
    TokenCache,
    divides_by_word,
    is_plain,
    only_lowers,
)
from sidecar.parts.embed.tokens import split_identifiers, split_new_identifiers
from tests.examples import examples

MODEL = "static-code-256"
PIECES = ("getHTTPResponse_v2 __init__ ____ 0xDEADbeef 3.14e-10 a-b->c::d [unk] ##ing ''' @@@ // */ it's i18n").split(
    " "
)
ODD = "naïveté ÀÉ 中文 x\x0by \x7f Ω² \ud800x".split(" ")


def told() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((models_folder() / MODEL / "tokenizer.json").read_text("utf-8"))
    return found


def odd_texts() -> list[str]:
    chance = random.Random(5)
    texts = ["".join(chance.choices([*PIECES, " ", "\n", "\t"], k=30)) for _ in range(150)]
    texts += ["".join(map(chr, chance.choices(range(32, 127), k=60))) for _ in range(150)]
    texts += ["".join(chance.choices([*PIECES, *ODD, " "], k=12)) for _ in range(50)]
    return [*texts, "", " ", "_" * 50, "a" * 150 + " " + "B" * 300]


def test_plain_texts_get_the_tokens_of_the_whole_text() -> None:
    embedder = OnnxEmbedder(Shelf(None).resolve(MODEL), threads=2)
    try:
        texts = odd_texts()
        plain = [text for text in texts if is_plain(text)]
        # The no-break space, which is no token, takes a text to the library as a whole.
        whole = embedder.embed_documents([f"{text}\u00a0" for text in plain])
        assert len(plain) > 300
        assert np.array_equal(embedder.embed_documents(plain), whole)
        assert np.isfinite(embedder.embed_documents(texts)).all()
        marked, lowered = embedder.embed_documents(["[CLS] a [MASK]", "[cls] a [mask]"])
        assert np.array_equal(marked, lowered)
    finally:
        embedder.close()


def counts_of(cache: TokenCache, texts: Sequence[str]) -> list[Counter[int]]:
    rows = cache.count(texts)
    assert all((np.diff(ids) > 0).all() and (times > 0).all() for ids, times in rows)
    return [Counter(dict(zip(ids.tolist(), times.tolist(), strict=True))) for ids, times in rows]


@pytest.mark.parametrize("most_chars", [0, 40, 100_000])
def test_words_have_the_same_tokens_whatever_is_remembered(most_chars: int) -> None:
    asked: list[str] = []

    def tokens_of(parts: Sequence[str]) -> list[list[int]]:
        asked.extend(parts)
        return [list(part.encode()) for part in parts]

    cache = TokenCache(lambda word: split_identifiers(word).lower(), tokens_of, most_chars)
    text = "parseHTTP_Request(parseHTTP, other) // parse"
    wanted = Counter(b"parsehttprequest(parsehttp,other)//parse")
    for _ in range(3):
        assert counts_of(cache, [text]) == [wanted]
        assert counts_of(cache, ["other", "", text, "other"]) == [
            Counter(b"other"),
            Counter(),
            wanted,
            Counter(b"other"),
        ]
    assert most_chars != 100_000 or len(asked) == len(set(asked))


@settings(max_examples=examples(400), deadline=None)
@given(st.text(st.sampled_from("abzABZ019__ .\n"), max_size=30) | st.text(st.sampled_from("aA1_ .é中\n"), max_size=30))
def test_new_identifiers_are_split_like_those_that_were_seen_before(text: str) -> None:
    assert split_new_identifiers(text) == split_identifiers(text)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text(st.sampled_from("abzAB019__ .,;()+-\"'~\n\t"), max_size=30), min_size=2, max_size=5))
def test_several_texts_have_the_tokens_that_each_has_alone(texts: list[str]) -> None:
    cache = TokenCache(str.lower, lambda parts: [list(part.encode()) for part in parts])
    assert counts_of(cache, texts) == [counts_of(cache, [text])[0] for text in texts]
    assert counts_of(cache, texts) == [Counter("".join(text.split()).lower().encode()) for text in texts]


def test_threads_that_overflow_the_cache_get_their_own_words() -> None:
    cache = TokenCache(str.lower, lambda parts: [list(part.encode()) for part in parts], most_chars=30)
    texts = [f"word{number} and_{number} other" for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: counts_of(cache, [text, "same"]), texts))
    for text, (counts, same) in zip(texts, found, strict=True):
        assert counts == Counter(text.replace(" ", "").encode())
        assert same == Counter(b"same")


def test_the_shipped_tokeniser_may_be_used_word_by_word() -> None:
    assert only_lowers(told())
    assert divides_by_word(told())


@pytest.mark.parametrize(
    "changes",
    [
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": None},
        {"truncation": {"max_length": 128}},
        {"model": {"type": "BPE"}},
        {"added_tokens": [{"content": "<eos>"}]},
    ],
)
def test_other_tokenisers_get_whole_texts(changes: dict[str, Any]) -> None:
    assert not divides_by_word({**told(), **changes})


def test_a_normaliser_that_does_more_than_lower_is_kept() -> None:
    assert not only_lowers({**told(), "normalizer": {"type": "NFKC"}})
    assert not only_lowers({**told(), "normalizer": None})


@pytest.mark.parametrize("changed", [False, True])
def test_what_is_told_of_a_tokeniser_and_the_one_without_its_normaliser_are_as_in_its_file(changed: bool) -> None:
    tokenizer = Tokenizer.from_str(json.dumps(told()))
    if changed:
        tokenizer.add_tokens(["mine", AddedToken("Ours", normalized=False, lstrip=True)])
        tokenizer.add_special_tokens(["<own>"])
        tokenizer.enable_truncation(7)
    written, bare = json.loads(tokenizer.to_str()), json.loads(without_normaliser(tokenizer).to_str())
    assert {**bare, "normalizer": written["normalizer"], "decoder": written["decoder"]} == written
    assert bare["normalizer"] is None
    assert only_lowers(told_of(tokenizer)) == only_lowers(written)
    assert divides_by_word(told_of(tokenizer)) == divides_by_word(written) == (not changed)
