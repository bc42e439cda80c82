//! Checks short pieces of code for side effects. Strings are removed first, so
//! only names in use count; those include whatever can turn text into code.

use hermes_core::Scope;

use super::code_calls::{self, FileArgument};
use super::code_names::{
    SAFE_NODE_MODULES, SAFE_OS_NAMES, SAFE_PERL_MODULES, SAFE_PYTHON_MODULES,
    UNSAFE_JAVASCRIPT_NAMES, UNSAFE_OTHER_NAMES, UNSAFE_PYTHON_NAMES,
};
use super::inline_code::{self, CodeSnippet};
use super::inline_writes;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::secret_paths;

/// The language of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeLanguage {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Julia,
    R,
    Lua,
    Elixir,
    Octave,
    Other,
    /// Never considered harmless.
    Opaque,
}

/// Whether a Perl module only computes.
pub(super) fn is_safe_perl_module(name: &str) -> bool {
    let name = name.trim_start_matches('-').split(['=', ' ', ';', '(']).next().unwrap_or("");
    SAFE_PERL_MODULES.contains(&name)
}

/// Checks a piece of code; true if it is harmless.
pub(super) fn judge(act: &mut EffectBuilder<'_>, language: CodeLanguage, code: &ShellWord) -> bool {
    judge_with(act, language, code, &[])
}

/// Like [`judge`], for code that receives these operands.
pub(super) fn judge_with(
    act: &mut EffectBuilder<'_>,
    language: CodeLanguage,
    code: &ShellWord,
    operands: &[ShellWord],
) -> bool {
    if act.check_tainted_code(code.taint) {
        return false;
    }
    if !code.known {
        act.ask("interpreter-code", "Runs code that is only known at run time");
        return false;
    }
    let (bare, strings, places) = strip_strings(language, &code.text);
    let bare = match language {
        CodeLanguage::Python => inline_writes::python(act, &bare, &strings, &places),
        CodeLanguage::JavaScript => inline_writes::javascript(act, &bare, &strings, &places),
        _ => bare,
    };
    let found = match language {
        CodeLanguage::Python => python(&bare, &code.text),
        CodeLanguage::JavaScript => javascript(&bare, &strings),
        CodeLanguage::Perl => perl(&bare),
        CodeLanguage::Ruby | CodeLanguage::Other => {
            find_name(&bare.replace("JSON.parse", "JSON"), UNSAFE_OTHER_NAMES)
                .or_else(|| (bare.contains('`') || runs_in_percent(&bare)).then(|| "`".to_owned()))
        }
        CodeLanguage::Php
        | CodeLanguage::Julia
        | CodeLanguage::R
        | CodeLanguage::Lua
        | CodeLanguage::Elixir
        | CodeLanguage::Octave => code_calls::first_unknown_call(language, &bare, &strings),
        CodeLanguage::Opaque => Some("a script".to_owned()),
    };
    if find_name(&bare, &["environ", "getenv", "ENV", "env"]).is_some() {
        act.affect_any(Scope::ENV_READ);
    }
    let found = found.or_else(|| check_reads(act, &bare, &strings, &places));
    let found = found.or_else(|| {
        let all = code_calls::file_arguments(&bare, &strings, &places, &["savefig", "ggsave"]);
        for naming in &all {
            if let FileArgument::Text(path) = naming {
                act.write(&ShellWord::literal(path.as_str()));
            }
        }
        let shown = all.iter().all(|naming| matches!(naming, FileArgument::Text(_)));
        (!shown).then(|| "savefig".to_owned())
    });
    let Some(name) = found else { return true };
    act.affect_any(Scope::CODE_EXECUTE);
    if language == CodeLanguage::Opaque {
        act.ask("interpreter-code", format!("Runs code that may have side effects ({name})"));
    } else {
        let whole = &code.text;
        let (strings, places) = (strings.as_slice(), places.as_slice());
        inline_code::describe(
            act,
            &CodeSnippet { language, whole, bare: &bare, strings, places, operands },
        );
    }
    false
}

