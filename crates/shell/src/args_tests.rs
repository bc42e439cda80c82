use super::CommandArgs;
use crate::FindingLevel;
use crate::corpus_tests::{findings, look};
use crate::leaf::ShellWord;

fn words(texts: &[&str]) -> Vec<ShellWord> {
    texts.iter().map(|text| ShellWord::literal(*text)).collect()
}

#[test]
fn options_and_operands() {
    let words = words(&["-rf", "a", "-o", "out", "-Cdir", "--long=x", "--other", "y", "--", "-z"]);
    let args = CommandArgs::parse(&words, &["-o", "-C", "--other"]);
    assert!(args.has(&["-r"]) && args.has(&["-f"]) && !args.has(&["-z"]));
    assert_eq!(args.value(&["-o"]).map(|word| word.text).as_deref(), Some("out"));
    assert_eq!(args.value(&["-C"]).map(|word| word.text).as_deref(), Some("dir"));
    assert_eq!(args.value(&["--long"]).map(|word| word.text).as_deref(), Some("x"));
    assert_eq!(args.value(&["--other"]).map(|word| word.text).as_deref(), Some("y"));
    assert_eq!((args.operand(0), args.operand(1), args.operand(2)), ("a", "-z", ""));
}

#[test]
fn long_options_may_be_cut_short() {
    assert!(CommandArgs::parse(&words(&["--recurs"]), &[]).has(&["--recursive"]));
    assert!(!CommandArgs::parse(&words(&["--force-with-lease"]), &[]).has(&["--force"]));
}

#[test]
fn a_long_option_that_is_cut_short_takes_its_value() {
    let words = words(&["--upload-f", "a", "--head", "b", "--header=c"]);
    let valued = ["--upload-file", "--header"];
    let args = CommandArgs::parse_abbreviated(&words, &valued, &["--head"]);
    assert_eq!(args.value(&["--upload-file"]).map(|word| word.text).as_deref(), Some("a"));
    assert_eq!(args.value(&["--header"]).map(|word| word.text).as_deref(), Some("c"));
    assert_eq!((args.operand(0), args.operand(1)), ("b", ""));
}

#[test]
fn operands_are_the_same_side_by_side_or_apart() {
    let texts = |args: &CommandArgs<'_>| -> Vec<String> {
        args.operands.iter().map(|word| word.text.clone()).collect()
    };
    for (given, expected) in [
        (&["a", "b", "c"][..], &["a", "b", "c"][..]),
        (&["-x", "a", "b"], &["a", "b"]),
        (&["a", "-x", "b"], &["a", "b"]),
        (&["a", "-x", "b", "--", "-c", "d"], &["a", "b", "-c", "d"]),
        (&["a", "--", "b"], &["a", "b"]),
        (&["--", "b", "c"], &["b", "c"]),
        (&["a", "-o", "v", "b", "-", "c"], &["a", "b", "-", "c"]),
        (&["--"], &[]),
    ] {
        assert_eq!(texts(&CommandArgs::parse(&words(given), &["-o"])), expected, "{given:?}");
    }
}

#[test]
fn an_option_value_is_no_request_for_help() {
    for source in [
        "mkfs.ext4 -L -h /dev/sda1",
        "mkfs.ext4 -L --help /dev/sda1",
        "mkfs -V -t ext4 /dev/sda1",
        "mkfs.vfat -h 0 /dev/sda1",
        "mkswap -L -V /dev/sda1",
        "sgdisk --version -Z /dev/sda",
        "sgdisk -h 1 -Z /dev/sda",
        "shutdown -h",
        "shutdown -t --help now",
        "shutdown -- now --help",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
    for source in [
        "useradd -c -h bob",
        "iptables -A INPUT -m comment --comment --help -j DROP",
        "ngrok http -h 80",
        "cloudflared tunnel --name --help --url http://localhost:80",
        "http-server -p 80 -V",
        "fsck -V",
        "telnetd -h",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Ask), "{source}");
    }
    for source in [
        "mkfs --help",
        "mkfs.ext4 -V",
        "sgdisk --help",
        "useradd --help",
        "iptables -V",
        "iptables -h",
        "ngrok --help",
        "cloudflared -h",
        "shutdown --help",
        "shutdown -c",
        "shutdown --no-wall -c",
        "du -h",
        "ls -h",
    ] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn a_help_option_counts_only_where_the_program_sees_it() {
    for source in [
        "git push --force origin main -o --help",
        "git clean -fdx -e --help",
        "git checkout -- . --orphan",
        "git checkout -- --help",
        "aws ec2 terminate-instances --instance-ids i-1 --profile --help",
        "pkill -l node",
        "pkill -u -V node",
        "serve status",
        "ngrok --config help http 80",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Ask), "{source}");
    }
    for source in [
        "git push --help",
        "git clean --help",
        "git checkout --help",
        "gh pr merge --help",
        "gh help",
        "aws --version",
        "killall -l",
        "pkill --help",
    ] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
    let tunnel = |source: &str| findings(source).contains(&"Ask tunnel".to_owned());
    assert!(tunnel("ngrok http 80") && tunnel("npx localtunnel -p 80"));
    assert!(!tunnel("ngrok http --help") && !tunnel("npx localtunnel --help"));
}
