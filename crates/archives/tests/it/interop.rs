//! Other programs read what we write, and we read what they write.

use std::fs;

use crate::harness::{Found, Place, Tree, furnish};

const MAKE_ZIP: &str = "
import zipfile, os
with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    for root, dirs, files in os.walk('in'):
        for name in files:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                z.write(path, os.path.relpath(path, 'in'))
";

fn files_of(tree: &Tree) -> Vec<(String, Vec<u8>)> {
    let file = |(path, found): (&std::path::PathBuf, &Found)| match found {
        Found::File(content, _) => Some((path.to_string_lossy().into_owned(), content.clone())),
        _ => None,
    };
    tree.iter().filter_map(file).collect()
}

#[test]
fn pythons_zip_is_read() {
    let place = Place::new();
    furnish(&place, "in");
    place.python(MAKE_ZIP);
    place.unpack("a.zip", "out").unwrap();
    assert_eq!(files_of(&place.tree("out")), files_of(&place.tree("in")));
}

#[test]
fn pythons_tars_are_read_in_every_dialect() {
    for (dialect, mode, archive) in [
        ("USTAR_FORMAT", "w", "a.tar"),
        ("GNU_FORMAT", "w:gz", "a.tar.gz"),
        ("PAX_FORMAT", "w", "a.tar"),
        ("PAX_FORMAT", "w:gz", "a.tgz"),
    ] {
        let place = Place::new();
        place.write("in/a b/c", "x");
        place.write("in/ü.txt", "y".repeat(2000));
        std::os::unix::fs::symlink("a b/c", place.at("in/l")).unwrap();
        fs::hard_link(place.at("in/ü.txt"), place.at("in/zz-hard")).unwrap();
        if dialect != "USTAR_FORMAT" {
            let long = "n".repeat(150);
            place.write(format!("in/{long}/{long}"), "z");
        }
        place.python(&format!(
            "import tarfile\nt = tarfile.open('{archive}', '{mode}', format=tarfile.{dialect})\nt.add('in', '.')\nt.close()"
        ));
        let out = place.unpack(archive, "out").unwrap();
        assert!(out.skipped.is_empty(), "{dialect}: {:?}", out.skipped);
        assert_eq!(place.tree("out"), place.tree("in"), "{dialect} {archive}");
    }
}

#[test]
fn python_reads_ours() {
    let place = Place::new();
    furnish(&place, "in");
    for archive in ["a.zip", "a.tar", "a.tar.gz"] {
        place.pack("in", archive).unwrap();
    }
    place.python(
        "
import zipfile, tarfile, os
with zipfile.ZipFile('a.zip') as z:
    assert z.testzip() is None
    z.extractall('zip')
for name, to in [('a.tar', 'tar'), ('a.tar.gz', 'gz')]:
    with tarfile.open(name) as t:
        t.extractall(to)
",
    );
    for to in ["tar", "gz"] {
        assert_eq!(place.tree(to), place.tree("in"), "{to}");
    }
    let mut expected = files_of(&place.tree("in"));
    // Python writes links of a zip as files with the target in them.
    let mut found = files_of(&place.tree("zip"));
    found.retain(|(path, _)| !path.ends_with("link") && !path.ends_with("up"));
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn tar_and_we_understand_each_other() {
    let place = Place::new();
    furnish(&place, "in");
    for (flags, archive) in [("-cf", "a.tar"), ("-czf", "a.tar.gz"), ("--zstd", "a.tar.zst")] {
        let arguments = match flags {
            "--zstd" => vec!["--zstd", "-cf", archive, "-C", "in", "."],
            _ => vec![flags, archive, "-C", "in", "."],
        };
        if place.run("tar", &arguments).is_none() {
            return;
        }
        let to = format!("out-{archive}");
        place.unpack(archive, &to).unwrap();
        assert_eq!(place.tree(&to), place.tree("in"), "{archive}");
        let ours = format!("ours-{archive}");
        place.pack("in", &ours).unwrap();
        let to = format!("back-{archive}");
        fs::create_dir(place.at(&to)).unwrap();
        place.run("tar", &["-xf", &ours, "-C", &to]).unwrap();
        assert_eq!(place.tree(&to), place.tree("in"), "{ours}");
    }
}

#[test]
fn a_sparse_tar_is_read() {
    let place = Place::new();
    fs::create_dir(place.at("in")).unwrap();
    let file = fs::File::create(place.at("in/sparse")).unwrap();
    file.set_len(3_000_000).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"middle", 1_500_000).unwrap();
    if place.run("tar", &["--format=gnu", "-Scf", "a.tar", "-C", "in", "."]).is_some() {
        place.unpack("a.tar", "out").unwrap();
        assert_eq!(place.tree("out"), place.tree("in"));
    }
}

