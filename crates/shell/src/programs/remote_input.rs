//! Orders that come from another machine, for programs that follow them.

use crate::eval_context::EffectBuilder;
use crate::leaf::TextTaint;

/// Programs that do what their input says.
const INPUT_FOLLOWING_PROGRAMS: &[&str] = &[
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
fn only_shows(act: &EffectBuilder<'_>) -> bool {
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
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    // `<(curl …)` stands in the command as a file.
    let substituted = act.arguments().iter().any(|word| {
        let file = || word.text.starts_with("/dev/fd/") || word.text.contains("=/dev/fd/");
        word.taint.has(TextTaint::REMOTE) && file()
    });
    if substituted && !only_shows(act) {
        act.check_tainted_code(TextTaint::REMOTE);
    }
    let input = act.context.input;
    let from_elsewhere = input.taint.has(TextTaint::REMOTE) || input.taint.has(TextTaint::DECODED);
    if input.connected && from_elsewhere && INPUT_FOLLOWING_PROGRAMS.contains(&act.program) {
        act.check_tainted_code(input.taint);
    }
}
