"""The languages that the quality benchmark does not contain: their grammars and what the node types mean. `table`
explains the notation."""

from __future__ import annotations

from .table import Table

_OBJC = {
    "class_interface": "class name=~identifier",
    "class_implementation": "class name=~identifier",
    "protocol_declaration": "class name=~identifier",
    "method_declaration": "method name=~identifier",
    "method_definition": "method name=~identifier",
    "function_definition": "function name=declarator",
    "declaration": "declare name=declarator global",
    "struct_specifier": "class body",
    "enum_specifier": "class body",
    "type_definition": "type name=declarator",
    "preproc_def": "macro",
    "preproc_function_def": "macro",
}
_OCAML = {
    "module_definition": "module name=~module_binding.~module_name",
    "module_type_definition": "class name=~module_type_name",
    "type_binding": "type",
    "value_definition": "bind name=~let_binding.pattern value=~let_binding.~parameter global",
    "external": "function name=~value_name",
    "value_specification": "function name=~value_name",
    "class_definition": "class name=~class_binding.~class_name",
    "method_definition": "method name=~method_name",
    "exception_definition": "type name=~constructor_declaration.~constructor_name",
}

MORE_TABLES: dict[str, Table] = {
    "dart": Table(
        "tree_sitter_dart",
        {
            "class_definition": "class",
            "mixin_declaration": "class name=~identifier",
            "enum_declaration": "class",
            "extension_declaration": "class",
            "function_signature": "function",
            "getter_signature": "method",
            "setter_signature": "method",
            "constructor_signature": "constructor",
            "factory_constructor_signature": "constructor name=~identifier",
            "type_alias": "type name=~type_identifier",
            "static_final_declaration": "variable name=~identifier global",
            "initialized_identifier": "variable name=~identifier global",
        },
        attached=("annotation",),
    ),
    "ocaml": Table("tree_sitter_ocaml", _OCAML, function="language_ocaml"),
    "julia": Table(
        "tree_sitter_julia",
        {
            "module_definition": "module",
            "function_definition": "function name=~signature.~call_expression.~identifier",
            "macro_definition": "macro name=~signature.~call_expression.~identifier",
            "struct_definition": "class name=~type_head.~identifier",
            "abstract_definition": "type name=~type_head.~identifier",
            "const_statement": "constant name=~assignment.~identifier global",
            "assignment": "function name=~call_expression.~identifier global",
        },
        attached=("string_literal",),
    ),
    "objc": Table("tree_sitter_objc", _OBJC, visibility="not-static"),
    "objectivec": Table("tree_sitter_objc", _OBJC, visibility="not-static"),
    "perl": Table(
        "tree_sitter_perl",
        {
            "package_statement": "module",
            "subroutine_declaration_statement": "function",
            "method_declaration_statement": "method",
        },
        comments=("comment", "pod"),
    ),
    "powershell": Table(
        "tree_sitter_powershell",
        {
            "function_statement": "function name=~function_name",
            "class_statement": "class name=~simple_name",
            "enum_statement": "class name=~simple_name",
            "class_method_definition": "method name=~simple_name",
            "class_property_definition": "field name=~variable",
        },
    ),
    "groovy": Table(
        "tree_sitter_groovy",
        {
            "class_declaration": "class",
            "interface_declaration": "class",
            "enum_declaration": "class",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "function_definition": "function",
            "field_declaration": "field name=declarator.name",
        },
        visibility="not-private",
        lambdas=("closure",),
    ),
    "solidity": Table(
        "tree_sitter_solidity",
        {
            "contract_declaration": "class",
            "library_declaration": "class",
            "interface_declaration": "class",
            "struct_declaration": "class",
            "enum_declaration": "class",
            "function_definition": "function",
            "modifier_definition": "macro",
            "event_definition": "type",
            "error_declaration": "type",
            "state_variable_declaration": "field",
        },
    ),
    "nix": Table("tree_sitter_nix", {"binding": "bind name=attrpath value=expression callable"}),
    "hcl": Table("tree_sitter_hcl", {"block": "type name=label"}),
    "make": Table(
        "tree_sitter_make",
        {"rule": "function name=~targets", "define_directive": "macro", "variable_assignment": "variable"},
    ),
    "dockerfile": Table("tree_sitter_dockerfile", {"from_instruction": "type name=as", "arg_instruction": "variable"}),
    "scss": Table(
        "tree_sitter_scss",
        {
            "mixin_statement": "function",
            "function_statement": "function",
            "keyframes_statement": "function name=~keyframes_name",
        },
    ),
    "css": Table("tree_sitter_css", {"keyframes_statement": "function name=~keyframes_name"}),
    "html": Table("tree_sitter_html", {}),
    "json": Table("tree_sitter_json", {}),
    "yaml": Table("tree_sitter_yaml", {}),
    "toml": Table("tree_sitter_toml", {}),
}
