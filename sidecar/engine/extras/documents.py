"""Named indexes over documents that callers supply, and searches in them.

Indexes in memory end with the process; those in SQLite persist (`parts/documents.py`). `engine/search` searches the
workspace's own files; `parts/lexical` has the query language and the score.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sidecar import shown
from sidecar.engine.extras.no_words import none_of, without_words
from sidecar.engine.ports import DocumentStore, DocumentStores
from sidecar.errors import Cancelled, DocumentIndexExists, DocumentIndexNotFound, UnknownBackend
from sidecar.locks import Rank, make_lock, make_rlock
from sidecar.model.answers import NO_DOCUMENTS, DocumentHead, DocumentHit, DocumentIndexFacts, DocumentsAnswer
from sidecar.model.terms import IsCancelled
from sidecar.parts.lexical.highlight import find_words, highlights
from sidecar.parts.lexical.query import Clause, ParsedQuery, parse_query
from sidecar.parts.lexical.tfidf import Tokenizer, tfidf_scores

DEFAULT = "default"
MEMORY, SQLITE = "memory", "sqlite"


class DocumentIndexes:
    """The document indexes of one workspace; see `sidecar.model.workspace.Documents`. Thread-safe."""

    def __init__(self, kept: DocumentStores) -> None:
        self._kept = kept
        self._in_memory: dict[str, DocumentStore] = {DEFAULT: MemoryDocuments()}
        self._lock = make_lock(Rank.DOCUMENTS)

    def is_in_memory(self, name: str) -> bool:
        """Whether an index of this name exists that ends with the process."""
        with self._lock:
            return name in self._in_memory

    def create(self, name: str, backend: str, lowercase: bool, min_length: int) -> None:
        """Creates an empty index, in memory or in SQLite. Raises UnknownBackend, and DocumentIndexExists if an index of
        either kind has the name."""
        if backend not in {MEMORY, SQLITE}:
            raise UnknownBackend(backend)
        with self._lock:
            taken = name in self._in_memory
            if not taken and backend == SQLITE:
                taken = not self._kept.create(name, lowercase, min_length)
            elif not taken and self._kept.find(name) is None:
                self._in_memory[name] = MemoryDocuments(lowercase, min_length)
            else:
                taken = True
        if taken:
            raise DocumentIndexExists(name)

    def add(self, name: str, doc_id: str, content: str, metadata: Mapping[str, Any]) -> tuple[bool, int]:
        """Adds a document, or replaces the one with this id. Returns whether one was replaced, and the number of tokens
        of the new document. Raises DocumentIndexNotFound."""
        store = self._find(name)
        counts = Counter(_tokenizer(store).tokens(content))
        replaced = store.put(doc_id, content, json.dumps(metadata, ensure_ascii=False), counts)
        return replaced, counts.total()

    def search(self, name: str, query: str, limit: int, cancelled: IsCancelled) -> DocumentsAnswer:
        """Returns the matching documents, best first; documents with equal scores keep the order in which they were
        added. For an empty query the answer is empty and has no reason, as the specification demands. Raises
        DocumentIndexNotFound and Cancelled."""
        store = self._find(name)
        parsed = parse_query(query)
        with store.reading():
            search = _DocumentSearch(store, cancelled)
            found = {} if parsed.is_empty else search.find(parsed)
            best = sorted(found, key=lambda number: (-found[number], number))[:limit]
            hits = tuple(_hit(store, number, found[number], parsed) for number in best)
            reason = "" if hits or parsed.is_empty else search.why_nothing(parsed)
        return DocumentsAnswer(hits, len(found), _described(parsed), reason)

    def indexes(self) -> tuple[DocumentIndexFacts, ...]:
        """Returns all indexes, by name."""
        with self._lock:
            found = [(name, MEMORY, store) for name, store in self._in_memory.items()]
            found += [(name, SQLITE, store) for name in self._kept.names() if (store := self._kept.find(name))]
        return tuple(
            DocumentIndexFacts(name, backend, store.size(), store.lowercase, store.min_length)
            for name, backend, store in sorted(found, key=lambda one: one[0])
        )

    def page(self, name: str, limit: int, offset: int) -> tuple[tuple[DocumentHead, ...], int]:
        """Returns one page of an index's documents, in the order in which they were added, and the number on all pages.

        Raises DocumentIndexNotFound.
        """
        store = self._find(name)
        with store.reading():
            numbers = store.numbers()
            heads = [
                DocumentHead(store.doc_id(number), len(store.content(number)), json.loads(store.metadata(number)))
                for number in numbers[offset : offset + limit]
            ]
        return tuple(heads), len(numbers)

    def has(self, name: str, doc_id: str) -> bool:
        """Whether the index has a document with this id. Raises DocumentIndexNotFound."""
        return self._find(name).number_of(doc_id) is not None

    def delete(self, name: str, doc_id: str) -> bool:
        """Deletes a document; returns False if no document has this id. Raises DocumentIndexNotFound."""
        return self._find(name).remove(doc_id)

    def drop(self, name: str) -> None:
        """Deletes an index with its documents; `default` in memory is emptied. Raises DocumentIndexNotFound."""
        with self._lock:
            dropped = self._in_memory.pop(name, None) is not None or self._kept.drop(name)
            self._in_memory.setdefault(DEFAULT, MemoryDocuments())
        if not dropped:
            raise DocumentIndexNotFound(name)

    def close(self) -> None:
        """Closes the file. Indexes in memory stay, and the file is opened again when it is used next."""
        self._kept.close()

    def _find(self, name: str) -> DocumentStore:
        with self._lock:
            store = self._in_memory.get(name) or self._kept.find(name)
        if store is None:
            raise DocumentIndexNotFound(name)
        return store


class MemoryDocuments:
    """A `DocumentStore` in memory. Thread-safe."""

    def __init__(self, lowercase: bool = True, min_length: int = 2) -> None:
        self.lowercase = lowercase
        self.min_length = min_length
        self._documents: dict[int, _Document] = {}
        self._next = 0
        self._numbers: dict[str, int] = {}
        self._postings: dict[str, dict[int, int]] = {}
        self._lock = make_rlock(Rank.DOCUMENT_INDEX)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A block in which the index does not change, because it holds the lock."""
        with self._lock:
            yield

    def put(self, doc_id: str, content: str, metadata: str, counts: Mapping[str, int]) -> bool:
        """Stores a document under its id; returns True if it replaced one. `metadata` is JSON."""
        document = _Document(doc_id, content, metadata, tuple(counts))
        with self._lock:
            number = self._numbers.get(doc_id)
            replaced = number is not None
            if number is None:
                number = self._numbers[doc_id] = self._next
                self._next += 1
            else:
                self._forget(number)
            self._documents[number] = document
            for token, count in counts.items():
                self._postings.setdefault(token, {})[number] = count
        return replaced

    def remove(self, doc_id: str) -> bool:
        """Deletes the document with this id; returns False if it does not exist."""
        with self._lock:
            number = self._numbers.pop(doc_id, None)
            if number is not None:
                self._forget(number)
                del self._documents[number]
        return number is not None

    def number_of(self, doc_id: str) -> int | None:
        """Returns the number of the document with this id; None if it does not exist."""
        return self._numbers.get(doc_id)

    def size(self) -> int:
        """Returns the number of documents."""
        return len(self._documents)

    def of(self, token: str) -> Mapping[int, int]:
        """Returns the counts of the token by document number."""
        return self._postings.get(token, {})

    def numbers(self) -> Sequence[int]:
        """Returns the numbers of all documents, in the order in which they were added."""
        return list(self._documents)

    def content(self, number: int) -> str:
        """Returns the text of a document."""
        return self._documents[number].content

    def doc_id(self, number: int) -> str:
        """Returns the id that the caller gave a document."""
        return self._documents[number].doc_id

    def metadata(self, number: int) -> str:
        """Returns the metadata of a document, as JSON."""
        return self._documents[number].metadata

    def _forget(self, number: int) -> None:
        for token in self._documents[number].tokens:
            holders = self._postings[token]
            del holders[number]
            if not holders:
                del self._postings[token]