#[test]
fn zip_and_unzip_agree_with_us() {
    let place = Place::new();
    furnish(&place, "in");
    // unzip itself drops line breaks from names.
    fs::remove_file(place.at("in/with space/and\nnewline")).unwrap();
    if !["zip", "unzip"].iter().all(|program| place.run(program, &["-v"]).is_some()) {
        return;
    }
    place.run("sh", &["-c", "cd in && zip -qry ../a.zip ."]).unwrap();
    place.unpack("a.zip", "out").unwrap();
    assert_eq!(place.tree("out"), place.tree("in"));
    place.pack("in", "ours.zip").unwrap();
    place.run("unzip", &["-q", "ours.zip", "-d", "back"]).unwrap();
    assert_eq!(place.tree("back"), place.tree("in"));
}

#[test]
fn gzip_and_zstd_agree_with_us() {
    let place = Place::new();
    let text = "some text\n".repeat(3000);
    place.write("t.txt", &text);
    for (program, ending) in [("gzip", "gz"), ("zstd", "zst")] {
        let keep = format!("t.txt.{ending}");
        if place.run(program, &["-k", "t.txt"]).is_none() {
            continue;
        }
        let to = format!("out-{ending}");
        place.unpack(&keep, &to).unwrap();
        assert_eq!(fs::read_to_string(place.at(format!("{to}/t.txt"))).unwrap(), text);
        let ours = format!("ours.{ending}");
        let format = hermes_archives::ArchiveFormat::from_name(ours.as_ref()).unwrap();
        place
            .pack_as("t.txt", "t.txt", &ours, format, &hermes_archives::GlobFilter::all())
            .unwrap();
        assert_eq!(place.run(program, &["-dc", &ours]).unwrap(), text);
    }
}

#[test]
fn seven_zip_agrees_with_us() {
    let place = Place::new();
    furnish(&place, "in");
    let Some(_) = place.run("7z", &["a", "-bd", "a.7z", "./in/plain.txt", "./in/run.sh"]) else {
        return;
    };
    place.unpack("a.7z", "out").unwrap();
    assert_eq!(fs::read_to_string(place.at("out/plain.txt")).unwrap(), "hello\n");
    // Newer versions of it unpack no link that leads upwards.
    fs::remove_file(place.at("in/ünï/up")).unwrap();
    place.pack("in", "ours.7z").unwrap();
    place.run("7z", &["x", "-bd", "-oback", "ours.7z"]).unwrap();
    assert_eq!(files_of(&place.tree("back")), files_of(&place.tree("in")));
}

#[test]
fn several_members_of_gzip_are_one_file() {
    let place = Place::new();
    place.python(
        "import gzip\nopen('a.gz','wb').write(gzip.compress(b'one ') + gzip.compress(b'two'))",
    );
    place.unpack("a.gz", "out").unwrap();
    assert_eq!(fs::read_to_string(place.at("out/a")).unwrap(), "one two");
}

#[test]
fn large_fields_of_zip_are_read() {
    let place = Place::new();
    place.python(
        "
import zipfile
with zipfile.ZipFile('a.zip', 'w') as z:
    with z.open('big', 'w', force_zip64=True) as f:
        f.write(b'zip64')
",
    );
    place.unpack("a.zip", "out").unwrap();
    assert_eq!(fs::read_to_string(place.at("out/big")).unwrap(), "zip64");
}

