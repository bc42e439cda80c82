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