/// Adds the files that the code reads: those named by a string literal, while a
/// computed name may be any file.
fn check_reads(
    act: &mut EffectBuilder<'_>,
    bare: &str,
    strings: &[String],
    places: &[usize],
) -> Option<String> {
    let readings = code_calls::read_arguments(bare, strings, places);
    let looks = find_name(bare, &["listdir", "glob", "read_text", "read_bytes", "lines"]).is_some();
    // An aliased function is only visible by its original name.
    let named = ["open", "readFileSync", "readFile", "createReadStream", "read_csv", "loadtxt"];
    let mentions = identifiers(bare).filter(|name| named.contains(name)).count();
    let looks = looks || mentions > readings.len();
    if readings.is_empty() && !looks {
        return None;
    }
    if let Some(path) = strings.iter().find(|text| secret_paths::may_name_secret(text)) {
        act.ask("secret-path", format!("Names {path}, which looks like a secret"));
    }
    for path in strings.iter().filter(|text| {
        text.len() < 512 && !text.contains(['\n', '\0', ' ']) && text.contains(['/', '.'])
    }) {
        act.read(&ShellWord {
            glob: crate::text::has_glob(path),
            ..ShellWord::literal(path.clone())
        });
    }
    if lists_everything(bare) && readings.contains(&FileArgument::Variable) {
        act.ask("secret-path", crate::eval_context::SHOWS_ALL_REASON);
    }
    for path in readings.iter().filter_map(|naming| match naming {
        FileArgument::Text(path) if path.len() < 512 => Some(path),
        _ => None,
    }) {
        act.read(&ShellWord::literal(path.as_str()));
    }
    let together = code_calls::builds_strings(bare);
    let hidden = readings.contains(&FileArgument::Computed)
        || (together && (readings.contains(&FileArgument::Variable) || looks));
    hidden.then(|| "a file with a computed name".to_owned())
}

/// Whether the code lists all files of a directory regardless of name.
fn lists_everything(bare: &str) -> bool {
    let lists = find_name(bare, &["listdir", "iterdir", "scandir"]).is_some();
    lists
        && find_name(bare, &["endswith", "startswith", "suffix", "fnmatch", "splitext", "stem"])
            .is_none()
}

/// Whether `%x(...)` runs a command, with any delimiter.
fn runs_in_percent(bare: &str) -> bool {
    bare.split("%x").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_punctuation()))
}

/// The first of `list` that occurs as a name.
fn find_name(code: &str, list: &[&str]) -> Option<String> {
    identifiers(code).find(|name| list.contains(name)).map(str::to_owned)
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty())
}

fn python(code: &str, whole: &str) -> Option<String> {
    if let Some(name) = find_name(code, UNSAFE_PYTHON_NAMES) {
        return Some(name);
    }
    for name in identifiers(code) {
        let inner = name.starts_with("__") && name.ends_with("__");
        if inner
            && !matches!(
                name,
                "__name__" | "__file__" | "__version__" | "__doc__" | "__future__" | "__len__"
            )
        {
            return Some(name.to_owned());
        }
        if !name.is_ascii() {
            // Python normalizes look-alike letters to ASCII.
            return Some(name.to_owned());
        }
    }
    for line in code.split(['\n', ';']).map(str::trim) {
        let line = line.rsplit(": ").next().unwrap_or(line).trim();
        let modules = match (line.strip_prefix("import "), line.strip_prefix("from ")) {
            (Some(list), _) => list,
            (_, Some(rest)) => {
                let module = rest.split_whitespace().next().unwrap_or("");
                if module == "os" || module == "sys" || module == "io" {
                    return Some(line.to_owned());
                }
                module
            }
            _ => continue,
        };
        for module in modules.split(',') {
            let mut parts = module.split_whitespace();
            let module = parts.next().unwrap_or("");
            let top = module.split('.').next().unwrap_or("");
            if !SAFE_PYTHON_MODULES.contains(&module) && !SAFE_PYTHON_MODULES.contains(&top) {
                return Some(format!("import {module}"));
            }
            if top == "os" && parts.next().is_some() {
                return Some("import os as".to_owned());
            }
        }
    }
    if code.contains("weights_only=False") {
        return Some("weights_only".to_owned());
    }
    unsafe_attribute(code, "os", SAFE_OS_NAMES).or_else(|| opens_for_writing(whole))
}

