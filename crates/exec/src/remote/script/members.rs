//! Finds the processes of a job by the mark in their environment. Without
//! `/proc` the mark cannot be read, and they are found by parent and process
//! group.
//!
//! Each script is one line, since some shells that forward it cannot pass line
//! breaks.

use crate::tree::JOB_VARIABLE;

/// Defines `m`, which prints the ids of all processes with this mark, of their
/// sessions and of their descendants; `z`, which prints the state of a process;
/// and `y`, which reports whether a process reads its terminal, where the other
/// checks cannot.
pub(super) fn define_members(mark: &str, dir: &str) -> String {
    format!(
        "if [ -r {dir}/self/stat ]; then {}else {}fi; ",
        members_by_mark(mark),
        members_by_parents(mark)
    )
}

fn members_by_mark(mark: &str) -> String {
    // One `head` for all: one process each would take a second on a busy host.
    // Its output can be forged by an environment value, so each match is
    // verified.
    format!(
        "z() {{ s=$(cat /proc/$1/stat 2>/dev/null) && echo \"${{s##*) }}\"; }}; y() {{ return 1; }}; \
         m() {{ f=; t=$(head -c 1000000 /proc/[0-9]*/environ /dev/null 2>/dev/null | \
         tr '\\0' '\\n' | \
         sed -n -e '/^==> .proc.[0-9]*.environ <==$/{{s,[^0-9],,g;h;}}' \
         -e '/^{JOB_VARIABLE}={mark}$/{{x;p;x;}}' -e '/^{JOB_VARIABLE}={mark}[/]/{{x;p;x;}}') || return 1; for p in $t; do \
         tr '\\0' '\\n' 2>/dev/null </proc/$p/environ | \
         grep -q -e '^{JOB_VARIABLE}={mark}$' -e '^{JOB_VARIABLE}={mark}[/]' && f=\"$f $p\"; done; \
         [ -n \"$f\" ] || return 0; t=$(cat /proc/[0-9]*/stat 2>/dev/null); o=; \
         while [ \"$o\" != \"$f\" ]; do o=$f; f=$(printf '%s\\n' \"$t\" | {{ while read -r l; do \
         p=${{l%% *}}; set -- ${{l##*) }}; case \" $f \" in *\" $p \"*) ;; \
         *\" $2 \"*|*\" $4 \"*) f=\"$f $p\";; esac; done; echo \"$f\"; }}); \
         done; for p in $f; do [ $p = $$ ] || echo $p; done; }}; "
    )
}

/// Orphans are found by their process group, which excludes its earlier
/// members: the shells that wait for the job.
fn members_by_parents(mark: &str) -> String {
    let file = record_file(mark);
    format!(
        "z() {{ ps -o stat= -p $1 2>/dev/null; }}; \
         y() {{ case $(ps -o stat= -o wchan= -p $1 2>/dev/null) in *+*' 'tty*) return 0;; esac; return 1; }}; \
         m() {{ read -r r g o 2>/dev/null <{file} || return 0; \
         t=$(ps -A -o pid= -o ppid= -o pgid=) || return 1; f=\" $r \" n=; \
         while [ \"$n\" != \"$f\" ]; do n=$f; f=$(printf '%s\\n' \"$t\" | {{ while read -r p q h; do \
         case \" $o $f \" in *\" $p \"*) continue;; esac; \
         if [ \"$h\" = \"$g\" ]; then f=\"$f $p \"; continue; fi; \
         case $f in *\" $q \"*|*\" $h \"*) f=\"$f $p \";; esac; done; echo \"$f\"; }}); \
         done; for p in $f; do [ $p != $$ ] && kill -0 $p 2>/dev/null && echo $p; done; return 0; }}; "
    )
}

/// Records, where `/proc` is missing, the first process of the job, its process
/// group and the other members of that group. Deletes records of ended jobs.
pub(super) fn record_job(mark: &str) -> String {
    record_job_in(mark, "/proc")
}

fn record_job_in(mark: &str, dir: &str) -> String {
    let file = record_file(mark);
    format!(
        "[ -r {dir}/self/stat ] || ( umask 077; for f in ${{TMPDIR:-/tmp}}/hermes-job-*; do \
         [ -O \"$f\" ] && read -r p q <\"$f\" && ! kill -0 $p 2>/dev/null && rm -f \"$f\"; done; \
         r=$(exec sh -c 'ps -o ppid= -p $PPID'); r=$((r)); g=$(ps -o pgid= -p $r); g=$((g)); \
         o=$(ps -A -o pid= -o pgid= | while read -r p h; do \
         [ $h = $g ] && [ $p != $r ] && echo $p; done); echo $r $g $o >{file} ) 2>/dev/null"
    )
}

fn record_file(mark: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("${{TMPDIR:-/tmp}}/hermes-job-{}", mark.chars().map(plain).collect::<String>())
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
