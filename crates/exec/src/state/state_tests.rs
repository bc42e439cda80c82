//! With the bash of this machine: several commands, one after the other.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use proptest::prelude::*;

use super::*;

/// A session and its folder.
struct Session {
    dir: tempfile::TempDir,
    base: BTreeMap<OsString, OsString>,
    state: ShellState,
    framed: bool,
}

impl Session {
    /// None, and it is said why, where there is no bash.
    fn start() -> Option<Self> {
        if Command::new("bash").arg("-c").arg("true").status().is_err() {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: no bash here\n");
            return None;
        }
        let mut base: BTreeMap<OsString, OsString> = BTreeMap::new();
        for name in ["PATH", "HOME", "LANG"] {
            if let Some(value) = std::env::var_os(name) {
                base.insert(name.into(), value);
            }
        }
        let dir = tempfile::tempdir().expect("a folder");
        Some(Self { dir, base, state: ShellState::default(), framed: false })
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there")
    }

    /// What the command writes and leaves, from this state.
    fn execute(&self, state: &ShellState, command: &str) -> (Output, Option<ShellState>) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let report = if self.framed {
            ReportTarget::Framed("n0nce")
        } else {
            ReportTarget::File(file.path())
        };
        let mut output = Command::new("bash")
            .args(arguments(&script(state, command, &report)))
            .env_clear()
            .envs(state.environment(self.base.clone()))
            .current_dir(state.cwd().map_or_else(|| self.path(), Path::to_owned))
            .stdin(std::process::Stdio::null())
            .output()
            .expect("bash runs");
        let dump = if self.framed {
            let mut report_extractor = ReportExtractor::new("n0nce");
            let mut shown = report_extractor.feed(&output.stdout).into_owned();
            shown.extend(report_extractor.finish().0);
            output.stdout = shown;
            report_extractor.report().unwrap_or_default().to_vec()
        } else {
            std::fs::read(file.path()).expect("a report")
        };
        let after = state_after_cwd_loss(state, command, &dump)
            .or_else(|| unchanged_state(state, command))
            .or_else(|| parse_dump(&dump, &self.base));
        (output, after)
    }

    fn run(&mut self, command: &str) -> Output {
        let before = self.state.clone();
        let (output, after) = self.execute(&before, command);
        if let Some(after) = after {
            // As it is kept between two commands.
            let text = serde_json::to_string(&after).expect("a document");
            let mut kept: ShellState = serde_json::from_str(&text).expect("the same document");
            kept.inside = after.inside;
            kept.unsure.clone_from(&after.unsure);
            kept.is_partial = after.is_partial;
            kept.is_adrift = after.is_adrift;
            assert_eq!(kept, after);
            self.state.merge(&before, &kept);
        }
        output
    }

    /// Its output, stderr after stdout.
    fn says(&mut self, command: &str) -> String {
        let output = self.run(command);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn code(&mut self, command: &str) -> Option<i32> {
        self.run(command).status.code()
    }
}

macro_rules! session {
    () => {
        match Session::start() {
            Some(session) => session,
            None => return,
        }
    };
}

#[test]
fn the_folder_is_kept_with_the_way_that_was_taken() {
    let mut session = session!();
    session.says("mkdir -p real/in 'a b\nc'; ln -s real link");
    assert!(session.state.cwd().is_none());
    session.says("cd link/in");
    let there = session.path().join("link/in");
    assert_eq!(session.state.cwd(), Some(there.as_path()));
    assert_eq!(session.says("pwd"), format!("{}\n", there.display()));
    assert_eq!(session.says("cd -; pwd"), format!("{0}\n{0}\n", session.path().display()));
    session.says("cd 'a b\nc'");
    assert_eq!(session.state.cwd(), Some(session.path().join("a b\nc").as_path()));
}

