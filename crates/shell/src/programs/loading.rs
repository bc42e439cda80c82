//! Options and operands by which a program loads code, settings or rules: from
//! the project they are its own business, from elsewhere somebody is asked.

use std::path::Path;
use std::sync::LazyLock;

use hermes_core::Scope;

use super::installed::{is_at_home, is_installed};
use crate::leaf::Word;
use crate::site::{Act, Inner};
use crate::table::Table;

/// What is to be thought of the value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Asked about whatever it is.
    Always,
    /// Asked about if it is not of the project.
    Elsewhere,
    /// A folder that is worked in.
    Folder,
    /// A program, or what names programs: asked about if it is not of the
    /// project, or if it gets the network by way of the one that runs it.
    Program,
}

const LOADS: &[(&str, &str, Load)] = &[
    ("npm", "explore", Load::Always),
    ("latexmk", "-e -r -latexoption -pdflatex -latex -usepretex", Load::Always),
    ("pandoc", "--defaults --data-dir", Load::Elsewhere),
    ("pandoc", "--lua-filter -L --filter --pdf-engine --defaults -d", Load::Program),
    ("pandoc", "-F", Load::Always),
    ("helm", "--post-renderer", Load::Program),
    ("helm flux stern", "--kubeconfig", Load::Program),
    (
        "ansible ansible-playbook ansible-pull ansible-galaxy",
        "--vault-password-file --vault-pass-file --become-password-file --become-pass-file \
         --connection-password-file --conn-pass-file --module-path -M",
        Load::Program,
    ),
    (
        "yt-dlp youtube-dl",
        "--downloader --external-downloader --ffmpeg-location --plugin-dirs --netrc-cmd",
        Load::Program,
    ),
    ("nmap", "--script --datadir --servicedb", Load::Program),
    ("wrk wrk2", "-s --script", Load::Program),
    ("curl curlie", "--engine", Load::Program),
    ("mpv", "--script --scripts", Load::Program),
    ("docker podman nerdctl", "--config", Load::Program),
    ("rclone", "--password-command --sftp-ssh --metadata-mapper", Load::Always),
    ("svn", "--config-option", Load::Always),
    ("hg", "--config", Load::Always),
    ("php", "-c", Load::Elsewhere),
    ("pytest py.test", "-p -c --rootdir --confcutdir --config-file --debug", Load::Elsewhere),
    ("ssh-keygen", "-D -s", Load::Always),
    ("ssh-add", "-s -e -D -d", Load::Always),
    ("pylint", "--init-hook", Load::Always),
    ("pylint", "--load-plugins --rcfile", Load::Elsewhere),
    ("mypy", "--python-executable", Load::Always),
    ("mypy", "--config-file", Load::Elsewhere),
    ("gradle gradlew", "-I --init-script", Load::Always),
    ("gradle gradlew", "-p --project-dir -b -c", Load::Folder),
    ("mvn mvnw", "-s --settings -gs --global-settings -t --toolchains", Load::Elsewhere),
    ("mvn mvnw", "-f --file", Load::Folder),
    ("yt-dlp youtube-dl", "--exec --exec-before-download --config-locations", Load::Always),
    ("sphinx-build", "-c", Load::Elsewhere),
    ("mkdocs", "-f --config-file", Load::Elsewhere),
    ("eslint", "-c --config --rulesdir --resolve-plugins-relative-to --plugin", Load::Elsewhere),
    ("prettier stylelint", "--plugin --config", Load::Elsewhere),
    (
        "jest vitest mocha webpack vite rollup",
        "--config -c --setupFiles --require",
        Load::Elsewhere,
    ),
    ("black ruff flake8 isort", "--config", Load::Elsewhere),
    ("yosys", "-m", Load::Always),
    ("yosys", "-c -s", Load::Elsewhere),
    ("vvp", "-M -m", Load::Always),
    ("make gmake", "-I --include-dir -f --file --makefile", Load::Elsewhere),
    ("make gmake ninja", "-C --directory", Load::Folder),
    ("ninja", "-f", Load::Elsewhere),
    ("cmake", "-P -C --toolchain", Load::Elsewhere),
    ("cargo", "--manifest-path -C", Load::Folder),
    ("go", "-C -modfile -overlay", Load::Folder),
    ("npm pnpm yarn bun", "--prefix -C --dir --cwd", Load::Folder),
    ("tox nox", "-c -f", Load::Elsewhere),
    ("jupyter", "--config", Load::Elsewhere),
    ("clang-format clang-tidy", "--load -load", Load::Always),
    ("wget wget2", "--load-cookies", Load::Always),
    ("dotnet", "--project -p", Load::Folder),
    ("ctest", "-S -SP --script --test-dir", Load::Elsewhere),
    ("just", "--justfile -f --working-directory -d", Load::Elsewhere),
    ("task go-task", "-t --taskfile -d --dir", Load::Elsewhere),
    ("hugo", "-s --source --config --themesDir", Load::Elsewhere),
    ("meson", "--native-file --cross-file", Load::Elsewhere),
    (
        "bazel bazelisk",
        "--workspace_status_command --bazelrc --override_repository --run_under",
        Load::Elsewhere,
    ),
    (
        "jest",
        "--globalSetup --globalTeardown --setupFilesAfterEnv --rootDir --testEnvironment --resolver",
        Load::Elsewhere,
    ),
    ("terraform tofu", "-chdir -plugin-dir", Load::Elsewhere),
    ("pandoc", "-d -f --from -t --to -r -w", Load::Elsewhere),
    ("asciidoctor asciidoctor-pdf", "-r --require -T --template-dir", Load::Elsewhere),
    ("magick convert", "-script", Load::Elsewhere),
    ("lua luajit lua5.3 lua5.4", "-l", Load::Elsewhere),
    ("kustomize", "--load-restrictor", Load::Always),
];

