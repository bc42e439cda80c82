use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use hermes_core::{Effect, Grants, Scope, ToolContext};
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

const FORMATS: [&str; 5] = ["a.zip", "a.tar", "a.tar.gz", "a.tar.zst", "a.7z"];

fn project() -> Place {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {}\n");
    place.write("src/sub dir/ä.txt", "text\n".repeat(100));
    place.write("README.md", "# Demo\n");
    symlink("main.rs", place.path().join("src/link")).unwrap();
    place
}

async fn compress(place: &Place, arguments: Value) -> Value {
    place.call("file_compress", arguments).await
}

#[tokio::test]
async fn examples_hold() {
    check_examples("file_compress").await;
}

#[tokio::test]
async fn archives_are_made_listed_and_unpacked() {
    for archive in FORMATS {
        let place = project();
        let made = compress(
            &place,
            json!({"action": "create", "archive": archive, "paths": ["src", "README.md"]}),
        )
        .await;
        let names = json!([
            "README.md",
            "src",
            "src/link",
            "src/main.rs",
            "src/sub dir",
            "src/sub dir/ä.txt"
        ]);
        assert_eq!(made["paths"], names, "{made}");
        assert_eq!(
            (&made["files"], &made["folders"], &made["links"]),
            (&json!(3), &json!(2), &json!(1))
        );
        assert_eq!((&made["bytes"], &made["total"]), (&json!(520), &json!(6)));
        assert!(
            made["archive_bytes"].as_u64().unwrap() > 0 && made["ratio"].as_f64().unwrap() > 0.0
        );

        let listed = compress(&place, json!({"action": "list", "archive": archive})).await;
        assert_eq!(
            (&listed["total"], &listed["bytes"], &listed["truncated"]),
            (&json!(6), &json!(520), &json!(false))
        );
        let main = listed["entries"]
            .as_array()
            .unwrap()
            .iter()
            .find(|e| e["path"] == "src/main.rs")
            .unwrap();
        assert_eq!(
            (&main["type"], &main["size"], &main["mode"]),
            (&json!("file"), &json!(13), &json!("0644"))
        );

        let out = compress(&place, json!({"action": "extract", "archive": archive})).await;
        assert_eq!(out["target"], place.path().join("a").to_string_lossy().into_owned(), "{out}");
        assert_eq!((&out["files"], &out["links"]), (&json!(3), &json!(1)));
        assert_eq!(fs::read_to_string(place.path().join("a/src/link")).unwrap(), "fn main() {}\n");
        let again = compress(&place, json!({"action": "extract", "archive": archive})).await;
        assert_eq!(again["kind"], "conflict", "{again}");
        assert!(again["hint"].as_str().unwrap().contains("overwrite"));
    }
}

#[tokio::test]
async fn other_words_for_the_same() {
    let place = project();
    let made = compress(
        &place,
        json!({"action": "compress", "archive": "a", "paths": ["README.md"], "format": "tar.zst"}),
    )
    .await;
    assert_eq!(made["files"], 1, "{made}");
    let out =
        compress(&place, json!({"action": "decompress", "archive": "a", "target": "b"})).await;
    assert_eq!(out["paths"], json!(["README.md"]), "{out}");
}

#[tokio::test]
async fn single_files_are_unpacked_beside_their_archive() {
    let place = project();
    for archive in ["docs/README.md.gz", "docs/README.md.zst"] {
        fs::create_dir_all(place.path().join("docs")).unwrap();
        let made = compress(
            &place,
            json!({"action": "create", "archive": archive, "paths": ["README.md"]}),
        )
        .await;
        assert_eq!(made["files"], 1, "{made}");
        let out = compress(&place, json!({"action": "extract", "archive": archive})).await;
        assert_eq!(out["paths"], json!(["README.md"]), "{out}");
        fs::remove_file(place.path().join("docs/README.md")).unwrap();
    }
    let two =
        compress(&place, json!({"action": "create", "archive": "x.gz", "paths": ["src"]})).await;
    assert!(two["hint"].as_str().unwrap().contains("tar.gz"), "{two}");
}

