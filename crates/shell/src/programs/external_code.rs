//! Code that a program loads without being an interpreter in the usual sense: a
//! class path, a build directory, a macro file. Code of the project is fine;
//! code from outside it, or downloaded by the same command, needs approval.

use hermes_core::Scope;

use super::code_loading::is_outside_code;
use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{ShellWord, TextTaint};

/// Finds code from outside the project.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let has = |texts: &[&str]| words.iter().any(|word| texts.contains(&word.text.as_str()));
    match act.program {
        "java" | "javaw" | "javac" | "kotlin" | "kotlinc" | "scala" | "jshell" => java(act, words),
        "zig" | "tcc" | "go" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc" => {
            compiler(act, words);
        }
        "python" | "python3" => modules(act, words),
        "cargo" => load_code_dirs(act, words, &["--manifest-path", "-C"]),
        "make" | "gmake" | "ninja" => load_code_dirs(act, words, &["-C", "--directory"]),
        "cmake" => load_code_dirs(act, words, &["--build", "-S"]),
        "npm" | "pnpm" | "yarn" | "bun" => load_code_dirs(act, words, &["--prefix", "-C", "--cwd"]),
        "pip" | "pip3" | "uv" | "pipx" => {
            let made = |word: &&ShellWord| word.text.contains('/') || word.text.ends_with(".whl");
            words.iter().filter(made).for_each(|word| record_loaded_code(act, word));
        }
        "pytest" | "py.test" | "node" | "ruby" | "perl" | "php" | "lua" | "deno" => {
            words
                .iter()
                .filter(|word| is_file(word))
                .for_each(|word| record_loaded_code(act, word));
        }
        "gawk" | "awk" | "mawk" => {
            let args = CommandArgs::parse(words, &["-f", "--file", "-l", "--load", "-F", "-v"]);
            args.values(&["-f", "--file", "-l", "--load"])
                .iter()
                .for_each(|word| load_code(act, word));
        }
        "xsltproc" => {
            words.iter().filter(|word| is_file(word)).take(1).for_each(|w| load_code(act, w))
        }
        "bazel" | "bazelisk" if has(&["run"]) => {
            let foreign =
                |word: &ShellWord| word.text.starts_with('@') && !word.text.starts_with("@//");
            if words.iter().any(foreign) {
                act.ask("outside-code", "Runs a program from another repository");
            }
        }
        "sphinx-build" => {
            let set = words
                .iter()
                .any(|word| word.text.trim_start_matches("-D").starts_with("extensions="));
            if set {
                act.ask("program-option", "Makes sphinx load other extensions");
            }
        }
        "kustomize" => kustomize(act, words),
        "magick" | "convert" | "mogrify" | "identify" | "montage" | "composite" => {
            pictures(act, words)
        }
        _ => verbs(act, words),
    }
}

/// Describes subcommands and options of other tools that run a command or code.
fn verbs(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let at = |texts: &[&str]| words.iter().position(|word| texts.contains(&word.text.as_str()));
    match act.program {
        "composer" if words.iter().any(|word| matches!(word.text.as_str(), "exec")) => {
            let from = at(&["exec"]).map_or(words.len(), |at| at + 1);
            let rest = words.get(from..).unwrap_or(&[]);
            let rest: Vec<ShellWord> =
                rest.iter().filter(|word| word.text != "--").cloned().collect();
            act.inner.push(InnerCommand::Words(rest));
        }
        "mix" => {
            if let Some(at) = at(&["cmd"]) {
                let rest = words.get(at + 1..).unwrap_or(&[]).to_vec();
                act.inner.push(InnerCommand::Words(rest));
            }
        }
        "terraform" | "tofu" if at(&["fmt"]).is_some() => {
            let dirs = words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
            dirs.for_each(|word| act.write(word));
        }
        "git" if at(&["interpret-trailers"]).is_some() && at(&["--in-place"]).is_some() => {
            let files = words.iter().filter(|word| is_file(word));
            files.for_each(|word| act.write(word));
        }
        "rebar3" if at(&["--eval"]).is_some() => {
            act.ask("interpreter-code", "Runs code that may have side effects (rebar3)");
        }
        "swift" if at(&["-e"]).is_some() => {
            act.ask("interpreter-code", "Runs code that may have side effects (swift)");
        }
        _ => {}
    }
}

fn is_file(word: &ShellWord) -> bool {
    !word.text.starts_with('-') && word.text.contains(['.', '/'])
}

/// Records loaded code, which matters if it was downloaded earlier.
fn record_loaded_code(act: &mut EffectBuilder<'_>, word: &ShellWord) {
    act.leaf.loaded_code.extend(act.context.absolute(word));
}

/// Records loaded code, and asks if it is outside the project.
fn load_code(act: &mut EffectBuilder<'_>, word: &ShellWord) {
    record_loaded_code(act, word);
    let Some(path) = act.context.absolute(word) else { return };
    let cached =
        super::installed_dirs::is_at_home(act.context.at, &path, &[".m2", ".gradle", ".ivy2"]);
    let here = word.text.starts_with("/dev/") || word.content.is_some();
    if is_outside_code(act.context.at, &path) && !cached && !here {
        let reason = format!("Runs code from outside the project ({})", word.text);
        act.ask("outside-code", reason);
    }
}

