"""Turns the tools' results into lines for a person. It takes JSON-ready values and writes nothing itself.

A line may still contain line breaks and control characters; `Style.as_one_line` makes them visible when it is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sidecar import shown
from sidecar.surfaces.cli.terminal import Style, in_shell_words

if TYPE_CHECKING:
    from sidecar.model import BuildReport


def search_lines(result: Mapping[str, Any], words: list[str], style: Style) -> Iterator[str]:
    """Yields for each result `path:start-end  score`, its text with line numbers, and an empty line."""
    found = _hit_words(" ".join(words), style)
    for hit in result["results"]:
        place = f"{shown.path(hit['path'])}:{hit['startLine']}-{hit['endLine']}"
        yield f"{style.cyan(place)}  {style.bold(format(hit['score'], '.3f'))}"
        if "parts" in hit:
            yield style.dim("  " + "  ".join(f"{name} {value:g}" for name, value in hit["parts"].items()))
        width = len(str(hit["endLine"]))
        for line, text in enumerate(shown.visible(hit["content"]).split("\n"), hit["startLine"]):
            yield f"{style.dim(f'{line:>{width}} |')} {style.spans(text, found(text))}".rstrip()
        yield ""
    if "stagesMs" in result:
        stages = ", ".join(f"{stage} {ms:g} ms" for stage, ms in result["stagesMs"].items())
        by = f"; meanings by {result['model']}" if "model" in result else ""
        yield style.dim(f"{result['searchTimeMs']:g} ms ({stages}){by}")


def _hit_words(query: str, style: Style) -> Callable[[str], list[tuple[int, int]]]:
    """Returns a function that finds the query's words in a line; without colours it finds nothing."""
    if not style.on:
        return lambda text: []
    from sidecar.engine.search.excerpt import hit_words

    return hit_words(query)


