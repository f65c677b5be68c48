"""A question asks for tests, examples, prose or records by where it says so, not by containing the word."""

from __future__ import annotations

import pytest

from sidecar.engine.search.query import understand

DETAILS = (
    " It waits between the attempts, and since the last release the wait is much longer than it was before, which we"
    " see on every machine with a slow network. The client is made once, when the worker starts, and is kept."
)
"""Makes a question long (see `long_text`)."""


def asked_for(text: str) -> str:
    """The kinds of files that a question asks for, by their first letters, in the order of the alphabet."""
    query = understand(text)
    kinds = {
        "examples": query.wants_examples,
        "prose": query.wants_prose,
        "records": query.wants_records,
        "tests": query.wants_tests,
    }
    return " ".join(kind for kind, wanted in kinds.items() if wanted)


@pytest.mark.parametrize(
    "text",
    [
        "example of using the client",
        "examples for the websocket server",
        "show me an example of streaming a response",
        "is there a minimal example?",
        "are there any examples that use a proxy",
        "where are the examples",
        "do we have sample code for uploads",
        "usage example",
        "websocket client example",
        "list the demos",
        "an example that shows how to cancel a request",
        "find examples of custom middleware",
        "which examples use the async client",
        "benchmarks of the tokenizer",
        "where is the benchmark for inserts",
        "Give me a code snippet or an example.",
        "code samples",
        "add an example of pagination",
        f"Is there an example of retrying a request?{DETAILS}",
        f"Our client gives up too early.{DETAILS} Are there any examples for this?",
        f"Could you show me an example of a custom retry policy?{DETAILS}",
        "how can I see an example of a plugin",
        "got any examples for file uploads",
        "a working example with docker",
        "runnable demos of the grid component",
        "where can I find sample programs",
        "what examples exist for streaming",
        "tutorial on writing a backend",
        "quick example: custom serializer",
        "i'm looking for a sample app",
        "can you show me a few examples of nested routers",
        "show some code samples",
    ],
)
def test_examples_are_asked_for(text: str) -> None:
    assert "examples" in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "how is the sample rate converted",
        "sample rate",
        "resample the audio buffer",
        "where are samples drawn from the distribution",
        "how many samples does the profiler keep",
        "how are the examples in a docstring run",
        "run the examples of a scenario outline",
        "example table parser",
        "demo mode toggles the read only banner",
        "how does the benchmark runner pick iterations",
        "benchmark timer",
        "where is the tutorial overlay closed",
        "collect examples from decorated functions",
        "Describe/Context cannot be defined inside of Example",
        "sample() returns the wrong count",
        "what happens when an example group is empty",
        "validate schema examples",
        "class ExampleGroup",
        "Example",
        "for example a token that has expired",
        f"The sample rate is wrong after a seek.{DETAILS}",
        f"Retrying does not work, for example behind a proxy.{DETAILS} I copied the example from the readme.",
        f"Show examples in the help of a command{DETAILS}",
        "how are sample weights normalised",
        "downsample a signal",
        "sampling interval of the profiler",
        "demo account login check",
        "take every nth sample",
        "example.com is hard coded where",
        "who renders the code example block",
        "parse examples section of a docstring",
        "benchmark harness warmup",
        "why are benchmarks skipped on windows",
    ],
)
def test_examples_are_only_mentioned(text: str) -> None:
    assert "examples" not in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "show me the docs for installing",
        "where are the docs",
        "is there any documentation on timeouts?",
        "what does the changelog say",
        "what does the readme say about proxies",
        "documentation of the retry policy",
        "which licence does this project use",
        "what license is this under",
        "where is the licence",
        "license text",
        "installation guide",
        "where is the retry policy documented",
        "README",
        "the scripts in package.json",
        "what is in setup.cfg and tox.ini",
        "pyproject.toml",
        "where is docker-compose.yml",
        "which versions are pinned in requirements.txt",
        "fix a typo in the readme",
        "update the docs for the new flag",
        "release notes for 2.0",
        "upgrade guide",
        "LICENSE",
        "is this mentioned in the documentation",
        "look up the manual for the config format",
        f"Where is the retry policy documented?{DETAILS}",
        f"Connections are dropped.{DETAILS}\n\nIs there any documentation about keep-alive?",
        "open the README",
        "README section about caching",
        "where does the documentation explain retries",
        "is the cache key documented anywhere?",
        "license of the bundled fonts",
        "under which license is it released",
        "docs",
        "any docs on rate limits",
        "the install instructions in README.md",
        "settings in .eslintrc.json",
        "what does tsconfig.json contain",
        "deployment manual",
        "Which guide covers migrations?",
        "what changed in the changelog for 1.4",
    ],
)
def test_prose_is_asked_for(text: str) -> None:
    assert "prose" in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "where do we check the licence header",
        "license key validation",
        "how is the licence file found in a package",
        "documentation generation for man pages and markdown",
        "how is the documentation generated",
        "how do we build the docs",
        "how does the docs generator resolve links",
        "where are settings in package.json picked up",
        "how is package.json parsed",
        "where do we read config.yaml",
        "write values to settings.toml",
        "manual mode of the thermostat",
        "guide lines in the plot",
        "readme renderer",
        "extract documentation comments",
        "changelog parser",
        "task: include cycle detected between Taskfile.yml <--> sub/Taskfile.yml",
        'warning: documentation references file "guides/missing.md" but it does not exist',
        "render docs",
        "generate a license report",
        "DocumentationProvider",
        "License",
        "how are release notes collected from commits",
        f"The docs are built without our stylesheet.{DETAILS} See the documentation and pyproject.toml.",
        f"Read the licence of a package from pyproject.toml{DETAILS}",
        "docs site search index",
        "find where documentation strings are stripped",
        "licensed seat counter",
        "where is the license checked",
        "read me later list",
        "how does the guide overlay work",
        "open document in a new tab",
        "user guide tooltips renderer",
        "insert the licence into every file",
        "how do manuals get indexed",
        "json pointer resolution",
        "where are yaml anchors expanded",
        "documented parameters are compared with the signature",
        "validate docs links",
    ],
)
def test_prose_is_only_mentioned(text: str) -> None:
    assert "prose" not in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "German translations",
        "where are the translations",
        "translations of the settings page",
        "show me the translation files for Japanese",
        "locale files",
        "which locales are there",
        "fixtures of the importer",
        "where are the fixtures for invoices",
        "what is in the lock file",
        "package-lock.json",
        "versions in Cargo.lock",
        "changelog of version 3",
        "what do the release notes say about Python 3.9",
        "de.po",
        "lockfile",
        "CHANGELOG",
        f"Which fixtures cover an invoice without lines?{DETAILS}",
        "French translation files",
        "snapshot.snap",
        "list of translations",
        "what fixtures do the importer tests load",
        "changelog",
        "where's yarn.lock",
        "look up the German locale file",
        "poetry.lock",
    ],
)
def test_records_are_asked_for(text: str) -> None:
    assert "records" in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "strings translated at runtime",
        "how are virtual addresses translated",
        "address translation table",
        "translation of offsets to line numbers",
        "how is the locale of a user chosen",
        "set the locale before formatting dates",
        "how are fixtures set up before a scenario",
        "fixture loader",
        "load fixtures",
        "how the lockfile pins plugin commits for reproducible installs",
        "resolve dependencies into a lockfile",
        "acquire a lock file before writing",
        "where is the lock file removed",
        "i18n middleware",
        "where are translations loaded",
        "localized error messages are cached",
        "locale-aware sort",
        f"Strings are translated twice.{DETAILS} The locale is German.",
        "coordinate translations applied to the scene",
        "how is a lock file acquired between processes",
        "locale negotiation",
        "translate error codes",
        "fixture teardown order",
        "where is the lock file deleted on exit",
        "change log level at runtime",
        "localization helper",
        "snapshot serializer",
    ],
)
def test_records_are_only_mentioned(text: str) -> None:
    assert "records" not in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "is there a test for the parser",
        "do we have tests for expired tokens?",
        "show me a test that covers retries",
        "where do we test the parser",
        "where are the unit tests",
        "find the spec for the router",
        "which tests cover the retry logic when the server closes the connection",
        f"Which tests cover the retry logic when the server closes the connection too early?{DETAILS}",
        f"I have changed how the client retries.{DETAILS} Which tests should I run?",
        f"The client retries too late.\n{DETAILS}\n\nWhere is this tested?",
        f"Please find the tests for the retry policy.{DETAILS}",
        "any test for the cache?",
        "is retry covered by tests",
        "where are retries tested",
        "can you find the tests of the scheduler",
        "show tests",
        "how is the parser being tested",
        "what tests exist for the lexer",
        "tests that touch the network",
    ],
)
def test_tests_are_asked_for(text: str) -> None:
    assert "tests" in asked_for(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "what does a test return when it is skipped",
        "how do we test for null",
        "is there a test mode for payments",
        "where are the test results written",
        "find the test runner",
        "which test framework adapter is chosen",
        "where do we test whether the token has expired",
        f"Tests fail at random.{DETAILS} All tests passed before. I have added a test.",
        f"Add tests for the retry policy{DETAILS}",
        f"The test client hangs.{DETAILS} It is tested with Python 3.12.",
        f"Find tests in nested folders{DETAILS}",
        "test whether a socket is alive",
        "latest version check",
        "how do tests get discovered",
        "a/b test bucket assignment",
        "who runs the tests in parallel",
        "contest entry",
    ],
)
def test_tests_are_only_mentioned(text: str) -> None:
    assert "tests" not in asked_for(text).split()
