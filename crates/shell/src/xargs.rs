//! Arguments that `xargs` and `parallel` add to a command.

use crate::MAX_SOURCE_BYTES;
use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{
    CommandFinding, LIST_INPUT_PLACEHOLDER, LeafCommand, NEAR_PATH_PLACEHOLDER, NUMBER_PLACEHOLDER,
    RuntimeExtent, ShellWord, TextTaint,
};
use crate::output_shape::is_below;
use crate::text_stream::TextStream;
use crate::wrappers::{join_lines, leading_option_count};

/// Options of parallel that take a value.
pub(crate) const PARALLEL_VALUED: &[&str] = &[
    "-j",
    "--jobs",
    "-a",
    "--arg-file",
    "-I",
    "-n",
    "-N",
    "-d",
    "--delay",
    "--joblog",
    "-S",
    "--sshlogin",
    "--colsep",
    "-C",
    "--timeout",
    "--results",
    "--retries",
    "-L",
    "-P",
    "--tmpdir",
    "--halt",
    "--memfree",
    "--load",
    "--nice",
];

/// Separators before the arguments of parallel; after four colons come files
/// that list them.
const PARALLEL_SEPARATORS: &[&str] = &[":::", ":::+", "::::", "::::+"];

/// Returns the content of the file that is read instead of stdin, if one is
/// given, and records the read.
pub(crate) fn list_source(
    act: &mut EffectBuilder<'_>,
    arguments: &[ShellWord],
    valued: &[&str],
) -> Option<TextStream> {
    let mut names_files = false;
    for word in arguments {
        match PARALLEL_SEPARATORS.contains(&word.text.as_str()) {
            true => names_files = word.text.starts_with("::::"),
            false if names_files => act.read(word),
            false => {}
        }
    }
    let own = arguments.get(..leading_option_count(arguments, valued)).unwrap_or(&[]);
    let file = CommandArgs::parse_abbreviated(own, valued, &[]).value(&["-a", "--arg-file"])?;
    act.read(&file);
    (file.text != "-").then(|| file_stream(&file))
}

/// Returns the content of a file.
fn file_stream(file: &ShellWord) -> TextStream {
    let taint = file.taint.with(TextTaint::COMPUTED);
    TextStream { text: file.content.clone(), taint, connected: true, ..TextStream::default() }
}

/// Returns the placeholder for the input words, if an option sets one. Its
/// letter may follow others.
fn replacement_mark(arguments: &[ShellWord]) -> Option<String> {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1;
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        if let Some(name) = text.strip_prefix("--") {
            let (name, value) = name.split_once('=').unwrap_or((name, "{}"));
            if name.len() > 1 && "replace".starts_with(name) {
                return Some(value.to_owned());
            }
        }
        let letters = text.get(1..).filter(|rest| !rest.starts_with('-')).unwrap_or("");
        if let Some((first, letter)) =
            letters.char_indices().find(|(_, c)| "IinPLdasEle".contains(*c))
        {
            let glued = letters.get(first + 1..).filter(|rest| !rest.is_empty());
            match (letter, glued) {
                ('i', glued) => return Some(glued.unwrap_or("{}").to_owned()),
                ('I', Some(glued)) => return Some(glued.to_owned()),
                ('I', None) => {
                    return arguments.get(at).map(|word| word.text.clone());
                }
                ('l' | 'e', _) | (_, Some(_)) => {}
                _ => at += 1,
            }
        } else if text.starts_with("--") && !text.contains('=') {
            let takes = |name: &&&str| name.len() > 2 && name.starts_with(text) && text.len() > 3;
            at += usize::from(crate::wrapper_table::XARGS_VALUED.iter().any(|name| takes(&name)));
        }
    }
    None
}

/// Adds the input words if known, or else a placeholder word.
pub(crate) fn append_inputs(
    rest: &mut Vec<ShellWord>,
    arguments: &[ShellWord],
    input: &TextStream,
) {
    let replaced = replacement_mark(arguments);
    let unknown = ShellWord {
        text: input.shape.unwrap_or(LIST_INPUT_PLACEHOLDER).to_owned(),
        named: input.shape.is_some(),
        taint: input.taint,
        hints: input.names.clone(),
        runtime_extent: RuntimeExtent::Whole,
        ..ShellWord::default()
    };
    let known: Option<Vec<ShellWord>> = input
        .text
        .as_ref()
        .filter(|text| text.len() < 4096)
        .map(|text| text.split_whitespace().map(ShellWord::literal).collect());
    match replaced {
        None => rest.extend(known.unwrap_or_else(|| vec![unknown])),
        Some(mark) => {
            let value = match known.as_deref() {
                Some([only]) => only.clone(),
                Some(all) if !all.is_empty() && all.iter().all(is_below) => {
                    ShellWord { text: NEAR_PATH_PLACEHOLDER.to_owned(), named: true, ..unknown }
                }
                _ => unknown,
            };
            for word in rest.iter_mut().filter(|word| word.text.contains(&mark)) {
                replace_mark(word, &mark, &value);
            }
        }
    }
}

