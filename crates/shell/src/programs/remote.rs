//! Orders that come from another machine, for programs that follow them.

use crate::leaf::Taint;
use crate::site::Act;

/// Programs that do what their input says.
const FOLLOWING: &[&str] = &[
    "gdb",
    "lldb",
    "ed",
    "ex",
    "vim",
    "vi",
    "nvim",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "tcc",
    "go",
    "ghc",
    "m4",
    "make",
    "gmake",
    "ninja",
    "cmake",
    "gnuplot",
    "latex",
    "pdflatex",
    "xelatex",
    "lualatex",
    "tex",
    "screen",
    "tmux",
    "sqlplus",
    "ftp",
    "sftp",
    "telnet",
    "dc",
    "java",
    "javac",
    "rustc",
    "as",
    "nasm",
    "ansible-playbook",
    "terraform",
    "docker",
    "podman",
    "kubectl",
    "oc",
    "helm",
    "xdotool",
];

/// Programs that show, pack or compare what they are given.
fn only_shows(act: &Act<'_>) -> bool {
    act.leaf.reads_only
        || matches!(
            act.program,
            "tee"
                | "tar"
                | "unzip"
                | "gzip"
                | "gunzip"
                | "xz"
                | "zstd"
                | "bzip2"
                | "dd"
                | "cp"
                | "sponge"
                | "curl"
                | "wget"
                | "cat"
                | "diff"
                | "grep"
                | "jq"
                | "sort"
                | "base64"
        )
}

/// Asks if a program is given something downloaded that it follows.
pub(super) fn describe(act: &mut Act<'_>) {
    // `<(curl …)` stands in the command as a file.
    let substituted = act.arguments().iter().any(|word| {
        let file = || word.text.starts_with("/dev/fd/") || word.text.contains("=/dev/fd/");
        word.taint.has(Taint::REMOTE) && file()
    });
    if substituted && !only_shows(act) {
        act.tainted_code(Taint::REMOTE);
    }
    let input = act.site.input;
    let from_elsewhere = input.taint.has(Taint::REMOTE) || input.taint.has(Taint::DECODED);
    if input.connected && from_elsewhere && FOLLOWING.contains(&act.program) {
        act.tainted_code(input.taint);
    }
}