#[test]
fn variables_of_every_kind_are_kept() {
    let mut session = session!();
    session.says(
        "export E='x y'; plain=$'l1\\nl2'; declare -i n=4; declare -a list=(a 'b c' '' \"it's\"); \
         list[7]=z; declare -A map=([k 1]=v ['a]b']=w ['@']=at ['$x']=d); declare -n ref=plain; \
         readonly fixed=1; declare -u upper=abc; declare -a none; odd=$'\\xff\\001'; export -n HOME",
    );
    let asked = "env | grep ^E=; env | grep ^HOME=; echo \"$plain|$ref|${#odd}\"; n+=1; echo $n; \
                 echo ${#list[@]} ${!list[@]} \"${list[3]}\"; \
                 for k in 'k 1' 'a]b' '@' '$x'; do echo -n \"${map[$k]} \"; done; \
                 upper=q; echo $upper; printf %s \"$odd\" | od -An -tx1; ( fixed=2 ) 2>/dev/null \
                 || echo readonly; declare -p none; [[ $HOME ]] && echo home";
    let expected = "E=x y\nl1\nl2|l1\nl2|2\n5\n5 0 1 2 3 7 it's\nv w at d Q\n ff 01\nreadonly\n\
                    declare -a none\nhome\n";
    assert_eq!(session.says(asked), expected);
    session.says("unset E map");
    assert_eq!(session.says("echo ${E-none} ${map[@]-none} $n"), "none none 5\n");
}

#[test]
fn what_the_environment_brings_can_be_unset() {
    let mut session = session!();
    session.base.insert("GIVEN".into(), "1".into());
    assert_eq!(session.says("printenv GIVEN"), "1\n");
    session.says("unset GIVEN");
    assert_eq!(session.says("printenv GIVEN; echo ${GIVEN-none}"), "none\n");
    session.base.extend([("TERM".into(), "xterm".into()), ("SHELL".into(), "/bin/x".into())]);
    session.says("unset TERM SHELL");
    for _ in 0..3 {
        session.says("cd .");
        assert_eq!(session.says("printenv TERM SHELL"), "");
    }
    session.says("export GIVEN=2");
    assert_eq!(session.says("printenv GIVEN"), "2\n");
    session.says("GIVEN=1");
    assert!(!session.state.variables.contains_key("GIVEN"));
}

#[test]
fn functions_aliases_options_umask_and_parameters_are_kept() {
    let mut session = session!();
    session.says(
        "hello() {\n  cat <<EOF\n}\nother () \n{ \n$1\nEOF\n}\nshout() { echo loud; } >&2\n\
         other() { hello 'from other'; }; export -f other; shopt -s extglob\n\
         pattern() { [[ $1 == @(a|b) ]] && echo yes; }; shopt -u extglob\n\
         alias ll='echo \"it'\\''s\"' -- -x='echo dash'; set -o pipefail; shopt -s nullglob; umask 027\n\
         set -- one 'two words'",
    );
    assert_eq!(session.says("other"), "}\nother () \n{ \nfrom other\n");
    assert_eq!(session.says("bash -c 'type -t other'; shout; pattern b"), "function\nyes\nloud\n");
    assert_eq!(session.says("ll"), "it's\n");
    assert_eq!(session.says("-x"), "dash\n");
    assert_eq!(session.says("echo nothing*; umask; echo \"$#:$2\""), "\n0027\n2:two words\n");
    assert_eq!(session.code("false | true"), Some(1));
    session
        .says("unalias ll; unset -f shout; set +o pipefail; shopt -u nullglob; umask 022; set --");
    assert_eq!(session.says("ll 2>/dev/null; shout 2>/dev/null; echo nothing* $#"), "nothing* 0\n");
    assert_eq!(session.code("false | true"), Some(0));
    assert_eq!(session.says("umask"), "0022\n");
}

/// Behind the text of an exported function bash says so once more.
#[test]
fn an_exported_function_lasts_beside_others() {
    let mut session = session!();
    session.says("f() { echo F; }; g() { echo G; } 2>&1; export -f f g; declare -ft f");
    for command in ["eval 'x=1'", "trap - EXIT", "h() { :; }; export -f h"] {
        session.says(command);
        assert_eq!(session.state.dropped(), Vec::<String>::new(), "{command}");
        assert_eq!(session.says("f; bash -c 'f; g'"), "F\nF\nG\n", "{command}");
    }
    let kept = session.state.clone();
    session.says("eval :");
    assert_eq!(session.state.functions, kept.functions);
}

