//! Recipes that the same command writes and then uses: a build file and the
//! build, a test and the test runner, a source and its compiler. Their contents
//! are analyzed like the rest of the command.

use std::sync::LazyLock;

use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::secret_paths;
use crate::static_names::StaticNameMap;
use crate::text::glob_match;

/// Programs, and the names of the files that they use by default.
const BUILD_FILES_BY_PROGRAM: &[(&str, &str)] = &[
    ("make gmake bmake", "makefile gnumakefile bsdmakefile *.mk m *.make"),
    (
        "npm npx yarn pnpm bun bunx node jest vitest mocha eslint prettier webpack vite rollup tsc \
         babel ava tap karma cypress playwright gulp grunt next astro nuxt stylelint",
        "package.json *.config.js *.config.ts *.config.mjs *.config.cjs .eslintrc* .prettierrc* \
         .babelrc* gulpfile.* gruntfile.* .mocharc* *.test.js *.test.ts *.spec.js *.spec.ts .npmrc \
         .yarnrc*",
    ),
    ("cargo", "build.rs *.rs"),
    (
        "pytest py.test python python3 tox nox coverage nose2 unittest hatch",
        "conftest.py test_*.py *_test.py tox.ini noxfile.py pytest.ini setup.cfg setup.py \
         sitecustomize.py",
    ),
    ("pip pip3 uv poetry pdm pipx", "setup.py setup.cfg pyproject.toml"),
    ("cmake ctest", "cmakelists.txt *.cmake"),
    ("gradle gradlew", "*.gradle *.gradle.kts"),
    ("rake bundle bundler rspec", "rakefile gemfile *.rake *_spec.rb"),
    ("just", "justfile .justfile"),
    ("task", "taskfile.yml taskfile.yaml"),
    ("mvn mvnw", "pom.xml"),
    ("ant", "build.xml"),
    ("latexmk", ".latexmkrc latexmkrc"),
    ("pre-commit", ".pre-commit-config.yaml"),
    ("yosys", "*.ys *.tcl"),
    ("pandoc", "*.lua"),
    ("dotnet", "*.cs *.csproj *.props *.targets"),
    ("go", "*.go"),
    ("java", "*.java"),
    ("ninja", "*.ninja"),
    ("meson", "meson.build"),
    ("mix", "mix.exs *.exs"),
    ("bazel bazelisk buck2", "build build.bazel *.bzl workspace"),
    ("sphinx-build", "conf.py"),
    ("ansible-playbook", "*.yml *.yaml"),
    ("jupyter papermill", "*.ipynb"),
    ("terraform tofu", "*.tf"),
];

/// Compilers and their sources: the output is only dangerous once it runs.
const SOURCES_BY_COMPILER: &[(&str, &str)] = &[
    ("gcc g++ cc c++ clang clang++ tcc", "*.c *.cc *.cpp *.cxx *.h *.hpp *.s *.asm"),
    ("rustc", "*.rs"),
    ("javac kotlinc", "*.java *.kt"),
    ("ghc ocamlc ocamlopt", "*.hs *.ml"),
    ("zig nim dmd ldc2 swiftc fpc gfortran", "*.zig *.nim *.d *.swift *.pas *.f90"),
];

