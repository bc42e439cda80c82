use hermes_core::WorkingDir;

use super::*;

fn side_effects_after(earlier: &str, source: &str) -> SideEffects {
    let at = WorkingDir::new("/work", None);
    side_effects(source, || Arc::new(crate::analyze_after(earlier, source, &at)))
}

fn of(source: &str) -> SideEffects {
    side_effects_after("", source)
}

#[test]
fn what_only_looks_is_known() {
    for source in [
        "ls",
        "ls -la src *.rs",
        "cat a.txt | grep -n 'fn foo(' | head -20",
        "git log --oneline | head",
        "git status && git diff",
        "grep -rn \"$NAME\" src || true",
        "find . -name '*.rs'",
        "ls missing 2>/dev/null; cat b 2>&1",
        "wc -l < a.txt",
        "sed -n '1,20p' a.txt",
        "sleep 1; cat a.txt",
        "echo hello",
        "pwd",
        "date +%s",
        "sort a | uniq -c",
    ] {
        assert_eq!(of(source), SideEffects::ReadOnly, "{source}");
    }
    for source in ["sleep 0.5", "sleep 1 && echo done", "true; sleep 2"] {
        assert_eq!(of(source), SideEffects::None, "{source}");
    }
}

#[test]
fn whatever_may_change_something_is_open() {
    let sources = [
        "",
        "touch x",
        "mkdir x",
        "ls > f",
        "echo a >> f",
        "cd sub",
        "cd sub && ls",
        "export A=1",
        "A=1",
        "A=1 ls",
        "echo ${A:=1}",
        "echo $((A=1))",
        "echo ${A[B=1]}",
        "echo $(touch x)",
        "echo `touch x`",
        "cat <(touch x)",
        "ls {fd}>/dev/null",
        "for a in 1 2; do echo $a; done",
        "ls() { rm x; }",
        "ls() { rm x; }; ls",
        "{ ls; }",
        "(ls)",
        "sleep 5 &",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "sort -o f f",
        "uniq a b",
        "tree -o out",
        "xxd -r a b",
        "date -s 12:00",
        "hostname other",
        "rg --pre ./run x",
        "sed -i s/a/b/ f",
        "sed 'w out' f",
        "sed s/a/b/w\\ out f",
        "sed '1e touch x' f",
        "git commit -m x",
        "git branch new",
        "git checkout main",
        "git stash",
        "git diff --output=f",
        "git fetch",
        "git -c core.pager='touch x' log",
        "git config user.name x",
        "git tag v1",
        "git remote add a b",
        "file -C -m magic",
        "curl http://x.y",
        "./ls",
        "/tmp/ls",
        "l's'",
        "$X",
        "$X; ls",
        "ls | tee f",
        "ls | xargs rm",
        "python3 -c 'print(1)'",
        "sudo ls",
        "nonesuch",
        "read a",
        "printf -v a b",
        "cat f |",
    ];
    let mistaken: Vec<&str> =
        sources.into_iter().filter(|source| of(source) != SideEffects::Unknown).collect();
    assert!(mistaken.is_empty(), "{mistaken:#?}");
}

#[test]
fn what_a_name_stands_for_by_now_counts() {
    for earlier in ["ls() { touch x; }", "alias ls='touch x;'", "ls() { true; }"] {
        assert_eq!(side_effects_after(earlier, "ls"), SideEffects::Unknown, "{earlier}");
        assert_eq!(side_effects_after(earlier, "pwd"), SideEffects::ReadOnly, "{earlier}");
    }
}
