use std::path::{Path, PathBuf};

use super::first_error;

fn told(text: &str) -> String {
    match first_error(text) {
        Ok(None) => String::new(),
        Ok(Some((at, what))) => format!("{at} {what}"),
        Err(why) => why,
    }
}

#[test]
fn what_is_python_is_not_told() {
    for text in [
        "",
        "\n\n# only a comment",
        "x = 1\n",
        "def f(a,\n      b):\n    return {\n'k': [1,\n2]}\n\nclass A: pass\n",
        "if x:\n  y = 1\nelse:\n        z = 2\n# deep\n    # comment\nw = 3\n",
        "s = 'it\\'s' \"a\\\\\" '''x\n\"y\" ' '' '''\nr = r'\\'\\''\n",
        "x = 1 + \\\n    2\nif x and \\\n  y:\n    pass\n",
        "f'{a!r:>{w}} {{no}} {d[\"k\"]}'\nf\"{x:'>10}\"\nf'{', '.join(a)}'\nf'''{\na}'''\n",
        "def f():\r\n    return 1\r\nx = 2\r\n",
        "def f():\n\treturn 1\n",
        "def f():\n    if a:\n    \tb\n",
        "print(*a, sep='')\nx = y = *a, b\nx: int = (yield)\na[1:2, ::3] += b'' if c else not d\n",
        "async def f():\n    await []\n    async with a as b, (c) as d[0]: pass\n",
        "async def f():\n    return [await x async for x in y if z]\n",
        "def f(a, /, b: int = 1, *, c, **d) -> (x := 1): ...\nlambda *a, b=2, **c: (yield)\n",
        "class A[T: int, *Ts, **P](B, metaclass=C): pass\ntype X[T] = list[T]\ntype = match = 1\n",
        "match = 1\nmatch[0]: int = 2\nmatch(x)\ncase(y)\ntype(z)\nprint >>f, x\n",
        "match x, *y:\n    case [1, *_] | A(b=-1 as c) if d: pass\n    case {'a': 1, **r}: pass\n",
        "with (open(a) as b, c as d,):\n    pass\n",
        "try: pass\nexcept* (A, B) as e: pass\nelse: pass\nfinally: pass\n",
        "try:\n    pass\nexcept A, B:\n    pass\n",
        "from .. import (a as b, c,)\nfrom ...x import *\nimport a.b as c, d\n",
        "for x, *y in 1, *z:\n    continue\nelse:\n    del a, b[0]\nassert x, 'y'; raise A from None\n",
        "x = 1if y else 0xfor 2\nz = 1_000.5e-3j + .5 + 1.\nreturn'x'\n1..real\n",
        "f'\\N{EM DASH} {x=} {y!r:^{w}.{p}} \\{z}' rf'\\{w}'\nf'{a != b} {lambda_}'\n",
        "@a.b(c)\n@d\nclass E: x: int; y = 1;\n[x for x in a if b if c for y in d]\n{**a, 'b': c}\n",
        "if (n := 1) and [y := 2]: pass\nwhile x := f(): pass\nx = a or not b is not c not in d\n",
        "def f():\n    '''Doc.\n  text (not closed: \"\n    '''\n    x = lambda: 0\n    return a[1:\n2]\n",
        "match x:\n    case {'a': [1, *_]}:\n        pass\n    case _:\n        pass\n",
        "@d\nasync def ünïcode(x: int) -> 'str':  # note:\n    ...\n",
        "class A:\n\n    # c\n\n    def b(self): return 1\n\n    c = 2\n",
        "x = {'a': 1}['a']; y: int = 2\nwhile True: break\n",
        "if x:\n    pass\n    \n",
        "\u{c}x = 1\n",
        "x = (  # (\n    '#)'\n)\n",
        "b'\\x00' rb'\\'' Rb\"\"\"\"quoted\" \"\"\" u''\n",
    ] {
        assert_eq!(told(text), "", "{text}");
    }
}

#[test]
fn what_is_nested_without_end_is_not_told() {
    for part in ["f'{", "f'{x:{", "f'{(", "["] {
        let shown = told(&part.repeat(200_000));
        let is_unknown = shown.contains("beyond this check");
        assert!(is_unknown || shown.ends_with("was never closed"), "{shown}");
    }
}

#[test]
fn brackets_quotes_and_indentation_are_told() {
    for (text, wanted) in [
        ("def f(:\n    pass\n", "5 '(' was never closed"),
        ("x = [1, 2\ny = 3\n", "4 '[' was never closed"),
        ("x = (1]\n", "6 closing ']' does not match '(' on line 1"),
        ("x = 1)\n", "5 unmatched ')'"),
        ("x = 'abc\ny = 1\n", "4 unterminated string"),
        ("'''abc\n", "0 unterminated triple-quoted string"),
        ("def f():\nreturn 1\n", "9 expected an indented block"),
        ("if x:\n", "6 expected an indented block"),
        ("x = 1\n  y = 2\n", "8 unexpected indent"),
        ("if x:\n    y\n  z\n", "14 unindent does not match"),
    ] {
        assert!(told(text).starts_with(wanted), "{text}: {}", told(text));
    }
}

