use super::*;

#[test]
fn what_is_mapped_to_be_run_is_found() {
    let maps = "\
55a0-55a1 r--p 00000000 08:01 1 /home/u/my hermes
7f00-7f01 r-xp 00000000 08:01 2 /usr/lib/x86_64-linux-gnu/libc.so.6
7f02-7f03 r--p 00000000 08:01 2 /usr/lib/x86_64-linux-gnu/libc.so.6
7f04-7f05 r--p 00000000 08:01 3 /usr/share/data.so.1
7f06-7f07 r-xp 00000000 08:01 4 /usr/lib/ld-linux-x86-64.so.2
7f08-7f09 r-xp 00000000 00:00 0 [vdso]
";
    let found = mapped_libraries(maps);
    let wanted = ["/usr/lib/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libc.so.6"];
    assert_eq!(found, wanted.map(PathBuf::from));
}

#[test]
fn a_library_is_also_known_by_the_names_of_its_links() {
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("libm-2.31.so"), "x").unwrap();
    fs::write(dir.join("libmvec.so.1"), "x").unwrap();
    std::os::unix::fs::symlink("libm-2.31.so", dir.join("libm.so.6")).unwrap();
    std::os::unix::fs::symlink("libmvec.so.1", dir.join("libm.so.9")).unwrap();
    assert_eq!(library_aliases(&dir.join("libm-2.31.so")), ["libm.so.6"]);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_same_build_has_the_same_hash_with_and_without_a_cache() {
    let cache = tempfile::tempdir().unwrap();
    let program = cache.path().join("program");
    fs::write(&program, "a program").unwrap();
    let bare = ProgramBundle::for_executable(&program, None).unwrap();
    let kept = ProgramBundle::for_executable(&program, Some(cache.path())).unwrap();
    assert_eq!(bare, kept);
    assert_eq!(kept, ProgramBundle::for_executable(&program, Some(cache.path())).unwrap());
    assert_eq!(bare.hash.len(), 32);
    assert!(bare.has_loader());
    fs::write(&program, "another program").unwrap();
    assert_ne!(
        bare.hash,
        ProgramBundle::for_executable(&program, Some(cache.path())).unwrap().hash
    );
}

#[test]
fn a_library_that_is_mapped_from_two_directories_is_bundled_once() {
    let file = |path: &str| BundledFile {
        name: Path::new(path).file_name().unwrap().to_str().unwrap().to_owned(),
        source: path.into(),
    };
    let mut files = vec![file("/a/libx.so.1"), file("/a/liby.so.1"), file("/b/libx.so.1")];
    drop_duplicate_names(&mut files);
    assert_eq!(files, [file("/a/libx.so.1"), file("/a/liby.so.1")]);
}
