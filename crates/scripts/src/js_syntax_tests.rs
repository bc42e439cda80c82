use super::*;

#[test]
fn a_module_is_told_from_a_program() {
    for code in [
        "import fs from 'fs'",
        "  export const x = 1",
        "const x = await f()",
        "import{a}from'b'",
        "import 'x'",
        "export { a }",
        "export * from 'x'",
        "console.log(import.meta.url)",
        "for await (const x of y) {}",
        "if (a) { await b }",
        "const re = /'/; await 1",
        "const half = a / b; /* c */ await d / e",
        "f(`${await x}`)",
        "class A { m() {} }\nawait new A().m()",
        "{ await x }",
    ] {
        assert!(is_module(code), "{code}");
    }
    for code in [
        "const fs = require('fs')",
        "import('fs').then(f)",
        "let awaited = 1; exports.a = 1",
        "// we await nothing\nx = 1; console.log(x)",
        "/* import x from 'y' */ x = 1",
        "const q = \"please await\"; module.exports = 1",
        "const q = 'it\\'s; await'; x = 1",
        "const t = `\nimport a from 'b'\nawait ${f({ a: '}' })} export const b`; y = 2",
        "const r = /await [/] import /; x = 1",
        "async function main() { await f(); }\nmain()",
        "const f = async () => { if (x) { await y } }; f()",
        "const f = async () => await g(); x = 1",
        "class A { async m() { await 1 } }",
        "a.await = 1; b = { export: 2, import: 3 }; c.import(d)",
        "#!/usr/bin/env node await\nx = 1",
        "",
    ] {
        assert!(!is_module(code), "{code}");
    }
}

#[test]
fn what_has_no_end_ends() {
    for code in ["`${", "'", "/*", "/", "\\", "`\\", "/[\\", "{", ")", "é`${`${`"] {
        assert!(!is_module(code), "{code}");
    }
}

#[test]
fn an_await_anywhere_in_the_expression_after_an_arrow_is_not_at_the_top() {
    for code in [
        "const f = async x => ({a: await f(x)})",
        "list.map(async x => [await f(x), await g(x)])",
        "const f = async x => x ? await a(x) : await b(x); f()",
        "const f = async x =>\n  g(\n    await x\n  )\n",
        "const f = async x => g(x) +\n  await h(x)",
        "const f = async x => `${await x}`",
        "const f = async x => /* c */ ({ a: y => [1], b: await x })",
    ] {
        assert!(!is_module(code), "{code}");
    }
    for code in [
        "const f = async x => g(x)\nawait f(1)",
        "const f = async x => ({a: await x}); await f(1)",
        "g(async x => await x, await y)",
        "const f = async x => y => z, a = await b",
        "const f = async x => { await x }\nawait f(1)",
    ] {
        assert!(is_module(code), "{code}");
    }
}