/// Replaces a mark in a word by a value.
pub(crate) fn replace_mark(word: &mut ShellWord, mark: &str, value: &ShellWord) {
    if !word.text.contains(mark) {
        return;
    }
    // Any number will do inside code.
    if !value.known && value.text == NUMBER_PLACEHOLDER && word.text.contains(' ') {
        word.text = word.text.replace(mark, "4711");
        return;
    }
    let code = !value.known && word.text.contains(char::is_whitespace);
    word.named = if value.known { word.named } else { word.known && value.named && !code };
    word.runtime_extent = match word.text == mark {
        true => value.runtime_extent,
        false if word.text.starts_with(mark) => RuntimeExtent::Start,
        false => word.runtime_extent,
    };
    word.text = word.text.replace(mark, if code { LIST_INPUT_PLACEHOLDER } else { &value.text });
    word.known &= value.known;
    word.taint = word.taint.with(value.taint);
    word.hints.extend_from_slice(&value.hints);
}

/// Returns the command lines that parallel builds, one per argument, to be
/// parsed by a shell.
pub(crate) fn parallel_commands(
    leaf: &mut LeafCommand,
    mut rest: Vec<ShellWord>,
    input: &TextStream,
) -> InnerCommand {
    let unknown = |stream: &TextStream| ShellWord {
        text: LIST_INPUT_PLACEHOLDER.to_owned(),
        taint: stream.taint,
        runtime_extent: RuntimeExtent::Whole,
        ..ShellWord::default()
    };
    let lined = |stream: &TextStream| match &stream.text {
        Some(text) => text.lines().map(ShellWord::literal).collect(),
        None => vec![unknown(stream)],
    };
    let at = rest.iter().position(|word| PARALLEL_SEPARATORS.contains(&word.text.as_str()));
    let given: Vec<ShellWord> = match at {
        Some(at) => {
            let mut given = Vec::new();
            let mut names_files = false;
            for word in rest.split_off(at) {
                match PARALLEL_SEPARATORS.contains(&word.text.as_str()) {
                    true => names_files = word.text.starts_with("::::"),
                    false if names_files && word.text == "-" => given.extend(lined(input)),
                    false if names_files => given.extend(lined(&file_stream(&word))),
                    false => given.push(word),
                }
            }
            given
        }
        None => lined(input),
    };
    if rest.is_empty() {
        return InnerCommand::Source(join_lines(&given));
    }
    let placed = rest.iter().any(|word| word.text.contains("{}"));
    let open = given.iter().find(|word| !word.known);
    // With a known argument beside it, every line counts.
    let open = open.filter(|_| given.iter().all(|word| !word.known));
    if let (Some(open), true) = (open, rest.len() > 1) {
        let plain = |word: &ShellWord| !word.text.contains(char::is_whitespace);
        let taint = given.iter().fold(open.taint, |taint, word| taint.with(word.taint));
        let open = ShellWord { taint, ..open.clone() };
        if !placed {
            rest.push(open);
            return InnerCommand::Words(rest);
        }
        if rest.iter().all(plain) {
            rest.iter_mut().for_each(|word| replace_mark(word, "{}", &open));
            return InnerCommand::Words(rest);
        }
    }
    InnerCommand::Source(join_lines(&parallel_lines(leaf, &rest, &given, placed)))
}

/// Returns one command line per argument of parallel, with the argument at the
/// mark if there is one (`placed`), else at the end.
fn parallel_lines(
    leaf: &mut LeafCommand,
    rest: &[ShellWord],
    given: &[ShellWord],
    placed: bool,
) -> Vec<ShellWord> {
    let mut command = join_lines(rest);
    command.text = command.text.trim_end().replace('\n', " ");
    let marks = command.text.matches("{}").count().max(1);
    let mut all = Vec::new();
    let mut bytes = 0;
    for argument in given {
        // The nested analysis must see where the text comes from.
        let computed = !argument.known && argument.taint.has(TextTaint::COMPUTED);
        let text = if computed { "$(cat /dev/stdin)" } else { &argument.text };
        bytes += command.text.len() + marks * text.len();
        if bytes > MAX_SOURCE_BYTES {
            let reason = "The command has too many arguments to analyze";
            leaf.add_finding(CommandFinding::ask("too-complex", reason));
            break;
        }
        let line = match placed {
            true => command.text.replace("{}", text),
            false => format!("{} {text}", command.text),
        };
        all.push(ShellWord { text: line, ..command.clone() });
    }
    all
}

#[cfg(test)]
#[path = "xargs_tests.rs"]
mod tests;