#[test]
fn a_virtual_environment_is_entered_and_left() {
    let mut session = session!();
    std::fs::write(
        session.path().join("activate"),
        "leave_it () {\n PATH=\"$_OLD_VIRTUAL_PATH\"; export PATH; unset _OLD_VIRTUAL_PATH VIRTUAL_ENV\n\
         hash -r 2>/dev/null\n if [ ! \"${1-}\" = nondestructive ]; then unset -f leave_it; fi\n}\n\
         _OLD_VIRTUAL_PATH=\"$PATH\"\nVIRTUAL_ENV=/venv\nexport VIRTUAL_ENV\n\
         PATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\n",
    )
    .expect("written");
    let path = session.says("echo $PATH");
    session.says(". ./activate");
    assert_eq!(session.says("echo $PATH; echo $VIRTUAL_ENV"), format!("/venv/bin:{path}/venv\n"));
    session.says("leave_it");
    assert_eq!(session.says("echo $PATH"), path);
    assert_eq!(session.says("echo ${VIRTUAL_ENV-none}; type -t leave_it"), "none\n");
}

#[test]
fn the_state_survives_the_end_of_the_shell() {
    let mut session = session!();
    assert_eq!(session.code("a=1; cd /; exit 3"), Some(3));
    assert_eq!(session.says("echo $a; pwd"), "1\n/\n");
    assert_eq!(session.code("set -e; b=2; false; b=3"), Some(1));
    assert_eq!(session.says("echo $b $-"), "2 ehBc\n");
    session.says("set +e; set -u");
    assert_eq!(session.code("c=3; echo $nope; c=4"), Some(127));
    assert_eq!(session.says("set +u; echo $c"), "3\n");
    assert_eq!(session.run("d=4; kill -KILL $$").status.signal(), Some(9));
    assert_eq!(session.says("echo ${d-none}"), "none\n");
    assert_eq!(session.code("e=5; exec true"), Some(0));
    assert_eq!(session.code("f() { local a=hidden IFS=,; export g=6; exit 4; }; f x"), Some(4));
    assert_eq!(session.says("echo \"$a $g$IFS\"; type -t f"), "1 6 \t\n\nfunction\n");
}

/// The exit trap runs within the function then.
#[test]
fn the_end_of_the_shell_within_a_function_loses_nothing() {
    let mut session = session!();
    session.says("gone=1; arr=(1 2); old=1; fixed=0; die() { exit ${1-1}; }; export out=0");
    let command = "V=1; unset gone HOME; arr+=(3); old=2; out=1; declare -i n=4; die 3";
    assert_eq!(session.code(command), Some(3));
    let asked = "echo \"$V ${gone-none} ${HOME-none} ${arr[*]} $old $out\"; n+=1; echo $n";
    assert_eq!(session.says(asked), "1 none none 1 2 3 2 1\n5\n");

    // What a function hides is as it is behind that, however deep it is.
    let nested = "low() { local V=in x=8; local -A map=([k]=v); local gone=here; die; }; \
                  mid() { local V=mid old IFS=,; local -r fixed=7; local -n ref=V; low; }; \
                  V=2; old=3; out=9 mid";
    assert_eq!(session.code(nested), Some(1));
    let asked = "echo \"$V $old ${x-none} ${map-none} ${gone-none} $fixed $out ${ref-none}$IFS\"";
    assert_eq!(session.says(asked), "2 3 none none none 0 1 none \t\n\n");

    assert_eq!(session.code("set -e; V=3; fe() { local V=4; false; }; fe"), Some(1));
    assert_eq!(session.says("echo $V $-; set +e"), "3 ehBc\n");
    assert_eq!(session.code("set -u; V=5; fu() { local V=6; echo $nope; }; fu"), Some(127));
    assert_eq!(session.says("set +u; echo $V"), "5\n");
    std::fs::write(session.path().join("sourced"), "V=7\nexit 2\n").expect("written");
    assert_eq!(session.code(". ./sourced"), Some(2));
    assert_eq!(session.says("echo $V; declare -p V"), "7\ndeclare -- V=\"7\"\n");
    session.framed = true;
    assert_eq!(session.code("V=8; die"), Some(1));
    assert_eq!(session.says("echo $V"), "8\n");
}