/// Loads directories named by options, in which a build runs what it finds.
fn load_code_dirs(act: &mut EffectBuilder<'_>, words: &[ShellWord], options: &[&str]) {
    for pair in words.windows(2).filter(|pair| options.contains(&pair[0].text.as_str())) {
        load_code(act, &pair[1]);
    }
    for word in words {
        let Some((name, value)) = word.text.split_once('=') else { continue };
        if options.contains(&name) {
            load_code(act, &ShellWord { text: value.to_owned(), ..word.clone() });
        }
    }
}

fn java(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let paths = ["-cp", "-classpath", "--class-path", "-p", "--module-path"];
    let valued =
        ["-cp", "-classpath", "--class-path", "-p", "--module-path", "-d", "--add-modules"];
    let part = |word: &ShellWord, text: &str| ShellWord { text: text.to_owned(), ..word.clone() };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.text.as_str();
        if let Some(file) = text.strip_prefix('@') {
            load_code(act, &part(word, file));
        } else if valued.contains(&text) {
            if let Some(value) = words.get(at).filter(|_| paths.contains(&text)) {
                for piece in value.text.split(':').filter(|piece| !piece.is_empty()) {
                    load_code(act, &part(value, piece.trim_end_matches("/*")));
                }
            }
            at += 1;
        } else if !text.starts_with('-') {
            match text.contains(['.', '/']) {
                true => load_code(act, word),
                false => record_loaded_code(act, &part(word, &format!("{text}.class"))),
            }
            // The words after the main class are its arguments.
            if act.program.starts_with("java") && act.program != "javac" {
                break;
            }
        }
    }
}

fn compiler(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let sources: Vec<ShellWord> = words.iter().filter(|word| is_file(word)).cloned().collect();
    let runs = match act.program {
        "tcc" => words.iter().any(|word| word.text == "-run"),
        "zig" => {
            load_code_dirs(act, words, &["--build-file"]);
            words.first().is_some_and(|word| matches!(word.text.as_str(), "run" | "test" | "build"))
        }
        _ => false,
    };
    for source in &sources {
        match runs {
            true => load_code(act, source),
            false => record_loaded_code(act, source),
        }
    }
    let unseen = |word: &ShellWord| word.text.starts_with("/dev/fd") || word.text == "-";
    if runs && words.iter().any(unseen) {
        act.ask("interpreter-code", "Compiles and runs code that is only known at run time");
    }
    let names = words.iter().any(|word| {
        word.text.starts_with("-o")
            || matches!(word.text.as_str(), "-c" | "-S" | "-E" | "-M" | "-MM")
    });
    if matches!(act.program, "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++")
        && !names
        && !sources.is_empty()
    {
        act.write(&ShellWord::literal("a.out"));
    }
}

/// Describes tests and programs that python runs as modules.
fn modules(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let Some(at) = words.iter().position(|word| word.text == "-m") else {
        return words
            .iter()
            .filter(|word| is_file(word))
            .take(1)
            .for_each(|w| record_loaded_code(act, w));
    };
    let module = words.get(at + 1).map_or("", |word| word.text.as_str());
    let rest = words.get(at + 2..).unwrap_or(&[]);
    match module {
        "unittest" | "pytest" | "doctest" | "nose2" => {
            rest.iter().filter(|word| is_file(word)).for_each(|word| load_code(act, word));
        }
        "cProfile" | "profile" | "trace" | "zipapp" => {
            let args = CommandArgs::parse(rest, &["-o", "--output", "--outfile", "-p", "-m", "-s"]);
            args.values(&["-o", "--output", "--outfile"]).iter().for_each(|word| act.write(word));
        }
        _ => {}
    }
}

fn kustomize(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let runs = ["--enable-exec", "--enable-alpha-plugins", "--enable-star"];
    if words.iter().any(|word| runs.iter().any(|flag| word.text.starts_with(flag))) {
        act.ask("program-option", "Allows a configuration to run programs");
    }
    if let Some(host) = words.iter().find_map(|word| super::network::url_host(&word.text)) {
        act.affect_host(Scope::NETWORK_FETCH, Some(&host));
        act.ask("remote-code", "Builds a configuration from another machine");
    }
}

/// Describes image tools, whose file prefixes may run scripts, write or delete.
fn pictures(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    for word in words {
        let Some((scheme, rest)) = word.text.split_once(':') else { continue };
        let file = ShellWord { text: rest.to_owned(), ..word.clone() };
        match scheme {
            "msl" | "mvg" | "url" | "script" => load_code(act, &file),
            _ if scheme.len() <= 5
                && rest.starts_with(['/', '~', '.'])
                && act.program != "identify" =>
            {
                act.write(&file);
            }
            "ephemeral" => {
                act.ask("data-loss", "Deletes a file after reading it");
                act.delete(&file);
            }
            _ => {}
        }
    }
}

/// Records the target directory if the unpacked archive is downloaded.
pub(super) fn check_unpack(act: &mut EffectBuilder<'_>, dir: Option<&ShellWord>) {
    if act.context.input.taint.has(TextTaint::REMOTE) {
        let place = match dir {
            Some(dir) => act.context.absolute(dir),
            None => act.context.cwd.map(std::path::Path::to_path_buf),
        };
        act.leaf.downloads_into.extend(place);
    }
}
