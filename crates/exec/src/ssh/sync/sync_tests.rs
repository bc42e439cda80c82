use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;

/// Two folders, and a shell that stands for the host.
struct Scene {
    here: TempDir,
    there: TempDir,
    known: KnownFiles,
    last: baseline::SyncBaseline,
}

impl Scene {
    fn new() -> Self {
        let dir = || tempfile::tempdir().unwrap();
        let last = baseline::SyncBaseline::default();
        Self { here: dir(), there: dir(), known: KnownFiles::new(), last }
    }

    fn root(&self) -> SyncRoot {
        SyncRoot::from_mapping(&SyncMapping {
            local: self.here.path().join("p"),
            remote: "~/p".into(),
        })
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.here.path().join("p").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn there(&self, name: &str) -> PathBuf {
        self.there.path().join("p").join(name)
    }

    fn run(&self, script: &str, input: std::process::Stdio) -> std::process::Output {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("HOME", self.there.path()).stdin(input);
        command.output().unwrap()
    }

    /// Sends what has changed, as many things as are returned, with the news.
    fn push(&mut self) -> (usize, Vec<String>) {
        let prepared = prepare_push(&[self.root()], self.known.clone()).unwrap().unwrap();
        let PreparedPush { mut known, changes, archive, notices: mut news } = prepared;
        if let Some(archive) = archive {
            let output = self.run(pack::RECEIVE_SCRIPT, Stdio::from(archive));
            assert!(output.stdout.ends_with(DONE_MARKER), "{output:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            let refused: Vec<usize> = said
                .lines()
                .filter_map(|line| line.strip_prefix("refused ")?.parse().ok())
                .collect();
            news.extend(record_changes(&mut known, &changes, &refused, "there"));
        }
        self.known = known;
        let left = fs::read_dir(self.there.path()).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| name != "p").collect();
        assert!(left.is_empty(), "{left:?}");
        (changes.len(), news)
    }

    fn pull(&mut self) -> Vec<String> {
        self.pull_since(SystemTime::now())
    }

    /// Fetches what has changed, in a place that was opened then.
    fn pull_since(&mut self, opened: SystemTime) -> Vec<String> {
        let mut file = tempfile::tempfile().unwrap();
        let script = "cd ~/p && echo Welcome && echo hermes-archive-d && tar -cf - .";
        file.write_all(&self.run(script, Stdio::null()).stdout).unwrap();
        let before = fetch::FetchContext {
            known: self.known.clone(),
            baseline: self.last.clone(),
            opened_at: opened,
        };
        let fetched = fetch::extract_changes(file, &self.root(), &before, "there").unwrap();
        self.known.extend(fetched.known);
        self.last = fetched.baseline;
        fetched.notices
    }
}

/// Makes a file older, so that what is written next is newer.
fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let hour = std::time::Duration::from_secs(3600);
    file.set_modified(std::time::SystemTime::now() - hour).unwrap();
}

#[test]
fn only_what_has_changed_is_sent_and_what_is_gone_goes() {
    let mut scene = Scene::new();
    scene.write("a", "1");
    scene.write("deep/it's odd\n", "2");
    std::os::unix::fs::symlink("a", scene.here.path().join("p/link")).unwrap();
    // Three of them, and two folders.
    assert_eq!(scene.push(), (5, vec![]));
    assert_eq!(fs::read_to_string(scene.there("deep/it's odd\n")).unwrap(), "2");
    assert_eq!(fs::read_link(scene.there("link")).unwrap(), Path::new("a"));
    assert_eq!(scene.push(), (0, vec![]));
    // Touched, but the same.
    age(&scene.here.path().join("p/a"));
    assert_eq!(scene.push(), (0, vec![]));
    scene.write("a", "one");
    fs::remove_file(scene.here.path().join("p/deep/it's odd\n")).unwrap();
    assert_eq!(scene.push(), (2, vec![]));
    assert_eq!(fs::read_to_string(scene.there("a")).unwrap(), "one");
    assert!(!scene.there("deep/it's odd\n").exists());
}