#[test]
fn an_exit_trap_of_the_user_runs_and_finds_what_it_expects() {
    let mut session = session!();
    let output = session.run("trap 'echo bye $? $a' EXIT; a=1; exit 3");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"bye 3 1\n"[..], Some(3)));
    assert_eq!(session.says("echo $a"), "1\n");
    let output = session.run("set -e; trap 'echo bye $?; exit 9' EXIT; a=2; false");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"bye 1\n"[..], Some(9)));
    assert_eq!(session.says("set +e; echo $a"), "2\n");
    assert_eq!(session.says("a=3; trap 'echo bye' EXIT"), "bye\n");
    assert_eq!(session.says("echo $a"), "3\n");
    assert_eq!(session.says("trap 'echo bye' EXIT; trap - EXIT; a=4"), "");
    assert_eq!(
        session.says("trap 'echo one' EXIT; trap -p EXIT"),
        "trap -- 'echo one' EXIT\none\n"
    );
    assert_eq!(
        session.says("( trap 'echo inner' EXIT; ); trap 'echo usr' USR1; kill -USR1 $$"),
        "inner\nusr\n"
    );
    assert_eq!(session.says("echo $a; type -t trap"), "4\nbuiltin\n");
    let hidden = "trap=trap; b=5; builtin $trap 'echo bye $?' EXIT";
    assert_eq!(session.says(hidden), "bye 0\n");
    assert_eq!(session.says("echo $b"), "5\n");
}

#[test]
fn commands_of_every_shape_run_as_they_are() {
    let mut session = session!();
    for (command, output, code) in [
        ("cd . # it's a comment", "", 0),
        ("a=1; echo \"two\nlines\" 'and' \\\n more", "two\nlines and more\n", 0),
        ("a=1; cat <<'EOF'\n$x it's\nEOF", "$x it's\n", 0),
        ("a=1; cat <<EOF\n$a\nEOF\n", "1\n", 0),
        ("a=1; echo x\\", "x\\\n", 0),
        ("a=1; (exit 7)", "", 7),
        ("a=1; true &", "", 0),
        ("true && true &", "", 0),
        ("a=1; eval 'echo $LINENO'\n\necho $LINENO", "1\n3\n", 0),
        ("a=1; :\n\nnosuchprogram", "bash: line 3: nosuchprogram: command not found\n", 127),
    ] {
        let answer = session.run(command);
        let said = String::from_utf8_lossy(&[answer.stdout, answer.stderr].concat()).into_owned();
        assert_eq!((said.as_str(), answer.status.code()), (output, Some(code)), "{command}");
    }
    for command in ["a=2; echo (", "a=2; if true", "a=2; echo 'open", "a=2 &&"] {
        let answer = session.run(command);
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert_eq!(answer.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("line 1") || said.contains("line 2"), "{said}");
        assert!(!said.contains("hermes"), "{said}");
    }
}

#[test]
fn nothing_of_ours_is_seen() {
    let mut session = session!();
    session.says("f() { :; }; a=1; alias x=y; export b=2");
    let seen = session.says("a=2; env; set -x; echo x; trap 'echo theirs' EXIT");
    let ours: Vec<_> = seen.lines().filter(|line| line.contains("__hermes_")).collect();
    assert!(ours.iter().all(|line| line.starts_with('+') && !line.contains("dump")), "{ours:?}");
    let traced = session.says("a=3; echo y");
    assert_eq!(traced.replace("++", "+"), "y\n+ a=3\n+ echo y\n");
    let document = serde_json::to_string(&session.state).expect("a document");
    assert!(!document.contains("hermes"), "{document}");
    session.says("set +x");
    assert_eq!(session.says("mkdir -p deep/er"), "");
    assert_eq!(session.says("cd $_; pwd"), format!("{}/deep/er\n", session.path().display()));
}

#[test]
fn what_is_read_can_be_shown_without_ours() {
    let mut session = session!();
    let shown = session.says("set -v; a=1\necho b");
    assert!(!shown.contains("hermes"), "{shown}");
    let shown = session.says("a=2\necho c");
    assert!(shown.contains("echo c") && !shown.contains("hermes"), "{shown}");
}

#[test]
fn a_folder_that_is_gone_gives_way_to_the_one_above() {
    let mut session = session!();
    session.says("mkdir -p a/b/c; cd a/b/c; rm -r ../../b");
    assert_eq!(session.state.cwd(), Some(session.path().join("a").as_path()));
    assert_eq!(session.says("pwd; cd ."), format!("{}/a\n", session.path().display()));
}

