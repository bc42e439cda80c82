use crate::corpus_tests::{has_effect, look};

#[test]
fn effects_of_commands() {
    let expected: &[(&str, &str)] = &[
        ("ls -la", "terminal:execute ls -la"),
        ("echo x > f", "file:write /home/user/project/f"),
        ("echo x >> ../f", "file:write /home/user/project/../f"),
        ("sort < f", "file:read /home/user/project/f"),
        ("cmd &> log", "file:write /home/user/project/log"),
        ("cat ~/.ssh/id_rsa", "file:read /home/user/.ssh/id_rsa"),
        ("grep x .env", "file:read /home/user/project/.env"),
        ("tar c ~/.aws", "file:read /home/user/.aws"),
        ("rm a.txt", "file:delete /home/user/project/a.txt"),
        ("rm -f *.o", "file:delete /home/user/project"),
        ("rm $X", "file:delete *"),
        ("cp a \"$dest\"", "file:write *"),
        ("echo x > \"$f\"", "file:write *"),
        ("cp a b", "file:read /home/user/project/a"),
        ("cp a b", "file:write /home/user/project/b"),
        ("mv a b", "file:delete /home/user/project/a"),
        ("mv -t d a", "file:write /home/user/project/d"),
        ("cd sub && touch x", "file:write /home/user/project/sub/x"),
        ("cd $X && touch x", "file:write *"),
        ("(cd sub); touch x", "file:write /home/user/project/x"),
        ("cd /tmp || exit; touch x", "file:write /tmp/x"),
        ("sed -i s/a/b/ f", "file:write /home/user/project/f"),
        ("tee a b", "file:write /home/user/project/b"),
        ("dd if=a of=b", "file:write /home/user/project/b"),
        ("tar xf a.tar -C out", "file:write /home/user/project/out"),
        ("unzip a.zip -d out", "file:write /home/user/project/out"),
        ("curl https://User@Example.COM:8080/x", "network:fetch example.com"),
        ("curl -o f http://[::1]:80/", "network:fetch ::1"),
        ("curl -o f http://x.y/", "file:write /home/user/project/f"),
        ("curl -O http://x.y/a.tgz", "file:write /home/user/project/a.tgz"),
        ("curl -d a=b http://x.y", "network:send x.y"),
        ("curl -X DELETE http://x.y", "network:send x.y"),
        ("curl -d @data.json http://x.y", "file:read /home/user/project/data.json"),
        ("curl $URL", "network:fetch *"),
        ("wget -O f http://x.y", "network:fetch x.y"),
        ("ssh me@Host.example ls", "network:send host.example"),
        ("scp f me@h:/x", "network:send h"),
        ("scp f me@h:/x", "file:read /home/user/project/f"),
        ("ping -c 1 h.x", "network:fetch h.x"),
        ("nc h.x 80", "network:send h.x"),
        ("git status", "git:read /home/user/project"),
        ("git -C sub log", "git:read /home/user/project/sub"),
        ("git commit -m x", "git:write /home/user/project"),
        ("git push", "network:send git push"),
        ("git clone https://h.x/a/b.git", "file:write /home/user/project/b"),
        ("git clone git@h.x:a/b.git", "network:fetch h.x"),
        ("npm install", "network:fetch *"),
        ("cargo publish", "network:send *"),
        ("docker ps", "docker:read *"),
        ("docker run x", "docker:run *"),
        ("psql -c 'select 1'", "database:read *"),
        ("psql -c 'insert into t values (1)'", "database:write *"),
        ("psql", "database:write *"),
        ("kubectl get pods", "cloud:read *"),
        ("kubectl delete pod x", "cloud:write *"),
        ("kill 12", "process:manage *"),
        ("crontab -e", "schedule:write *"),
        ("mail -s x me@x.y", "email:send *"),
        ("env", "env:read *"),
        ("export -p", "env:read *"),
        ("printenv", "env:read *"),
        ("x=f; cat $x", "file:read /home/user/project/f"),
        ("for f in a b; do rm $f; done", "file:delete /home/user/project/b"),
        ("cat a/*/b", "file:read /home/user/project/a"),
        ("find src -name x -exec cp {} out \\;", "file:write /home/user/project/out"),
        ("tmp=$(mktemp -d); touch $tmp/x", "file:write /tmp/tmp.XXXXXXXXXX/x"),
        ("touch \"$TMPDIR/x\"", "file:write /tmp/x"),
        ("xargs -a f touch", "file:write *"),
        ("echo a b | xargs touch", "file:write /home/user/project/b"),
        ("exec 3<>f", "file:write /home/user/project/f"),
        ("gcc -o a a.c", "file:write /home/user/project/a"),
    ];
    let wrong: Vec<_> = expected
        .iter()
        .filter(|(source, wanted)| !has_effect(source, wanted))
        .map(|(source, wanted)| {
            (
                source,
                wanted,
                look(source)
                    .leaves
                    .iter()
                    .flat_map(|leaf| &leaf.effects)
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for source in ["echo x > /dev/null", "echo x >&2", "ls 2>&1", "echo x > /dev/stderr"] {
        assert!(
            !look(source)
                .leaves
                .iter()
                .flat_map(|leaf| &leaf.effects)
                .any(|e| e.scope.as_str() == "file:write"),
            "{source}"
        );
    }
}

fn programs(source: &str) -> Vec<String> {
    look(source).leaves.into_iter().map(|leaf| leaf.program).collect()
}

#[test]
fn every_simple_command_is_a_leaf() {
    let expected: &[(&str, &[&str])] = &[
        ("a; b && c || d | e & f", &["a", "b", "c", "d", "e", "f"]),
        ("(a; { b; }; c)", &["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for x in $(a); do b; done", &["a", "b"]),
        ("for ((i=0;i<$(a);i++)); do b; done", &["a", "b"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("case $(a) in x|$(b)) c;; (y) d;; esac", &["a", "b", "c", "d"]),
        ("a $(b `c`) <(d)", &["c", "b", "d", "a"]),
        ("x=$(a) y=`b` c", &["a", "b", "c"]),
        ("x=1", &[""]),
        ("> f", &[""]),
        ("a <<E\n$(b)\nE", &["b", "a"]),
        ("a <<'E'\n$(b)\nE", &["a"]),
        ("a <<< \"$(b)\"", &["b", "a"]),
        ("f() { a; }; f; f", &["f", "a", "f", "a"]),
        ("function f { a; }", &["a"]),
        ("f() { g; }; g() { a; }; f", &["f", "g", "a"]),
        ("bash -c 'a; b'", &["bash", "a", "b"]),
        ("eval 'a; b'", &["eval", "a", "b"]),
        ("sudo env X=1 nice -n 5 timeout 3 a b", &["a"]),
        ("find . -exec a {} \\; -o -exec b {} +", &["find", "a", "b"]),
        ("ssh h 'a | b'", &["ssh", "a", "b"]),
        ("a # b", &["a"]),
        ("a '#' b", &["a"]),
        ("echo \"a; b\"", &["echo"]),
        ("[[ a && b ]]; ((c))", &[]),
        ("/usr/bin/a; ./b; ../c/d", &["a", "b", "d"]),
        ("cat <<A > o; b\nx\nA\nc", &["cat", "b", "c"]),
        ("! a | b", &["a", "b"]),
        ("time -p a", &["a"]),
        ("x() { a; } > f; x", &["x", "", "a"]),
        ("a() (b); a", &["a", "b"]),
        ("select x in a; do b; done", &["b"]),
    ];
    for (source, wanted) in expected {
        assert_eq!(programs(source), *wanted, "{source}");
    }
}

#[test]
fn words_are_what_the_program_sees() {
    let expected: &[(&str, &[&str])] = &[
        ("p 'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
        ("p a{1,2}b", &["a1b", "a2b"]),
        ("p {1..3}", &["1", "2", "3"]),
        ("p {} {a} '{a,b}'", &["{}", "{a}", "{a,b}"]),
        ("x='a b'; p $x \"$x\"", &["a", "b", "a b"]),
        ("x=a; x+=b; p $x", &["ab"]),
        ("p $'a\\n\\x41\\101\\u0042'", &["a\nAAB"]),
        ("p $(echo a b) \"$(echo a b)\"", &["a", "b", "a b"]),
        ("p $(printf '%s-%s' a b)", &["a-b"]),
        ("p ~ ~/x \"~\" a~", &["/home/user", "/home/user/x", "~", "a~"]),
        ("p ${y:-d} ${y:+e}", &["d", "$y"]),
        ("p ''", &[""]),
        ("p $1 $@ x", &["x"]),
        ("set -- a b; p \"$@\" $2", &["a", "b", "b"]),
        ("p a\\\nb", &["ab"]),
        ("IFS=,; x=a,b; p $x", &["a", "b"]),
        ("p $(pwd)", &["/home/user/project"]),
        ("p >f a 2>&1 b", &["a", "b"]),
        ("p x@(a|b)y", &["x*y"]),
    ];
    for (source, wanted) in expected {
        let leaf = look(source).leaves.into_iter().find(|leaf| leaf.program == "p");
        let words: Vec<String> = leaf
            .map(|leaf| leaf.words.iter().skip(1).map(|word| word.text.clone()).collect())
            .unwrap_or_default();
        assert_eq!(words, *wanted, "{source}");
    }
}

#[test]
fn a_branch_leaves_doubt() {
    assert!(has_effect("if a; then cd /tmp; fi; touch x", "file:write *"));
    assert!(has_effect("d=a; if b; then d=c; fi; touch $d", "file:write *"));
    assert!(has_effect("a && cd sub && touch x", "file:write /home/user/project/sub/x"));
}

#[test]
fn reading_is_told_from_doing() {
    for source in [
        "ls",
        "cat f | grep x",
        "git log",
        "docker ps",
        "find . -name x",
        "sed -n 1p f",
        "env",
        "psql -c 'select 1'",
        "python3 -c 'print(1)'",
        "x=1",
        "cd sub",
        "[ -f x ]",
    ] {
        assert!(look(source).leaves.iter().all(crate::LeafCommand::is_read_only), "{source}");
    }
    for source in [
        "touch x",
        "ls > f",
        "make",
        "git commit",
        "curl http://x.y",
        "rm x",
        "./run",
        "find . -delete",
        "sed -i s/a/b/ f",
        "ls; touch x",
        "$X",
    ] {
        assert!(!look(source).leaves.iter().all(crate::LeafCommand::is_read_only), "{source}");
    }
}

#[test]
fn wrappers_are_named() {
    let via = |source: &str| {
        look(source).leaves.last().map(|leaf| leaf.wrappers.clone()).unwrap_or_default()
    };
    assert_eq!(via("sudo xargs rm"), ["sudo", "xargs"]);
    assert_eq!(via("bash -c 'sudo ls'"), ["bash", "sudo"]);
    assert_eq!(via("ls"), Vec::<String>::new());
}