static BY_NAME: LazyLock<Table<Vec<(&'static str, Load)>>> = LazyLock::new(|| {
    let mut by_name: Table<Vec<(&'static str, Load)>> = Table::default();
    for (names, options, load) in LOADS {
        for name in names.split(' ') {
            by_name.entry(name).or_default().push((*options, *load));
        }
    }
    by_name
});

/// Whether a path belongs to the project.
fn is_ours(act: &Act<'_>, path: &Path) -> bool {
    path.starts_with(act.site.at.cwd())
}

/// Whether code at a path is neither the project's nor installed.
pub(crate) fn is_elsewhere(at: &hermes_core::WorkingDir, path: &Path) -> bool {
    const OWN: &[&str] =
        &[".cargo", ".virtualenvs", ".venv", ".bashrc", ".profile", ".zshrc", ".bash_profile"];
    let is_below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    // An environment of a language has this in it wherever it is.
    let activates = path.file_name().is_some_and(|name| name == "activate");
    let own = is_installed(at, path) || is_at_home(at, path, OWN);
    !(path.starts_with(at.cwd()) || own || activates || is_below(&["/etc", "/dev"]))
}

/// Asks about code and settings from elsewhere.
pub(super) fn describe(act: &mut Act<'_>, words: &[Word]) {
    if let Some(entries) = BY_NAME.get(act.program) {
        for (options, load) in entries {
            for value in values(words, options) {
                judge(act, &value, *load);
            }
        }
    }
    own(act, words);
    super::recipes::piped(act, words);
}

fn judge(act: &mut Act<'_>, value: &Word, load: Load) {
    let text = value.text.as_str();
    let far = match act.site.absolute(value) {
        Some(path) => {
            let installed = load != Load::Folder && path.starts_with("/usr");
            !installed && !is_ours(act, &path)
        }
        None => !value.known,
    };
    let inline = text.starts_with('{')
        && text.split('"').any(|part| part.starts_with(['/', '~']) || part.starts_with("../"));
    let far = far || inline;
    let stream = text == "-" || text.starts_with("/dev/");
    match load {
        Load::Always => act.ask("program-option", format!("Loads or runs something else ({text})")),
        Load::Program if !far && reaches(act) && is_near_program(text) => {
            let reason = format!("Runs something of the project that gets the network ({text})");
            act.ask("program-option", reason);
        }
        Load::Elsewhere | Load::Program if far && !stream && !text.is_empty() => {
            act.ask("outside-code", format!("Loads code or settings from elsewhere ({text})"));
        }
        Load::Folder if far && !text.is_empty() && !act.leaf.reads_only => {
            act.ask("outside-code", format!("Runs what another folder says ({text})"));
            act.write(value);
        }
        _ => {}
    }
}

/// Whether a program has been found to talk to others.
fn reaches(act: &Act<'_>) -> bool {
    let families = ["network", "cloud", "docker"];
    act.leaf.effects.iter().any(|effect| families.contains(&effect.scope.family()))
}

/// Whether a text may be a file of the project, not the name of something
/// that is installed.
fn is_near_program(text: &str) -> bool {
    text.contains(['/', '.', '$'])
}

/// The values of options, next to them or after `=`. The name of a long one
/// may be cut short.
fn values(words: &[Word], options: &str) -> Vec<Word> {
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
                Some(value) => Word { text: value.to_owned(), ..word.clone() },
                None => words.get(at + 1).cloned().unwrap_or_default(),
            });
        } else if options.split(' ').any(short) {
            let text = word.text.get(2..).unwrap_or("").to_owned();
            found.push(Word { text, ..word.clone() });
        }
    }
    found
}