def compact_lines(result: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yields for each result `path:start-end  score  first line of its text that is not blank`."""
    for hit in result["r"]:
        first = next((line.strip() for line in hit["t"].split("\n") if line.strip()), "")
        path, _, lines = str(hit["l"]).rpartition(":")
        yield f"{style.cyan(f'{shown.path(path)}:{lines}')}  {hit['s']:.2f}  {shown.line(first)[:100]}"


def build_lines(report: BuildReport, seconds: float, style: Style) -> Iterator[str]:
    """Yields what a run of `sidecar index` did."""
    files, chunks = report.code.files + report.docs.files, report.code.chunks + report.docs.chunks
    yield f"{style.bold(f'{files} files')}, {chunks} chunks ({report.docs.files} files of documentation)"
    yield f"{report.embedded} chunks embedded, {report.unchanged} files unchanged, {report.removed} removed"
    yield from _refined_lines(report.refined)
    if report.withheld:
        yield f"{report.withheld} files withheld because of secrets; sidecar status lists them"
    if report.masked:
        yield f"{report.masked} values hidden in what is kept of files, because they look like secrets"
    if report.errors:
        yield style.red(f"{report.errors} files could not be read; sidecar status lists them")
    yield f"{seconds:.1f} s"


def _refined_lines(chunks: int) -> Iterator[str]:
    if chunks:
        yield f"{chunks} chunks embedded once more by the better model, which answers from now on"


def status_lines(status: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yields the state of the index."""
    yield from _pairs(_status_pairs(status), style)
    for problem in status.get("problems", ()):
        yield style.red(f"  setting {problem}")
    for entry in status.get("withheld", ()):
        yield f"  withheld {entry['path']}: {entry['rule']} {entry['detail']}"
    for entry in status.get("masked", ()):
        yield f"  masked {entry['path']}: {entry['values']} values look like secrets; sidecar explain says where"
    for entry in status.get("cutByLines", ()):
        yield f"  cut by lines {entry['path']}: {entry['reason']}"
    for entry in status.get("errors", ()):
        yield style.red(f"  error {entry['path']}: {entry['error']}")


def _status_pairs(status: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "status", status["status"]
    if "progress" in status:
        yield "progress", f"{status['progress']['done']} of {status['progress']['total']}"
    yield "workspace", status.get("projectPath", "")
    yield "index", status.get("indexPath", "")
    yield "config", status.get("configPath", "")
    if "totalFiles" not in status:
        return
    yield "files", f"{status['totalFiles']} ({status['docsFiles']} of documentation)"
    yield "chunks", f"{status['totalChunks']}, {status['coverage']:.0%} of them embedded"
    yield "updated", status.get("lastUpdated", "never")
    yield "size", status["storageSize"]
    watched = "" if status.get("watcherActive") else ", not watching"
    yield "strategy", f"{status['indexingStrategy']}{watched}, {status['pendingFiles']} files pending"
    answers = " answers meanwhile" if "refining" in status else ""
    # Before the model is loaded, only the setting is known.
    device = status.get("device", "?")
    where = ", device auto" if device == "auto" else f" on {device}"
    yield "model", f"{status.get('model', '?')}{where}{answers}"
    if "refining" in status:
        yield "refining", _refining_words(status["refining"])
    for key, label in (("deviceNote", "device"), ("warning", "warning")):
        if key in status:
            yield label, status[key]
    yield "languages", _counts(status.get("languages", {}))
    yield "left out", _counts(status.get("excluded", {}))
    yield "secrets", f"{status['withheldFiles']} files withheld, {status.get('maskedValues', 0)} values masked"


def _refining_words(stage: Mapping[str, Any]) -> str:
    """Describes a model upgrade, as in `minilm-code-int8: 43 % of 10,252 chunks, about 90 s left`."""
    left = f", about {stage['secondsLeft']} s left" if "secondsLeft" in stage else ""
    note = f" ({stage['note']})" if "note" in stage else ""
    return f"{stage['model'].partition('@')[0]}: {stage['percent']} % of {stage['total']:,} chunks{left}{note}"


def _counts(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered) or "none"


def config_lines(config: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yields the configuration and what is wrong with it."""
    yield in_shell_words(config["message"])
    for problem in config["problems"]:
        yield style.red(problem)
    if "config" in config:
        yield from shown.as_json(config["config"], indent=2).split("\n")


_NO_FILE = {"folder": "is a folder", "no-such-file": "does not exist"}


def explain_lines(told: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yields why a path is or is not in the index."""
    verdict = "belongs in the index" if told["indexed"] else _NO_FILE.get(told["rule"], f"is left out: {told['rule']}")
    detail = f" ({told['detail']})" if told["detail"] else ""
    yield f"{told['path'] or '.'} {verdict}{detail}"
    if told["rule"] in _NO_FILE and not told["inIndex"]:
        return
    place = f"in the index with {told['chunks']} chunks, {told['embedded']} embedded" if told["inIndex"] else "no"
    pairs: list[tuple[str, object]] = [("exists", "yes" if told["exists"] else "no"), ("indexed", place)]
    if told["inIndex"]:
        pairs.append(("stale", "yes" if told["stale"] else "no"))
    named = (("language", "language"), ("parser", "parser"), ("indexedAt", "indexed at"), ("lastError", "last error"))
    pairs.extend((label, told[key]) for key, label in named if key in told)
    yield from _pairs(iter(pairs), style)


def deed_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a tool that changes the index did."""
    line = str(result["status"])
    if "filePath" in result:
        line += f" {result['filePath']}: {result['chunksCreated']} chunks"
    elif "stats" in result and result["status"] != "cancelled":
        stats = result["stats"]
        docs = result.get("docsStats") or {"filesIndexed": 0, "chunksCreated": 0}
        line += (
            f": {stats['filesIndexed'] + docs['filesIndexed']} files, {stats['chunksCreated'] + docs['chunksCreated']}"
            f" chunks ({docs['filesIndexed']} files of documentation), {stats['durationMs'] / 1000:.1f} s"
        )
    yield line
    yield from _refined_lines(result.get("refined", 0))
    if "message" in result:
        yield result["message"]


def check_lines(checks: list[dict[str, Any]], style: Style) -> Iterator[str]:
    """Yields the results of `sidecar doctor`, with advice for each problem."""
    width = max((len(check["name"]) for check in checks), default=0)
    for check in checks:
        word = style.green("ok     ") if check["ok"] else style.red("problem")
        yield f"{word}  {check['name']:<{width}}  {check['found']}"
        if not check["ok"] and check["advice"]:
            yield f"{'':9}{'':{width}}  -> {check['advice']}"


def model_lines(models: list[dict[str, Any]], style: Style) -> Iterator[str]:
    """Yields one line per model."""
    width = max((len(model["id"]) for model in models), default=0)
    for model in models:
        mark = style.green("*") if model["inUse"] else " "
        yield (
            f"{mark} {model['id']:<{width}}  {model['dimension']:>4} dim  {_megabytes(model['size']):>9}  "
            f"{model['state']:<10}  {model['licence']}"
        ).rstrip()


def model_card_lines(model: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yields all that is known of one model."""
    yield from _pairs(iter([(_CARD[key], _card_value(key, model[key])) for key in _CARD if model.get(key)]), style)
    for name, file in model["files"].items():
        yield f"  {name}: {file['path']}  sha256 {file['sha256'] or 'as the hub states it'}"
    if model["state"] == "published":
        yield f"Download it with: sidecar models download {model['id']}"


_CARD = {
    "id": "model",
    "about": "for",
    "state": "state",
    "folder": "folder",
    "dimension": "dimension",
    "size": "size",
    "maxTokens": "tokens",
    "pooling": "pooling",
    "queryPrefix": "query",
    "documentPrefix": "document",
    "licence": "licence",
    "source": "source",
    "repository": "repository",
    "revision": "revision",
}


def _card_value(key: str, value: Any) -> object:
    return _megabytes(value) if key == "size" else json.dumps(value) if key.endswith("Prefix") else value


def downloaded_lines(done: Mapping[str, Any]) -> Iterator[str]:
    """Yields the result of a download."""
    model = done["model"]
    if model["state"] == "ships":
        yield f"{model['id']} ships with sidecar: there is nothing to download"
    elif done["status"] == "present":
        yield f"{model['id']} is there already, and its files are right: {model['folder']}"
    else:
        yield f"{model['id']} is in {model['folder']} ({_megabytes(model['size'])}); it was tried and works"
    yield f"Use it with: sidecar index --model {model['id']}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size else "?"


def _pairs(pairs: Iterator[tuple[str, object]], style: Style) -> Iterator[str]:
    for label, value in pairs:
        yield f"{style.dim(f'{label:<10}')} {value}"
