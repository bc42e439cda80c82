use super::fault;

fn told(text: &str) -> String {
    fault(text).map_or_else(String::new, |(at, what)| format!("{at} {what}"))
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
        "def f():\n    if a:\n\tb\n",
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
        let told = told(&part.repeat(200_000));
        assert!(told.is_empty() || told.ends_with("was never closed"), "{told}");
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