/// The first attribute of a module in use that is not one of the safe ones.
fn unsafe_attribute(code: &str, module: &str, safe: &[&str]) -> Option<String> {
    let mut from = 0;
    while let Some(at) = code.get(from..)?.find(module) {
        let start = from + at;
        from = start + module.len();
        let before = code.get(..start)?.chars().next_back();
        let after = code.get(from..)?;
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        if before.is_some_and(|c| part_of_name(c) || c == '.') || after.starts_with(part_of_name) {
            continue;
        }
        let imported = code.get(..start)?.trim_end().ends_with("import")
            || code.get(..start)?.trim_end().ends_with(',');
        match after.strip_prefix('.') {
            Some(rest) => {
                let name = identifiers(rest).next().unwrap_or("");
                if !safe.contains(&name) {
                    return Some(format!("{module}.{name}"));
                }
            }
            None if imported => {}
            None => return Some(module.to_owned()),
        }
    }
    None
}

/// Whether a file is opened for anything but reading.
fn opens_for_writing(code: &str) -> Option<String> {
    let writes = code.split("open(").skip(1).any(|rest| {
        let inside = rest.split(')').next().unwrap_or("");
        let mode = |text: &str| {
            text.len() <= 3
                && text.chars().all(|c| "rwaxbt+U".contains(c))
                && text.contains(['w', 'a', 'x', '+'])
        };
        // A mode that is not a string literal is unknown.
        let computed = inside.split_once(',').is_some_and(|(_, mode)| {
            !mode.trim_start().starts_with(['"', '\'']) && !mode.contains("encoding=")
        });
        computed || inside.split(['"', '\'']).skip(1).step_by(2).any(mode)
    });
    writes.then(|| "open for writing".to_owned())
}

fn javascript(code: &str, strings: &[String]) -> Option<String> {
    if let Some(name) = find_name(code, UNSAFE_JAVASCRIPT_NAMES) {
        return Some(name);
    }
    let put_together = ["[\"\"+", "[''+", "[\"\" +", "['' +", "+\"\"]", "+'']", "+ \"\"]", "+ '']"];
    let module = code.contains("require(\"\")[") || code.contains("require('')[");
    if module || (code.contains("require") && put_together.iter().any(|sign| code.contains(sign))) {
        return Some("a computed name".to_owned());
    }
    for holder in ["process[", "global[", "this[", "require[", "module[", "fs[", "os["] {
        if code.contains(holder) {
            return Some(holder.to_owned());
        }
    }
    if find_name(code, &["require"]).is_some() {
        let safe = |text: &String| {
            let name = text.strip_prefix("node:").unwrap_or(text);
            SAFE_NODE_MODULES.contains(&name) || text.ends_with(".json")
        };
        let literal = code.split("require(").skip(1).all(|rest| rest.starts_with(['"', '\'']));
        let dangerous = strings.iter().any(|text| {
            let name = text.strip_prefix("node:").unwrap_or(text);
            UNSAFE_JAVASCRIPT_NAMES.contains(&name) || name == "child_process"
        });
        if !literal || dangerous || !strings.iter().any(safe) {
            return Some("require".to_owned());
        }
    }
    code.contains("\\u").then(|| "escapes in names".to_owned())
}

fn perl(code: &str) -> Option<String> {
    if code.contains('`') {
        return Some("`".to_owned());
    }
    let named = find_name(code, &["readpipe"]);
    let given = ["@ARGV=", "@ARGV =", "@ARGV,", "(@ARGV)="].iter().any(|sign| code.contains(sign));
    if named.is_some() || given {
        return Some(named.unwrap_or_else(|| "@ARGV".to_owned()));
    }
    if code.contains("&{") || code.contains("&$") || code.contains("->(") {
        return Some("a computed call".to_owned());
    }
    for line in code.split([';', '\n']).map(str::trim) {
        if let Some(module) = line.strip_prefix("use ")
            && !is_safe_perl_module(module.trim())
        {
            return Some(line.to_owned());
        }
    }
    find_name(code, UNSAFE_OTHER_NAMES).filter(|name| {
        !matches!(
            name.as_str(),
            "link" | "file" | "source" | "parse" | "run" | "package" | "write" | "debug"
        )
    })
}