#[test]
fn files_with_holes_of_gnu_tar_are_read_in_every_dialect() {
    use std::io::{Seek, SeekFrom, Write};
    let place = Place::new();
    let mut file = fs::File::create(place.at("holes")).unwrap();
    for at in [70_000, 500_000] {
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(b"data in the middle").unwrap();
    }
    file.set_len(1_000_000).unwrap();
    drop(file);
    place.write("after", "comes after");
    let content = fs::read(place.at("holes")).unwrap();
    for version in ["0.0", "0.1", "1.0", "gnu"] {
        let (format, version) = match version {
            "gnu" => ("--format=gnu".to_owned(), "--sparse-version=1.0".to_owned()),
            _ => ("--format=posix".to_owned(), format!("--sparse-version={version}")),
        };
        let archive = "a.tar";
        let arguments = [&format, "--sparse", &version, "-cf", archive, "holes", "after"];
        if place.run("tar", &arguments).is_none() {
            return;
        }
        let listing = place.list(archive).unwrap();
        let listed: Vec<_> = listing.members.iter().map(|m| (m.display_name(), m.size)).collect();
        let expected = [("holes".to_owned(), Some(1_000_000)), ("after".to_owned(), Some(11))];
        assert_eq!(listed, expected, "{format} {version}");
        let out = place.unpack(archive, "out").unwrap();
        assert_eq!((out.files, out.bytes), (2, 1_000_011), "{format} {version}");
        assert!(fs::read(place.at("out/holes")).unwrap() == content, "{format} {version}");
        assert_eq!(fs::read_to_string(place.at("out/after")).unwrap(), "comes after");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn what_was_packed_from_a_pipe_is_a_file() {
    let place = Place::new();
    place.python(
        "import zipfile, stat\nz = zipfile.ZipFile('a.zip', 'w')\ni = zipfile.ZipInfo('-')\n\
         i.create_system = 3\ni.external_attr = (stat.S_IFIFO | 0o600) << 16\n\
         z.writestr(i, 'v')\nz.close()",
    );
    let out = place.unpack("a.zip", "out").unwrap();
    assert!(out.skipped.is_empty(), "{:?}", out.skipped);
    assert_eq!(fs::read_to_string(place.at("out/-")).unwrap(), "v");
}

#[test]
fn a_line_feed_in_a_pax_record_belongs_to_it() {
    let place = Place::new();
    place.write("in/é\nb", "hi\n");
    place.write("in/\n", "only");
    place.write(format!("in/{}\n{}", "x".repeat(120), "ü".repeat(60)), "long");
    std::os::unix::fs::symlink("é\nb", place.at("in/link\nü")).unwrap();
    fs::hard_link(place.at("in/é\nb"), place.at("in/z\nü")).unwrap();
    place.write("in/zz", "after");
    let archives =
        [("a.tar", "--no-auto-compress"), ("a.tar.gz", "--gzip"), ("a.tar.zst", "--zstd")];
    for (archive, compression) in archives {
        let arguments = [compression, "--format=pax", "-C", "in", "-cf", archive, "."];
        if place.run("tar", &arguments).is_none() {
            return;
        }
        let names: Vec<String> = place
            .list(archive)
            .unwrap()
            .members
            .iter()
            .map(hermes_archives::ArchiveMember::display_name)
            .collect();
        assert!(names.contains(&"./é\nb".to_owned()), "{names:?}");
        let out = place.unpack(archive, "out").unwrap();
        assert!(out.skipped.is_empty(), "{archive}: {:?}", out.skipped);
        assert_eq!(place.tree("out"), place.tree("in"), "{archive}");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn a_file_with_holes_and_a_line_feed_in_its_name_is_read() {
    use std::io::{Seek, SeekFrom, Write};
    let place = Place::new();
    let name = "hö\nles";
    let mut file = fs::File::create(place.at(name)).unwrap();
    file.seek(SeekFrom::Start(300_000)).unwrap();
    file.write_all(b"data").unwrap();
    file.set_len(600_000).unwrap();
    drop(file);
    for version in ["0.0", "0.1", "1.0"] {
        let version = format!("--sparse-version={version}");
        let arguments = ["--format=posix", "--sparse", &version, "-cf", "a.tar", name];
        if place.run("tar", &arguments).is_none() {
            return;
        }
        let listing = place.list("a.tar").unwrap();
        let listed: Vec<_> = listing.members.iter().map(|m| (m.display_name(), m.size)).collect();
        assert_eq!(listed, [(name.to_owned(), Some(600_000))], "{version}");
        place.unpack("a.tar", "out").unwrap();
        let same =
            fs::read(place.at("out").join(name)).unwrap() == fs::read(place.at(name)).unwrap();
        assert!(same, "{version}");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn what_pax_headers_say_counts_more_than_the_plain_ones() {
    let place = Place::new();
    place.python(
        "
import tarfile, io
t = tarfile.open('a.tar', 'w', format=tarfile.PAX_FORMAT, pax_headers={'comment': 'a\\nb', 'mtime': '1000000000.25'})
def add(name, content, **said):
    i = tarfile.TarInfo(name); i.size = len(content); i.pax_headers = said
    t.addfile(i, io.BytesIO(content))
add('plain', b'1')
add('other', b'22', path='said\\nso', mtime='1500000000.5')
add('sized', b'333', size='3', comment='x' * 2000 + '\\n')
t.close()
",
    );
    let listing = place.list("a.tar").unwrap();
    let shown = |m: &hermes_archives::ArchiveMember| {
        let since = m.modified.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        (m.display_name(), m.size.unwrap(), since.as_millis())
    };
    let shown: Vec<_> = listing.members.iter().map(shown).collect();
    let expected = [
        ("plain".to_owned(), 1, 1_000_000_000_250),
        ("said\nso".to_owned(), 2, 1_500_000_000_500),
        ("sized".to_owned(), 3, 1_000_000_000_250),
    ];
    assert_eq!(shown, expected);
    place.unpack("a.tar", "out").unwrap();
    assert_eq!(fs::read(place.at("out/said\nso")).unwrap(), b"22");
    assert_eq!(fs::read(place.at("out/sized")).unwrap(), b"333");
}