#[test]
fn what_was_changed_there_is_not_overwritten() {
    let mut scene = Scene::new();
    scene.write("a", "1");
    scene.write("gone", "1");
    scene.push();
    fs::write(scene.there("a"), "theirs").unwrap();
    fs::write(scene.there("gone"), "theirs").unwrap();
    scene.write("a", "mine");
    fs::remove_file(scene.here.path().join("p/gone")).unwrap();
    let (_, news) = scene.push();
    assert_eq!(news.len(), 2, "{news:?}");
    assert_eq!(fs::read_to_string(scene.there("a")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(scene.there("gone")).unwrap(), "theirs");
    // Told once, until it changes again.
    assert_eq!(scene.push(), (0, vec![]));
}

#[test]
fn at_first_a_newer_file_there_stays_and_an_older_one_does_not() {
    let mut scene = Scene::new();
    scene.write("new", "mine");
    scene.write("old", "mine");
    age(&scene.here.path().join("p/new"));
    fs::create_dir(scene.there.path().join("p")).unwrap();
    fs::write(scene.there("new"), "theirs").unwrap();
    fs::write(scene.there("old"), "theirs").unwrap();
    age(&scene.there("old"));
    let (_, news) = scene.push();
    assert!(news.len() == 1 && news[0].contains("~/p/new"), "{news:?}");
    assert_eq!(fs::read_to_string(scene.there("new")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(scene.there("old")).unwrap(), "mine");
}

#[test]
fn a_folder_that_is_not_here_deletes_nothing_there() {
    let mut scene = Scene::new();
    scene.write("a", "1");
    scene.push();
    fs::remove_dir_all(scene.here.path().join("p")).unwrap();
    let (changes, news) = scene.push();
    assert!(changes == 0 && news.len() == 1, "{news:?}");
    assert!(scene.there("a").exists());
}

#[test]
fn what_changed_there_and_not_here_is_fetched() {
    let mut scene = Scene::new();
    for name in ["same", "theirs", "mine", "both", "removed"] {
        scene.write(name, "1");
    }
    scene.push();
    for name in ["theirs", "both", "removed", "new/one"] {
        fs::create_dir_all(scene.there("new")).unwrap();
        fs::write(scene.there(name), "their change").unwrap();
    }
    for name in ["mine", "both"] {
        scene.write(name, "my change");
    }
    fs::remove_file(scene.here.path().join("p/removed")).unwrap();
    let mut news = scene.pull();
    news.sort();
    assert_eq!(news.len(), 2, "{news:?}");
    assert!(news[0].contains("~/p/both") && news[1].contains("~/p/removed"), "{news:?}");
    let here = |name: &str| fs::read_to_string(scene.here.path().join("p").join(name)).ok();
    assert_eq!(here("same").unwrap(), "1");
    assert_eq!(here("theirs").unwrap(), "their change");
    assert_eq!(here("new/one").unwrap(), "their change");
    assert_eq!(here("mine").unwrap(), "my change");
    assert_eq!(here("both").unwrap(), "my change");
    assert_eq!(here("removed"), None);
    // What was fetched is not sent back.
    let (changes, _) = scene.push();
    assert_eq!(changes, 3);
}

#[test]
fn nothing_is_unpacked_outside_of_its_folder() {
    let mut scene = Scene::new();
    scene.write("a", "1");
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), scene.here.path().join("p/out")).unwrap();
    let mut builder = tar::Builder::new(tempfile::tempfile().unwrap());
    builder.get_mut().write_all(b"hermes-archive-d\n").unwrap();
    for name in ["../escape", "/tmp/hermes-escape", "./out/file", "good"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o4755);
        header.set_entry_type(tar::EntryType::Regular);
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, b"x".as_slice()).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    builder.append_link(&mut header, "leads", "/etc/passwd").unwrap();
    let file = builder.into_inner().unwrap();
    let before = fetch::FetchContext {
        known: KnownFiles::new(),
        baseline: baseline::SyncBaseline::default(),
        opened_at: SystemTime::now(),
    };
    let fetched = fetch::extract_changes(file, &scene.root(), &before, "there").unwrap();
    scene.known.extend(fetched.known);
    let names: Vec<_> = scene.known.keys().map(|name| String::from_utf8_lossy(name)).collect();
    assert_eq!(names, ["~/p/good"]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(!scene.here.path().join("escape").exists());
    assert!(!Path::new("/tmp/hermes-escape").exists());
    let mode = std::os::unix::fs::MetadataExt::mode(
        &fs::metadata(scene.here.path().join("p/good")).unwrap(),
    );
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(fetched.notices.len(), 2, "{:?}", fetched.notices);
}

