//! Options and operands by which a program loads code, settings or rules. Those
//! of the project are fine; any others need approval.

use std::path::Path;
use std::sync::LazyLock;

use hermes_core::Scope;

use super::installed_dirs::{is_at_home, is_installed};
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// When the value of an option needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeLoad {
    /// Always.
    Always,
    /// If it is outside the project.
    IfOutside,
    /// A working directory; if it is outside the project.
    WorkDir,
    /// A program, or a file that names programs: if it is outside the project,
    /// or if it gains network access through the program that runs it.
    Program,
}

const LOAD_OPTIONS: &[(&str, &str, CodeLoad)] = &[
    ("npm", "explore", CodeLoad::Always),
    ("latexmk", "-e -r -latexoption -pdflatex -latex -usepretex", CodeLoad::Always),
    ("pandoc", "--defaults --data-dir", CodeLoad::IfOutside),
    ("pandoc", "--lua-filter -L --filter --pdf-engine --defaults -d", CodeLoad::Program),
    ("pandoc", "-F", CodeLoad::Always),
    ("helm", "--post-renderer", CodeLoad::Program),
    ("helm flux stern", "--kubeconfig", CodeLoad::Program),
    (
        "ansible ansible-playbook ansible-pull ansible-galaxy",
        "--vault-password-file --vault-pass-file --become-password-file --become-pass-file \
         --connection-password-file --conn-pass-file --module-path -M",
        CodeLoad::Program,
    ),
    (
        "yt-dlp youtube-dl",
        "--downloader --external-downloader --ffmpeg-location --plugin-dirs --netrc-cmd",
        CodeLoad::Program,
    ),
    ("nmap", "--script --datadir --servicedb", CodeLoad::Program),
    ("wrk wrk2", "-s --script", CodeLoad::Program),
    ("curl curlie", "--engine", CodeLoad::Program),
    ("mpv", "--script --scripts", CodeLoad::Program),
    ("docker podman nerdctl", "--config", CodeLoad::Program),
    ("rclone", "--password-command --sftp-ssh --metadata-mapper", CodeLoad::Always),
    ("svn", "--config-option", CodeLoad::Always),
    ("hg", "--config", CodeLoad::Always),
    ("php", "-c", CodeLoad::IfOutside),
    ("pytest py.test", "-p -c --rootdir --confcutdir --config-file --debug", CodeLoad::IfOutside),
    ("ssh-keygen", "-D -s", CodeLoad::Always),
    ("ssh-add", "-s -e -D -d", CodeLoad::Always),
    ("pylint", "--init-hook", CodeLoad::Always),
    ("pylint", "--load-plugins --rcfile", CodeLoad::IfOutside),
    ("mypy", "--python-executable", CodeLoad::Always),
    ("mypy", "--config-file", CodeLoad::IfOutside),
    ("gradle gradlew", "-I --init-script", CodeLoad::Always),
    ("gradle gradlew", "-p --project-dir -b -c", CodeLoad::WorkDir),
    ("mvn mvnw", "-s --settings -gs --global-settings -t --toolchains", CodeLoad::IfOutside),
    ("mvn mvnw", "-f --file", CodeLoad::WorkDir),
    ("yt-dlp youtube-dl", "--exec --exec-before-download --config-locations", CodeLoad::Always),
    ("sphinx-build", "-c", CodeLoad::IfOutside),
    ("mkdocs", "-f --config-file", CodeLoad::IfOutside),
    (
        "eslint",
        "-c --config --rulesdir --resolve-plugins-relative-to --plugin",
        CodeLoad::IfOutside,
    ),
    ("prettier stylelint", "--plugin --config", CodeLoad::IfOutside),
    (
        "jest vitest mocha webpack vite rollup",
        "--config -c --setupFiles --require",
        CodeLoad::IfOutside,
    ),
    ("black ruff flake8 isort", "--config", CodeLoad::IfOutside),
    ("yosys", "-m", CodeLoad::Always),
    ("yosys", "-c -s", CodeLoad::IfOutside),
    ("vvp", "-M -m", CodeLoad::Always),
    ("make gmake", "-I --include-dir -f --file --makefile", CodeLoad::IfOutside),
    ("make gmake ninja", "-C --directory", CodeLoad::WorkDir),
    ("ninja", "-f", CodeLoad::IfOutside),
    ("cmake", "-P -C --toolchain", CodeLoad::IfOutside),
    ("cargo", "--manifest-path -C", CodeLoad::WorkDir),
    ("go", "-C -modfile -overlay", CodeLoad::WorkDir),
    ("npm pnpm yarn bun", "--prefix -C --dir --cwd", CodeLoad::WorkDir),
    ("tox nox", "-c -f", CodeLoad::IfOutside),
    ("jupyter", "--config", CodeLoad::IfOutside),
    ("clang-format clang-tidy", "--load -load", CodeLoad::Always),
    ("wget wget2", "--load-cookies", CodeLoad::Always),
    ("dotnet", "--project -p", CodeLoad::WorkDir),
    ("ctest", "-S -SP --script --test-dir", CodeLoad::IfOutside),
    ("just", "--justfile -f --working-directory -d", CodeLoad::IfOutside),
    ("task go-task", "-t --taskfile -d --dir", CodeLoad::IfOutside),
    ("hugo", "-s --source --config --themesDir", CodeLoad::IfOutside),
    ("meson", "--native-file --cross-file", CodeLoad::IfOutside),
    (
        "bazel bazelisk",
        "--workspace_status_command --bazelrc --override_repository --run_under",
        CodeLoad::IfOutside,
    ),
    (
        "jest",
        "--globalSetup --globalTeardown --setupFilesAfterEnv --rootDir --testEnvironment --resolver",
        CodeLoad::IfOutside,
    ),
    ("terraform tofu", "-chdir -plugin-dir", CodeLoad::IfOutside),
    ("pandoc", "-d -f --from -t --to -r -w", CodeLoad::IfOutside),
    ("asciidoctor asciidoctor-pdf", "-r --require -T --template-dir", CodeLoad::IfOutside),
    ("magick convert", "-script", CodeLoad::IfOutside),
    ("lua luajit lua5.3 lua5.4", "-l", CodeLoad::IfOutside),
    ("kustomize", "--load-restrictor", CodeLoad::Always),
];

