"""The languages that the quality benchmark contains: their grammars and what the node types mean. `table` explains the
notation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .table import Table
from .tables_more import MORE_TABLES

_JAVASCRIPT = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "bind",
    "assignment_expression": "bind name=left.property global",
    "field_definition": "field name=property global",
    "pair": "bind name=key callable",
}
_TYPESCRIPT = {key: value for key, value in _JAVASCRIPT.items() if key != "field_definition"} | {
    "abstract_class_declaration": "class",
    "interface_declaration": "class",
    "type_alias_declaration": "type",
    "enum_declaration": "class",
    "function_signature": "function",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "property_signature": "field global",
    "public_field_definition": "bind member",
    "internal_module": "namespace",
    "module": "module",
}
_JS_LAMBDAS = ("arrow_function", "function_expression", "generator_function")
_JS_EXPORTS = "(export_specifier name: (_) @exported)"
_C = {
    "function_definition": "function name=declarator",
    "struct_specifier": "class body",
    "union_specifier": "class body",
    "enum_specifier": "class body",
    "type_definition": "type name=declarator",
    "preproc_def": "macro",
    "preproc_function_def": "macro",
    "declaration": "declare name=declarator global",
    "field_declaration": "member name=declarator",
}
_CPP = _C | {
    "class_specifier": "class body",
    "alias_declaration": "type",
    "namespace_definition": "namespace",
    "concept_definition": "type",
}

_TABLES: dict[str, Table] = {
    "python": Table(
        "tree_sitter_python",
        {
            "function_definition": "function",
            "class_definition": "class",
            "assignment": "bind name=left global plain",
            "type_alias_statement": "type name=left",
        },
        attached=("decorator",),
        lambdas=("lambda",),
        query="(module . (comment)* . (expression_statement . (string) @doc))"
        " (block . (comment)* . (expression_statement . (string) @doc))",
    ),
    "javascript": Table(
        "tree_sitter_javascript",
        _JAVASCRIPT,
        visibility="export",
        attached=("decorator",),
        lambdas=_JS_LAMBDAS,
        query=_JS_EXPORTS,
    ),
    "typescript": Table(
        "tree_sitter_typescript",
        _TYPESCRIPT,
        function="language_typescript",
        visibility="export",
        attached=("decorator",),
        lambdas=_JS_LAMBDAS,
        query=_JS_EXPORTS,
    ),
    "tsx": Table(
        "tree_sitter_typescript",
        _TYPESCRIPT,
        function="language_tsx",
        visibility="export",
        attached=("decorator",),
        lambdas=_JS_LAMBDAS,
        query=_JS_EXPORTS,
    ),
    "go": Table(
        "tree_sitter_go",
        {
            "function_declaration": "function",
            "method_declaration": "method",
            "type_spec": "class",
            "type_alias": "type",
            "const_spec": "constant global",
            "var_spec": "variable global",
            "method_elem": "method",
        },
        visibility="capital",
        lambdas=("func_literal",),
    ),
    "rust": Table(
        "tree_sitter_rust",
        {
            "function_item": "function",
            "struct_item": "class",
            "enum_item": "class",
            "trait_item": "class",
            "union_item": "class",
            "type_item": "type",
            "associated_type": "type",
            "mod_item": "module",
            "const_item": "constant global",
            "static_item": "variable global",
            "macro_definition": "macro",
            "function_signature_item": "method",
            "impl_item": "scope name=type",
        },
        visibility="pub",
        attached=("attribute_item",),
        lambdas=("closure_expression",),
    ),
    "java": Table(
        "tree_sitter_java",
        {
            "class_declaration": "class",
            "interface_declaration": "class",
            "enum_declaration": "class",
            "record_declaration": "class",
            "annotation_type_declaration": "class",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "compact_constructor_declaration": "constructor",
            "field_declaration": "field name=declarator.name",
            "constant_declaration": "constant name=declarator.name",
        },
        visibility="public",
        lambdas=("lambda_expression",),
    ),
    "php": Table(
        "tree_sitter_php",
        {
            "class_declaration": "class",
            "interface_declaration": "class",
            "trait_declaration": "class",
            "enum_declaration": "class",
            "function_definition": "function",
            "method_declaration": "method",
            "const_declaration": "constant name=~const_element.~name",
            "property_declaration": "field name=~property_element.name.~name",
            "namespace_definition": "namespace",
        },
        function="language_php",
        visibility="not-private",
        attached=("attribute_list",),
        lambdas=("anonymous_function", "arrow_function"),
    ),
    "ruby": Table(
        "tree_sitter_ruby",
        {
            "class": "class",
            "module": "module",
            "method": "method",
            "singleton_method": "method",
            "assignment": "constant name=left upper global",
            "alias": "method",
        },
        query="((call method: (identifier) @call arguments: (argument_list (simple_symbol) @attribute))"
        ' (#any-of? @call "attr_reader" "attr_writer" "attr_accessor" "define_method" "delegate" "alias_method"))'
        ' ((body_statement (identifier) @private) (#any-of? @private "private" "protected"))',
    ),
    "csharp": Table(
        "tree_sitter_c_sharp",
        {
            "class_declaration": "class",
            "struct_declaration": "class",
            "interface_declaration": "class",
            "enum_declaration": "class",
            "record_declaration": "class",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "property_declaration": "field",
            "event_field_declaration": "field name=~variable_declaration.~variable_declarator.name",
            "delegate_declaration": "type",
            "field_declaration": "field name=~variable_declaration.~variable_declarator.name",
            "local_function_statement": "function",
            "namespace_declaration": "namespace",
            "file_scoped_namespace_declaration": "namespace",
        },
        visibility="public",
        lambdas=("lambda_expression", "anonymous_method_expression"),
    ),
    "cpp": Table("tree_sitter_cpp", _CPP, visibility="not-static", lambdas=("lambda_expression",)),
    "c": Table("tree_sitter_c", _C, visibility="not-static"),
    "kotlin": Table(
        "tree_sitter_kotlin",
        {
            "class_declaration": "class",
            "object_declaration": "class",
            "companion_object": "scope",
            "function_declaration": "function",
            "secondary_constructor": "constructor name=keyword",
            "property_declaration": "variable global",
            "type_alias": "type name=type",
        },
        visibility="not-private",
        lambdas=("lambda_literal", "anonymous_function"),
    ),
    "swift": Table(
        "tree_sitter_swift",
        {
            "class_declaration": "class extension",
            "protocol_declaration": "class",
            "function_declaration": "function",
            "init_declaration": "constructor name=keyword",
            "protocol_function_declaration": "method",
            "property_declaration": "variable global",
            "protocol_property_declaration": "field",
            "typealias_declaration": "type",
            "associatedtype_declaration": "type",
        },
        visibility="not-private",
        lambdas=("lambda_literal",),
    ),
    "scala": Table(
        "tree_sitter_scala",
        {
            "class_definition": "class",
            "object_definition": "class",
            "trait_definition": "class",
            "enum_definition": "class",
            "package_object": "module",
            "function_definition": "function",
            "function_declaration": "method",
            "type_definition": "type",
            "val_definition": "variable name=pattern global",
            "var_definition": "variable name=pattern global",
            "val_declaration": "field global",
            "given_definition": "variable global",
        },
        visibility="not-private",
        lambdas=("lambda_expression",),
    ),
    "elixir": Table(
        "tree_sitter_elixir",
        {},
        visibility="elixir",
        clauses=True,
        attached=("unary_operator",),
        query='((call target: (identifier) @call) @elixir (#any-of? @call "def" "defp" "defmacro" "defmacrop"'
        ' "defmodule" "defprotocol" "defimpl" "defdelegate" "defguard" "defguardp" "defn" "defnp"))'
        " ((unary_operator operand: (call target: (identifier) @name)) @doc"
        ' (#any-of? @name "doc" "moduledoc" "typedoc" "shortdoc"))',
    ),
    "haskell": Table(
        "tree_sitter_haskell",
        {
            "signature": "function global",
            "function": "function global name=name|~infix.operator",
            "bind": "function global",
            "data_type": "class",
            "newtype": "class",
            "class": "class",
            "instance": "scope",
            "type_synomym": "type",
            "type_synonym": "type",
            "type_family": "type",
            "data_constructor": "field name=constructor.name",
            "field": "field",
        },
        visibility="haskell",
        clauses=True,
        attached=("signature", "pragma"),
        query="(exports (export) @exported)",
    ),
    "lua": Table(
        "tree_sitter_lua",
        {
            "function_declaration": "function",
            "assignment_statement": "bind name=~variable_list.name value=~expression_list.value global",
            "field": "bind callable",
        },
        lambdas=("function_definition",),
    ),
    "bash": Table("tree_sitter_bash", {"function_definition": "function", "variable_assignment": "variable global"}),
    "zig": Table(
        "tree_sitter_zig",
        {
            "function_declaration": "function",
            "variable_declaration": "bind name=~identifier value=last global",
            "test_declaration": "function name=~string",
        },
        visibility="pub",
    ),
}
TABLES: Mapping[str, Table] = MappingProxyType(_TABLES | MORE_TABLES)