/// Where nobody else can see that it is gone.
#[test]
fn a_program_may_take_away_the_folder_it_is_called_in() {
    let mut session = session!();
    session.framed = true;
    session.says("mkdir -p 'a b'/c; cd 'a b'/c; x=1");
    let output = session.run("rm -r ../../a\\ b");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b""[..], Some(0)));
    assert_eq!(session.state.cwd(), Some(session.path().as_path()));
    assert_eq!(session.says("ls nonesuch 2>/dev/null; echo $? $x"), "2 1\n");
    assert_eq!(session.code("ls nonesuch"), Some(2));
    session.says("rmdir ../none; true");
    assert_eq!(session.state.cwd(), Some(session.path().as_path()));
}

#[test]
fn little_is_kept_when_little_was_changed() {
    let mut session = session!();
    session.base = std::env::vars_os().collect();
    session.base.insert("IFS".into(), ":".into());
    session.base.insert("OLDPWD".into(), "/no/such/folder".into());
    session.says("set -- ; true > x");
    assert!(session.state.is_empty(), "{:?}", session.state);
    session.says("cd .");
    let document = serde_json::to_string(&session.state).expect("a document");
    assert!(document.len() < 120, "{document}");
    assert_eq!(session.state.prelude(), "");
}

#[test]
fn commands_at_the_same_time_keep_each_other_s_changes() {
    let mut session = session!();
    session.says("a=0; b=0; gone=1; export E=0");
    let before = session.state.clone();
    let (_, first) = session.execute(&before, "a=1; unset gone; cd /");
    let (_, second) = session.execute(&before, "b=2; E=2; f() { echo f; }; set -o noclobber");
    session.state.merge(&before, &second.expect("a report"));
    session.state.merge(&before, &first.expect("a report"));
    assert_eq!(
        session.says("echo $a $b $E ${gone-gone}; f; pwd; set -o | grep -c 'noclobber.*on'"),
        "1 2 2 gone\nf\n/\n1\n"
    );
}

#[test]
fn a_report_can_come_at_the_end_of_the_output() {
    let mut session = session!();
    session.framed = true;
    assert_eq!(session.says("a=1; echo -n no line break"), "no line break");
    assert_eq!(session.says("echo $a; b=2; exit 0"), "1\n");
    assert_eq!(session.says("echo $b; exec >file; c=3; echo x"), "2\n");
    assert_eq!(session.says("cat file; echo ${c-none}"), "x\nnone\n");
}

#[test]
fn a_command_may_begin_with_a_sign() {
    let mut session = session!();
    assert_eq!(session.code("-nosuchprogram"), Some(127));
    assert_eq!(session.code("-nosuchprogram; a=1"), Some(0));
}

#[test]
fn a_background_process_does_not_keep_the_shell() {
    let mut session = session!();
    session.says("a=1; true && sleep 1 >/dev/null 2>&1 </dev/null & echo $! >pid; disown; kill $!");
    assert_eq!(session.says("echo $a"), "1\n");
    assert_eq!(session.says("sleep 0 & b=2; wait"), "");
    assert_eq!(session.says("echo $b"), "2\n");
}

#[test]
fn the_environment_of_children_has_nothing_of_ours() {
    let mut session = session!();
    session.says("set -a; a=1");
    let seen = session.says("b=2; env");
    assert!(seen.contains("a=1") && seen.contains("b=2"), "{seen}");
    assert!(!seen.contains("__hermes_"), "{seen}");
}

#[test]
fn what_is_set_from_outside_is_there() {
    let mut session = session!();
    assert!(session.state.export("GREETING", OsStr::new("it's\nme")));
    assert!(!session.state.export("NO-NAME", OsStr::new("")));
    session.state.unset("HOME");
    assert_eq!(session.says("a=1; printenv GREETING; echo ${HOME-none}"), "it's\nme\nnone\n");
    session.state.set_cwd(Some("/".into()));
    assert_eq!(session.says("pwd; cd ."), "/\n");
    assert_eq!(session.state.cwd(), Some(Path::new("/")));
}

#[test]
fn long_values_are_handed_over() {
    let mut session = session!();
    session.says("printf -v long '%0200000d' 7; export out=${long:0:110000}; list=(\"$long\")");
    assert_eq!(
        session.says("a=1; echo ${#long} ${#out} ${#list[0]} $# $0"),
        "200000 110000 200000 0 bash\n"
    );
    assert_eq!(session.state.dropped().len(), 0);
}