/// What single programs have of their own.
fn own(act: &mut Act<'_>, words: &[Word]) {
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
            let mut paths = paths.filter_map(|word| act.site.absolute(word));
            if paths.any(|path| is_elsewhere(act.site.at, &path)) {
                act.ask("outside-code", "Installs code from outside the project");
            }
        }
        "tox" if has(&["exec"]) => {
            let at =
                words.iter().position(|word| word.text == "--").map_or(words.len(), |at| at + 1);
            act.inner.push(Inner::Words(words.get(at..).unwrap_or(&[]).to_vec()));
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
                act.ask("outside-code", "Takes the orders of a compiler from elsewhere");
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
                act.ask("outside-code", "Builds with a program from elsewhere");
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
            let files: Vec<Word> =
                words.iter().filter(|word| !word.text.starts_with('-')).cloned().collect();
            files.iter().for_each(|file| act.write(file));
        }
        "R" if has(&["BATCH"]) => {
            if let Some(script) = words.iter().skip(2).find(|word| !word.text.starts_with('-')) {
                act.runs(script);
            }
        }
        "coverage" | "jupyter" | "papermill" | "streamlit" => {
            let code = |word: &&Word| [".py", ".ipynb"].iter().any(|end| word.text.ends_with(end));
            let scripts: Vec<Word> = words.iter().filter(code).cloned().collect();
            scripts.iter().for_each(|script| act.runs(script));
        }
        "pytest" | "py.test" => tests(act, words),
        "curl" if has(&["-n", "--netrc", "--netrc-optional", "--negotiate"]) => {
            act.ask("secret-exfiltration", "Sends a saved password or ticket");
        }
        "go" => {
            let far = words.iter().skip(1).filter(|word| word.text.starts_with(['/', '~']));
            if far
                .filter_map(|word| act.site.absolute(word))
                .any(|path| is_elsewhere(act.site.at, &path))
                && has(&["generate", "run", "test", "build", "install"])
            {
                act.ask("outside-code", "Runs code from elsewhere");
            }
        }
        _ => {}
    }
}

/// Tests and plugins that are not the project's.
fn tests(act: &mut Act<'_>, words: &[Word]) {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    let files = words.iter().filter(|word| word.text.starts_with(['/', '~', '.']));
    let far = files.filter_map(|word| act.site.absolute(word)).any(|p| !is_ours(act, &p));
    let loads = words.windows(2).any(|pair| {
        pair[0].text == "-p"
            && !pair[1].text.starts_with("no:")
            && !pair[1].text.contains("pytest")
            && !matches!(pair[1].text.as_str(), "xdist" | "asyncio" | "cov")
    });
    if far || loads || has(&["--pyargs"]) {
        act.ask("outside-code", "Runs tests or plugins from elsewhere");
    }
}

/// `make CC='…'`: a plain word is a choice, more than that is a command.
fn make_variables(act: &mut Act<'_>, words: &[Word]) {
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
            act.ask("program-option", format!("Makes a build run something else ({})", word.text));
        } else if matches!(name, "DESTDIR" | "PREFIX" | "prefix" | "INSTALL_ROOT")
            && value.len() > 1
        {
            act.write(&Word { text: value.to_owned(), ..word.clone() });
        } else if name == "DESTDIR" {
            act.ask("outside-code", "Installs into the system");
        }
    }
}

/// Whether a variable of a build names a program.
fn is_tool(name: &str) -> bool {
    const TOOLS: &[&str] = &[
        "CC", "CXX", "LD", "AR", "AS", "CPP", "RM", "CP", "MV", "INSTALL", "SED", "AWK", "MAKE",
        "SHELL", "GO", "CARGO", "NPM", "NODE", "DOCKER", "GIT", "STRIP", "RANLIB", "LEX", "YACC",
    ];
    TOOLS.contains(&name)
        || name.starts_with("PYTHON")
        || name.ends_with("_CMD")
        || name.ends_with("CMD")
}

/// `npm pkg set scripts.x=…` puts a command where the next run finds it.
fn package_verbs(act: &mut Act<'_>, words: &[Word]) {
    let verbs: Vec<&str> =
        words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).collect();
    if let ["set-script", _, ..] = verbs.as_slice()
        && let Some(code) = words.iter().filter(|word| !word.text.starts_with('-')).nth(2)
    {
        act.inner.push(Inner::Source(code.clone()));
    }
    if verbs.starts_with(&["pkg", "set"]) {
        for word in words.iter().filter(|word| word.text.starts_with("scripts")) {
            let code = word.text.split_once('=').map_or("", |(_, code)| code).to_owned();
            act.inner.push(Inner::Source(Word { text: code, ..word.clone() }));
        }
    }
    if verbs.iter().any(|verb| *verb == "strict-ssl" || verb.starts_with("strict-ssl=")) {
        act.ask("tls-off", "Switches the check of certificates off");
    }
    if verbs.first() == Some(&"view") || verbs.first() == Some(&"info") {
        let host = words.iter().find_map(|word| super::network::url_host(&word.text));
        act.reach(Scope::NETWORK_FETCH, host.as_deref());
    }
}

#[cfg(test)]
#[path = "loading_tests.rs"]
mod tests;