@dataclass(frozen=True, slots=True)
class _Document:
    doc_id: str
    content: str
    metadata: str
    tokens: tuple[str, ...]


class _DocumentSearch:
    """One search in one index: finds the documents that match and scores them."""

    def __init__(self, store: DocumentStore, cancelled: IsCancelled) -> None:
        self._store = store
        self._cancelled = cancelled
        self._tokenizer = _tokenizer(store)

    def find(self, query: ParsedQuery) -> dict[int, float]:
        """Returns the scores of all matching documents by number; 0 for a document that matches without any wanted
        token."""
        tokens = [token for clause in query.wanted for token in self._tokenizer.tokens(clause.text)]
        scores = tfidf_scores(tokens, self._store)
        found = self._candidates(query, scores)
        for clause in query.wanted:
            if clause.required:
                found &= self._holders(clause, found)
        for text in query.must_not:
            found -= self._holders(Clause(text, required=False), found)
        return {number: scores.get(number, 0.0) for number in found}

    def why_nothing(self, query: ParsedQuery) -> str:
        """Returns, in one sentence, why no document matches a query that is not empty."""
        size = self._store.size()
        if not size:
            return NO_DOCUMENTS
        required = [clause for clause in query.wanted if clause.required]
        everything = set(self._store.numbers())
        missing = [clause for clause in required if not self._holders(clause, everything)]
        if missing:
            return f"{none_of(size, 'document')} {shown.quoted(missing[0].text)}, which the query requires."
        matching = self.find(replace(query, must_not=()))
        if matching:
            one = len(matching) == 1
            each = "the only document" if one else f"each of the {shown.count(len(matching), 'document')}"
            return f"The query leaves out {each} that would match."
        if required:
            named = ", ".join(shown.quoted(clause.text) for clause in required)
            return f"{none_of(size, 'document')} all that the query requires: {named}."
        tokens = [token for clause in query.wanted for token in self._tokenizer.tokens(clause.text)]
        if not tokens:
            return f"This index has no words of fewer than {self._store.min_length} characters."
        return without_words(size, "document", tokens)

    def _candidates(self, query: ParsedQuery, scores: Mapping[int, float]) -> set[int]:
        """Returns the documents to filter: those with any of the terms, or all documents if a clause is required or the
        query consists of exclusions only."""
        if query.must or query.phrases or not query.wanted:
            return set(self._store.numbers())
        return set(scores)

    def _holders(self, clause: Clause, among: set[int]) -> set[int]:
        """Returns those of the documents `among` that contain the clause's words in sequence."""
        words = self._tokenizer.words(clause.text)
        indexed = [word for word in words if len(word) >= self._tokenizer.min_length]
        holders = set(among)
        for word in indexed:
            holders.intersection_update(self._store.of(word))
        if indexed and len(words) == 1:
            return holders
        # The postings record neither order nor short words, so the text itself is searched.
        return {number for number in holders if self._stands_in(number, words)}

    def _stands_in(self, number: int, words: Sequence[str]) -> bool:
        if self._cancelled():
            raise Cancelled
        return find_words(self._tokenizer.fold(self._store.content(number)), words) is not None


def _tokenizer(store: DocumentStore) -> Tokenizer:
    return Tokenizer(store.lowercase, store.min_length)


def _hit(store: DocumentStore, number: int, score: float, query: ParsedQuery) -> DocumentHit:
    tokenizer = _tokenizer(store)
    content = store.content(number)
    runs = [run for clause in query.wanted for run in _runs(clause, tokenizer)]
    found = highlights(content, tokenizer.fold(content), runs)
    return DocumentHit(store.doc_id(number), score, tuple(found), json.loads(store.metadata(number)))


def _runs(clause: Clause, tokenizer: Tokenizer) -> list[list[str]]:
    """Returns the word sequences to highlight: a required clause as a whole, and each token of any other clause."""
    if clause.required:
        return [tokenizer.words(clause.text)]
    return [[token] for token in tokenizer.tokens(clause.text)]


def _described(query: ParsedQuery) -> dict[str, list[str]]:
    return {
        "terms": list(query.terms),
        "must": list(query.must),
        "must_not": list(query.must_not),
        "phrases": list(query.phrases),
    }
