"""Counts the steps that a backtracking matcher takes for a regular expression, on texts that are made to mislead it.

`re` tries the ways in which a text can fit one by one. An expression in which two repeats share characters has as many
ways as the square of the text's length, its cube, or worse. The matcher here walks the syntax tree of `re` in the same
order and counts the characters that are looked at, so a result depends on no clock.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple, TypeAlias

_PARSER: Any = importlib.import_module("re._parser")
_COMPILER: Any = importlib.import_module("re._compiler")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_SINGLE = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_ENDLESS = 1000
"""A repeat that may go on for this often counts as one without a bound."""
_OFTEN = 4
"""A repeat with a smaller bound is tried at most this often, so that it costs as much in short texts as in long
ones."""
_SIZES = (1, 12, 24, 48)
_BUDGET = 100_000
_SAMPLES, _PAIRS = 8, 8
_USUAL = "a A0_-+ \t\n./:=\"'([{<#é,"
_NOTHING = "\0"
"""A character that few expressions match."""
Next: TypeAlias = Callable[[int], bool]
Step: TypeAlias = Callable[[int, Next], bool]


class TooManySteps(Exception):
    """More steps than the caller allows."""


class Growth(NamedTuple):
    """How the steps grow with the text that takes most: with the power `degree` of its length, which is infinite if it
    took too many to tell. `steps` are those of a text of `length` characters."""

    degree: float
    text: str
    length: int
    steps: int

    def at(self, length: int) -> float:
        """Returns the steps for a text of this length."""
        return float(self.steps * (max(length, self.length) / self.length) ** self.degree)


class Counting:
    """A matcher for one expression. `steps` are those of the last call."""

    def __init__(self, pattern: str | bytes, flags: int = 0, often: int = _OFTEN) -> None:
        """`often`: how often a repeat with a bound is tried at most."""
        self._tree = parsed(pattern, flags)
        self._often = often
        self._is_text = isinstance(pattern, str)
        self._groups: dict[int, tuple[int, int]] = {}
        self._text: Any = ""
        self._budget = 0
        self.steps = 0
        self._run = self._sequence(list(self._tree), self._tree.state.flags)

    def find(self, text: str, how: str, budget: int = _BUDGET) -> list[tuple[int, int]]:
        """Returns the spans of the matches that the method `how` of a pattern finds: `match`, `fullmatch` or
        `finditer`. Raises TooManySteps."""
        self._text = text if self._is_text else text.encode("latin-1", "replace")
        self.steps, self._budget = 0, budget
        found: list[tuple[int, int]] = []
        at, last = 0, len(text) if how == "finditer" else 0
        while at <= last:
            self._groups.clear()
            end = self._end(self._run, at, len(text) if how == "fullmatch" else None)
            if end is not None:
                found.append((at, end))
            at = max(at + 1, end or 0)
        return found

    def _end(self, run: Step, at: int, wanted: int | None = None) -> int | None:
        """Returns where the first match ends."""
        ends: list[int] = []

        def accept(end: int) -> bool:
            if wanted is None or end == wanted:
                ends.append(end)
            return bool(ends)

        run(at, accept)
        return ends[0] if ends else None

    def _sequence(self, items: Sequence[Any], flags: int) -> Step:
        steps = [self._item(item, flags) for item in items]
        if len(steps) == 1:
            return steps[0]

        def run(at: int, then: Next, number: int = 0) -> bool:
            if number == len(steps):
                return then(at)
            return steps[number](at, lambda end: run(end, then, number + 1))

        return run

    def _item(self, item: Any, flags: int) -> Step:
        name, value = str(item[0]), item[1]
        if name in _SINGLE:
            return self._character(item, flags)
        if name in _REPEATS:
            return self._repeat(name, value, flags)
        if name == "SUBPATTERN":
            group, added, removed, inner = value
            return self._group(group, self._sequence(list(inner), (flags | added) & ~removed))
        if name == "BRANCH":
            return self._branch([self._sequence(list(branch), flags) for branch in value[1]])
        return self._condition(item, flags)

    def _condition(self, item: Any, flags: int) -> Step:
        """What takes no choice of its own."""
        name, value = str(item[0]), item[1]
        if name == "ATOMIC_GROUP":
            return self._atomic(self._sequence(list(value), flags))
        if name in ("ASSERT", "ASSERT_NOT") and value[0] > 0:
            inside, wanted = self._sequence(list(value[1]), flags), name == "ASSERT"
            return lambda at, then: inside(at, lambda _: True) is wanted and then(at)
        if name == "GROUPREF":
            return lambda at, then: self._again(value, at, then)
        return self._place(item, flags)

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self._budget:
            raise TooManySteps

    def _character(self, item: Any, flags: int) -> Step:
        compiled = compiled_item(self._tree, item, flags)
        fits: dict[Any, bool] = {}

        def run(at: int, then: Next) -> bool:
            self._count()
            char = self._text[at : at + 1]
            if char not in fits:
                fits[char] = compiled.fullmatch(char) is not None
            return fits[char] and then(at + 1)

        return run

    def _place(self, item: Any, flags: int) -> Step:
        """A condition that takes no character. What is looked at behind a place has a fixed length."""
        compiled = compiled_item(self._tree, item, flags)

        def run(at: int, then: Next) -> bool:
            self._count()
            return compiled.match(self._text, at) is not None and then(at)

        return run

    def _branch(self, branches: Sequence[Step]) -> Step:
        def run(at: int, then: Next) -> bool:
            for branch in branches:  # noqa: SIM110 - `any` would use the stack of C
                if branch(at, then):
                    return True
            return False

        return run

    def _group(self, group: int | None, inside: Step) -> Step:
        if group is None:
            return inside

        def run(at: int, then: Next) -> bool:
            before = self._groups.get(group)

            def after(end: int) -> bool:
                self._groups[group] = (at, end)
                return then(end)

            if inside(at, after):
                return True
            self._groups.pop(group, None)
            if before is not None:
                self._groups[group] = before
            return False

        return run

    def _again(self, group: int, at: int, then: Next) -> bool:
        if group not in self._groups:
            return False
        start, end = self._groups[group]
        self.steps += end - start
        return bool(self._text.startswith(self._text[start:end], at)) and then(at + end - start)

    def _atomic(self, inside: Step) -> Step:
        def run(at: int, then: Next) -> bool:
            end = self._end(inside, at)
            return end is not None and then(end)

        return run

    def _repeat(self, name: str, value: Any, flags: int) -> Step:
        least, most, inner = value
        if most < _ENDLESS:
            least, most = min(least, self._often), min(most, self._often)
        inside = self._sequence(list(inner), flags)
        lazy = name == "MIN_REPEAT"

        def run(at: int, then: Next, done: int = 0) -> bool:
            def once_more(end: int) -> bool:
                # A turn that takes no character changes nothing.
                return (end > at or done < least) and run(end, then, done + 1)

            if done < least:
                return inside(at, once_more)
            if lazy:
                return then(at) or (done < most and inside(at, once_more))
            return (done < most and inside(at, once_more)) or then(at)

        return self._atomic(run) if name == "POSSESSIVE_REPEAT" else run


def parsed(pattern: str | bytes, flags: int) -> Any:
    """Returns the syntax tree that `re` makes of an expression."""
    return _PARSER.parse(pattern, flags & ~re.UNICODE if isinstance(pattern, str) else flags)


def compiled_item(tree: Any, item: Any, flags: int) -> re.Pattern[Any]:
    """Returns one item of a syntax tree as an expression of its own."""
    compiled: re.Pattern[Any] = _COMPILER.compile(_PARSER.SubPattern(tree.state, [item]), flags)
    return compiled


def growth(pattern: str | bytes, flags: int, how: str) -> Growth:
    """Returns how the steps of a method (`match`, `fullmatch`, `finditer`) grow with the text for which they grow
    most. `finditer` stands for all methods that begin at every place of a text."""
    counting = Counting(pattern, flags)
    worst = Growth(1.0, "", 1, 0)
    for begin, pump, end in misleading(pattern, flags):
        found = _growth_with(counting, how, begin, pump, end)
        if found.degree == math.inf:
            return found
        worst = max(worst, found)
    return worst


def _growth_with(counting: Counting, how: str, begin: str, pump: str, end: str) -> Growth:
    counts: list[int] = []
    for size in _SIZES:
        text = begin + pump * size + end
        said = f"{begin!r} + {pump!r} * {size} + {end!r}"
        try:
            counting.find(text, how)
        except TooManySteps:
            return Growth(math.inf, said, len(text), _BUDGET)
        counts.append(counting.steps)
        if len(counts) == len(_SIZES) - 1 and counts[-1] - counts[0] <= 2.4 * (counts[-2] - counts[0]) + 20:
            return Growth(1.0, said, len(text), counting.steps)
    first, second = counts[-2] - counts[-3], counts[-1] - counts[-2]
    # Rounded, because the terms of lower degrees hide a part of it in short texts.
    degree = math.ceil(math.log2(max(2, second) / max(1, first)) - 0.4)
    return Growth(float(max(1, degree)), said, len(text), counting.steps)


def misleading(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """Yields beginnings, repeated parts and ends of texts that may take many steps: what leads to a repeat of the
    expression, what it repeats, and something that then fits no longer."""
    tree = parsed(pattern, flags)
    sampler = _Sampler(tree, isinstance(pattern, str))
    seen: dict[tuple[str, str, str], None] = {}
    for before, body, after in sampler.repeats(list(tree), "", ""):
        ends = (_NOTHING, after + _NOTHING, "\n" + _NOTHING)
        for pump, end in product(body, ends):
            seen.setdefault((before, pump, end))
            seen.setdefault(("", pump, _NOTHING))
        for one, other in islice(((a, b) for a, b in product(body, body) if a != b), _PAIRS):
            seen.setdefault((before, one + other, _NOTHING))
    return iter(seen)


class _Sampler:
    """Makes texts that fit parts of an expression."""

    def __init__(self, tree: Any, is_text: bool) -> None:
        self._tree = tree
        self._is_text = is_text
        self._compiled: dict[int, re.Pattern[Any]] = {}
        self._chosen: dict[int, list[str]] = {}
        self._letters = self._alphabet()

    def repeats(self, items: Sequence[Any], before: str, after: str) -> Iterator[tuple[str, list[str], str]]:
        """Yields for each repeat without a bound a text that leads to it, texts that it repeats, and one that may
        follow."""
        for number, item in enumerate(items):
            begin = before + "".join(map(self._first, items[:number]))
            end = "".join(map(self._first, items[number + 1 :])) + after
            if str(item[0]) in _REPEATS and item[1][1] >= _ENDLESS:
                yield begin, list(islice(self._samples(list(item[1][2])), _SAMPLES)), end
            for inner in _inner(item):
                yield from self.repeats(inner, begin, end)

    def _alphabet(self) -> list[str]:
        """Returns one character for each set of characters that the expression tells apart."""
        singles = [item for item in _all_items(list(self._tree)) if str(item[0]) in _SINGLE]
        near = {code + step for item in singles for code in _codes(item) for step in (-1, 0, 1)}
        found: dict[tuple[bool, ...], str] = {}
        for char in [*_USUAL, *(chr(code) for code in sorted(near) if 0 < code < 256)]:
            is_word = char.isalnum() or char == "_"
            found.setdefault((*(self._fits(item, char) for item in singles), is_word), char)
        return list(found.values())

    def _fits(self, item: Any, char: str) -> bool:
        if id(item) not in self._compiled:
            self._compiled[id(item)] = compiled_item(self._tree, item, self._tree.state.flags)
        raw: Any = char if self._is_text else char.encode("latin-1")
        return self._compiled[id(item)].match(raw) is not None

    def _samples(self, items: Sequence[Any]) -> Iterator[str]:
        """Yields texts that fit a sequence, different in one item each."""
        choices = [self._choices(item) for item in items]
        seen = {""}
        for number, choice in enumerate(choices):
            for one in choice:
                text = "".join(one if at == number else other[0] for at, other in enumerate(choices))
                if text not in seen:
                    seen.add(text)
                    yield text

    def _choices(self, item: Any) -> list[str]:
        """Returns texts that fit an item, the shortest first; an empty one if there is no other."""
        if id(item) not in self._chosen:
            self._chosen[id(item)] = list(self._made_for(item)) or [""]
        return self._chosen[id(item)]

    def _made_for(self, item: Any) -> Iterator[str]:
        name = str(item[0])
        if name in _SINGLE:
            yield from [char for char in self._letters if self._fits(item, char)]
        elif name in _REPEATS:
            least = item[1][0]
            yield from [""] if least == 0 else []
            yield from (once * max(1, min(least, 60)) for once in islice(self._samples(list(item[1][2])), _SAMPLES))
        elif name in ("SUBPATTERN", "BRANCH", "ATOMIC_GROUP"):
            yield from (text for inner in _inner(item) for text in islice(self._samples(inner), _SAMPLES))

    def _first(self, item: Any) -> str:
        return self._choices(item)[0]


def _codes(item: Any) -> Iterator[int]:
    """Yields the codes of the characters that an item names."""
    name, value = str(item[0]), item[1]
    if name in ("LITERAL", "NOT_LITERAL"):
        yield value
    elif name == "RANGE":
        yield from value
    elif name == "IN":
        for one in value:
            yield from _codes(one)


def _inner(item: Any) -> list[list[Any]]:
    """Returns the sequences that an item consists of."""
    name, value = str(item[0]), item[1]
    if name in _REPEATS:
        return [list(value[2])]
    if name == "SUBPATTERN":
        return [list(value[3])]
    if name == "BRANCH":
        return [list(branch) for branch in value[1]]
    if name == "ATOMIC_GROUP":
        return [list(value)]
    return [list(value[1])] if name in ("ASSERT", "ASSERT_NOT") else []


def _all_items(items: Sequence[Any]) -> Iterator[Any]:
    for item in items:
        yield item
        for inner in _inner(item):
            yield from _all_items(inner)