fn files_by_program(list: &'static [(&'static str, &'static str)]) -> StaticNameMap<&'static str> {
    let names =
        list.iter().flat_map(|(names, files)| names.split_whitespace().map(|name| (name, *files)));
    names.collect()
}

static BUILD_FILE_TABLE: LazyLock<StaticNameMap<&'static str>> =
    LazyLock::new(|| files_by_program(BUILD_FILES_BY_PROGRAM));
static COMPILER_TABLE: LazyLock<StaticNameMap<&'static str>> =
    LazyLock::new(|| files_by_program(SOURCES_BY_COMPILER));

/// Whether a program uses build files or compiles sources.
pub(crate) fn uses_build_files(program: &str) -> bool {
    BUILD_FILE_TABLE.contains_key(program) || COMPILER_TABLE.contains_key(program)
}

/// Checks a file written earlier, by its name and contents; true if the leaf's
/// program uses it.
pub(crate) fn judge(act: &mut EffectBuilder<'_>, name: &str, text: Option<&str>) -> bool {
    let lower = name.to_ascii_lowercase();
    let fits = |files: &&str| files.split_whitespace().any(|file| glob_match(file, &lower));
    let program = act.program;
    let compiles = COMPILER_TABLE.get(program).is_some_and(&fits);
    if compiles {
        act.leaf.suspicious_build |= text.is_none_or(|text| first_acting_name(text).is_some());
        return false;
    }
    if !BUILD_FILE_TABLE.get(program).is_some_and(fits) {
        return false;
    }
    match text {
        Some(text) => check_content(act, &lower, text),
        None => act.ask("written-then-run", format!("Uses {name}, which the same command writes")),
    }
    true
}

/// Checks the contents of a recipe.
fn check_content(act: &mut EffectBuilder<'_>, name: &str, text: &str) {
    let text = &text[..text.floor_char_boundary(64 * 1024)];
    if BUILD_FILE_TABLE["make"].split(' ').any(|file| glob_match(file, name))
        || name.ends_with("justfile")
    {
        return check_rules(act, text);
    }
    if name == "package.json" {
        return check_scripts(act, text);
    }
    if matches!(name, "tox.ini" | ".pre-commit-config.yaml" | "taskfile.yml" | "taskfile.yaml") {
        return check_commands(act, text);
    }
    if let Some(what) = first_acting_name(text) {
        act.ask(
            "written-then-run",
            format!("Writes and then runs code that may have side effects ({what})"),
        );
    }
}

/// Checks the rules of a makefile or justfile.
pub(super) fn check_rules(act: &mut EffectBuilder<'_>, text: &str) {
    let mut code = String::new();
    for line in text.lines().take(512) {
        let indented = line.starts_with(['\t', ' ']);
        let recipe = if indented { Some(line) } else { line.split_once(';').map(|(_, r)| r) };
        if let Some(recipe) = recipe {
            code.push_str(&expand_variables(
                recipe.trim_start().trim_start_matches(['@', '-', '+']),
            ));
            code.push('\n');
        }
        let calls = line.contains("$(shell") || line.contains("!=") || line.contains('`');
        if calls || line.trim_start().starts_with("include /") || line.contains("SHELL") {
            act.ask("written-then-run", "Writes and then uses build rules that run code");
        }
    }
    if !code.trim().is_empty() {
        act.inner.push(InnerCommand::Source(ShellWord::literal(code)));
    }
}

/// Expands makefile variables to their usual values.
fn expand_variables(recipe: &str) -> String {
    let usual = [
        ("CC", "cc"),
        ("CXX", "c++"),
        ("RM", "rm -f"),
        ("PYTHON", "python3"),
        ("MAKE", "make"),
        ("AR", "ar"),
        ("LD", "ld"),
        ("GO", "go"),
        ("CARGO", "cargo"),
        ("NPM", "npm"),
        ("CFLAGS", ""),
        ("LDFLAGS", ""),
        ("CXXFLAGS", ""),
        ("LDLIBS", ""),
        ("CPPFLAGS", ""),
    ];
    let mut out = recipe.to_owned();
    for (name, value) in usual {
        out = out.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
    }
    out.replace("$@", "target").replace("$<", "source").replace("$^", "source").replace("$$", "$")
}

/// Checks the scripts of a `package.json`.
fn check_scripts(act: &mut EffectBuilder<'_>, text: &str) {
    let Some((_, rest)) = text.split_once("\"scripts\"") else { return };
    let inside = rest.split_once('{').map_or("", |(_, inside)| inside);
    let parts = quoted_strings(inside);
    for pair in parts.chunks(2).take(24) {
        if let [_, code] = pair {
            act.inner.push(InnerCommand::Source(ShellWord::literal(code.as_str())));
        }
    }
}

/// The quoted strings up to the brace that closes the object.
fn quoted_strings(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current: Option<String> = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (&mut current, c) {
            (None, '}') => break,
            (None, '"') => current = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => all.extend(current.take()),
            (Some(text), '\\') => match letters.next() {
                Some('n') => text.push('\n'),
                Some(c) => text.push(c),
                None => break,
            },
            (Some(text), c) => text.push(c),
        }
    }
    all
}