static LOADS_BY_NAME: LazyLock<StaticNameMap<Vec<(&'static str, CodeLoad)>>> =
    LazyLock::new(|| {
        let mut by_name: StaticNameMap<Vec<(&'static str, CodeLoad)>> = StaticNameMap::default();
        for (names, options, load) in LOAD_OPTIONS {
            for name in names.split(' ') {
                by_name.entry(name).or_default().push((*options, *load));
            }
        }
        by_name
    });

/// Whether a path belongs to the project.
fn is_project_path(act: &EffectBuilder<'_>, path: &Path) -> bool {
    path.starts_with(act.context.at.cwd())
}

/// Whether code at a path is neither the project's nor installed.
pub(crate) fn is_outside_code(at: &hermes_core::WorkingDir, path: &Path) -> bool {
    const USER_CODE_DIRS: &[&str] =
        &[".cargo", ".virtualenvs", ".venv", ".bashrc", ".profile", ".zshrc", ".bash_profile"];
    let is_below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    // Virtual environments contain it wherever they are.
    let activates = path.file_name().is_some_and(|name| name == "activate");
    let own = is_installed(at, path) || is_at_home(at, path, USER_CODE_DIRS);
    !(path.starts_with(at.cwd()) || own || activates || is_below(&["/etc", "/dev"]))
}

/// Asks about code and settings from outside the project.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if let Some(entries) = LOADS_BY_NAME.get(act.program) {
        for (options, load) in entries {
            for value in values(words, options) {
                judge(act, &value, *load);
            }
        }
    }
    check_program(act, words);
    super::build_files::check_piped(act, words);
}

fn judge(act: &mut EffectBuilder<'_>, value: &ShellWord, load: CodeLoad) {
    let text = value.text.as_str();
    let far = match act.context.absolute(value) {
        Some(path) => {
            let installed = load != CodeLoad::WorkDir && path.starts_with("/usr");
            !installed && !is_project_path(act, &path)
        }
        None => !value.known,
    };
    let inline = text.starts_with('{')
        && text.split('"').any(|part| part.starts_with(['/', '~']) || part.starts_with("../"));
    let far = far || inline;
    let stream = text == "-" || text.starts_with("/dev/");
    match load {
        CodeLoad::Always => act.ask("program-option", format!("Loads or runs other code ({text})")),
        CodeLoad::Program if !far && reaches_network(act) && is_near_program(text) => {
            let reason = format!("Runs a project file with network access ({text})");
            act.ask("program-option", reason);
        }
        CodeLoad::IfOutside | CodeLoad::Program if far && !stream && !text.is_empty() => {
            act.ask(
                "outside-code",
                format!("Loads code or settings from outside the project ({text})"),
            );
        }
        CodeLoad::WorkDir if far && !text.is_empty() && !act.leaf.reads_only => {
            act.ask("outside-code", format!("Runs code of another directory ({text})"));
            act.write(value);
        }
        _ => {}
    }
}

/// Whether the program is known to use the network.
fn reaches_network(act: &EffectBuilder<'_>) -> bool {
    let families = ["network", "cloud", "docker"];
    act.leaf.effects.iter().any(|effect| families.contains(&effect.scope.family()))
}