#[test]
fn a_name_of_the_shell_can_be_taken() {
    let mut session = session!();
    session
        .says("alias eval=false trap=false builtin=false; declare() { echo fake; }; echo() { :; }");
    session.says("a=1; cd /");
    assert_eq!(session.says("unset -f echo declare; \\builtin echo $a $PWD"), "1 /\n");
}

#[test]
fn the_word_for_all_others_can_be_taken_for_one_command() {
    let mut session = session!();
    let taken = "builtin() { echo fake; }; unset() { echo fake; }; ";
    assert_eq!(session.says(&format!("{taken}a=1; cd /")), "");
    assert_eq!(session.says("echo $a $PWD; type -t builtin"), "1 /\nbuiltin\n");
    assert_eq!(session.code(&format!("{taken}a=2; exit 3")), Some(3));
    assert_eq!(session.says("echo $a $-; type -t builtin"), "2 hBc\nbuiltin\n");
}

#[test]
fn what_belongs_to_a_coprocess_goes_with_it() {
    let mut session = session!();
    session.says("a=1; coproc cat; kill $COPROC_PID");
    assert_eq!(session.says("echo $a ${COPROC-none} ${COPROC_PID-none}"), "1 none none\n");
}

#[test]
fn the_posix_mode_is_kept_and_can_be_left() {
    let mut session = session!();
    session.says("set -o posix; a=1");
    assert_eq!(session.says("trap 'echo bye' EXIT; echo $a"), "1\nbye\n");
    session.says("set +o posix");
    assert_eq!(session.says("echo $a; [[ -o posix ]] || echo left"), "1\nleft\n");
    session.base.insert("POSIXLY_CORRECT".into(), "1".into());
    assert_eq!(session.says("trap 'echo bye' EXIT; echo $a"), "1\nbye\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_value_survives(
        values in prop::collection::btree_map("[a-z]{1,3}_v", prop::collection::vec(1_u8.., 0..40), 1..6),
        exported in any::<bool>(),
    ) {
        let Some(mut session) = Session::start() else { return Ok(()) };
        let marks = if exported { "x" } else { "" };
        for (name, value) in &values {
            let value = variable::VariableValue::One(ShellBytes(value.clone()));
            let variable = ShellVariable { marks: marks.to_owned(), value };
            session.state.variables.insert(name.clone(), Some(variable));
        }
        let list = values.values().map(|value| ShellBytes(value.clone()));
        let items = list.clone().enumerate().map(|(at, value)| (ShellBytes(at.to_string().into()), value));
        let value = variable::VariableValue::Many(items.collect());
        let list_variable = ShellVariable { marks: "a".to_owned(), value };
        session.state.variables.insert("list".to_owned(), Some(list_variable));
        session.state.parameters = list.collect();
        let expected = session.state.clone();
        session.run("cd .");
        session.run("cd .");
        session.state.last = None;
        session.state.variables.remove("OLDPWD");
        prop_assert_eq!(session.state, expected);
    }
}

#[test]
fn a_hidden_script_runs_the_same_and_nobody_else_sees_it() {
    let Some(session) = Session::start() else { return };
    let long = "x".repeat(300_000);
    let shows = "tr '\\0' ' ' </proc/$$/cmdline 2>/dev/null; env; f() { :; }; false";
    let command = format!("secret='{long}'; echo ${{#secret}} \"$#\"; {shows}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = script(&session.state, &command, &ReportTarget::File(file.path()));
    let (words, hidden) = hidden_arguments(&text);
    let output = Command::new("bash")
        .args(words)
        .env_clear()
        .envs(session.base.clone())
        .envs(hidden)
        .output()
        .expect("bash runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("300000 0\n"), "{}", &shown[..shown.len().min(200)]);
    assert!(!shown.contains("xxxx"), "neither its words nor the environment of others");
    assert_eq!(output.status.code(), Some(1));
    let after = parse_dump(&std::fs::read(file.path()).expect("a report"), &session.base);
    let kept = after.expect("a state").prelude();
    assert!(kept.contains("f ()") && !kept.contains("__hermes_"), "{}", kept.len());
}
