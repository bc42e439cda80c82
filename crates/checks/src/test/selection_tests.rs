use std::path::Path;

use super::super::choose_runner;
use super::*;
use crate::survey::ProjectDir;

fn survey(path: &str, below: &[&str]) -> ProjectSurvey {
    let names = [".git", "pytest.ini"].iter().map(|name| (*name).to_owned()).collect();
    let root =
        ProjectDir { path: "/w".into(), real_path: "/w".into(), names, ..ProjectDir::default() };
    let inner = ProjectDir {
        path: "/w/tests".into(),
        real_path: "/w/tests".into(),
        ..ProjectDir::default()
    };
    let is_file = path.ends_with(".py");
    let directories = if path == "/w" { vec![root] } else { vec![inner, root] };
    let here = directories[0].path.clone();
    ProjectSurvey {
        path: path.into(),
        is_file,
        dirs: directories,
        files: below.iter().map(|name| here.join(name)).collect(),
        ..ProjectSurvey::default()
    }
}

fn told(
    survey: &ProjectSurvey,
    name: Option<&str>,
    filter: Option<&str>,
) -> (String, String, String) {
    let choice = choose_runner(survey, Some("pytest")).unwrap();
    assert_eq!(choice.dir, Path::new("/w"));
    let aim = choice.select_tests(survey, name, filter);
    (aim.targets.join(" "), aim.name.join(" "), aim.filter.unwrap_or_default())
}

fn says(targets: &str, name: &str, filter: &str) -> (String, String, String) {
    (targets.to_owned(), name.to_owned(), filter.to_owned())
}

#[test]
fn a_filter_is_a_file_a_test_in_one_or_a_part_of_a_name() {
    let all = survey("/w", &["tests/test_a.py", "tests/deep/test_a.py", "tests/test_b.py"]);
    assert_eq!(told(&all, None, Some("test_b.py")), says("./tests/test_b.py", "", ""));
    let two = "./tests/test_a.py ./tests/deep/test_a.py";
    assert_eq!(told(&all, None, Some("test_a.py")), says(two, "", ""));
    assert_eq!(told(&all, None, Some("tests/deep")), says("./tests/deep", "", ""));
    let id = Some("./tests/test_a.py::A::x[1::2]");
    assert_eq!(told(&all, None, id), says("./tests/test_a.py", "A x[1::2]", ""));
    assert_eq!(told(&all, None, Some("A::x")), says("", "", "A::x"));
    assert_eq!(told(&all, None, Some("GET /users")), says("", "", "GET /users"));
    let one = survey("/w/tests/test_a.py", &["test_a.py"]);
    assert_eq!(told(&one, None, Some("A::x")), says("./tests/test_a.py", "A x", ""));
    assert_eq!(told(&one, Some("A::x"), None), says("./tests/test_a.py", "A x", ""));
    assert_eq!(told(&one, None, Some("x")), says("./tests/test_a.py", "", "x"));
}

#[test]
fn failures_elsewhere_are_not_meant() {
    let ids = || ["tests/test_a.py::x", "tests/test_ab.py::x"].map(str::to_owned).to_vec();
    assert_eq!(filter_ids(ids(), &["./tests/test_a.py".to_owned()]), ["tests/test_a.py::x"]);
    assert_eq!(filter_ids(ids(), &["./tests".to_owned()]).len(), 2);
    assert_eq!(filter_ids(ids(), &[]).len(), 2);
}
