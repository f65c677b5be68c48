"""Recognises which kinds of files a question asks for: tests, examples, prose (manuals, settings) or records (see
`rank/paths.py`). Files of these kinds otherwise rank behind code.

Where a word stands decides, not that it occurs: "examples of streaming" asks for examples, "how are the examples run"
for code. Reads only the question, never the index.

>>> intents_of("show me the docs for installing").prose
True
>>> intents_of("how does the docs generator resolve links").prose
False
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Intents(NamedTuple):
    """The kinds of files that a question asks for."""

    tests: bool = False
    examples: bool = False
    prose: bool = False
    records: bool = False


_SEVERAL_TESTS = r"(?:tests|specs|fixtures|mocks|benchmarks|(?:test|spec)[ -](?:cases?|suites?|data|files?|doubles?))"
_TESTS = re.compile(
    rf"(?i:^(?:(?:which|what|where|find|show|list|are|is|there|me|all|any|the|existing) )*{_SEVERAL_TESTS}\b)"
    r"|(?i:^(?:(?:the|an?|any) )?(?:test|spec|fixture|mock|benchmark)(?: (?:of|for|that|which|on|with|about)\b|$))"
    rf"|(?i:\b(?:unit|integration|regression|end-to-end|e2e) tests?\b|{_SEVERAL_TESTS}$|\btested$)"
    r"|\btest_\w|\w(?:_test|_spec|[a-z]Tests?)\b"
)
"""Matches short questions that ask for tests, or that name a test."""
_TESTING = re.compile(
    r"(?i:(?:where|how|is|are)\b.{0,120}\btested[?.! ]*$"
    r"|where do(?:es)? \w+ test (?!whether\b|if\b|that\b|for\b)\w)"
)
_DOCUMENTED = re.compile(r"(?i:(?:where|how|is|are)\b.{0,120}\bdocumented(?: anywhere)?[?.! ]*$)")

_FILE = r"(?<![\w./-])[\w./-]*\w\.(?:ya?ml|toml|json|ini|cfg|xml|txt|rst|md)"
_RECORD_FILE = (
    r"(?<![\w./-])(?:[\w./-]*\w\.(?:po|lock|snap|sum)|(?:[\w.-]+/)*(?:package-lock|npm-shrinkwrap)\.json"
    r"|(?:[\w.-]+/)*pnpm-lock\.yaml)"
)
_TEST = r"tests?|test cases?|specs?"
_EXAMPLE = (
    r"examples?|(?:code|usage)[ -](?:samples?|snippets?)|sample[ -](?:code|apps?|applications?|projects?|programs?)"
    r"|demos?|walkthroughs?|(?:micro-?)?benchmarks?"
)
_MANUAL = r"(?:docs|documentation|manuals?|guides?|tutorials?|handbooks?)(?: (?:pages?|sections?|chapters?))?"
_PROSE = (
    rf"{_MANUAL}|read-?me(?: sections?)?|change-?logs?(?: entr(?:y|ies))?|release notes"
    r"|licen[cs]es?(?: (?:files?|texts?|terms))?"
)
_RECORD = (
    r"translations|translation (?:files?|catalogu?es?|strings?)|locales|(?:locale|i18n|locali[sz]ation) files?"
    r"|message catalogu?es?|change-?logs?(?: entr(?:y|ies))?|release notes|fixtures?|lock[ -]?files?"
)

_FUNCTION_WORDS = (
    r"how|where|why|when|what|which|who|whose|whether|if|that|to|for|of|in|on|at|as|from|with|without|by|into|before"
    r"|after|do|does|did|is|are|was|were|be|can|could|should|will|not|no|its?|this|these|i|we|you|an?|the|than|then"
)
_CODE_VERB = (
    r"(?:(?:generat|pars|writ|creat|mak|validat|compil|handl|resolv|remov|delet|renam|cach|execut|serializ|merg|us"
    r"|chang|prepar|translat|combin|ignor|includ|analy[sz]|reus|stor|sav|replac|acquir|tak)(?:e|es|ed|ing)"
    r"|(?:render|build|load|read|check|verify|skip|publish|deploy|collect|process|extract|run|convert|print|fetch"
    r"|download|upload|copy|scan|detect|wrap|register|discover|reload|reset|install|apply|embed|emit|inject)"
    r"(?:e?s|e?d|[np]?ing|[np]ed)?)\b"
)
"""The first words of "load fixtures" and "generating documentation", which are about code."""
_DETERMINERS = r"(?:(?:list of|the|an?|any|all|some|our|your|existing|more|every|other)\s++)*"
_QUALIFIERS = rf"(?:(?!(?:{_FUNCTION_WORDS})[\s,])[\w+#'./-]++,?\s++)"
"""Words that can stand before the noun, as in "websocket client examples"."""
_ENDS = (
    r"(?=[\s?.!:;,)'\"]*$|[?!:;,)]|\s++(?:of|for|to|that|which|on|with|about|how|showing|using|where|when|in|and|or"
    r"|against|covering|covers?|under|like|please|(?:is|are) there)\b)"
)
"""What follows a noun that is not the first part of a compound such as "sample rate"."""
_POLITE = r"(?:(?:please|and|but|so|also|then|just)[,\s]++)*"
_ASKED = (
    r"(?:(?:is|are|were) there|(?:do|does) (?:we|you|it|this|the project|anybody|anyone) have|where(?:'s| is| are)"
    r"|(?:where|how) (?:can|do|could) (?:i|we|one) (?:find|see|get)"
    r"|(?:i|we)(?: am|'m| are|'re)? (?:need|want|looking for|would like)(?: to (?:see|read|find))?"
    r"|(?:(?:can|could|would) you (?:please )?)?(?:show|give|find|get|point) (?:me|us)(?: to| at)?"
    r"|(?:please|(?:can|could|would) you(?: please)?) (?:show|give|find|list|get|look up))\s++"
)
"""Begins sentences that ask; in a long text too, where "show examples in the help" says what a commit does."""
_TOLD = r"(?:open|show|give|find|list|get|look up|look for|search for|see)\s++"
_TOOL = r"(?:runner|loader|parser|helper|generator|reader|builder|folder|renderer|viewer|manager)s?\b"
_SAY = r"(?:say|said|mention|describe|explain|tell|cover|recommend|state|contain|define)"


class _Kind(NamedTuple):
    """Patterns that match the beginning of a sentence which asks for files of one kind: a sentence of any text, and one
    of a short question."""

    of_any: re.Pattern[str]
    of_short: re.Pattern[str]


_NEVER = "(?!)"


def _kind(noun: str, plural: str, file: str = _NEVER, seldom: str = _NEVER) -> _Kind:
    """Returns the patterns of a kind whose files are called `noun`, or whose names match `file`. "Which …" asks for
    those of `plural`, whatever follows. `seldom` often means something else, so it counts in plain requests alone."""
    thing = rf"\b(?:{noun}|{file})(?!\w)"
    sought = rf"{_DETERMINERS}{_QUALIFIERS}{{0,3}}\b(?:{noun}|{file}|{seldom})(?!\w){_ENDS}"
    which = (
        r"(?:(?:under|in|by|with) )?(?:which|what)\s++(?:of the |kinds? of )?"
        r"(?:(?:existing|unit|integration|other)\s++)*"
        rf"(?:(?:{plural})\b(?!\s++{_TOOL})"
        rf"|(?:{noun})\s++(?:is|are|do|does|has|have|applies|covers|shows|of|for)\b)"
    )
    says = rf"(?:what|where) (?:do|does|did|is|are) (?:in )?{_DETERMINERS}{thing}\s++(?:[^\n]{{0,60}}\s)?{_SAY}"
    phrase = rf"(?!{_CODE_VERB}){_DETERMINERS}{_QUALIFIERS}{{0,4}}{thing}{_ENDS}"
    changed = (
        r"(?:fix|correct|update|improve|extend|rewrite|clarify|add|edit|proofread)\s++"
        r"(?:(?:an?|the|some|more|missing|wrong|broken|old|outdated|typos?|errors?|mistakes?|links?|in|to|of)\s++)*"
        rf"{thing}{_ENDS}"
    )
    inside = (
        r"(?:(?:what|which|is|are|where (?:is|are|in))\b[^\n]{0,120}\b(?:in|inside|from|by)\s++"
        rf"{_DETERMINERS}{thing}(?:[\s?.!]*$|\s++(?:for|about)\b)"
        rf"|(?!how\b|why\b|when\b|where do|{_CODE_VERB})[^\n]{{0,120}}\bin(?:side)?\s++(?:the )?(?:{file}){_ENDS})"
    )
    return _Kind(
        re.compile(f"{_POLITE}(?:{_ASKED}{sought}|{which}|{says})", re.IGNORECASE),
        re.compile(f"{_POLITE}(?:{_TOLD}{sought}|{phrase}|{changed}|{inside})", re.IGNORECASE),
    )


_ASKS_FOR = (
    _kind(_NEVER, "tests|specs|test cases", seldom=_TEST),
    _kind(f"{_EXAMPLE}|{_MANUAL}", "examples|demos|samples|docs", seldom="samples?"),
    _kind(_PROSE, "docs|manuals|guides|tutorials", rf"{_FILE}|read-?me|change-?log"),
    _kind(_RECORD, "translations|locales|fixtures|lock ?files", _RECORD_FILE),
)
"""In the order of `Intents`."""
_MAY_ASK = re.compile(
    r"[ \t>*#-]*+((?i:under|in|by|with|which|what|where|how|is|are|were|do|does|show|give|find|get|point|please|can"
    r"|could|would|and|but|so|also|then|just|(?:i|we)(?:'m|'re| am| are)? (?:need|want|looking|would))\b)"
)
"""Matches the beginnings of sentences that may ask; most sentences of a long text begin otherwise."""
_MENTIONS = re.compile(
    r"(?i)test|spec|fixture|mock|bench|example|sample|snippet|demo|walk|doc|manual|guide|tutorial|handbook|read-?me"
    r"|change-?log|release note|licen|translation|locale|i18n|locali|catalog|lock"
    r"|\.(?:ya?ml|toml|json|ini|cfg|xml|txt|rst|md|po|snap|sum)\b"
)
"""A part of what every pattern here contains; most questions contain none."""
_BETWEEN = re.compile(r"[.?!\n]\s++")
_LONGEST = 400
"""Only so many characters of a sentence are read, because a longer one is data."""


def intents_of(text: str) -> Intents:
    """Returns what a short question asks for."""
    question = text.strip()
    if not _MENTIONS.search(question):
        return Intents()
    if _is_name(question):
        return Intents(tests=_TESTS.search(question) is not None)
    asked = _asked([question[:_LONGEST], *_sentences(question)], short=True)
    return asked._replace(tests=asked.tests or _TESTS.search(question.rstrip("?!. ")) is not None)


def intents_of_prose(text: str) -> Intents:
    """Returns what a long text asks for: only sentences that are questions or requests count, because issues and logs
    mention tests and documents for other reasons."""
    return _asked([sentence for sentence in _sentences(text) if _MENTIONS.search(sentence)], short=False)


def _sentences(text: str) -> Iterator[str]:
    """Yields the sentences that may ask for something."""
    start = 0
    for end in (*(match.end() for match in _BETWEEN.finditer(text)), len(text)):
        if match := _MAY_ASK.match(text, start, end):
            yield text[match.start(1) : min(end, start + _LONGEST)].rstrip()
        start = end


def _asked(sentences: list[str], *, short: bool) -> Intents:
    tests, examples, prose, records = (
        any(kind.of_any.match(one) or (short and kind.of_short.match(one)) for one in sentences) for kind in _ASKS_FOR
    )
    return Intents(
        tests=tests or any(_TESTING.match(one) for one in sentences),
        examples=examples,
        prose=prose or any(_DOCUMENTED.match(one) for one in sentences),
        records=records,
    )


def _is_name(question: str) -> bool:
    """Whether the question is one name of code: `License` is a class, `LICENSE` and `license` are files."""
    return question.isidentifier() and question[:1].isupper() and not question.isupper()