#[tokio::test]
async fn pages_of_a_list_put_together_are_the_list() {
    let place = Place::new();
    for number in 0..25 {
        place.write(&format!("d/f{number:02}"), "x");
    }
    compress(&place, json!({"action": "create", "archive": "a.zip", "paths": ["d"]})).await;
    let mut seen = Vec::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let page = compress(
            &place,
            json!({"action": "list", "archive": "a.zip", "offset": from, "limit": 10}),
        )
        .await;
        assert_eq!(page["total"], 26);
        seen.extend(
            page["entries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|e| e["path"].as_str().unwrap().to_owned()),
        );
        offset = page["next_offset"].as_u64();
        assert_eq!(page["truncated"], offset.is_some());
    }
    assert_eq!(seen.len(), 26);
    assert!(seen.is_sorted());
    let some =
        compress(&place, json!({"action": "list", "archive": "a.zip", "include": ["f1*"]})).await;
    assert_eq!(some["total"], 10);
}

#[tokio::test]
async fn effects_name_what_is_read_and_written() {
    let place = project();
    let at = |name: &str| place.path().join(name);
    for (arguments, expected) in [
        (
            json!({"action": "create", "archive": "a.zip", "paths": ["src", "README.md"]}),
            vec![
                Effect::path(Scope::FILE_READ, at("src")),
                Effect::path(Scope::FILE_READ, at("README.md")),
                Effect::path(Scope::FILE_WRITE, at("a.zip")),
            ],
        ),
        (
            json!({"action": "list", "archive": "x/../a.zip"}),
            vec![Effect::path(Scope::FILE_READ, at("a.zip"))],
        ),
        (
            json!({"action": "decompress", "archive": "a.tar.gz"}),
            vec![
                Effect::path(Scope::FILE_READ, at("a.tar.gz")),
                Effect::path(Scope::FILE_WRITE, at("a")),
            ],
        ),
        (
            json!({"action": "extract", "archive": "bundle", "target": "out"}),
            vec![
                Effect::path(Scope::FILE_READ, at("bundle")),
                Effect::path(Scope::FILE_WRITE, at("out")),
            ],
        ),
        (
            json!({"action": "extract", "archive": "bundle"}),
            vec![
                Effect::path(Scope::FILE_READ, at("bundle")),
                Effect::path(Scope::FILE_WRITE, at("bundle.d")),
            ],
        ),
    ] {
        assert_eq!(place.effects("file_compress", arguments), expected);
    }
}

#[tokio::test]
async fn the_declared_effects_are_needed_and_enough() {
    let place = project();
    for arguments in [
        json!({"action": "create", "archive": "a.zip", "paths": ["src"]}),
        json!({"action": "list", "archive": "a.zip"}),
        json!({"action": "extract", "archive": "a.zip"}),
    ] {
        let declared = place.effects("file_compress", arguments.clone());
        for missing in 0..declared.len() {
            let mut fewer = declared.clone();
            fewer.remove(missing);
            let refused = place
                .call_within(Grants::from_effects(&fewer), "file_compress", arguments.clone())
                .await;
            assert_eq!(refused["kind"], "denied", "{arguments} without {missing}: {refused}");
        }
        let done = place
            .call_within(Grants::from_effects(&declared), "file_compress", arguments.clone())
            .await;
        assert!(done.get("error").is_none(), "{done}");
    }
}