/// Checks the commands in files that have them after a key.
fn check_commands(act: &mut EffectBuilder<'_>, text: &str) {
    const COMMAND_KEYS: &[&str] =
        &["commands", "commands_pre", "commands_post", "entry", "cmd", "cmds", "-"];
    for part in text.split(['\n', ',', '{', '}']).take(256) {
        let trimmed = part.trim();
        let (key, code) = trimmed.split_once(['=', ':']).unwrap_or(("", trimmed));
        let own = part.starts_with([' ', '\t']) && key.is_empty();
        let code = code.trim().trim_matches(['"', '\'']);
        if (own || COMMAND_KEYS.contains(&key.trim().trim_start_matches("- "))) && !code.is_empty()
        {
            act.inner.push(InnerCommand::Source(ShellWord::literal(code)));
        }
    }
}

/// Names that indicate side effects in code of any language.
const ACTING_NAMES: &[&str] = &[
    "system",
    "exec",
    "execve",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "popen",
    "fork",
    "vfork",
    "posix_spawn",
    "socket",
    "connect",
    "unlink",
    "rmdir",
    "rmtree",
    "RemoveAll",
    "remove_dir_all",
    "remove_file",
    "remove_dir",
    "Remove",
    "Command",
    "child_process",
    "execSync",
    "execFileSync",
    "spawnSync",
    "spawn",
    "Runtime",
    "ProcessBuilder",
    "Process",
    "delete",
    "deleteRecursively",
    "Directory",
    "subprocess",
    "shutil",
    "urllib",
    "urlopen",
    "requests",
    "httpx",
    "getenv",
    "HOME",
    "homedir",
    "expanduser",
    "execute_process",
    "add_custom_command",
    "REMOVE_RECURSE",
    "REMOVE",
    "DOWNLOAD",
    "eval",
    "sh",
    "bash",
    "unlinkSync",
    "rmSync",
    "rmdirSync",
    "Getenv",
    "UserHomeDir",
    "syscall",
    "Syscall",
    "TcpStream",
    "UdpSocket",
    "Dial",
    "http",
    "https",
    "net",
    "ctypes",
    "dlopen",
    "asm",
    "__asm__",
    "incbin",
    "include_bytes",
    "include_str",
    "local_exec",
    "local-exec",
    "execute",
    "_G",
    "__import__",
    "importlib",
    "getattr",
    "compile",
    "b64decode",
    "atob",
    "fetch",
    "rename",
    "curl",
    "wget",
    "rm",
    "WriteFile",
    "kill",
    "truncate",
    "__builtins__",
];

/// The first side effect in a piece of code: a call, a secret, or a file
/// outside the project.
pub(super) fn first_acting_name(text: &str) -> Option<String> {
    let word = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    let loose = |c: char| !(c.is_alphanumeric() || c == '_');
    let named = text.split(word).chain(text.split(loose)).find(|name| ACTING_NAMES.contains(name));
    if let Some(name) = named {
        return Some(name.to_owned());
    }
    if secret_paths::mentions_secret(text) {
        return Some("a secret".to_owned());
    }
    let far = ["\"/", "'/", "\"~", "'~", "\"../..", "'../.."];
    let opens =
        ["open", "remove", "read", "write", "Open", "File", "include", "incbin", "readFile"];
    let touches = text.split(loose).any(|name| opens.iter().any(|open| name.contains(open)));
    let path = far.iter().any(|mark| {
        text.split(mark)
            .skip(1)
            .any(|rest| !rest.starts_with(['"', '\'', ' ', '/', '>', 'n', '\\']))
    });
    if touches && path {
        return Some("a file elsewhere".to_owned());
    }
    (text.contains('`') && text.contains("%x")).then(|| "`".to_owned())
}

