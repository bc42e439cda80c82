use std::process::{Command, Stdio};

use super::*;

fn spec(program: &str, arguments: &[&str]) -> CommandSpec {
    CommandSpec {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    }
}

/// Sends a script through a loader, followed by more.
fn run(text: &[u8], more: &[u8]) -> String {
    use std::io::Write as _;
    let sent = with_end_marker(text.to_vec(), "the_end");
    let mut child = Command::new("sh")
        .args(["-c", &load_script(sent.len(), "the_end")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[&sent, more].concat()).unwrap();
    drop(stdin);
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_program_gets_its_words_and_what_it_is_to_read() {
    let mut spec =
        spec("sh", &["-c", "printf '<%s>' \"$@\" \"$odd\"; cat", "sh", "a b", "it's\n$HOME"]);
    spec.environment.insert("odd".into(), "x'y\n\\z".into());
    spec.input = StdinSource::Pipe;
    let said = run(&launch_script(&spec, &BTreeMap::new(), "job", "us"), b"and this");
    assert_eq!(said, "<a b><it's\n$HOME><x'y\n\\z>and this");
}

#[test]
fn what_it_is_not_to_find_is_taken_away() {
    let spec = spec("sh", &["-c", "echo \"${gone-no} $HERMES_JOB\""]);
    let found = BTreeMap::from([("gone".into(), "1".into())]);
    let text =
        [b"gone=1; export gone\n".as_slice(), &launch_script(&spec, &found, "a/b", "us")].concat();
    assert_eq!(run(&text, b""), "no a/b/us\n");
}

#[test]
fn a_place_tells_what_it_is() {
    let said =
        Command::new("sh").args(["-c", &format!("echo Welcome; {PROBE_SCRIPT}")]).output().unwrap();
    let place = parse_probe(&said.stdout, None).unwrap();
    assert_eq!(place.directory, std::env::current_dir().unwrap());
    assert!(place.system.contains(std::env::consts::ARCH));
    assert_eq!(place.environment.get(OsStr::new("PATH")), std::env::var_os("PATH").as_ref());
    assert_eq!(parse_probe(b"command not found", None), None);
}
