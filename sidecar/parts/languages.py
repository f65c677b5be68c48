"""Determines the language of a file by its path and, if needed, its `#!` line. Opens no file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from sidecar.parts.globs import compile_glob, glob_error

UNKNOWN = "text"

_EXTENSIONS: dict[str, str] = {
    extension: language
    for language, extensions in {
        "ada": "adb ads",
        "asciidoc": "adoc asciidoc",
        "assembly": "asm s nasm",
        "astro": "astro",
        "awk": "awk",
        "bash": "sh bash zsh ksh bats",
        "batch": "bat cmd",
        "bicep": "bicep",
        "c": "c h",
        "clojure": "clj cljs cljc edn",
        "cmake": "cmake",
        "cobol": "cbl cob cpy",
        "coffeescript": "coffee",
        "commonlisp": "lisp lsp cl asd",
        "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl ixx cppm",
        "crystal": "cr",
        "csharp": "cs csx cake",
        "css": "css",
        "csv": "csv tsv",
        "cuda": "cu cuh",
        "cue": "cue",
        "cython": "pyx pxd pxi",
        "d": "d di",
        "dart": "dart",
        "diff": "diff patch",
        "dockerfile": "dockerfile",
        "elixir": "ex exs heex eex leex",
        "elm": "elm",
        "erlang": "erl hrl",
        "fish": "fish",
        "fortran": "f f77 f90 f95 f03 f08 for",
        "fsharp": "fs fsi fsx",
        "gleam": "gleam",
        "glsl": "glsl vert frag geom comp",
        "go": "go",
        "graphql": "graphql gql",
        "groovy": "groovy gradle gvy",
        "haskell": "hs lhs hsc",
        "haxe": "hx",
        "hcl": "tf tfvars hcl",
        "hlsl": "hlsl fx",
        "html": "html htm xhtml",
        "ini": "ini cfg conf properties editorconfig",
        "java": "java",
        "javascript": "js mjs cjs jsx es6",
        "jinja": "j2 jinja jinja2",
        "json": "json jsonc json5 geojson webmanifest jsonl ndjson",
        "julia": "jl",
        "kotlin": "kt kts",
        "latex": "tex sty cls bib",
        "less": "less",
        "lua": "lua luau",
        "make": "mk mak make",
        "markdown": "md markdown mdown mkd mdx",
        "matlab": "matlab",
        "meson": "meson",
        "nim": "nim nims nimble",
        "nix": "nix",
        "notebook": "ipynb",
        "objectivec": "m mm",
        "ocaml": "ml mli mll mly",
        "odin": "odin",
        "pascal": "pas pp dpr lpr",
        "perl": "pl pm t",
        "php": "php phtml php3 php4 php5 phps",
        "powershell": "ps1 psm1 psd1",
        "prisma": "prisma",
        "prolog": "pro prolog",
        "protobuf": "proto",
        "puppet": "pp",
        "purescript": "purs",
        "python": "py pyi pyw",
        "r": "r rmd",
        "racket": "rkt",
        "rescript": "res resi",
        "rst": "rst",
        "ruby": "rb rake gemspec ru rbi jbuilder podspec",
        "rust": "rs",
        "scala": "scala sc sbt",
        "scheme": "scm ss",
        "scss": "scss sass",
        "solidity": "sol",
        "sql": "sql psql ddl plsql",
        "starlark": "bzl bazel star",
        "svelte": "svelte",
        "swift": "swift",
        "systemverilog": "sv svh",
        "tcl": "tcl",
        "text": "txt text log",
        "thrift": "thrift",
        "toml": "toml",
        "tsx": "tsx",
        "typescript": "ts mts cts",
        "typst": "typ",
        "v": "v vsh",
        "vala": "vala vapi",
        "vb": "vb vbs bas",
        "verilog": "vh",
        "vhdl": "vhd vhdl",
        "vim": "vim",
        "vue": "vue",
        "wgsl": "wgsl",
        "xml": "xml xsd xsl xslt svg plist csproj fsproj vbproj props targets xaml resx storyboard xib wsdl",
        "yaml": "yaml yml",
        "zig": "zig zon",
    }.items()
    for extension in extensions.split()
}

# Names without an extension, or with a misleading one. Lower case.
_NAMES: dict[str, str] = {
    name: language
    for language, names in {
        "bash": ".bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile pkgbuild apkbuild .envrc",
        "cmake": "cmakelists.txt",
        "dockerfile": "dockerfile containerfile",
        "elixir": "mix.lock",
        "go": "go.mod go.work",
        "gitignore": ".gitignore .dockerignore .npmignore .sidecarignore .eslintignore .prettierignore",
        "groovy": "jenkinsfile",
        "haskell": "cabal.project",
        "ini": ".gitconfig .gitmodules .flake8 .pylintrc .coveragerc .editorconfig setup.cfg tox.ini",
        "javascript": "jakefile",
        "json": ".babelrc .eslintrc .prettierrc .jshintrc .swcrc composer.lock",
        "just": "justfile .justfile",
        "make": "makefile gnumakefile bsdmakefile",
        "meson": "meson.build meson_options.txt meson.options",
        "perl": "makefile.pl build.pl cpanfile",
        "python": "sconstruct sconscript wscript",
        "requirements": "requirements.txt requirements-dev.txt constraints.txt",
        "ruby": "rakefile gemfile guardfile vagrantfile podfile brewfile fastfile appfile capfile dangerfile .irbrc",
        "starlark": "build workspace build.bazel workspace.bazel module.bazel tiltfile buck",
        "text": "readme license licence copying authors notice changelog contributors todo install news",
        "toml": "pipfile cargo.lock poetry.lock uv.lock",
        "vim": ".vimrc .gvimrc",
        "yaml": ".clang-format .clang-tidy .yamllint",
    }.items()
    for name in names.split()
}

_INTERPRETERS: dict[str, str] = {
    "ash": "bash",
    "awk": "awk",
    "bash": "bash",
    "bun": "typescript",
    "crystal": "crystal",
    "dash": "bash",
    "deno": "typescript",
    "elixir": "elixir",
    "escript": "erlang",
    "fish": "fish",
    "gawk": "awk",
    "groovy": "groovy",
    "julia": "julia",
    "ksh": "bash",
    "lua": "lua",
    "luajit": "lua",
    "make": "make",
    "node": "javascript",
    "nodejs": "javascript",
    "osascript": "text",
    "perl": "perl",
    "php": "php",
    "pwsh": "powershell",
    "pypy": "python",
    "python": "python",
    "racket": "racket",
    "rscript": "r",
    "ruby": "ruby",
    "runghc": "haskell",
    "runhaskell": "haskell",
    "scala": "scala",
    "sh": "bash",
    "tclsh": "tcl",
    "ts-node": "typescript",
    "tsx": "typescript",
    "zsh": "bash",
}

LANGUAGES: frozenset[str] = frozenset(
    {*_EXTENSIONS.values(), *_NAMES.values(), *_INTERPRETERS.values()},
)
"""Every name that `language_of` can return."""

_SHEBANG = re.compile(r"#!\s*+(?:\S*/)?(?P<program>[^\s/]++)(?P<rest>.*)")


def language_of(path: str, first_line: str = "") -> str:
    """Returns the language's lower-case name, by file name, then extension, then `#!` line; `text` when none of them is
    known.

    `.h` is `c`: only the content can show that a header is C++.
    """
    name = path.rsplit("/", 1)[-1].lower()
    known = _NAMES.get(name) or _by_extension(name) or _by_variant(name)
    return known or _by_shebang(first_line) or UNKNOWN


def _by_extension(name: str) -> str | None:
    stem, dot, extension = name.rpartition(".")
    if not dot or not (stem or name.count(".") > 1):
        return None
    return _EXTENSIONS.get(extension)


def _by_variant(name: str) -> str | None:
    """Returns the language of names such as `Dockerfile.dev` and `Makefile.am`, by the part before the first dot."""
    base, dot, _ = name.partition(".")
    if not dot or base not in ("dockerfile", "containerfile", "makefile", "jenkinsfile"):
        return None
    return _NAMES[base]


def _by_shebang(first_line: str) -> str | None:
    match = _SHEBANG.match(first_line.lstrip("\ufeff").strip())
    if not match:
        return None
    program = match["program"]
    if program == "env":
        words = (word for word in match["rest"].split() if not word.startswith("-") and "=" not in word)
        program = PurePosixPath(next(words, "")).name
    return _INTERPRETERS.get(program.lower()) or _INTERPRETERS.get(program.lower().rstrip("0123456789."))


@lru_cache(maxsize=16)
def documentation_of(doc_patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Returns what says whether a path belongs to the docs collection: one of the globs matches it, as it is or in
    lower case.

    A wrong glob matches nothing. A file whose name has a language of its own (`CMakeLists.txt`, `requirements.txt`) is
    code.
    """
    globs = [compile_glob(pattern) for pattern in doc_patterns if not glob_error(pattern)]

    def is_documentation(path: str) -> bool:
        lowered = path.lower()
        if _NAMES.get(lowered.rpartition("/")[2], UNKNOWN) != UNKNOWN:
            return False
        return any(matches(path) or (lowered != path and matches(lowered)) for matches in globs)

    return is_documentation


def is_documentation(path: str, doc_patterns: Iterable[str]) -> bool:
    """Whether a path belongs to the docs collection; see `documentation_of`."""
    return documentation_of(tuple(doc_patterns))(path)