#[test]
fn statements_that_are_none_are_told() {
    for (text, wanted) in [
        ("x = = 1\n", "4 an expression is missing"),
        ("for in x:\n  y\n", "4 an expression is missing"),
        ("return return\n", "7 an expression is missing"),
        ("class :\n  pass\n", "6 a name is missing"),
        ("x = 5 5\n", "6 invalid syntax at 5"),
        ("x = 5 '''a\nb'''\n", "6 invalid syntax at '''a…"),
        ("print \"x\"\n", "6 invalid syntax"),
        ("def f(x):\n    reutrn x +\n", "21 invalid syntax at x"),
        ("def f()\n    return 1\n", "7 expected ':' at the end of the line"),
        ("if x = 1:\n    pass\n", "5 invalid syntax at ="),
        ("x = [1 2]\n", "7 a comma or an operator is missing"),
        ("f(a b)\n", "4 a comma or an operator is missing"),
        ("x = {'a': 1 'b': 2}\n", "12 a comma or an operator is missing"),
        ("f(x) = 1\n", "0 cannot assign to this"),
        ("x + 1 = 2\n", "0 cannot assign to this"),
        ("x = 1 +\n", "7 an expression is missing at the end"),
        ("import\n", "6 a name is missing"),
        ("else:\n    pass\n", "0 'else' has no matching statement"),
        ("try:\n    x\ny = 1\n", "11 expected 'except' or 'finally'"),
        ("@a\nx = 1\n", "3 expected a function or a class"),
        ("x = \u{201C}a\u{201D}\n", "4 invalid character"),
        ("x = a ? b : c\n", "6 invalid character '?'"),
        ("x++\n", "3 an expression is missing"),
        ("if a && b: pass\n", "6 an expression is missing"),
        ("f'{a b}'\n", "5 invalid syntax at b"),
        ("def f():\n    if a:\n\tb\n", "20 inconsistent use of tabs"),
        ("x = \\ 1\n", "5 unexpected character"),
    ] {
        assert!(told(text).starts_with(wanted), "{text}: {}", told(text));
    }
}

#[test]
fn a_literal_escape_outside_a_string_is_a_syntax_error() {
    for (text, wanted) in [
        ("def f():\n\\tprint('after')\n", "10 unexpected character"),
        ("def f():\n    \\tprint('after')\n", "14 unexpected character"),
        ("\\nimport os\n", "1 unexpected character"),
        ("x = 1\\ny = 2\n", "6 unexpected character"),
        ("x = [\n\\t1,\n]\n", "7 unexpected character"),
        ("if x:\n    pass\\n", "15 unexpected character"),
    ] {
        assert!(told(text).starts_with(wanted), "{text}: {}", told(text));
    }
    // A continued line is none.
    assert!(told("if x:\n\\\n    pass\n").contains("beyond this check"));
}

/// Files that are invalid on purpose or older than Python 3, and the many tests
/// of other things than the language.
fn is_odd(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let odd = ["/lib2to3/", "/bad", "/tokenizedata/", "/test/"];
    let shown =
        ["grammar", "patma", "coroutines", "type_params", "fstring", "unpack", "named_expr"];
    let is_language = shown.iter().any(|part| name.contains(&format!("/test/test_{part}")));
    !is_language && odd.iter().any(|part| name.contains(part))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension() {
            _ if path.is_symlink() || path.ends_with("site-packages") => {}
            _ if path.is_dir() => collect(&path, files),
            Some(extension) if extension == "py" && !is_odd(&path) => files.push(path),
            _ => {}
        }
    }
}

/// The standard library of the newest Python on this machine.
fn library() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/root/.pyenv/versions").into_iter().flatten().flatten();
    let kept = versions.map(|version| version.path().join("lib"));
    let dirs = kept.chain([PathBuf::from("/usr/lib")]).flat_map(std::fs::read_dir).flatten();
    let minor = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("python3.")?.parse::<u32>().ok().filter(|_| path.join("ast.py").is_file())
    };
    dirs.flatten().map(|entry| entry.path()).max_by_key(minor).filter(|it| minor(it).is_some())
}

#[test]
fn nothing_of_pythons_own_library_is_told() {
    let Some(library) = library() else {
        println!("skipped: there is no Python library on this machine");
        return;
    };
    let mut files = Vec::new();
    collect(&library, &mut files);
    assert!(files.len() > 100, "{}", library.display());
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let found = first_error(text.strip_prefix('\u{FEFF}').unwrap_or(&text));
        assert!(!matches!(found, Ok(Some(_))), "{}: {found:?}", path.display());
    }
}
