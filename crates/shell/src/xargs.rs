//! The words that `xargs` and `parallel` add to a command.

use crate::args::Args;
use crate::flow::Stream;
use crate::leaf::{LISTED, NEAR, NUMBER, Open, Taint, Word};
use crate::listing::is_below;
use crate::site::{Act, Inner};
use crate::wrappers::{leading, lines};

/// Options of parallel that take a value.
pub(crate) const PARALLEL: &[&str] = &[
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

/// What comes before the arguments of parallel; those with four colons are
/// files that list them.
const MARKS: &[&str] = &[":::", ":::+", "::::", "::::+"];

/// What is read in place of the input, if a file is named for it. The file is
/// written down.
pub(crate) fn listed(act: &mut Act<'_>, arguments: &[Word], valued: &[&str]) -> Option<Stream> {
    let mut names_files = false;
    for word in arguments {
        match MARKS.contains(&word.text.as_str()) {
            true => names_files = word.text.starts_with("::::"),
            false if names_files => act.read(word),
            false => {}
        }
    }
    let own = arguments.get(..leading(arguments, valued)).unwrap_or(&[]);
    let file = Args::parse_cut(own, valued, &[]).value(&["-a", "--arg-file"])?;
    act.read(&file);
    (file.text != "-").then(|| of_file(&file))
}

/// What is in a file.
fn of_file(file: &Word) -> Stream {
    let taint = file.taint.with(Taint::COMPUTED);
    Stream { text: file.content.clone(), taint, connected: true, ..Stream::default() }
}

/// What stands in the command for the words that are read, if it is said. Its
/// letter may come behind others.
fn mark(arguments: &[Word]) -> Option<String> {
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
            at += usize::from(crate::wrapping::XARGS.iter().any(|name| takes(&name)));
        }
    }
    None
}

/// Adds those words, if they can be told; an unknown one otherwise.
pub(crate) fn supply(rest: &mut Vec<Word>, arguments: &[Word], input: &Stream) {
    let replaced = mark(arguments);
    let unknown = Word {
        text: input.shape.unwrap_or(LISTED).to_owned(),
        named: input.shape.is_some(),
        taint: input.taint,
        hints: input.names.clone(),
        open: Open::Whole,
        ..Word::default()
    };
    let known: Option<Vec<Word>> = input
        .text
        .as_ref()
        .filter(|text| text.len() < 4096)
        .map(|text| text.split_whitespace().map(Word::literal).collect());
    match replaced {
        None => rest.extend(known.unwrap_or_else(|| vec![unknown])),
        Some(mark) => {
            let value = match known.as_deref() {
                Some([only]) => only.clone(),
                Some(all) if !all.is_empty() && all.iter().all(is_below) => {
                    Word { text: NEAR.to_owned(), named: true, ..unknown }
                }
                _ => unknown,
            };
            for word in rest.iter_mut().filter(|word| word.text.contains(&mark)) {
                put(word, &mark, &value);
            }
        }
    }
}

/// Puts what is read in the place of a mark.
pub(crate) fn put(word: &mut Word, mark: &str, value: &Word) {
    if !word.text.contains(mark) {
        return;
    }
    // Any number does for code that has numbers in it.
    if !value.known && value.text == NUMBER && word.text.contains(' ') {
        word.text = word.text.replace(mark, "4711");
        return;
    }
    let code = !value.known && word.text.contains(char::is_whitespace);
    word.named = if value.known { word.named } else { word.known && value.named && !code };
    word.open = match word.text == mark {
        true => value.open,
        false if word.text.starts_with(mark) => Open::Start,
        false => word.open,
    };
    word.text = word.text.replace(mark, if code { LISTED } else { &value.text });
    word.known &= value.known;
    word.taint = word.taint.with(value.taint);
    word.hints.extend_from_slice(&value.hints);
}

/// The command lines that parallel makes: its words once for every argument,
/// read again by a shell.
pub(crate) fn parallel(mut rest: Vec<Word>, input: &Stream) -> Inner {
    let unknown = |stream: &Stream| Word {
        text: LISTED.to_owned(),
        taint: stream.taint,
        open: Open::Whole,
        ..Word::default()
    };
    let lined = |stream: &Stream| match &stream.text {
        Some(text) => text.lines().map(Word::literal).collect(),
        None => vec![unknown(stream)],
    };
    let at = rest.iter().position(|word| MARKS.contains(&word.text.as_str()));
    let given: Vec<Word> = match at {
        Some(at) => {
            let mut given = Vec::new();
            let mut names_files = false;
            for word in rest.split_off(at) {
                match MARKS.contains(&word.text.as_str()) {
                    true => names_files = word.text.starts_with("::::"),
                    false if names_files && word.text == "-" => given.extend(lined(input)),
                    false if names_files => given.extend(lined(&of_file(&word))),
                    false => given.push(word),
                }
            }
            given
        }
        None => lined(input),
    };
    if rest.is_empty() {
        return Inner::Source(lines(&given));
    }
    let placed = rest.iter().any(|word| word.text.contains("{}"));
    let open = given.iter().find(|word| !word.known);
    if let (Some(open), true) = (open, rest.len() > 1) {
        let plain = |word: &Word| !word.text.contains(char::is_whitespace);
        let taint = given.iter().fold(open.taint, |taint, word| taint.with(word.taint));
        let open = Word { taint, ..open.clone() };
        if !placed {
            rest.push(open);
            return Inner::Words(rest);
        }
        if rest.iter().all(plain) {
            rest.iter_mut().for_each(|word| put(word, "{}", &open));
            return Inner::Words(rest);
        }
    }
    let mut all = Vec::new();
    for argument in given.iter().take(16) {
        let mut line = lines(&rest);
        line.text = line.text.trim_end().replace('\n', " ");
        // The shell that reads the line again has to see where it is from.
        let computed = !argument.known && argument.taint.has(Taint::COMPUTED);
        let text = if computed { "$(cat /dev/stdin)" } else { &argument.text };
        line.text = match placed {
            true => line.text.replace("{}", text),
            false => format!("{} {text}", line.text),
        };
        // A name in the place of an argument is no code.
        all.push(line);
    }
    Inner::Source(lines(&all))
}