#[test]
fn half_an_archive_changes_nothing() {
    let mut scene = Scene::new();
    scene.write("a", &"long ".repeat(10_000));
    let prepared = prepare_push(&[scene.root()], KnownFiles::new()).unwrap().unwrap();
    let mut whole = Vec::new();
    std::io::Read::read_to_end(&mut prepared.archive.unwrap(), &mut whole).unwrap();
    let mut half = tempfile::tempfile().unwrap();
    half.write_all(&whole[..whole.len() / 2]).unwrap();
    std::io::Seek::rewind(&mut half).unwrap();
    let output = scene.run(pack::RECEIVE_SCRIPT, Stdio::from(half));
    assert!(!output.status.success());
    assert_eq!(fs::read_dir(scene.there.path()).unwrap().count(), 0);
    // It and its folder.
    assert_eq!(scene.push().0, 2);
}

#[test]
fn names_there_have_one_spelling() {
    let name = |remote: &str| {
        let root =
            SyncRoot::from_mapping(&SyncMapping { local: "x".into(), remote: remote.into() });
        String::from_utf8(root.remote_name(b"f")).unwrap()
    };
    assert_eq!(name("a/"), "~/a/f");
    assert_eq!(name("~/a"), "~/a/f");
    assert_eq!(name("~"), "~/f");
    assert_eq!(name(""), "~/f");
    assert_eq!(name("/"), "/f");
    assert_eq!(name("/srv/a"), "/srv/a/f");
}

#[test]
fn folders_come_and_go_as_well() {
    let mut scene = Scene::new();
    let here = scene.here.path().join("p");
    fs::create_dir_all(here.join("refs/heads")).unwrap();
    fs::create_dir_all(here.join("turns")).unwrap();
    scene.push();
    assert!(scene.there("refs/heads").is_dir() && scene.there("turns").is_dir());
    // What lies in it there is not known here, so its folder stays.
    fs::create_dir(here.join("used")).unwrap();
    scene.push();
    fs::write(scene.there("used/theirs"), "x").unwrap();
    for dir in ["refs/heads", "refs", "turns", "used"] {
        fs::remove_dir(here.join(dir)).unwrap();
    }
    scene.write("turns", "into a file");
    assert_eq!(scene.push(), (4, vec![]));
    assert!(!scene.there("refs").exists());
    assert_eq!(fs::read_to_string(scene.there("turns")).unwrap(), "into a file");
    assert!(scene.there("used/theirs").exists());
    fs::remove_file(here.join("turns")).unwrap();
    fs::create_dir(here.join("turns")).unwrap();
    assert_eq!(scene.push(), (1, vec![]));
    assert!(scene.there("turns").is_dir());
}

