"""One small real sample for each language: its definitions with their kinds, exported (`+`) or not (`-`), and nothing
else."""

from __future__ import annotations

import pytest

from sidecar.parts.chunk import parse_file
from sidecar.parts.chunk.prose import PROSE
from sidecar.parts.chunk.tables import TABLES

SAMPLES: dict[str, tuple[str, str]] = {
    "python": (
        '''\
"""Doc."""
import os
LIMIT = 3
_cache: dict[str, int] = {}

@decorate
class Store(Base):
    size: int = 0
    def __init__(self): self.x = 1
    async def _get(self, key): y = 2

def open_store():
    def inner(): ...
''',
        (
            "constant LIMIT +|variable _cache -|class Store +|field size +|constructor __init__ +|"
            "method _get -|function open_store +|function inner +"
        ),
    ),
    "javascript": (
        """\
const fs = require('fs');
export function load(a) { const local = 1; }
class Box { #x = 1; constructor() {} get() {} }
const run = async (x) => { };
exports.save = function (y) { };
Box.prototype.draw = function () {};
export const LIMIT = 3;
function later() {}
export { later };
""",
        (
            "function load +|class Box -|field x -|constructor constructor -|method get -|function run -|"
            "function save +|function draw +|constant LIMIT +|function later +"
        ),
    ),
    "typescript": (
        """\
export interface Shape { area(): number; name: string }
export type Id = string;
export enum Color { Red }
export abstract class Base<T> { private x = 1; abstract go(): void; run = () => 1; }
namespace Inner { export const a = 1 }
export const make = <T>(x: T): T => x;
declare function old(x: number): void;
""",
        (
            "class Shape +|method area +|field name +|type Id +|class Color +|class Base +|field x -|"
            "method go +|method run +|namespace Inner -|variable a +|function make +|function old -"
        ),
    ),
    "tsx": (
        """\
export const Button = ({ a }: Props) => <b onClick={() => go()}>{a}</b>;
export default function App() { return <Button/>; }
""",
        ("function Button +|function App +"),
    ),
    "go": (
        """\
package a

// Run runs.
func Run(x int) error { y := 1; var z int; _ = z; return nil }

type Store struct { A int }
type reader interface { Read() int }
func (s *Store) get() int { return 1 }
const Limit = 3
var cache, other int
""",
        ("function Run +|class Store +|class reader -|method Read +|method get -|constant Limit +|variable cache -"),
    ),
    "rust": (
        """\
/// Doc.
#[derive(Debug)]
pub struct Store<T> { a: T }
impl<T> Store<T> { pub fn new() -> Self { todo!() } fn go(&self) {} }
pub(crate) trait Shape { fn area(&self) -> f64; }
impl Shape for Store<u8> { fn area(&self) -> f64 { 1.0 } }
pub enum Kind { A }
mod inner { pub const LIMIT: u8 = 3; }
macro_rules! mac { () => {} }
async fn free() { let x = 1; }
pub type Id = u8;
""",
        (
            "class Store +|constructor new +|method go -|class Shape +|method area -|method area -|"
            "class Kind +|module inner -|constant LIMIT +|macro mac -|function free -|type Id +"
        ),
    ),
    "java": (
        """\
package a;
/** Doc. */
public class Store<T> extends Base {
  private int size = 1;
  public static final int MAX = 2;
  public Store() { int local = 1; }
  @Override
  public String get(int key) { return ""; }
  void hidden() {}
  enum Color { RED }
}
interface Shape { double area(); }
record Point(int x) {}
""",
        (
            "class Store +|field size -|field MAX +|constructor Store +|method get +|method hidden -|"
            "class Color -|class Shape -|method area +|class Point -"
        ),
    ),
    "php": (
        """\
<?php
namespace A\\B;
interface Shape { public function area(): float; }
trait T {}
final class Store extends Base { const LIMIT = 3; private int $x = 1;
 public function __construct() {}
 protected static function get($a) { $b = 1; }
 private function hid() {} }
function free($x) { return function () {}; }
""",
        (
            "namespace B +|class Shape +|method area +|class T +|class Store +|constant LIMIT +|field x -|"
            "constructor __construct -|method get +|method hid -|function free +"
        ),
    ),
    "ruby": (
        """\
module M
  VERSION = '1'
  class Foo < Bar
    attr_reader :a, :b
    def initialize(x); @x = x; end
    def self.make; end
    def ok?; end
    private
    def hid; end
  end
end
def top; y = 1; end
""",
        (
            "module M +|constant VERSION +|class Foo +|field a +|field b +|constructor initialize +|"
            "method make +|method ok? +|method hid -|method top +"
        ),
    ),
    "csharp": (
        """\
namespace A.B;
public interface IShape { double Area(); }
public class Store<T> : Base {
  private readonly int _size;
  public int Count { get; set; }
  public Store() { var x = 1; }
  internal async Task<int> GetAsync(string key) { return 1; }
  public delegate void Changed(int x);
}
public record Point(int X);
enum Color { Red }
""",
        (
            "namespace B -|class IShape +|method Area +|class Store +|field _size -|field Count +|"
            "constructor Store +|method GetAsync -|type Changed +|class Point +|class Color -"
        ),
    ),
    "cpp": (
        """\
#define LIMIT 3
#define ADD(a, b) a + b
namespace a::b {
template <typename T>
class Store : Base {
 public:
  Store();
  ~Store();
  int size_;
  int get(int key) const { int x; return 1; }
};
}
int Store::find(int a) { return a; }
static void hidden() {}
int declared(int x);
using Id = int;
enum class Color { Red };
bool operator==(int a, Store b) { return true; }
""",
        (
            "macro LIMIT +|macro ADD +|namespace b +|class Store +|constructor Store +|method ~Store +|"
            "field size_ +|method get +|method find +|function hidden -|function declared +|type Id +|"
            "class Color +|function operator== +"
        ),
    ),
    "c": (
        """\
#define LIMIT 3
/* Doc. */
typedef struct node { int a; void (*call)(int); } node_t;
struct other { int b; };
static int *find(const char *s, int n)
{
  int x = 1;
  return 0;
}
int declared(int x);
enum color { RED };
extern int counter;
""",
        (
            "macro LIMIT +|type node_t +|class node +|field a +|field call +|class other +|field b +|"
            "function find -|function declared +|class color +"
        ),
    ),
    "kotlin": (
        """\
package a.b

typealias Id = Long
const val MAX = 3

interface Shape {
    fun area(): Double
}

class Foo(val x: Int) : Shape {
    private val y = 1
    override fun area(): Double {
        val z = 1
        return z
    }
    companion object {
        fun of() = Foo(1)
    }
}

object Bar
internal fun String.shout(): String = this
""",
        (
            "type Id +|constant MAX +|class Shape +|method area +|class Foo +|field y -|method area +|"
            "method of +|class Bar +|function shout -"
        ),
    ),
    "swift": (
        """\
public struct P<T>: Q {
  let x: Int = 1
  init(a: Int) { }
  private func go(_ a: Int) -> Int { let z = 2; return a }
}
extension P {
  func more() {}
}
protocol Q {
  func need()
  var v: Int { get }
}
enum E { case a }
typealias T = Int
func free() {}
""",
        (
            "class P +|field x +|constructor init +|method go -|method more +|class Q +|method need +|"
            "field v +|class E +|type T +|function free +"
        ),
    ),
    "scala": (
        """\
package a.b

trait T {
  def f(x: Int): Int
  type A
}
object O extends T {
  val x = 1
  def f(x: Int): Int = { val y = 2; y }
}
case class K[A](a: A)
private[a] def top = 3
enum Color { case Red }
""",
        ("class T +|method f +|type A +|class O +|field x +|method f +|class K +|function top -|class Color +"),
    ),
    "elixir": (
        '''\
defmodule A.B do
  @moduledoc """
  Doc
  """
  @doc "x"
  @spec f(integer) :: integer
  def f(x) when x > 1, do: x
  def f(_), do: 0
  defp g(y) do
    y
  end
  defmacro m(a), do: a
  def a ~> b, do: 1
  defimpl P, for: Q do
    def z, do: 1
  end
end
''',
        ("module B +|function f +|function g -|macro m +|function ~> +|method z +"),
    ),
    "haskell": (
        """\
module A.B (foo, Bar(..)) where
import X
-- | doc
foo :: Int -> Int
foo 0 = 1
foo n = n where n2 = 1

bar = 3

data Bar = B Int | C { fld :: Int }
class Sh a where
  area :: a -> Int

instance Sh Bar where
  area _ = 1

type S = String
""",
        (
            "function foo +|function bar -|class Bar +|field B +|field C +|field fld +|class Sh -|"
            "method area +|method area +|type S -"
        ),
    ),
    "lua": (
        """\
local M = {}
function M.f(a) return a end
function M:g() end
local function _h() end
M.k = function(x) local y = 1 end
local t = { a = function() end }
return M
""",
        ("variable M +|function f +|function g +|function _h -|function k +|variable t +|function a +"),
    ),
    "bash": (
        """\
#!/bin/bash
LIMIT=3
run_all() {
  local x=1
  y=2
}
function _other {
  echo
}
""",
        ("constant LIMIT +|function run_all +|function _other -"),
    ),
    "zig": (
        """\
const std = @import("std");
pub const Foo = struct {
    x: u8,
    pub fn init() Foo {
        const y = 1;
        return y;
    }
};
fn help(a: u8) void {}
pub const E = enum { a, b };
const LIMIT = 3;
test "works" {}
""",
        ("class Foo +|constructor init +|function help -|class E +|constant LIMIT -|function works -"),
    ),
    "dart": (
        """\
class Foo extends Bar {
  final int x;
  Foo(this.x);
  int go(int a) {
    return a;
  }
  static void _p() {}
}
mixin Mx {}
void main() {
  print(1);
}
const k = 3;
""",
        ("class Foo +|field x +|constructor Foo +|method go +|method _p -|class Mx +|function main +|variable k +"),
    ),
    "ocaml": (
        """\
module M = struct let f x = x end
type t = A | B of int
let rec go x = x + 1
let v = 3
""",
        ("module M +|function f +|type t +|function go +|variable v +"),
    ),
    "julia": (
        """\
module A
function f(x)
  x
end
g(x) = x + 1
struct P
  x::Int
end
macro m(x) end
const K = 3
end
""",
        ("module A +|function f +|function g +|class P +|macro m +|constant K +"),
    ),
    "objectivec": (
        """\
#import "x.h"
@interface Foo : NSObject
- (void)go:(int)x with:(int)y;
@end
@implementation Foo
+ (id)make { return 1; }
@end
int free_fn(int a) { return a; }
""",
        ("class Foo +|method go +|class Foo +|method make +|function free_fn +"),
    ),
    "perl": (
        """\
package Foo::Bar;
use strict;
sub new { my $x = 1; }
sub _p { }
1;
""",
        ("module Bar +|function new +|function _p -"),
    ),
    "powershell": (
        """\
function Get-Foo {
  Write-Host 1
}
class A { [void] Go() { } }
""",
        ("function Get-Foo +|class A +|method Go +"),
    ),
    "groovy": (
        """\
class A {
  def go(int a) { return a }
}
def top() { return 1 }
""",
        ("class A +|method go +|function top +"),
    ),
    "solidity": (
        """\
contract A is B {
  uint x;
  function go(uint a) public returns (uint) { return a; }
}
interface I {}
""",
        ("class A +|field x +|method go +|class I +"),
    ),
    "nix": (
        """\
{ a = 1; f = x: x; }
""",
        ("function f +"),
    ),
    "hcl": (
        """\
resource "aws_x" "name" {
  a = 1
}
variable "v" {
  default = 1
}
""",
        ("type name +|type v +"),
    ),
    "make": (
        """\
X = 1
all: a b
\techo
""",
        ("variable X +|function all +"),
    ),
    "dockerfile": (
        """\
FROM a AS build
ARG LIMIT=1
RUN echo
""",
        ("type build +|constant LIMIT +"),
    ),
    "scss": (
        """\
@mixin foo($a) { color: red; }
.cls { a: b }
""",
        ("function foo +"),
    ),
    "css": (
        """\
@keyframes k { from { a: b } }
.a { color: red }
""",
        ("function k +"),
    ),
    "html": (
        """\
<html><body><h1>Hi</h1></body></html>
""",
        (""),
    ),
    "json": (
        """\
{"a": 1}
""",
        (""),
    ),
    "yaml": (
        """\
a: 1
b:
  c: 2
""",
        (""),
    ),
    "toml": (
        """\
[tool.x]
a = 1
""",
        (""),
    ),
    "vue": (
        """\
<template/>
<script lang="ts">
export const useX = (): number => 1
</script>
""",
        ("function useX +"),
    ),
    "svelte": (
        """\
<script>
  export function go() {}
</script>
<b/>
""",
        ("function go +"),
    ),
    "markdown": (
        """\
# One
text
## Two
""",
        ("section One +|section Two +"),
    ),
    "rst": (
        """\
One
===

text

Two
---
""",
        ("section One +|section Two +"),
    ),
    "asciidoc": (
        """\
= One

== Two
""",
        ("section One +|section Two +"),
    ),
}


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_a_sample_of_each_language_yields_its_definitions(language: str) -> None:
    text, expected = SAMPLES[language]
    parsed = parse_file("sample", text, language)
    found = [f"{item.kind} {item.name} {'+' if item.exported else '-'}" for item in parsed.definitions]
    assert found == (expected.split("|") if expected else [])
    assert parsed.parser != "lines"


