"""The lines that show why a hit was found."""

from __future__ import annotations

from sidecar.engine.search.excerpt import WIDTH, excerpt
from sidecar.engine.search.query import understand

CODE = """def fetch(url):
    connection = open_connection(url)

    for attempt in range(retries):
        if connection.retry():  # the connection failed
            wait(attempt)
    return connection"""


def shown(content: str, query: str, start: int = 10) -> list[tuple[int, str]]:
    """Each line with its hit words in brackets."""
    return [
        (line.line, "".join(f"[{p}]" if i % 2 else p for i, p in enumerate(line.pieces)))
        for line in excerpt(content, start, understand(query).terms)
    ]


def test_the_lines_with_most_of_the_words_are_shown_in_their_order() -> None:
    assert shown(CODE, "retry when the connection failed on opening") == [
        (11, "[connection] = [open_connection](url)"),
        (14, "if [connection].[retry]():  # the [connection] [failed]"),
    ]


def test_words_are_known_by_their_stem_and_by_parts_of_identifiers() -> None:
    assert shown("x = 1\nRetryPolicy(max_retries)", "retrying") == [
        (10, "x = 1"),
        (11, "[RetryPolicy]([max_retries])"),
    ]


def test_without_any_word_the_first_lines_with_something_in_them_are_shown() -> None:
    assert shown("\n\n  alpha()\n\n  beta()\n  gamma()", "elephants") == [(12, "alpha()"), (14, "beta()")]


def test_without_any_word_a_line_that_defines_is_shown_before_others() -> None:
    code = "from a import b\n\nimport c\n\ndef serve(x):\n    return x\n"
    assert [line.line for line in excerpt(code, 1, (), ("serve",))] == [1, 5]
    lines = excerpt("import c\nclass A: ...\nimport d\ndef serve(x): ...", 1, (), ("A", "serve"))
    assert [line.pieces for line in lines] == [("class A: ...",), ("def serve(x): ...",)]


def test_an_empty_text_has_no_line() -> None:
    assert shown(" \n\n", "anything") == []


def test_a_long_line_is_cut_around_its_first_word() -> None:
    ((_, line),) = shown(f"{'x ' * 400}needle {'y ' * 400}", "needle")
    assert "[needle]" in line
    assert line.startswith("…") and line.endswith("…")
    assert len(line) <= WIDTH + 4


def test_a_long_line_without_a_word_is_cut_at_its_end() -> None:
    ((_, line),) = shown("  " + "z" * 1000, "needle")
    assert line == "z" * WIDTH + "…"


def test_pieces_join_to_the_line_and_words_stand_at_odd_places() -> None:
    (line,) = excerpt("    needle needle", 1, ("needl",))
    assert line.pieces == ("", "needle", " ", "needle", "")