/// Programs one after the other, each of which fetches what is there.
#[test]
fn what_was_fetched_is_fetched_again_when_it_has_changed_there() {
    let mut scene = Scene::new();
    let here = scene.here.path().join("p");
    let say = |name: &str| fs::read_to_string(here.join(name)).ok();
    fs::create_dir(scene.there.path().join("p")).unwrap();
    fs::write(scene.there("s"), "first").unwrap();
    assert_eq!(scene.pull(), Vec::<String>::new());
    for text in ["second", "third"] {
        scene.known.clear();
        fs::write(scene.there("s"), text).unwrap();
        assert_eq!(scene.pull(), Vec::<String>::new());
        assert_eq!(say("s").as_deref(), Some(text));
    }
    // Changed here, and not there.
    scene.known.clear();
    scene.write("s", "mine");
    assert_eq!(scene.pull(), Vec::<String>::new());
    assert_eq!(say("s").as_deref(), Some("mine"));
    // On both sides, between two programs as well: told each time.
    fs::write(scene.there("s"), "fourth").unwrap();
    for _ in 0..2 {
        scene.known.clear();
        let news = scene.pull_since(SystemTime::now() + std::time::Duration::from_secs(60));
        assert!(news.len() == 1 && news[0].contains("changed here as well"), "{news:?}");
        assert_eq!(say("s").as_deref(), Some("mine"));
    }
    // Thrown away, it comes again.
    fs::remove_file(here.join("s")).unwrap();
    scene.known.clear();
    assert_eq!(scene.pull(), Vec::<String>::new());
    assert_eq!(say("s").as_deref(), Some("fourth"));
}

#[test]
fn of_what_was_never_fetched_the_older_one_is_replaced_if_it_was_left_alone() {
    let mut scene = Scene::new();
    let later = SystemTime::now() + std::time::Duration::from_secs(60);
    fs::create_dir(scene.there.path().join("p")).unwrap();
    for name in ["old", "new", "touched"] {
        scene.write(name, "mine");
        fs::write(scene.there(name), "theirs").unwrap();
    }
    age(&scene.here.path().join("p/old"));
    age(&scene.there("new"));
    let news = scene.pull_since(later);
    assert!(news.len() == 1 && news[0].contains("~/p/new"), "{news:?}");
    let here = |scene: &Scene, name: &str| {
        fs::read_to_string(scene.here.path().join("p").join(name)).unwrap()
    };
    assert_eq!(here(&scene, "old"), "theirs");
    assert_eq!(here(&scene, "new"), "mine");
    // Written while the place was open.
    let mut scene = Scene::new();
    fs::create_dir(scene.there.path().join("p")).unwrap();
    fs::write(scene.there("touched"), "theirs").unwrap();
    let opened = SystemTime::now() - std::time::Duration::from_secs(60);
    scene.write("touched", "mine");
    age(&scene.here.path().join("p/touched"));
    assert_eq!(scene.pull_since(opened).len(), 1);
    assert_eq!(here(&scene, "touched"), "mine");
}

#[test]
fn what_was_fetched_is_remembered_for_each_declaration() {
    let dir = tempfile::tempdir().unwrap();
    let settings = |host: &str| SshSettings {
        host: host.into(),
        storage: Some(dir.path().join("ssh")),
        ..SshSettings::default()
    };
    let root = |remote: &str| {
        SyncRoot::from_mapping(&SyncMapping { local: "/x".into(), remote: remote.into() })
    };
    let mut seen = baseline::SyncBaseline::default();
    seen.record(b"a", FileChecksum::from_bytes(b"1"));
    BaselineStore::for_settings(&settings("one")).write(&root("~/p"), &seen);
    assert_eq!(
        BaselineStore::for_settings(&settings("one")).read(&root("~/p")).get(b"a"),
        Some(FileChecksum::from_bytes(b"1"))
    );
    assert_eq!(BaselineStore::for_settings(&settings("two")).read(&root("~/p")).get(b"a"), None);
    assert_eq!(BaselineStore::for_settings(&settings("one")).read(&root("~/q")).get(b"a"), None);
}

#[test]
fn directories_that_are_nested_too_deeply_are_refused_instead_of_left_out() {
    let scene = Scene::new();
    let deep: PathBuf = std::iter::repeat_n("d", 201).collect();
    scene.write(deep.join("f").to_str().unwrap(), "text");
    let error = snapshot::scan(&scene.here.path().join("p")).unwrap_err();
    assert!(error.message().contains("nested"), "{error}");
}