#[tokio::test]
async fn a_missing_folder_is_explained_by_what_may_be_read() {
    let place = project();
    let arguments =
        |paths: &str| json!({"action": "create", "archive": "srx/a.zip", "paths": [paths]});
    let granted = place.effects("file_compress", arguments("src"));
    let error =
        place.call_within(Grants::from_effects(&granted), "file_compress", arguments("src")).await;
    assert_eq!(error["similar_folders"], json!(["src"]), "{error}");
    assert!(error["error"].as_str().unwrap().contains("srx"), "{error}");
    // Siblings of the archive may not be read.
    let deep = place.write("src/deep/file", "x");
    let far = json!({"action": "create", "archive": "src/dep/a.zip", "paths": ["README"]});
    place.write("README", "x");
    let granted = place.effects("file_compress", far.clone());
    let error = place.call_within(Grants::from_effects(&granted), "file_compress", far).await;
    assert_eq!(error["kind"], "not_found", "{error}");
    assert!(error.get("similar_folders").is_none() && deep.exists(), "{error}");
}

#[tokio::test]
async fn mistakes_are_explained() {
    let place = project();
    place.write("plain.txt", "no archive");
    place.write("old.zip", "old");
    for (arguments, kind, says) in [
        (json!({"action": "create", "archive": "a.zip"}), "invalid_arguments", "paths"),
        (
            json!({"action": "create", "archive": "a.what", "paths": ["src"]}),
            "invalid_arguments",
            "tar.gz",
        ),
        (json!({"action": "create", "archive": "a.zip", "paths": ["srx"]}), "not_found", "similar"),
        (
            json!({"action": "create", "archive": "srx/a.zip", "paths": ["plain.txt"]}),
            "not_found",
            "similar",
        ),
        (json!({"action": "create", "archive": "old.zip", "paths": ["src"]}), "conflict", ""),
        (
            json!({"action": "create", "archive": "a.zip", "paths": ["src"], "existing": "skip"}),
            "invalid_arguments",
            "extract",
        ),
        (
            json!({"action": "create", "archive": "a.zip", "paths": ["src"], "level": 12}),
            "invalid_arguments",
            "",
        ),
        (json!({"action": "list", "archive": "plain.txt"}), "invalid_arguments", "Known are"),
        (json!({"action": "list", "archive": "src"}), "invalid_arguments", ""),
        (json!({"action": "extract", "archive": "olt.zip"}), "not_found", "similar"),
        (
            json!({"action": "extract", "archive": "old.zip", "include": ["["]}),
            "invalid_arguments",
            "example",
        ),
    ] {
        let error = compress(&place, arguments.clone()).await;
        assert_eq!(error["kind"], kind, "{arguments}: {error}");
        assert!(error["hint"].as_str().unwrap().contains(says), "{error}");
    }
    assert_eq!(fs::read_to_string(place.path().join("old.zip")).unwrap(), "old");
    let done = compress(&place, json!({"action": "create", "archive": "old.zip", "paths": ["src"], "existing": "overwrite"})).await;
    assert_eq!(done["files"], 2, "{done}");
}

#[tokio::test]
async fn names_that_are_no_text_have_an_address() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"caf\xE9");
    fs::create_dir(place.path().join(odd)).unwrap();
    fs::write(place.path().join(odd).join("x"), "x").unwrap();
    let dir = format!("file://{}/caf%E9", place.path().display());
    let archive = format!("{dir}/a.tar");
    let made =
        compress(&place, json!({"action": "create", "archive": archive, "paths": [dir]})).await;
    assert_eq!((&made["files"], &made["archive"]), (&json!(1), &json!(archive)), "{made}");
    let listed = compress(&place, json!({"action": "list", "archive": archive})).await;
    let shown = listed["entries"][1]["path"].as_str().unwrap();
    assert!(shown.starts_with("file:///") && shown.ends_with("/a/caf%E9/x"), "{listed}");
    let seven = json!({"action": "create", "archive": "a.7z", "paths": [dir, "plain"]});
    place.write("plain", "x");
    let seven = compress(&place, seven).await;
    let shown = seven["skipped"][1]["path"].as_str().unwrap();
    assert_eq!(shown, format!("{dir}/a.tar"), "{seven}");
    let out =
        compress(&place, json!({"action": "extract", "archive": archive, "target": "out"})).await;
    let shown = out["paths"][0].as_str().unwrap();
    assert!(shown.ends_with("/out/caf%E9/x"), "{out}");
    assert!(fs::exists(place.path().join("out").join(odd).join("x")).unwrap());
}