/// Splits code into the code without string contents (the quotes stay), the
/// strings, and the offset of each in the code. Strings that may hold code keep
/// their contents.
fn strip_strings(language: CodeLanguage, code: &str) -> (String, Vec<String>, Vec<usize>) {
    let letters: Vec<char> = code.chars().collect();
    let mut bare = String::with_capacity(code.len());
    let mut strings = Vec::new();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(c) = letters.get(at).copied() {
        let comment = c == '#' && language == CodeLanguage::Python;
        if comment {
            while letters.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
            continue;
        }
        if c != '"' && c != '\'' {
            bare.push(c);
            at += 1;
            continue;
        }
        let width =
            if letters.get(at..at + 3) == Some(&[c, c, c]) && language == CodeLanguage::Python {
                3
            } else {
                1
            };
        let start = at + width;
        let mut end = start;
        loop {
            match letters.get(end) {
                None => break,
                Some('\\') => end += 2,
                Some(_)
                    if letters.get(end..end + width).is_some_and(|s| s.iter().all(|q| *q == c)) =>
                {
                    break;
                }
                Some(_) => end += 1,
            }
        }
        let end = end.min(letters.len());
        let inside: String = letters.get(start..end).unwrap_or(&[]).iter().collect();
        let formatted = language == CodeLanguage::Python
            && letters
                .get(..at)
                .is_some_and(|before| before.iter().rev().take(2).any(|p| matches!(p, 'f' | 'F')));
        let interpolates = match language {
            CodeLanguage::Python => formatted && inside.contains('{'),
            CodeLanguage::Perl => c == '"' && (inside.contains("@{") || inside.contains("${")),
            CodeLanguage::Ruby => c == '"' && inside.contains("#{"),
            CodeLanguage::Php => c == '"' && (inside.contains("{$") || inside.contains("${")),
            _ => false,
        };
        places.push(bare.len());
        bare.push(c);
        if interpolates {
            bare.push_str(&inside);
        }
        bare.push(c);
        strings.push(inside);
        at = end + width;
    }
    (bare, strings, places)
}

/// Checks an awk program.
pub(super) fn awk(act: &mut EffectBuilder<'_>, script: &ShellWord) {
    let (bare, strings, _) = strip_strings(CodeLanguage::Other, &script.text.replace('\'', " "));
    let runs = find_name(&bare, &["system"]).is_some()
        || bare.contains("|&")
        || bare.replace("||", " ").contains('|')
            && (bare.contains("\"\" |")
                || bare.contains("| \"\"")
                || bare.contains("|\"\"")
                || bare.contains("\"\"|")
                || find_name(&bare, &["getline"]).is_some());
    if runs
        || calls_by_name(&bare)
        || bare.replace("||", " ").split('|').skip(1).any(|rest| {
            find_name(rest.split([';', '}', '\n']).next().unwrap_or(""), &["getline"]).is_some()
        })
    {
        act.ask("interpreter-code", "Runs programs from an awk script");
        act.affect_any(Scope::CODE_EXECUTE);
    }
    for path in strings.iter().filter(|text| secret_paths::names_secret(text)) {
        act.ask("secret-path", format!("Names {path}, which looks like a secret"));
    }
    if find_name(&bare, &["getline"]).is_some() {
        let paths = strings.iter().filter(|text| text.contains(['/', '.']) && !text.contains(' '));
        paths.for_each(|path| act.read(&ShellWord::literal(path.as_str())));
    }
    let writes = bare.contains("> \"\"")
        || bare.contains(">\"\"")
        || bare.contains(">> \"\"")
        || bare.contains(">>\"\"");
    if writes {
        let file = strings.iter().rev().find(|text| !text.contains([' ', '%', '\\'])).cloned();
        match file.filter(|file| !file.starts_with("/dev/std")) {
            Some(file) => act.write(&ShellWord::literal(file)),
            None if strings.iter().any(|text| text.starts_with("/dev/std")) => {}
            None => act.affect_any(Scope::FILE_WRITE),
        }
    } else if prints_to_computed(&bare) && strings.iter().any(|text| text.contains(['/', '~'])) {
        act.affect_any(Scope::FILE_WRITE);
    }
}

/// Whether an awk program loads a library, or calls a function whose name is
/// in a variable: `@f()`.
fn calls_by_name(code: &str) -> bool {
    const SAFE_DIRECTIVES: &[&str] = &["include", "namespace"];
    code.split('@').skip(1).any(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        !name.is_empty() && !SAFE_DIRECTIVES.contains(&name)
    })
}

/// Whether an awk program prints to a computed target.
fn prints_to_computed(code: &str) -> bool {
    code.split([';', '}', '\n']).filter_map(|part| part.split_once("print")).any(|(_, rest)| {
        let mut depth = 0i32;
        rest.chars().any(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == '>' && depth <= 0
        })
    })
}
