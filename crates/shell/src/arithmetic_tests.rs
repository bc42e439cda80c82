//! Values that are code once they are computed with.

use crate::corpus_tests::{findings, look};

fn asks(source: &str) -> bool {
    look(source).level().is_some()
}

#[test]
fn commands_in_values_run_wherever_they_are_computed_with() {
    let uses = [
        "[[ v -eq 1 ]]",
        "(( v > 1 ))",
        "echo $((v + 1))",
        "let v",
        "echo ${s:v}",
        "echo ${list[v]}",
        "list[v]=1",
        "list=([v]=1)",
        "declare -i k; k=v",
        "unset \"list[v]\"",
        "[[ -v list[v] ]]",
        "w=v; [[ 1 -lt w ]]",
    ];
    for using in uses {
        let found = findings(&format!("v='z[$(rm -rf .git)]'; {using}"));
        assert!(found.iter().any(|found| found == "Ask dynamic-code"), "{using}: {found:?}");
    }
}

#[test]
fn numbers_and_counters_are_left_alone() {
    let plain = [
        "i=0; while [[ $i -lt 5 ]]; do echo $i; let i++; done",
        "while read -r n; do total=$((total + n)); done < numbers.txt; echo $total",
        "n=$(wc -l < README.md); [[ $n -gt 10 ]] && echo long",
        "list=(a b c); i=1; echo ${list[i]} ${list[$i]}",
        "read -r a b <<< \"1 2\"; echo $((a + b))",
        "declare -A m=([a]=1); echo ${m[a]}",
        "s=abc; echo ${s:1:2}",
    ];
    let asked: Vec<_> = plain.iter().filter(|source| asks(source)).collect();
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn text_from_a_file_or_a_machine_is_not_computed_with_unasked() {
    for source in [
        "read v < data.txt; [[ v -eq 1 ]]",
        "read -r n < n.txt; echo $(( $n + 1 ))",
        "n=$(curl -s https://example.com/n); (( n > 3 ))",
    ] {
        assert!(asks(source), "{source}");
    }
}

#[test]
fn a_variable_that_steers_programs_is_seen_however_it_is_set() {
    for source in [
        "read -r PATH <<< /tmp/evil; ls",
        "for PATH in /tmp/evil; do ls; done",
        "select PATH in /tmp/evil; do ls; break; done",
        "mapfile -t PATH <<< /tmp/evil; ls",
        "printf -v LD_PRELOAD /tmp/e.so; export LD_PRELOAD; ls",
        "declare -n p=PATH; p=/tmp/evil; ls",
        "getopts a: PATH -a x; ls",
        ": ${GIT_EDITOR:=/tmp/evil}; export GIT_EDITOR; git commit",
    ] {
        let found = findings(source);
        assert!(found.iter().any(|found| found == "Ask env-override"), "{source}: {found:?}");
    }
    assert!(!asks(": \"${PORT:=8080}\"; echo $PORT"));
}