#[tokio::test]
async fn what_is_veiled_goes_neither_in_nor_out() {
    let place = project();
    place.write("src/.env", "SECRET=1");
    compress(&place, json!({"action": "create", "archive": "all.zip", "paths": ["src"]})).await;
    let run = async |arguments: Value| {
        let mut cx = ToolContext::bare(place.path());
        let hides = |_: &hermes_core::Scope, path: &std::path::Path| path.ends_with(".env");
        cx.grants = Arc::new(hermes_core::Grants::allow_all().with_exceptions(Arc::new(hides)));
        match tool("file_compress").bind(&arguments).unwrap().run(cx).await {
            Ok(output) => serde_json::from_str::<Value>(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    };
    let made = run(json!({"action": "create", "archive": "some.zip", "paths": ["src"]})).await;
    assert_eq!((&made["files"], &made["skipped"][0]["path"]), (&json!(2), &json!("src/.env")));
    let refused = run(json!({"action": "extract", "archive": "all.zip"})).await;
    assert_eq!((&refused["kind"], &refused["rule"]), (&json!("denied"), &json!("protected")));
    assert!(!fs::exists(place.path().join("all")).unwrap());
    let out = run(json!({"action": "extract", "archive": "all.zip", "exclude": [".env"]})).await;
    assert_eq!(out["files"], 2, "{out}");
}

#[tokio::test]
async fn what_is_left_out_is_told() {
    let place = project();
    let made = std::process::Command::new("mkfifo").arg(place.path().join("src/pipe")).status();
    assert!(made.unwrap().success());
    let made =
        compress(&place, json!({"action": "create", "archive": "src/own.tar", "paths": ["src"]}))
            .await;
    assert_eq!(
        made["skipped"],
        json!([{"path": "src/pipe", "reason": "it is a named pipe"}]),
        "{made}"
    );
    let again = compress(&place, json!({"action": "create", "archive": "src/own.tar", "paths": ["src"], "existing": "overwrite", "exclude": ["pipe"]})).await;
    assert_eq!(
        again["skipped"],
        json!([{"path": "src/own.tar", "reason": "it is the archive itself"}]),
        "{again}"
    );
}

#[tokio::test]
async fn the_longest_paths_are_packed_and_unpacked() {
    let place = Place::new();
    let mut path = place.path().join("t");
    while path.as_os_str().len() + 101 < 3950 {
        path.push("n".repeat(100));
    }
    fs::create_dir_all(&path).unwrap();
    let last = path.join("x".repeat(4094 - path.as_os_str().len()));
    fs::write(&last, "deep").unwrap();
    for archive in FORMATS {
        let made =
            compress(&place, json!({"action": "create", "archive": archive, "paths": ["t"]})).await;
        assert_eq!((&made["files"], made.get("skipped")), (&json!(1), None), "{archive}: {made}");
        fs::rename(place.path().join("t"), place.path().join("u")).unwrap();
        let out =
            compress(&place, json!({"action": "extract", "archive": archive, "target": "."})).await;
        assert_eq!(out["files"], 1, "{archive}: {out}");
        assert_eq!(fs::read_to_string(&last).unwrap(), "deep");
        fs::remove_dir_all(place.path().join("u")).unwrap();
    }
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing() {
    let place = project();
    let cx = ToolContext::bare(place.path());
    cx.cancel.cancel();
    let call = tool("file_compress")
        .bind(&json!({"action": "create", "archive": "a.zip", "paths": ["src"]}))
        .unwrap();
    assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled");
    assert!(!fs::exists(place.path().join("a.zip")).unwrap());
}

#[tokio::test]
async fn a_call_that_is_stopped_midway_has_tidied_up_when_it_answers() {
    let place = Place::new();
    let noise: Vec<u8> =
        (0..6_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 15) as u8).collect();
    place.write("big", &noise);
    compress(&place, json!({"action": "create", "archive": "big.tar", "paths": ["big"]})).await;
    for arguments in [
        json!({"action": "create", "archive": "new.tar.zst", "paths": ["big"]}),
        json!({"action": "create", "archive": "big.tar", "paths": ["big"], "existing": "overwrite"}),
        json!({"action": "extract", "archive": "big.tar", "target": "out"}),
        json!({"action": "extract", "archive": "big.tar", "target": ".", "existing": "overwrite"}),
    ] {
        let mut cx = ToolContext::bare(place.path());
        // Stops the call at the first sign of progress.
        let cancel = cx.cancel.clone();
        cx.progress = Some(Arc::new(move |_, _| cancel.cancel()));
        let call = tool("file_compress").bind(&arguments).unwrap();
        assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled", "{arguments}");
        let mut names: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["big", "big.tar"], "{arguments}");
        assert_eq!(fs::read(place.path().join("big")).unwrap(), noise);
    }
}

#[tokio::test]
async fn progress_is_shown() {
    let place = Place::new();
    place.write("big", vec![7; 4 << 20]);
    let seen = Arc::new(parking_lot::Mutex::new(Vec::<f64>::new()));
    let report = Arc::clone(&seen);
    let mut cx = ToolContext::bare(place.path());
    cx.progress = Some(Arc::new(move |_, progress| report.lock().extend(progress.fraction)));
    let call = tool("file_compress")
        .bind(&json!({"action": "create", "archive": "a.tar", "paths": ["big"]}))
        .unwrap();
    call.run(cx).await.unwrap();
    let seen = seen.lock();
    assert!(
        seen.len() >= 3 && seen.is_sorted() && seen.iter().all(|f| (0.0..=1.0).contains(f)),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_bomb_is_refused_by_the_limit_that_it_breaks() {
    let place = Place::new();
    place.write("zeros", vec![0; 12 << 20]);
    // The fastest formats; the library tests cover the others.
    for archive in ["a.tar.zst", "a.zst"] {
        let made = json!({"action": "create", "archive": archive, "paths": ["zeros"]});
        let made = place.call("file_compress", made).await;
        assert_eq!(made["files"], 1, "{archive}: {made}");
        let shown = made["ratio"].as_f64().unwrap();
        assert!(shown > 100.0, "{archive}: {made}");
        let unpack = |more: Value| {
            let mut arguments = json!({"action": "extract", "archive": archive, "target": "out"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            place.call("file_compress", arguments)
        };
        let ratio = unpack(json!({})).await;
        assert_eq!(ratio["kind"], "limit", "{archive}: {ratio}");
        assert!(ratio["error"].as_str().unwrap().contains("exceeds the ratio limit"), "{ratio}");
        assert!(ratio["hint"].as_str().unwrap().contains("max_ratio (now 100)"), "{ratio}");
        let total = unpack(json!({"max_ratio": 1_000_000, "max_bytes": 1000})).await;
        assert_eq!(total["kind"], "limit", "{archive}: {total}");
        assert!(total["error"].as_str().unwrap().contains("exceeds the size limit"), "{total}");
        assert!(total["hint"].as_str().unwrap().contains("max_bytes (now 1000)"), "{total}");
        assert!(!place.path().join("out").exists(), "{archive}: nothing is left");
        // The reported ratio is sufficient, except for the padding of a tar.
        let done = unpack(json!({"max_ratio": shown.ceil() as u64 + 10})).await;
        assert_eq!(done["bytes"], 12 << 20, "{archive}: {done}");
        std::fs::remove_dir_all(place.path().join("out")).unwrap();
    }
}

#[tokio::test]
async fn bits_that_are_dropped_are_told_in_a_line() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    for name in ["a", "b", "c"] {
        let path = place.write(name, "x");
        fs::set_permissions(path, fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let made = json!({"action": "create", "archive": "a.tar", "paths": ["a", "b", "c"]});
    let made = compress(&place, made).await;
    let shown = made["not_kept"][0].as_str().unwrap();
    assert!(shown.contains("set-user-ID") && shown.ends_with(": a and 2 others"), "{made}");
}

#[tokio::test]
async fn an_archive_that_exists_names_the_way_out() {
    let place = project();
    place.write("a.zip", "something else");
    let create = json!({"action": "create", "archive": "a.zip", "paths": ["src"]});
    let refused = compress(&place, create.clone()).await;
    assert_eq!(refused["kind"], "conflict", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("existing=overwrite"), "{refused}");
    let mut create = create;
    create["existing"] = json!("overwrite");
    assert_eq!(compress(&place, create).await["files"], 2);
}

#[tokio::test]
async fn the_usual_target_is_named_where_it_is_taken() {
    let place = project();
    for archive in ["su.zip", "su.tar"] {
        let create = json!({"action": "create", "archive": archive, "paths": ["src"]});
        assert_eq!(compress(&place, create).await["files"], 2);
    }
    let extract =
        |archive: &str| compress(&place, json!({"action": "extract", "archive": archive}));
    assert_eq!(extract("su.zip").await["files"], 2);
    let refused = extract("su.tar").await;
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("Without target, files go to") && hint.contains("existing"), "{hint}");
}

#[tokio::test]
async fn a_repository_in_an_archive_is_told_when_it_is_packed() {
    let place = project();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    let create = |extra: Value| {
        let mut arguments = json!({"action": "create", "archive": "a.zip", "paths": ["."]});
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        compress(&place, arguments)
    };
    let made = create(json!({})).await;
    assert!(made["hint"].as_str().unwrap().contains("exclude=.git"), "{made}");
    let made = create(json!({"exclude": [".git"], "existing": "overwrite"})).await;
    assert_eq!(made.get("hint"), None, "{made}");
}

#[tokio::test]
async fn what_looks_like_a_bomb_is_listed_with_what_it_takes() {
    let place = Place::new();
    place.write("zeros", vec![0; 12 << 20]);
    let create = json!({"action": "create", "archive": "a.tar.gz", "paths": ["zeros"]});
    let made = compress(&place, create).await;
    let listed = compress(&place, json!({"action": "list", "archive": "a.tar.gz"})).await;
    assert_eq!(listed["total"], 1, "{listed}");
    let shown = listed["hint"].as_str().unwrap();
    assert_eq!(made["hint"], shown);
    let ratio: u64 =
        shown.split_once("max_ratio=").unwrap().1.trim_end_matches('.').parse().unwrap();
    let extract = |ratio: Option<u64>| {
        let target = json!({"action": "extract", "archive": "a.tar.gz", "target": "out", "max_ratio": ratio});
        compress(&place, target)
    };
    let refused = extract(None).await;
    assert!(refused["hint"].as_str().unwrap().contains("max_ratio"), "{refused}");
    assert_eq!(extract(Some(ratio)).await["files"], 1);
}

#[tokio::test]
async fn a_huge_sparse_file_is_refused_by_its_size() {
    let place = Place::new();
    fs::File::create(place.path().join("disk.img")).unwrap().set_len(1 << 40).unwrap();
    for archive in FORMATS.into_iter().chain(["disk.img.gz", "disk.img.zst"]) {
        let arguments = json!({"action": "create", "archive": archive, "paths": ["disk.img"]});
        let error = place.call("file_compress", arguments).await;
        assert_eq!(error["kind"], "limit", "{error}");
        assert!(!place.path().join(archive).exists());
    }
    place.write("small.txt", "12345");
    let arguments =
        json!({"action": "create", "archive": "s.zip", "paths": ["small.txt"], "max_bytes": 4});
    let error = place.call("file_compress", arguments).await;
    assert!(error["error"].as_str().unwrap().contains("5 bytes"), "{error}");
}
