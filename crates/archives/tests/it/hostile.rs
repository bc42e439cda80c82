//! Archives that escape the target, exceed the limits or are broken.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_archives::UnpackConflictPolicy;
use hermes_core::ErrorKind;

use crate::harness::Place;

/// A hand-made entry: name, type, link target, content.
type Entry<'a> = (&'a [u8], u8, &'a str, &'a [u8]);

/// A tar archive of these entries.
fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, target, content) in entries {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name);
        header[100..108].copy_from_slice(b"0006755\0");
        header[108..116].copy_from_slice(b"0000000\0");
        header[116..124].copy_from_slice(b"0000000\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[156] = *kind;
        header[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

const FILE: u8 = b'0';
const HARD: u8 = b'1';
const SOFT: u8 = b'2';
const FOLDER: u8 = b'5';

/// A directory with a file next to the target that must not change.
fn place() -> Place {
    let place = Place::new();
    place.write("victim", "untouched");
    place
}

fn assert_untouched(place: &Place, expected: &[&str]) {
    assert_eq!(fs::read_to_string(place.at("victim")).unwrap(), "untouched");
    assert_eq!(place.names(), expected);
}

#[test]
fn names_that_lead_out_are_refused_as_a_whole() {
    for name in ["../victim", "a/../../victim", "/tmp/hermes-evil", "..\\victim", "C:\\x", "C:/x"] {
        let place = place();
        place.write(
            "a.tar",
            tar(&[(b"good", FILE, "", b"x"), (name.as_bytes(), FILE, "", b"evil")]),
        );
        let refused = place.unpack("a.tar", "out").expect_err(name);
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        assert_untouched(&place, &["a.tar", "victim"]);
    }
    assert!(!fs::exists("/tmp/hermes-evil").unwrap());
}

#[test]
fn names_in_zips_that_lead_out_are_refused() {
    const NAMES: [&str; 5] = ["../victim", "/abs", "a/../../victim", "..\\victim", "C:/x"];
    let made = place();
    made.python(&format!(
        "import zipfile\nfor at, name in enumerate({NAMES:?}):\n z = zipfile.ZipFile(f'{{at}}.zip', 'w')\n z.writestr('good', 'x')\n i = zipfile.ZipInfo('x')\n i.filename = name\n z.writestr(i, 'evil')\n z.close()"
    ));
    for (at, name) in NAMES.into_iter().enumerate() {
        let place = place();
        std::fs::copy(made.at(format!("{at}.zip")), place.at("a.zip")).unwrap();
        let refused = place.unpack("a.zip", "out").expect_err(name);
        assert_eq!(refused.kind(), ErrorKind::Denied, "{name}: {refused}");
        assert_untouched(&place, &["a.zip", "victim"]);
    }
}

#[test]
fn sevens_that_lead_out_are_refused_or_told() {
    use sevenz_rust2::{ArchiveEntry, ArchiveWriter};
    for name in ["../victim", "/abs", "a/../../victim", "..\\victim", "C:/x"] {
        let place = place();
        let mut writer = ArchiveWriter::create(place.at("a.7z")).unwrap();
        for name in ["good", name] {
            writer.push_archive_entry(ArchiveEntry::new_file(name), Some(&b"evil"[..])).unwrap();
        }
        writer.finish().unwrap();
        let refused = place.unpack("a.7z", "out").expect_err(name);
        assert_eq!(refused.kind(), ErrorKind::Denied, "{name}: {refused}");
        assert_untouched(&place, &["a.7z", "victim"]);
    }
    let place = place();
    let mut writer = ArchiveWriter::create(place.at("a.7z")).unwrap();
    let mut link = ArchiveEntry::new_file("link");
    link.has_windows_attributes = true;
    link.windows_attributes = (0o120_777 << 16) | 0x8000;
    writer.push_archive_entry(link, Some(&b"../victim"[..])).unwrap();
    writer.finish().unwrap();
    let out = place.unpack("a.7z", "out").unwrap();
    assert_eq!((out.links, out.skipped.len()), (0, 1), "{:?}", out.skipped);
}

#[test]
fn an_unsafe_entry_can_be_left_out() {
    let place = place();
    place.write("a.tar", tar(&[(b"good", FILE, "", b"x"), (b"../victim", FILE, "", b"evil")]));
    let choice = hermes_archives::GlobFilter::new(&[], &["..".to_owned()]).unwrap();
    place
        .unpack_with("a.tar", "out", |unpacking| unpacking.choice = Box::leak(Box::new(choice)))
        .unwrap();
    assert_eq!(fs::read_to_string(place.at("out/good")).unwrap(), "x");
    assert_untouched(&place, &["a.tar", "out", "victim"]);
}

#[test]
fn links_that_lead_out_are_left_out_and_told() {
    let place = place();
    let entries: &[Entry<'_>] = &[
        (b"up", SOFT, "..", b""),
        (b"abs", SOFT, "/etc/passwd", b""),
        (b"d/up2", SOFT, "../../victim", b""),
        (b"winding", SOFT, "d/../../victim", b""),
        (b"fine", SOFT, "d/file", b""),
        (b"d/file", FILE, "", b"x"),
        (b"dev", b'3', "", b""),
        (b"pipe", b'6', "", b""),
    ];
    place.write("a.tar", tar(entries));
    let out = place.unpack("a.tar", "out").unwrap();
    assert_eq!((out.files, out.links, out.skipped.len()), (1, 1, 6), "{:?}", out.skipped);
    assert_eq!(fs::read_to_string(place.at("out/fine")).unwrap(), "x");
    assert!(fs::symlink_metadata(place.at("out/up")).is_err());
    assert_untouched(&place, &["a.tar", "out", "victim"]);
}

#[test]
fn nothing_is_written_through_a_link_of_the_archive() {
    let cases: &[&[Entry<'_>]] = &[
        &[(b"l", SOFT, "d", b""), (b"d", FOLDER, "", b""), (b"l/x", FILE, "", b"evil")],
        &[(b"l", SOFT, "..", b""), (b"l/victim", FILE, "", b"evil")],
        &[(b"l", SOFT, "/tmp", b""), (b"l/hermes-evil", FILE, "", b"evil")],
        &[(b"l/x", FILE, "", b"evil"), (b"l", SOFT, "/tmp", b"")],
        &[(b"x", SOFT, "y", b""), (b"x", FILE, "", b"evil")],
        &[(b"x", SOFT, "/y", b""), (b"x", FILE, "", b"evil")],
    ];
    for entries in cases {
        let place = place();
        place.write("a.tar", tar(entries));
        let refused = place.unpack("a.tar", "out").expect_err("through a link");
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        assert_untouched(&place, &["a.tar", "victim"]);
        assert!(!fs::exists("/tmp/hermes-evil").unwrap());
    }
}

#[test]
fn hard_links_reach_only_what_came_from_the_archive() {
    for (target, kind) in [
        ("../victim", Some(ErrorKind::Denied)),
        ("victim", None),
        ("/etc/passwd", Some(ErrorKind::Denied)),
    ] {
        let place = place();
        place.write("out/victim", "inside");
        place.write(
            "a.tar",
            tar(&[(b"x", HARD, target, b""), (b"y", FILE, "", b"y"), (b"z", HARD, "y", b"")]),
        );
        match place.unpack("a.tar", "out") {
            Err(error) => assert_eq!(Some(error.kind()), kind, "{target}: {error}"),
            Ok(out) => {
                assert_eq!((kind, out.skipped.len()), (None, 1), "{target}: {:?}", out.skipped);
                assert_eq!(fs::read_to_string(place.at("out/z")).unwrap(), "y");
                assert!(!fs::exists(place.at("out/x")).unwrap());
            }
        }
        assert_eq!(fs::read_to_string(place.at("out/victim")).unwrap(), "inside");
    }
}

#[test]
fn links_that_are_in_the_target_already_are_not_followed() {
    for existing in [
        UnpackConflictPolicy::Refuse,
        UnpackConflictPolicy::Overwrite,
        UnpackConflictPolicy::Skip,
        UnpackConflictPolicy::Rename,
    ] {
        let place = place();
        fs::create_dir(place.at("out")).unwrap();
        fs::create_dir(place.at("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", place.at("out/d")).unwrap();
        place.write("a.tar", tar(&[(b"d/x", FILE, "", b"evil")]));
        let refused =
            place.unpack_with("a.tar", "out", |u| u.existing = existing).expect_err("a link");
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        assert!(fs::read_dir(place.at("elsewhere")).unwrap().next().is_none());
        assert_eq!(fs::read_dir(place.at("out")).unwrap().count(), 1);
    }
}

#[test]
fn a_link_in_the_target_is_replaced_and_not_written_through() {
    let place = place();
    fs::create_dir(place.at("out")).unwrap();
    std::os::unix::fs::symlink("../victim", place.at("out/x")).unwrap();
    place.write("a.tar", tar(&[(b"x", FILE, "", b"new")]));
    place.unpack_with("a.tar", "out", |u| u.existing = UnpackConflictPolicy::Overwrite).unwrap();
    assert_eq!(fs::read_to_string(place.at("out/x")).unwrap(), "new");
    assert!(!fs::symlink_metadata(place.at("out/x")).unwrap().is_symlink());
    assert_untouched(&place, &["a.tar", "out", "victim"]);
}

#[test]
fn nobody_runs_as_somebody_else() {
    let place = place();
    place.write("a.tar", tar(&[(b"d", FOLDER, "", b""), (b"d/suid", FILE, "", b"x")]));
    let out = place.unpack("a.tar", "out").unwrap();
    assert_eq!((out.not_kept[0].first.as_path(), out.not_kept[0].count), (Path::new("d"), 2));
    for path in ["out/d", "out/d/suid"] {
        let mode = fs::metadata(place.at(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7000, 0, "{path}: {mode:o}");
    }
}

#[test]
fn nobody_runs_as_somebody_else_from_a_zip_or_a_seven() {
    let place = place();
    // Data before the archive, as in a self-extracting one.
    place.python(
        "
import io, zipfile
out = io.BytesIO()
z = zipfile.ZipFile(out, 'w')
for name, system, mode in (('d/', 3, 0o42755), ('a', 3, 0o104755), ('b', 3, 0o100755), ('c', 0, 0o104755)):
    i = zipfile.ZipInfo(name); i.create_system = system; i.external_attr = mode << 16
    z.writestr(i, '' if name == 'd/' else '1')
z.close()
open('a.zip', 'wb').write(out.getvalue())
open('b.zip', 'wb').write(b'#!/bin/sh\\n' + out.getvalue())
",
    );
    let mut writer = sevenz_rust2::ArchiveWriter::create(place.at("a.7z")).unwrap();
    for (name, mode) in [("a", 0o104_755), ("b", 0o100_755)] {
        let mut entry = sevenz_rust2::ArchiveEntry::new_file(name);
        entry.has_windows_attributes = true;
        entry.windows_attributes = (mode << 16) | 0x8000;
        writer.push_archive_entry(entry, Some(&b"1"[..])).unwrap();
    }
    writer.finish().unwrap();
    for (archive, count) in [("a.zip", 2), ("b.zip", 2), ("a.7z", 1)] {
        let out = place.unpack(archive, "out").unwrap();
        let shown: Vec<_> = out.not_kept.iter().map(|not_kept| not_kept.count).collect();
        assert_eq!(shown, [count], "{archive}");
        assert!(out.not_kept[0].what.contains("set-user-ID"));
        let mode = fs::metadata(place.at("out/a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{archive}");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn the_last_of_several_files_of_one_name_counts() {
    let place = place();
    let entries: &[Entry<'_>] = &[
        (b"x", FILE, "", b"first"),
        (b"other", FILE, "", b"1"),
        (b"twin", HARD, "x", b""),
        (b"./x", FILE, "", b"2"),
        (b"l", SOFT, "other", b""),
        (b"l", SOFT, "x", b""),
    ];
    place.write("a.tar", tar(entries));
    let out = place.unpack("a.tar", "out").unwrap();
    assert_eq!((out.files, out.links, out.bytes), (2, 2, 2));
    let left_out: Vec<&str> =
        out.skipped.iter().map(|skipped| skipped.path.to_str().unwrap()).collect();
    assert_eq!(left_out, ["./x", "l"]);
    assert_eq!(fs::read(place.at("out/x")).unwrap(), b"2");
    assert_eq!(fs::read(place.at("out/twin")).unwrap(), b"first");
    assert_eq!(fs::read_link(place.at("out/l")).unwrap().to_str(), Some("x"));
}

#[test]
fn the_last_of_several_files_of_one_name_in_a_zip_counts() {
    let place = place();
    place.python(
        "
import warnings, zipfile
warnings.simplefilter('ignore')
z = zipfile.ZipFile('a.zip', 'w')
for content in ('first', 'second', 'third'): z.writestr('x', content)
z.writestr('y', '1')
z.close()
",
    );
    let out = place.unpack("a.zip", "out").unwrap();
    assert_eq!((out.files, out.bytes), (2, 6));
    assert_eq!(fs::read(place.at("out/x")).unwrap(), b"third");
    let listing = place.list("a.zip").unwrap();
    assert_eq!((listing.total, listing.bytes), (2, 6));
    for skipped in [&out.skipped, &listing.skipped] {
        let shown: Vec<_> = skipped.iter().map(|s| (s.path.to_str(), s.reason.as_str())).collect();
        assert_eq!(shown, [(Some("x"), "a later entry has the same name"); 2]);
    }
}

#[test]
fn two_entries_of_one_name_and_of_different_kinds_are_refused() {
    let cases: &[&[Entry<'_>]] = &[
        &[(b"x", FILE, "", b"1"), (b"x/y", FILE, "", b"2")],
        &[(b"x/y", FILE, "", b"1"), (b"x", FILE, "", b"2")],
        &[(b"x", FILE, "", b"1"), (b"x", SOFT, "y", b"")],
        &[(b"x", SOFT, "y", b""), (b"x", FILE, "", b"1")],
    ];
    for entries in cases {
        let place = place();
        place.write("a.tar", tar(entries));
        let refused = place.unpack("a.tar", "out").expect_err("twice");
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        let is_mixed = entries.iter().any(|(name, ..)| *name == b"x/y");
        assert_eq!(refused.message().contains("a file and a directory"), is_mixed, "{refused}");
        assert_untouched(&place, &["a.tar", "victim"]);
    }
    let place = place();
    // Names that differ only in case are two files here.
    place.write("b.tar", tar(&[(b"readme", FILE, "", b"1"), (b"README", FILE, "", b"2")]));
    assert_eq!(place.unpack("b.tar", "twins").unwrap().files, 2);
}

#[test]
fn a_repository_that_is_there_is_not_written_into() {
    let place = place();
    place.write("out/.git/config", "[core]\n");
    place.write("a.tar", tar(&[(b".git/hooks/post-checkout", FILE, "", b"evil")]));
    let refused = place
        .unpack_with("a.tar", "out", |u| u.existing = UnpackConflictPolicy::Overwrite)
        .expect_err("hooks");
    assert_eq!(refused.details()["rule"], "repository");
    assert!(!fs::exists(place.at("out/.git/hooks")).unwrap());
    // A whole repository in an archive is a backup.
    place.unpack("a.tar", "new").unwrap();
}

#[test]
fn bombs_stop_early_and_leave_nothing() {
    let place = place();
    place.python(
        "
import gzip, tarfile, io, zipfile
class Zeros(io.RawIOBase):
    left = 25 << 20
    def read(self, n=-1):
        n = min(n if n >= 0 else self.left, self.left)
        self.left -= n
        return bytes(n)
with tarfile.open('a.tar.gz', 'w:gz', compresslevel=9) as t:
    i = tarfile.TarInfo('zeros'); i.size = 25 << 20
    t.addfile(i, Zeros())
with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    z.writestr('zeros', bytes(25 << 20))
with gzip.open('a.gz', 'wb', compresslevel=9) as g:
    for _ in range(25): g.write(bytes(1 << 20))
",
    );
    for archive in ["a.tar.gz", "a.zip", "a.gz"] {
        let refused = place.unpack(archive, "out").expect_err(archive);
        assert_eq!(refused.kind(), ErrorKind::Limit, "{archive}: {refused}");
        assert!(refused.hint().contains("max_ratio"), "{refused:?}");
        let refused = place.unpack_with(archive, "out", |u| {
            u.limits.ratio = u64::MAX;
            u.limits.bytes = 20 << 20;
        });
        assert!(refused.expect_err(archive).hint().contains("max_bytes"));
        assert_untouched(&place, &["a.gz", "a.tar.gz", "a.zip", "victim"]);
    }
    let allowed = place.unpack_with("a.zip", "out", |u| u.limits.ratio = 5000).unwrap();
    assert_eq!(allowed.bytes, 25 << 20);
}

#[test]
fn headers_that_claim_to_be_endless_do_not_fill_the_memory() {
    let place = place();
    place.python(
        "
import gzip
def header(name, kind, size):
    h = bytearray(512)
    h[0:len(name)] = name; h[100:108] = b'0000644\\0'; h[124:136] = b'%011o\\0' % size
    h[156:157] = kind; h[257:265] = b'ustar  \\0'; h[148:156] = b' ' * 8
    h[148:156] = b'%06o\\0 ' % sum(h)
    return bytes(h)
with gzip.open('a.tar.gz', 'wb') as g:
    g.write(header(b'././@LongLink', b'L', 20 << 20))
    for _ in range(20): g.write(b'a' * (1 << 20))
    g.write(header(b'x', b'0', 0)); g.write(bytes(1024))
",
    );
    let refused = place.unpack("a.tar.gz", "out").expect_err("too long");
    assert_eq!(refused.kind(), ErrorKind::Limit, "{refused}");
    assert_eq!(place.list("a.tar.gz").expect_err("too long").kind(), ErrorKind::Limit);
}

#[test]
fn entries_are_counted() {
    let place = place();
    place.python("import zipfile\nz = zipfile.ZipFile('a.zip', 'w')\n[z.writestr(str(i), '') for i in range(50)]\nz.close()");
    let refused =
        place.unpack_with("a.zip", "out", |u| u.limits.entries = 49).expect_err("too many");
    assert_eq!(refused.kind(), ErrorKind::Limit);
    assert_untouched(&place, &["a.zip", "victim"]);
}

#[test]
fn zips_whose_entries_share_bytes_are_refused() {
    let place = place();
    place.python(
        "
import zipfile, struct
z = zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED)
z.writestr('a', bytes(100000)); z.writestr('b', bytes(100000))
z.close()
data = bytearray(open('a.zip', 'rb').read())
first = data.find(b'PK\\x01\\x02'); second = data.find(b'PK\\x01\\x02', first + 4)
struct.pack_into('<I', data, second + 42, 0)
local = data.rfind(b'PK\\x03\\x04')
open('a.zip', 'wb').write(data)
",
    );
    let refused = place.unpack("a.zip", "out").expect_err("overlap");
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    assert_untouched(&place, &["a.zip", "victim"]);
}

#[test]
fn broken_archives_are_told_and_leave_nothing() {
    for archive in ["a.zip", "a.tar", "a.tar.gz", "a.tar.zst", "a.7z", "a.gz", "a.zst"] {
        let place = place();
        let noise: Vec<u8> =
            (0..40_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        place.write("in/noise", &noise);
        place.write("in/more", "more");
        let format = hermes_archives::ArchiveFormat::from_name(archive.as_ref()).unwrap();
        let (from, name) = if format.is_single() { ("in/noise", "noise") } else { ("in", "in") };
        place.pack_as(from, name, archive, format, &hermes_archives::GlobFilter::all()).unwrap();
        let whole = fs::read(place.at(archive)).unwrap();
        for cut in [whole.len() / 2, whole.len() - 1030.min(whole.len() / 3)] {
            if format == hermes_archives::ArchiveFormat::Tar && cut > whole.len() / 2 {
                // Only the padding is cut off; a cut between entries has its own test.
                continue;
            }
            fs::write(place.at(archive), &whole[..cut]).unwrap();
            let error = place.unpack(archive, "out").expect_err(archive);
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidArguments,
                "{archive} cut at {cut}: {error}"
            );
            assert_untouched(&place, &[archive, "in", "victim"]);
        }
        // A changed content byte is detected by formats with a checksum.
        if format != hermes_archives::ArchiveFormat::Tar {
            let mut changed = whole.clone();
            let at = whole.len() / 2;
            changed[at] ^= 0x55;
            fs::write(place.at(archive), &changed).unwrap();
            place.unpack(archive, "out").expect_err(archive);
            assert_untouched(&place, &[archive, "in", "victim"]);
        }
    }
}

#[test]
fn sizes_in_headers_are_not_believed() {
    let place = place();
    place.python(
        "
import zipfile, struct
z = zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED)
z.writestr('a', bytes(2000000))
z.close()
data = bytearray(open('a.zip', 'rb').read())
central = data.find(b'PK\\x01\\x02')
struct.pack_into('<I', data, central + 24, 10)
struct.pack_into('<I', data, 22, 10)
open('a.zip', 'wb').write(data)
",
    );
    // Any reading yields at most the packed content, or an error.
    match place.unpack_with("a.zip", "out", |u| u.limits.bytes = 100_000) {
        Ok(out) => assert!(out.bytes <= 100_000),
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    }
    let mut long = tar(&[(b"x", FILE, "", b"short")]);
    long[124..136].copy_from_slice(b"77777777777\0");
    long[148..156].fill(b' ');
    let sum: u32 = long[..512].iter().map(|&byte| u32::from(byte)).sum();
    long[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    place.write("b.tar", long);
    assert_eq!(place.unpack("b.tar", "out2").expect_err("cut").kind(), ErrorKind::InvalidArguments);
    assert_eq!(place.list("b.tar").expect_err("cut").kind(), ErrorKind::InvalidArguments);
}

#[test]
fn encrypted_entries_are_listed_and_not_unpacked() {
    let place = place();
    place.python(
        "
import zipfile, struct
z = zipfile.ZipFile('a.zip', 'w')
z.writestr('secret', b'0123456789abcdef')
z.close()
data = bytearray(open('a.zip', 'rb').read())
central = data.find(b'PK\\x01\\x02')
data[6] |= 1; data[central + 8] |= 1
open('a.zip', 'wb').write(data)
",
    );
    let listing = place.list("a.zip").unwrap();
    assert!(listing.encrypted && listing.members[0].encrypted);
    let refused = place.unpack("a.zip", "out").expect_err("encrypted");
    assert_eq!(refused.details()["encrypted"], true);
    assert_untouched(&place, &["a.zip", "victim"]);
}

#[test]
fn noise_after_a_signature_is_an_error_and_no_panic() {
    let place = place();
    let mut seed = 1_u32;
    for round in 0..300 {
        let mut bytes = match round % 6 {
            0 => b"PK\x03\x04".to_vec(),
            1 => b"7z\xBC\xAF\x27\x1C\0\x04".to_vec(),
            2 => b"\x1F\x8B\x08\0".to_vec(),
            3 => b"\x28\xB5\x2F\xFD".to_vec(),
            4 => b"PK\x05\x06".to_vec(),
            _ => tar(&[(b"x", b'x', "", b"20 path=abcdefghijk\n")])[..600].to_vec(),
        };
        for _ in 0..(round * 7 % 400) {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((seed >> 24) as u8);
        }
        fs::File::create(place.at("a")).unwrap().write_all(&bytes).unwrap();
        let _ = place.list("a");
        let _ = place.unpack("a", "out");
        let _ = fs::remove_dir_all(place.at("out"));
    }
    assert_untouched(&place, &["a", "victim"]);
}

#[test]
fn a_tar_that_is_cut_between_two_entries_is_damaged() {
    let place = place();
    let whole = tar(&[(b"one", FILE, "", b"1"), (b"two", FILE, "", b"2")]);
    for cut in [1024, 2048] {
        place.write("a.tar", &whole[..cut]);
        for refused in [place.unpack("a.tar", "out").err(), place.list("a.tar").err()] {
            let refused = refused.expect("cut");
            assert_eq!(refused.details()["damaged"], true, "{refused}");
            assert!(refused.message().contains("end-of-archive marker is missing"), "{refused}");
        }
        assert_untouched(&place, &["a.tar", "victim"]);
    }
    // One zero block is enough.
    place.write("a.tar", &whole[..2048 + 512]);
    assert_eq!(place.unpack("a.tar", "out").unwrap().files, 2);
    assert_eq!(place.list("a.tar").unwrap().files, 2);
}

#[test]
fn what_follows_gzip_data_is_told() {
    use flate2::{Compression, write::GzEncoder};
    let place = place();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"content").unwrap();
    let gzip = gzip.finish().unwrap();
    for junk in [&b"x"[..], b"junk that is longer than a header", b"\0\0\0x"] {
        place.write("a.gz", [&gzip[..], junk].concat());
        let refused = place.unpack("a.gz", "out").expect_err("junk");
        assert!(refused.message().contains("trailing data"), "{refused}");
    }
    for (more, len) in [(&b""[..], 7), (b"\0\0\0", 7), (&gzip, 14)] {
        place.write("a.gz", [&gzip[..], more].concat());
        let out = place
            .unpack_with("a.gz", "out", |u| u.existing = UnpackConflictPolicy::Overwrite)
            .unwrap();
        assert_eq!(out.bytes, len);
    }
}

#[test]
fn holes_that_contradict_one_another_are_damage() {
    let pax = |records: &[(&str, &str)]| -> Vec<u8> {
        let record = |(key, value): &(&str, &str)| {
            let rest = format!(" {key}={value}\n");
            let len = (1..).find(|len: &usize| len.to_string().len() + rest.len() == *len);
            format!("{}{rest}", len.unwrap())
        };
        records.iter().map(record).collect::<String>().into_bytes()
    };
    let one = ("GNU.sparse.major", "1");
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8]);
    let cases: [Case<'_>; 7] = [
        (&[("GNU.sparse.map", "0,1")], b"x"),
        (&[("GNU.sparse.map", "0,1,2"), ("GNU.sparse.size", "10")], b"x"),
        (&[("GNU.sparse.map", "5,1,0,1"), ("GNU.sparse.size", "10")], b"xy"),
        (&[("GNU.sparse.map", "5,6"), ("GNU.sparse.size", "10")], b"123456"),
        (&[("GNU.sparse.map", "0,9"), ("GNU.sparse.size", "10")], b"123"),
        (&[one, ("GNU.sparse.realsize", "10")], b"no map"),
        (&[("GNU.sparse.major", "2"), ("GNU.sparse.realsize", "10")], b"x"),
    ];
    for (records, content) in cases {
        let place = place();
        let headers = pax(records);
        place.write("a.tar", tar(&[(b"h", b'x', "", &headers), (b"f", FILE, "", content)]));
        let refused = place.unpack("a.tar", "out").expect_err("holes");
        assert_eq!(refused.kind(), ErrorKind::InvalidArguments, "{records:?}: {refused}");
        assert_untouched(&place, &["a.tar", "victim"]);
    }
    let place = place();
    let headers =
        pax(&[("GNU.sparse.size", "8"), ("GNU.sparse.offset", "6"), ("GNU.sparse.numbytes", "2")]);
    place.write("a.tar", tar(&[(b"h", b'x', "", &headers), (b"f", FILE, "", b"ab")]));
    assert_eq!(place.list("a.tar").unwrap().members[0].size, Some(8));
    place.unpack("a.tar", "out").unwrap();
    assert_eq!(fs::read(place.at("out/f")).unwrap(), b"\0\0\0\0\0\0ab");
}
