//! Commands from another host, passed to programs that execute their input.

use crate::eval_context::EffectBuilder;
use crate::leaf::TextTaint;

/// Programs that execute their input.
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

/// Whether a program only shows, packs or compares its input.
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

/// Adds a finding if a program executes downloaded input.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    // `<(curl …)` appears in the command as a file.
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