/// Whether a text may be a file of the project rather than the name of an
/// installed program.
fn is_near_program(text: &str) -> bool {
    text.contains(['/', '.', '$'])
}

/// The values of options, in the next word or after `=`. Long option names may
/// be abbreviated.
fn values(words: &[ShellWord], options: &str) -> Vec<ShellWord> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word.text == "--" {
            break;
        }
        let (name, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        let short = |option: &str| {
            option.len() == 2
                && option.starts_with('-')
                && word.text.len() > 2
                && word.text.starts_with(option)
                && word.text.get(2..).is_some_and(|rest| rest.starts_with(['/', '.', '~']))
        };
        let cut = name.len() > 5 && name.starts_with("--");
        let means = |option: &str| option == name || cut && option.starts_with(name);
        if options.split(' ').any(means) {
            found.push(match glued {
                Some(value) => ShellWord { text: value.to_owned(), ..word.clone() },
                None => words.get(at + 1).cloned().unwrap_or_default(),
            });
        } else if options.split(' ').any(short) {
            let text = word.text.get(2..).unwrap_or("").to_owned();
            found.push(ShellWord { text, ..word.clone() });
        }
    }
    found
}

/// Checks specific to single programs.
fn check_program(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    match act.program {
        "make" | "gmake" | "bmake" => make_variables(act, words),
        "php" => {
            let loads = ["auto_prepend_file", "auto_append_file", "extension", "zend_extension"];
            let set = words.iter().any(|word| {
                let text = word.text.trim_start_matches("-d").trim_start();
                loads.iter().any(|name| text.starts_with(name))
            });
            if set {
                act.ask("program-option", "Makes php load other code first");
            }
        }
        "npm" | "pnpm" | "yarn" => package_verbs(act, words),
        "pip" | "pip3" | "uv" if has(&["install"]) => {
            let paths = words.iter().filter(|word| word.text.starts_with(['/', '~', '.']));
            let mut paths = paths.filter_map(|word| act.context.absolute(word));
            if paths.any(|path| is_outside_code(act.context.at, &path)) {
                act.ask("outside-code", "Installs code from outside the project");
            }
        }
        "tox" if has(&["exec"]) => {
            let at =
                words.iter().position(|word| word.text == "--").map_or(words.len(), |at| at + 1);
            act.inner.push(InnerCommand::Words(words.get(at..).unwrap_or(&[]).to_vec()));
        }
        "mvn" | "mvnw" => {
            let runs = words.iter().any(|word| {
                word.text.starts_with("exec:")
                    || word.text.contains("exec-maven-plugin")
                    || word.text.starts_with("-Dexec.executable")
            });
            if runs {
                act.ask("program-option", "Makes maven run another program");
            }
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => {
            let files = words.iter().filter_map(|word| word.text.strip_prefix('@'));
            if files.into_iter().any(|file| file.starts_with(['/', '~']) || file.contains("..")) {
                act.ask("outside-code", "Reads compiler options from a file outside the project");
            }
        }
        "cmake" => {
            let tool = words.iter().any(|word| {
                word.text.starts_with("-DCMAKE_")
                    && word.text.split_once('=').is_some_and(|(name, path)| {
                        (name.contains("COMPILER") || name.contains("TOOLCHAIN"))
                            && path.starts_with(['/', '~', '.'])
                            && !["/usr/", "/opt/", "/nix/", "./"]
                                .iter()
                                .any(|p| path.starts_with(p))
                    })
            });
            if tool {
                act.ask("outside-code", "Builds with a tool from outside the project");
            }
        }
        "yosys" => {
            let marks = ["!", "exec ", "tcl ", "plugin ", "script /", "shell"];
            let acts = |text: &str| {
                text.split(';')
                    .any(|part| marks.iter().any(|mark| part.trim_start().starts_with(mark)))
            };
            if words.iter().any(|word| acts(&word.text)) {
                act.ask("interpreter-code", "Runs programs from a script");
            }
        }
        "latexmk" if has(&["-C", "-c", "-cd"]) => {
            let files: Vec<ShellWord> =
                words.iter().filter(|word| !word.text.starts_with('-')).cloned().collect();
            files.iter().for_each(|file| act.write(file));
        }
        "R" if has(&["BATCH"]) => {
            if let Some(script) = words.iter().skip(2).find(|word| !word.text.starts_with('-')) {
                act.run_file(script);
            }
        }
        "coverage" | "jupyter" | "papermill" | "streamlit" => {
            let code =
                |word: &&ShellWord| [".py", ".ipynb"].iter().any(|end| word.text.ends_with(end));
            let scripts: Vec<ShellWord> = words.iter().filter(code).cloned().collect();
            scripts.iter().for_each(|script| act.run_file(script));
        }
        "pytest" | "py.test" => check_test_plugins(act, words),
        "curl" if has(&["-n", "--netrc", "--netrc-optional", "--negotiate"]) => {
            act.ask("secret-exfiltration", "Sends a saved password or Kerberos ticket");
        }
        "go" => {
            let far = words.iter().skip(1).filter(|word| word.text.starts_with(['/', '~']));
            if far
                .filter_map(|word| act.context.absolute(word))
                .any(|path| is_outside_code(act.context.at, &path))
                && has(&["generate", "run", "test", "build", "install"])
            {
                act.ask("outside-code", "Runs code from outside the project");
            }
        }
        _ => {}
    }
}

/// Checks for tests and plugins from outside the project.
fn check_test_plugins(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    let files = words.iter().filter(|word| word.text.starts_with(['/', '~', '.']));
    let far =
        files.filter_map(|word| act.context.absolute(word)).any(|p| !is_project_path(act, &p));
    let loads = words.windows(2).any(|pair| {
        pair[0].text == "-p"
            && !pair[1].text.starts_with("no:")
            && !pair[1].text.contains("pytest")
            && !matches!(pair[1].text.as_str(), "xdist" | "asyncio" | "cov")
    });
    if far || loads || has(&["--pyargs"]) {
        act.ask("outside-code", "Runs tests or plugins from outside the project");
    }
}

/// Checks `make CC='…'`: a plain word is a choice, anything more is a command.
fn make_variables(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    for word in words.iter().filter(|word| !word.text.starts_with('-')) {
        let Some((name, value)) = word.text.split_once('=') else { continue };
        let name = name.trim_end_matches([':', '+', '?']);
        let flags = name.ends_with("FLAGS") || name.ends_with("ARGS") || name.ends_with("OPTS");
        let shell =
            value.contains([';', '|', '&', '`', '#', '>', '<', '\n']) || value.contains("$(");
        let words_of = value.split_whitespace();
        let dashes = words_of.clone().skip(1).all(|part| part.starts_with('-'));
        let runs = !flags && value.contains(' ') && !dashes && is_tool(name);
        let place =
            value.starts_with(['/', '~', '.']) && is_tool(name) && !value.starts_with("/usr/");
        if shell || runs || place || matches!(name, "SHELL" | "MAKE" | "MAKEFLAGS" | ".SHELLFLAGS")
        {
            act.ask("program-option", format!("Makes a build run another program ({})", word.text));
        } else if matches!(name, "DESTDIR" | "PREFIX" | "prefix" | "INSTALL_ROOT")
            && value.len() > 1
        {
            act.write(&ShellWord { text: value.to_owned(), ..word.clone() });
        } else if name == "DESTDIR" {
            act.ask("outside-code", "Installs into the system");
        }
    }
}

/// Whether a build variable names a program.
fn is_tool(name: &str) -> bool {
    const TOOL_VARIABLES: &[&str] = &[
        "CC", "CXX", "LD", "AR", "AS", "CPP", "RM", "CP", "MV", "INSTALL", "SED", "AWK", "MAKE",
        "SHELL", "GO", "CARGO", "NPM", "NODE", "DOCKER", "GIT", "STRIP", "RANLIB", "LEX", "YACC",
    ];
    TOOL_VARIABLES.contains(&name)
        || name.starts_with("PYTHON")
        || name.ends_with("_CMD")
        || name.ends_with("CMD")
}

/// Checks subcommands such as `npm pkg set scripts.x=…`, which stores a command
/// for a later run.
fn package_verbs(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let verbs: Vec<&str> =
        words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    if let ["set-script", _, ..] = verbs.as_slice()
        && let Some(code) = words.iter().filter(|word| !word.text.starts_with('-')).nth(2)
    {
        act.inner.push(InnerCommand::Source(code.clone()));
    }
    if verbs.starts_with(&["pkg", "set"]) {
        for word in words.iter().filter(|word| word.text.starts_with("scripts")) {
            let code = word.text.split_once('=').map_or("", |(_, code)| code).to_owned();
            act.inner.push(InnerCommand::Source(ShellWord { text: code, ..word.clone() }));
        }
    }
    if verbs.iter().any(|verb| *verb == "strict-ssl" || verb.starts_with("strict-ssl=")) {
        act.ask("tls-off", "Disables certificate verification");
    }
    if verbs.first() == Some(&"view") || verbs.first() == Some(&"info") {
        let host = words.iter().find_map(|word| super::network::url_host(&word.text));
        act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
    }
}

#[cfg(test)]
#[path = "code_loading_tests.rs"]
mod tests;
