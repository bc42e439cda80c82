use std::io::Write;

use super::*;

fn tar() -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_path("a").expect("short");
    header.set_size(0);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

fn of(head: &[u8], name: &str) -> Result<ArchiveFormat, ToolError> {
    ArchiveFormat::from_content(head, Path::new(name))
}

#[test]
fn content_comes_before_the_name() {
    let zst = |content: &[u8]| zstd::stream::encode_all(content, 1).expect("memory");
    for (head, name, format) in [
        (b"PK\x03\x04....".to_vec(), "x.tar", ArchiveFormat::Zip),
        (b"7z\xBC\xAF\x27\x1C".to_vec(), "x.zip", ArchiveFormat::SevenZip),
        (tar(), "x.zip", ArchiveFormat::Tar),
        (gz(&tar()), "x.zip", ArchiveFormat::TarGz),
        (gz(b"text"), "x.log.gz", ArchiveFormat::Gz),
        (gz(b"text"), "x.gz", ArchiveFormat::Gz),
        (gz(b""), "x.tgz", ArchiveFormat::TarGz),
        (zst(&tar()), "x", ArchiveFormat::TarZst),
        (zst(b"text"), "x", ArchiveFormat::Zst),
        (vec![0; 1024], "empty.tar", ArchiveFormat::Tar),
        (b"#!/bin/sh\n".to_vec(), "self.zip", ArchiveFormat::Zip),
    ] {
        assert_eq!(of(&head, name).expect(name), format, "{name}");
    }
}

#[test]
fn what_is_not_read_is_named() {
    for (head, name, says) in [
        (&b"BZh91AY"[..], "x.tar.bz2", "bzip2"),
        (b"\xFD7zXZ\0\0", "x.tar.xz", "xz"),
        (b"Rar!\x1A\x07\x01", "x.rar", "RAR"),
        (b"hello", "x.tar", "not an archive"),
        (&[0; 1024], "zeros", "not an archive"),
    ] {
        let error = of(head, name).expect_err(name);
        assert!(error.message().contains(says), "{error}");
    }
}

#[test]
fn names_tell_formats() {
    for (name, format) in [
        ("a.tar.gz", Some(ArchiveFormat::TarGz)),
        ("A.TGZ", Some(ArchiveFormat::TarGz)),
        ("a.tar.zst", Some(ArchiveFormat::TarZst)),
        ("a.b.gz", Some(ArchiveFormat::Gz)),
        ("a.7z", Some(ArchiveFormat::SevenZip)),
        ("a.txt", None),
    ] {
        assert_eq!(ArchiveFormat::from_name(Path::new(name)), format, "{name}");
    }
}
