//! Finds remote processes by their mark alone.

use std::time::Duration;

use crate::tree::JOB_VARIABLE;

/// Terminates all processes with one of these marks, SIGTERM first and SIGKILL
/// after `grace`, and prints their number.
///
/// Without `/proc`, reads environments from `ps`, which may not show all of
/// them.
pub(crate) fn terminate_script(marks: &[String], grace: Duration) -> String {
    let is_plain = |mark: &&String| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !mark.is_empty() && mark.bytes().all(plain)
    };
    let pattern = |mark: &String| format!("{JOB_VARIABLE}={}($|[/ ])", mark.replace('.', "[.]"));
    let patterns: Vec<String> = marks.iter().filter(is_plain).map(pattern).collect();
    if patterns.is_empty() {
        return "echo 0".to_owned();
    }
    let patterns = patterns.join("|");
    format!(
        "if [ -r /proc/self/environ ]; then a=; for f in /proc/[0-9]*; do \
         tr '\\0' '\\n' 2>/dev/null <$f/environ | grep -qE '^({patterns})' && \
         a=\"$a ${{f#/proc/}}\"; done 2>/dev/null; else {}; fi; {}",
        find_by_ps(&patterns),
        terminate_found(grace)
    )
}

/// Terminates processes with this sign after any mark, as far as `ps` shows it.
pub(crate) fn terminate_all_script(sign: &str, grace: Duration) -> String {
    format!(
        "{}; {}",
        find_by_ps(&format!("{JOB_VARIABLE}=[^/ ]*/{sign}($|[/ ])")),
        terminate_found(grace)
    )
}

/// Terminates the processes in `a`, and prints their number.
fn terminate_found(grace: Duration) -> String {
    let rounds = grace.as_millis().div_ceil(100);
    format!(
        "set -- $a; n=$#; [ $n = 0 ] || {{ kill -TERM $a 2>/dev/null; i=0; \
         while [ $i -lt {rounds} ] && kill -0 $a 2>/dev/null; do \
         sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done; kill -KILL $a 2>/dev/null; }}; echo $n"
    )
}

/// Assigns the ids of processes with a matching environment to `a`.
fn find_by_ps(patterns: &str) -> String {
    format!(
        "a=$({{ ps -axEww -o pid=,command= 2>/dev/null || ps axeww -o pid=,command=; }} | \
         grep -E ' ({patterns})' | grep -v grep | \
         while read -r p l; do [ $p = $$ ] || echo $p; done); a=$(echo $a)"
    )
}

#[cfg(test)]
#[path = "marked_processes_tests.rs"]
mod tests;
