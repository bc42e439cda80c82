use super::*;

fn aliases(text: &str) -> MountAliases {
    MountAliases::from_mountinfo(text.as_bytes(), |_, _| true)
}

fn others(text: &str, path: &str) -> Vec<PathBuf> {
    aliases(text).other_paths(Path::new(path)).collect()
}

const PLAIN: &str = "22 27 0:21 / /proc rw - proc proc rw\n\
                     27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                     30 27 254:1 / /home rw - ext4 /dev/vdb rw\n";

#[test]
fn most_machines_mount_nothing_twice() {
    assert!(aliases(PLAIN).0.is_empty());
    assert!(others(PLAIN, "/home/me/.aws/credentials").is_empty());
}

#[test]
fn a_folder_that_is_mounted_again_is_both() {
    let text = format!("{PLAIN}40 27 254:1 /me/.aws /srv/a\\040b rw - ext4 /dev/vdb rw\n");
    assert_eq!(others(&text, "/srv/a b/credentials"), [Path::new("/home/me/.aws/credentials")]);
    assert_eq!(others(&text, "/home/me/.aws"), [Path::new("/srv/a b")]);
    assert!(others(&text, "/home/me/.awsome").is_empty());
}

#[test]
fn what_lies_over_itself_is_one() {
    let text = format!("{PLAIN}40 30 254:1 /me /home/me rw - ext4 /dev/vdb rw\n");
    assert!(others(&text, "/home/me/x").is_empty());
    let gone = format!("{PLAIN}40 27 254:1 /me /srv rw - ext4 /dev/vdb rw\n");
    assert!(MountAliases::from_mountinfo(gone.as_bytes(), |_, _| false).0.is_empty());
}
