use super::*;

fn has(words: &[String], option: &str, value: &str) -> bool {
    words.windows(2).any(|pair| pair[0] == option && pair[1] == value)
}

#[test]
fn a_container_may_do_little() {
    let settings = DockerSettings { network: false, ..DockerSettings::default() };
    let made = run_arguments(&settings, &[]);
    assert!(has(&made, "--cap-drop", "ALL"));
    assert!(has(&made, "--security-opt", "no-new-privileges"));
    assert!(has(&made, "--pids-limit", "256"));
    assert!(has(&made, "--memory", "5120m"));
    assert!(has(&made, "--network", "none"));
    assert!(has(&made, "--cap-add", "SETUID"));
    assert!(!made.iter().any(|word| word == "--volume"));
    let user = DockerSettings { user: Some("1000:1000".into()), ..DockerSettings::default() };
    assert!(!has(&run_arguments(&user, &[]), "--cap-add", "SETUID"));
    assert!(!has(&run_arguments(&settings, &[ResourceLimit::Memory]), "--memory", "5120m"));
}

#[test]
fn every_setting_makes_another_container() {
    let base = DockerSettings::default();
    let changes: Vec<fn(&mut DockerSettings)> = vec![
        |it| it.network = false,
        |it| it.user = Some("1".into()),
        |it| it.memory_mb = None,
        |it| it.cpus = Some(2.0),
        |it| it.pids = Some(1),
        |it| it.disk_mb = Some(9),
        |it| it.init = false,
        |it| it.volumes.push("/a:/b".into()),
        |it| it.extra_arguments.push("--read-only".into()),
        |it| it.capabilities = Some(Vec::new()),
        |it| it.storage = Some("/x".into()),
        |it| it.persistent = false,
        |it| it.cwd = Some("/y".into()),
    ];
    let mut seen = vec![fingerprint(&base, "image"), fingerprint(&base, "another")];
    for change in changes {
        let mut other = base.clone();
        change(&mut other);
        seen.push(fingerprint(&other, "image"));
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn a_volume_must_be_here() {
    let with =
        |volume: &str| DockerSettings { volumes: vec![volume.into()], ..DockerSettings::default() };
    assert!(check_volumes(&with("/:/host:ro")).is_ok());
    assert!(check_volumes(&with("kept:/data")).is_ok());
    assert!(check_volumes(&with("/no/such/folder:/data")).is_err());
    assert!(check_volumes(&with("/tmp")).is_err());
}

#[test]
fn names_differ_where_their_letters_do_not() {
    let named = |task: &str| {
        container_name(&DockerSettings { task: task.into(), ..DockerSettings::default() }, "")
    };
    assert_ne!(named("a b"), named("a.b"));
    assert!(named("ä/ß\n").bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
}

#[test]
fn two_homes_have_containers_of_their_own() {
    let of = |home: &str, profile: &str| {
        let storage = Some(format!("{home}/sandboxes/docker").into());
        DockerSettings { storage, profile: profile.into(), ..DockerSettings::default() }
    };
    let (one, other) = (of("/a", "default"), of("/b", "default"));
    assert_ne!(container_name(&one, ""), container_name(&other, ""));
    assert_ne!(one.home_id(), other.home_id());
    assert_ne!(one.home_id(), of("/a", "work").home_id());
    assert_eq!(container_name(&one, ""), container_name(&of("/a", "default"), ""));
}

#[test]
fn an_option_is_no_image() {
    let with = |image: &str| DockerSettings { image: image.into(), ..DockerSettings::default() };
    for image in ["--privileged", "-v=/:/host", "", "a\nb"] {
        assert!(check_image(&with(image)).is_err(), "{image}");
    }
    assert!(check_image(&with("debian:stable")).is_ok());
}

#[test]
fn a_folder_has_no_slash_at_its_end() {
    let start_dir = |cwd: &str| {
        let settings = DockerSettings { cwd: Some(cwd.into()), ..DockerSettings::default() };
        settings.start_dir().to_owned()
    };
    assert_eq!(start_dir("/workspace/"), "/workspace");
    assert_eq!(start_dir("/a//"), "/a");
    assert_eq!(start_dir("/"), "/");
}

#[test]
fn what_is_declared_takes_the_place_of_what_is_there_by_default() {
    let targets = |settings: &DockerSettings| -> Vec<String> {
        let made = run_arguments(settings, &[]);
        let mounts = made.windows(2).filter(|it| it[0] == "--tmpfs" || it[0] == "--volume");
        mounts
            .map(|it| it[1].split(':').find(|part| part.len() > 1).unwrap_or_default().to_owned())
            .collect()
    };
    let ours = |persistent: bool, volumes: &[&str]| DockerSettings {
        persistent,
        storage: Some("/kept".into()),
        volumes: volumes.iter().map(|&it| it.to_owned()).collect(),
        ..DockerSettings::default()
    };
    let declared = ["/a:/workspace/", "/b:/root:ro", "/c:/tmp"];
    assert_eq!(
        targets(&ours(false, &declared)),
        ["/var/tmp", "/run", "/home", "/a", "/b", "/c"],
        "a tmpfs is named by its directory, a volume by its source"
    );
    assert_eq!(targets(&ours(true, &declared)), ["/var/tmp", "/run", "/a", "/b", "/c"]);
    // A mount below leaves the others as they are.
    let below = targets(&ours(true, &["/a:/workspace/thing"]));
    assert_eq!(below, ["/tmp", "/var/tmp", "/run", "/kept/home", "/kept/workspace", "/a"]);
}