def test_every_language_that_is_cut_along_its_structure_has_a_sample() -> None:
    aliases = {"objc", "restructuredtext", "adoc", "mdx", "text", "plaintext"}
    assert {*TABLES, *PROSE, "vue", "svelte"} - aliases == set(SAMPLES)


def test_a_signature_is_the_text_up_to_the_body_on_one_line() -> None:
    text = "class A:\n    def go(\n        self,\n        x: int,\n    ) -> int:\n        return x\n"
    go = parse_file("a.py", text, "python").definitions[1]
    assert go.signature == "def go( self, x: int, ) -> int:"
    assert (go.container, go.depth, go.start_line, go.end_line) == ("A", 1, 2, 6)


def test_comments_on_following_lines_are_one_and_docstrings_count() -> None:
    text = '"""Module."""\n# one\n# two\n\n# three\ndef f():\n    """Function."""\n'
    comments = parse_file("a.py", text, "python").comments
    assert [(item.line, item.text) for item in comments] == [
        (1, '"""Module."""\n# one\n# two'),
        (5, "# three"),
        (7, '"""Function."""'),
    ]


def test_an_impl_block_encloses_without_being_a_definition() -> None:
    body = "\n".join(f"    pub fn go{number}(&self) -> u32 {{ {number} + {number * 7} }}" for number in range(60))
    parsed = parse_file("a.rs", f"impl Store {{\n{body}\n}}\n", "rust")
    assert {item.kind for item in parsed.definitions} == {"method"}
    assert parsed.chunks[-1].enclosing == ("Store",)


def test_a_c_header_with_classes_is_read_as_cpp() -> None:
    assert [d.name for d in parse_file("a.h", "class A {\n  int go();\n};\n", "c").definitions] == ["A", "go"]


def test_a_haskell_signature_and_its_equations_are_one_definition() -> None:
    parsed = parse_file("a.hs", "f :: Int -> Int\nf 0 = 1\nf n = 2\n", "haskell")
    assert [(d.name, d.start_line, d.end_line) for d in parsed.definitions] == [("f", 1, 3)]


def test_an_assigned_function_has_the_signature_of_a_function() -> None:
    text = "app.use = function use(fn, options) {\n  return fn;\n};\nmodule.exports = app;\n"
    assert [d.signature for d in parse_file("a.js", text, "javascript").definitions] == [
        "app.use = function use(fn, options)"
    ]
