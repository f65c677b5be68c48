"""Reads one definition from its node in the syntax tree: its name, its signature, and whether other files may use it.
Keeps no state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .syntax import Node

MAX_SIGNATURE = 300
MAX_NAME = 160
_IDENTIFIERS = frozenset(
    [
        "identifier",
        "type_identifier",
        "simple_identifier",
        "constant",
        "name",
        "word",
        "variable",
        "field_identifier",
        "property_identifier",
        "namespace_identifier",
        "bareword",
        "package",
        "simple_name",
        "function_name",
        "module_name",
        "class_name",
        "type_constructor",
        "value_name",
        "method_name",
        "operator_name",
        "destructor_name",
        "qualified_identifier",
        "string_lit",
        "prefix_id",
    ]
)
_DECLARED = _IDENTIFIERS | {"template_function", "template_method", "operator_cast"}
_BODIES = frozenset(
    [
        "block",
        "do_block",
        "body",
        "compound_statement",
        "match",
        "declaration_list",
        "class_body",
        "interface_body",
        "enum_body",
        "struct_declaration",
        "enum_declaration",
        "union_declaration",
        "template_body",
        "function_body",
        "body_statement",
        "field_declaration_list",
        "closure",
        "constructor_body",
        "object",
        "structure",
        "script_block",
        "contract_body",
    ]
)
_GENERICS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_SEPARATORS = re.compile(r"::|\.|\\|:|/|\s")
_NOT_A_NAME = re.compile(r"[^\w?!$+*/<>=|&^~%-]|^-+$")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class DefinitionRule:
    """One rule of `tables`, parsed; `table` explains the notation.

    `name` and `value` are the paths that the rule gives, or empty; `flags` are its other options.
    """

    kind: str
    name: str
    value: str
    flags: frozenset[str]

    @staticmethod
    def read(text: str) -> DefinitionRule:
        """Parses `kind option...`."""
        kind, *options = text.split()
        pairs = dict(option.split("=", 1) for option in options if "=" in option)
        flags = frozenset(option for option in options if "=" not in option)
        return DefinitionRule(kind, pairs.get("name", ""), pairs.get("value", ""), flags)


def text_of(node: Node) -> str:
    """Returns the source text of the node; bytes that are not UTF-8 are replaced."""
    return (node.text or b"").decode("utf-8", "replace")


def first_line(node: Node) -> int:
    """Returns the 1-based line on which the node starts."""
    return node.start_point.row + 1


def last_line(node: Node) -> int:
    """Returns the 1-based line on which the node ends. A node that ends with its newline ends on the line before."""
    end = node.end_point
    return end.row if end.column == 0 and end.row > node.start_point.row else end.row + 1


def follow(node: Node, path: str) -> Node | None:
    """Returns the node to which a path leads from `node`; None if there is none.

    The steps of a path are joined by dots. Each is a field's name, `~type` (the first child of that type) or `last`
    (the last named child).
    """
    at: Node | None = node
    for step in path.split("."):
        if at is None:
            return None
        if step == "last":
            at = _last_named_child(at)
        elif step.startswith("~"):
            at = next((child for child in at.children if child.type == step[1:]), None)
        else:
            at = at.child_by_field_name(step)
    return at


def full_name(node: Node, rule: DefinitionRule) -> str:
    """Returns the defined name as written, qualifiers included; empty if the node names nothing or the name exceeds
    MAX_NAME bytes.
    """
    if rule.name == "keyword":
        match = re.match(r"(?:\w+\s+)*?(init|constructor)\b", text_of(node)[:80])
        return match.group(1) if match else ""
    if rule.name == "label":
        found = next((child for child in reversed(node.children) if child.type == "string_lit"), None)
    elif rule.name == "declarator":
        found = declared_name(node)
    elif rule.name:
        found = next(filter(None, (follow(node, path) for path in rule.name.split("|"))), None)
    else:
        found = node.child_by_field_name("name") or _first_identifier(node)
    if found is None or found.end_byte - found.start_byte > MAX_NAME:
        return ""
    return text_of(found)


def last_part(name: str) -> str:
    """Returns the last part of a qualified name, without quotes and type parameters: `f` for `A::B<T>::f`. An operator
    is not split.
    """
    if name.isascii() and name.isidentifier():
        return name
    name = name.strip().strip("\"'`")
    if not name[:1].isalpha() and not name.startswith(("_", "$", "@", "#", "~")):
        return _NOT_A_NAME.sub("", name)
    bare = _GENERICS.sub("", name).strip()
    parts = [part for part in _SEPARATORS.split(bare) if part]
    return re.sub(r"[^\w?!$=~-]", "", parts[-1]) if parts else ""


def qualifier_of(name: str) -> str:
    """Returns the qualifier of a name: `A.B` for `A::B::f`; empty for a plain name."""
    parts = [part for part in re.split(r"::|\.|:", _GENERICS.sub("", name)) if part]
    return ".".join(parts[:-1])


def _first_identifier(node: Node) -> Node | None:
    """Returns the first identifier among the named children and theirs; modifiers, attributes and annotations are
    skipped."""
    for child in node.named_children:
        if child.type in _IDENTIFIERS:
            return child
        inner = next((grand for grand in child.named_children[:3] if grand.type in _IDENTIFIERS), None)
        if inner is not None and not child.type.startswith(("modifier", "attribute", "annotation")):
            return inner
    return None


def declared_name(node: Node) -> Node | None:
    """Returns the name inside C's nested declarators (`f` in `int (*f(int))[3]`); None if it is not found within twelve
    levels.
    """
    at = node.child_by_field_name("declarator")
    for _ in range(12):
        if at is None or at.type in _DECLARED:
            return at
        inner = at.child_by_field_name("declarator")
        at = inner or next((c for c in at.named_children if c.type in _DECLARED or "declarator" in c.type), None)
    return None


def declares_function(node: Node) -> bool:
    """Whether a C declaration declares a function and not a pointer to one."""
    at = node.child_by_field_name("declarator")
    for _ in range(6):
        if at is None:
            return False
        if at.type == "function_declarator":
            inner = at.child_by_field_name("declarator")
            return inner is not None and inner.type != "parenthesized_declarator"
        at = at.child_by_field_name("declarator") or next(
            (child for child in at.named_children if "declarator" in child.type), None
        )
    return False


def _body_of_value(node: Node) -> Node | None:
    """Returns the body of an assigned function, at most two levels down (`M.f = function() ... end`), or None."""
    at = node
    for _ in range(2):
        inner = _last_named_child(at)
        if inner is None:
            return None
        if (body := body_of(inner)) is not None:
            return body
        at = inner
    return None


def _last_named_child(node: Node) -> Node | None:
    children = node.named_child_count
    return node.named_child(children - 1) if children else None


def body_of(node: Node) -> Node | None:
    """Returns the node of the body: the field `body`, else the first child of a type that is a body in some grammar,
    else None.
    """
    body = node.child_by_field_name("body")
    if body is None:
        for child in node.children:
            if child.type in _BODIES:
                return child
    return body


def following_body(node: Node) -> Node | None:
    """Returns the body of a Dart function, which is the sibling after its signature and not a child of it; None for
    other nodes.
    """
    if not node.type.endswith("_signature"):
        return None
    outer = node.parent if node.parent is not None and node.parent.type == "method_signature" else node
    after = outer.next_named_sibling
    return after if after is not None and after.type == "function_body" else None


def signature_of(node: Node, source: bytes) -> str:
    """Returns the text of a definition up to its body, on one line and cut to MAX_SIGNATURE characters.

    If no node is the body, the signature is the first line. If that line holds a parenthesis, the signature goes on up
    to a line that begins with `{`.
    """
    body = body_of(node) or _body_of_value(node)
    end = body.start_byte if body is not None else node.end_byte
    text = source[node.start_byte : min(end, node.start_byte + 4 * MAX_SIGNATURE)].decode("utf-8", "replace")
    if body is None:
        text = text.split("\n{", 1)[0] if "(" in text.split("\n", 1)[0] else text.split("\n", 1)[0]
    return _SPACE.sub(" ", text).strip().rstrip("{").rstrip()[:MAX_SIGNATURE]


_WORD = re.compile(r"[a-z]+")
_PRIVATE = frozenset({"private", "fileprivate", "internal"})


def is_exported(visibility: str, name: str, node: Node, signature: str, inherited: bool) -> bool:
    """Whether other files may use the definition, by the language's convention.

    `visibility` names the convention (`Table.visibility`); `signature` has the modifiers before `name`; `inherited`
    says whether the definition is directly in an exported class or type.
    """
    words = _WORD.findall(signature.split(name, 1)[0])
    match visibility:
        case "capital":
            exported = name[:1].isupper()
        case "pub":
            exported = "pub" in words or "export" in words
        case "public":
            exported = "public" in words or "protected" in words or _is_in_interface(node)
        case "not-private":
            exported = _PRIVATE.isdisjoint(words) and not name.startswith("_")
        case "not-static":
            exported = "static" not in words
        case "export":
            exported = not name.startswith("#") and _PRIVATE.isdisjoint(words) and (inherited or _is_exported_js(node))
        case _:
            exported = not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
    return exported


def _is_in_interface(node: Node) -> bool:
    """Whether the node is a member of an interface or annotation type, whose members are public without a modifier."""
    around = node.parent.parent if node.parent is not None else None
    return around is not None and around.type in ("interface_declaration", "annotation_type_declaration")


def _is_exported_js(node: Node) -> bool:
    """Whether the node stands in an `export` statement, or is an assignment (`exports.x =`, `A.prototype.x =`)."""
    if node.type == "assignment_expression":
        return True
    parent = node.parent
    if parent is not None and parent.type in ("lexical_declaration", "variable_declaration", "ambient_declaration"):
        parent = parent.parent
    return parent is not None and parent.type == "export_statement"