/// Checks rules or code that a program reads from a pipe or process
/// substitution.
pub(super) fn check_piped(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let program = act.program;
    let given = |option: &str| {
        words.iter().position(|word| word.text == option).and_then(|at| words.get(at + 1)).cloned()
    };
    let source = |act: &EffectBuilder<'_>, word: &ShellWord| -> Option<Option<String>> {
        if word.text == "-" || crate::shells::is_stdin_path(&word.text) {
            return Some(act.context.input.text.clone());
        }
        (word.text.starts_with("/dev/fd/")).then(|| word.content.clone())
    };
    match program {
        "make" | "gmake" | "cmake" | "ninja" | "just" | "rake" | "yosys" => {
            let option = if program == "cmake" { "-P" } else { "-f" };
            let Some(text) = given(option).and_then(|word| source(act, &word)) else { return };
            act.ask("interpreter-code", "Runs a build with rules written in the command");
            if let (Some(text), "make" | "gmake" | "just") = (text, program) {
                check_rules(act, &text);
            }
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "tcc" | "as" | "cpp" | "nasm"
        | "groff" | "troff" | "nroff" | "m4" | "rustc" => {
            let stdin = act.context.input.clone();
            let read = stdin.connected
                && (words.iter().any(|word| word.text == "-")
                    || matches!(program, "as" | "cpp" | "groff" | "troff" | "nroff" | "m4"));
            let texts = words.iter().filter_map(|word| word.content.clone());
            let texts: Vec<String> = texts.chain(stdin.text.filter(|_| read)).collect();
            for text in &texts {
                read_included(act, text);
                act.leaf.suspicious_build |= first_acting_name(text).is_some();
            }
        }
        _ => {}
    }
}

/// Reads the files that a source includes.
fn read_included(act: &mut EffectBuilder<'_>, text: &str) {
    for line in text.lines().take(2048) {
        let line = line.trim_start();
        let taken =
            ["#include", "# include", ".incbin", ".include", ".so ", ".mso ", "%include", "incbin"];
        let Some(rest) = taken.iter().find_map(|mark| line.strip_prefix(mark)) else { continue };
        let path = rest.trim().trim_matches(['"', '<', '>', '\'']);
        let path = path.split(['"', '>', ',']).next().unwrap_or(path);
        if path.starts_with(['/', '~', '.']) && !path.starts_with("/usr/") {
            let path = match (path.strip_prefix("~/"), act.context.at.home()) {
                (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
                _ => path.to_owned(),
            };
            act.read(&ShellWord::literal(path.as_str()));
            if path.starts_with('/') || path.contains("..") {
                act.ask(
                    "outside-code",
                    format!("Includes a file from outside the project ({path})"),
                );
            }
        }
    }
}

/// Whether a sed substitution inserts more than a plain value.
pub(crate) fn sed_inserts_code(words: &[ShellWord]) -> bool {
    words.iter().skip(1).filter(|word| !word.text.starts_with("-i")).any(|word| {
        let mut parts = word.text.splitn(3, ['/', '|', '#', ',']);
        let order = parts.next();
        let (old, put) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let put = put.trim_end_matches(['g', '/', '|', '#', 'I', ',']);
        let longer = put.matches(' ').count() > old.matches(' ').count();
        order == Some("s") && (longer || put.contains([';', '&', '$', '`', '(', '~']))
    })
}
