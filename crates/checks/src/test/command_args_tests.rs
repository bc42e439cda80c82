use super::super::{RUNNERS, TestRequest};

fn words(name: &str, wish: TestRequest) -> String {
    let runner = RUNNERS.iter().find(|runner| runner.name == name).unwrap();
    (runner.args)(&TestRequest { report: "R".to_owned(), ..wish }).join(" ")
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn filter(text: &str) -> TestRequest {
    TestRequest { filter: Some(text.to_owned()), ..TestRequest::default() }
}

fn only(names: &[&str]) -> TestRequest {
    TestRequest { only: list(names), ..TestRequest::default() }
}

fn named(target: &str, name: &[&str]) -> TestRequest {
    TestRequest { targets: list(&[target]), name: list(name), ..TestRequest::default() }
}

fn again(tries: u8, wish: TestRequest) -> TestRequest {
    TestRequest { attempt: tries, ..wish }
}

#[test]
fn some_tests_only() {
    assert!(words("pytest", filter("one")).ends_with("--junitxml=R -k=one"));
    assert!(words("pytest", filter("A::one[2]")).ends_with("-k=A and one"));
    assert!(words("jest", filter("a (b)")).ends_with(r"-t a \(b\)"));
    assert!(words("jest", filter("GET /x")).ends_with(r"-t GET \/x"));
    assert!(words("jest", only(&["a b", "c"])).ends_with("-t ^(a b|c)$"));
    assert!(words("cargo", only(&["a::b"])).ends_with("-- --exact a::b"));
    assert!(words("go", only(&["TestA/sub", "TestB"])).ends_with("-run ^(TestA|TestB)$ ./..."));
    assert!(words("go", only(&["TestA/sub"])).ends_with("-run ^(TestA)$/^(sub)$ ./..."));
    assert!(words("unittest", only(&["a.A.x"])).ends_with("-k *a.A.x -k *a.A.x.*"));
    let ids = || only(&["s\u{1f}in", "top"]);
    assert!(words("node", ids()).ends_with("=^(s in|top)$"));
    assert!(words("node", again(1, ids())).ends_with("=^(s in|in|top)$"));
    assert!(words("node", again(2, ids())).ends_with("=^(s in|in|s|top)$"));
    let doc = words("cargo", only(&["src/lib.rs - a (line 1)", "t::x"]));
    assert!(doc.ends_with("-- src/lib.rs t::x"), "{doc}");
}

#[test]
fn one_test_is_asked_for_by_all_its_names() {
    let pytest = || named("./t/test_a.py", &["A", "test_m[1]"]);
    assert!(words("pytest", pytest()).ends_with("R ./t/test_a.py::A::test_m[1]"));
    let loose = words("pytest", again(1, pytest()));
    assert!(loose.ends_with("-k=(A) and (test_m) ./t/test_a.py"), "{loose}");
    let unittest = words("unittest", named("./t/test_a.py", &["A", "test_m"]));
    assert!(unittest.ends_with("-s t -p test_a.py -k *.A.test_m -k *.A.test_m.*"), "{unittest}");
    for name in ["jest", "vitest", "mocha"] {
        let exact = words(name, named("./a.test.js", &["group > bad"]));
        assert!(exact.contains("^(group( >)? bad)$"), "{exact}");
        let loose = words(name, again(1, named("./a.test.js", &["group"])));
        assert!(loose.contains("(^| )group( |$)"), "{loose}");
    }
    let jest = words("jest", filter("a > b::c"));
    assert!(jest.ends_with("-t a( >)? b c"), "what is between may be part of a name: {jest}");
    let node = |tries| words("node", again(tries, named("./a.test.js", &["sub", "in"])));
    assert!(node(0).contains("=^(sub( >)? in)$ "), "{}", node(0));
    assert!(node(1).contains("=^(sub( >)? in|in|sub > in)$ "), "{}", node(1));
    assert!(node(2).contains("=^(sub( >)? in|in|sub > in|sub)$|(^| )sub( >)? in( |$) "));
    let file = words("jest", named("./u/[id].test.js", &[]));
    assert!(file.ends_with("--runTestsByPath --outputFile=R u/[id].test.js"), "{file}");
    assert!(words("jest", named("./u", &[])).ends_with("--outputFile=R u"));
    let go = words("go", named("./p/a_test.go", &["TestA", "sub"]));
    assert!(go.ends_with("-run ^(TestA)$/^(sub)$ ./p"), "{go}");
}

#[test]
fn a_file_of_rust_is_a_module_or_a_program() {
    let plain = |target: &str| words("cargo", named(target, &[]));
    assert!(plain("./tests/it/deep/a.rs").ends_with("--test it -- deep::a::"));
    assert!(plain("./tests/it.rs").ends_with("--test it"));
    assert!(plain("./src/lib.rs").ends_with("--color=never"));
    assert!(plain("./src/a/mod.rs").ends_with("-- a::"));
    assert!(plain("./src/a/b_tests.rs").ends_with("-- a::b::tests::"));
    assert!(plain("./src/bin/tool.rs").ends_with("--bin tool"));
    let one = words("cargo", named("./src/a.rs", &["bad"]));
    assert!(one.ends_with("-- --exact a::bad a::tests::bad a::test::bad"), "{one}");
    let loose = words("cargo", again(1, named("./src/a.rs", &["bad"])));
    assert!(loose.ends_with("-- bad"), "{loose}");
    assert!(words("cargo", again(1, named("./src/a.rs", &[]))).ends_with("--color=never"));
}
