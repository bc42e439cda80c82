//! Options that name an output file: those common to most programs, and those
//! specific to a program.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// Options that name an output in nearly every program.
const USUAL_OUTPUT_OPTIONS: &[&str] = &[
    "-o",
    "--output",
    "--out",
    "--outfile",
    "--out-file",
    "--output-file",
    "--outdir",
    "--out-dir",
    "--output-dir",
    "--output-directory",
    "-output-directory",
    "--outDir",
    "--outFile",
    "--log-file",
    "--logfile",
    "--report-file",
    "--destination",
    "--dest",
    "--target-dir",
    "--export",
    "--save",
    "--write",
    "--dump",
    "--prefix",
    "--root",
    "--trace-file",
    "--cache-dir",
    "--junitxml",
    "--junit-xml",
    "--html",
    "--xml",
    "--basetemp",
    "--build-dir",
    "--builddir",
    "--distdir",
    "--data-dir",
    "--pid-file",
    "--pidfile",
];

/// Programs with their own output options, followed by `=` or by the value as
/// the next word.
const PROGRAM_OUTPUT_OPTIONS: &[(&str, &str)] = &[
    ("strace ltrace truss dtruss", "-o --output"),
    ("perf", "-o --output"),
    ("time gtime", "-o --output"),
    ("valgrind", "--log-file --xml-file --callgrind-out-file --massif-out-file"),
    ("script", "-O -B -I -T --log-out --log-io --log-timing"),
    ("screen", "-Logfile"),
    ("nsys", "-o"),
    ("faketime", "--record"),
    ("go", "-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace"),
    ("gcc g++ cc c++ clang clang++ gfortran", "-o -MF -dumpdir"),
    ("rustc", "-o --out-dir --emit"),
    ("javac", "-d -s -h"),
    ("kotlinc scalac groovyc", "-d"),
    ("protoc", "--*_out -o --descriptor_set_out --dependency_out"),
    ("mockgen", "-destination"),
    ("bison yacc byacc flex lex", "-o --output --defines --graph --xml --header-file"),
    ("tsc", "--outFile --outDir --declarationDir --tsBuildInfoFile --generateTrace"),
    ("esbuild", "--outfile --outdir --metafile"),
    ("doxygen", "-g -l -w"),
    ("ctags etags universal-ctags", "-f -o"),
    ("cscope", "-f"),
    ("aria2c", "-d --dir -o --out -l --log --save-session --save-cookies"),
    ("yt-dlp youtube-dl", "-o -P --paths --output --cookies --write-pages --download-archive"),
    ("mktemp", "-p --tmpdir"),
    ("iperf3 ab wrk hey k6", "--logfile -e -g --out --summary-export"),
    ("tcpdump tshark", "-w"),
    ("iverilog nasm yasm as ld mold", "-o -l -Map"),
    ("objcopy strip", "-o --output-file"),
    ("openssl", "-out -keyout -writerand -CAserial"),
    ("gpg gpg2 age", "-o --output --logger-file --status-file"),
    ("pandoc", "-o --output --extract-media --log"),
    ("latexmk pdflatex xelatex lualatex latex", "-output-directory -outdir -auxdir"),
    ("hugo jekyll", "-d --destination --logFile"),
    ("sphinx-build", "-d -w"),
    ("jupyter", "--output --output-dir"),
    ("pytest py.test", "--junitxml --junit-xml --resultlog --log-file --basetemp"),
    ("coverage", "-o -d --data-file"),
    ("cargo", "--target-dir --root --out-dir --output-path"),
    ("npm pnpm yarn bun", "--prefix --cache --dir --outdir --outfile --pack-destination"),
    ("pip pip3 uv", "-t --target --root --prefix -d --dest --log --report --src -o"),
    ("gem bundle", "-i --install-dir -n --bindir --path"),
    ("docker podman nerdctl", "--cidfile --iidfile --metadata-file"),
    ("terraform tofu", "-out -state-out -backup"),
    ("psql mysql mariadb", "-o --output -L --log-file --tee"),
    ("pg_dump pg_dumpall mysqldump mongodump", "-f --file -r --result-file -o --out"),
    ("inotifywait", "-o --outfile"),
    ("split csplit", "-f --prefix"),
    ("dot neato fdp sfdp twopi circo", "-o"),
    ("xmllint", "-o --output"),
    ("xsltproc", "-o --output"),
    ("semgrep trivy grype syft", "-o --output --json-output --sarif-output"),
    ("lsof netstat ss ps lsblk findmnt df column kubectl helm oc", "-"),
    ("eslint", "-o --output-file --cache-location --cache-file"),
    ("scp sftp rsync", "--log-file --backup-dir --write-batch --partial-dir --temp-dir"),
    ("ssh", "-E -S"),
    ("sort gsort", "-T"),
    ("shuf gshuf iconv", "-o --output"),
    (
        "hyperfine",
        "--export-json --export-csv --export-markdown --export-asciidoc --export-orgmode",
    ),
    ("bazel", "--output_base --output_user_root --build_event_json_file"),
    ("cmake", "--prefix --install-prefix --graphviz --trace-redirect --profiling-output"),
    ("mvn", "-l --log-file"),
    ("gradle", "--project-cache-dir"),
];

/// Adds writes for files that options name as targets.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let own = own_options(act.program);
    if own == Some("-") {
        return;
    }
    let usual = own.is_none();
    write_targets(act, words, own.unwrap_or(""), usual);
}

/// The same only for programs with their own options; the targets may already
/// have been added.
pub(super) fn describe_own(act: &mut EffectBuilder<'_>) {
    let verbs: &[&str] = match act.program {
        "cargo" => &["init", "new", "vendor"],
        "poetry" | "uv" | "rails" | "mix" => &["init", "new"],
        _ => &[],
    };
    if !verbs.is_empty() {
        describe_created_dir(act, verbs);
    }
    if let Some(options) = own_options(act.program).filter(|options| *options != "-") {
        let words = act.arguments();
        write_targets(act, words, options, false);
    }
}

/// Adds the directory that a subcommand creates, given after it.
fn describe_created_dir(act: &mut EffectBuilder<'_>, verbs: &[&str]) {
    const VALUED_OPTIONS: &[&str] =
        &["--manifest-path", "-s", "--sync", "--name", "--edition", "--vcs", "--color", "--config"];
    let args = CommandArgs::parse(act.arguments(), VALUED_OPTIONS);
    let mut operands = args.operands.iter().skip_while(|word| word.text.starts_with('+'));
    if operands.next().is_some_and(|verb| verbs.contains(&verb.text.as_str()))
        && let Some(dir) = operands.next()
    {
        act.write(dir);
    }
}

/// The same for a wrapper that runs the leaf.
pub(super) fn describe_wrapper(act: &mut EffectBuilder<'_>, program: &str, words: &[ShellWord]) {
    if let Some(options) = own_options(program) {
        write_targets(act, words, options, false);
    }
}

/// The files that options of a wrapper name, as written there.
pub(super) fn wrapper_targets(program: &str, words: &[ShellWord]) -> Vec<PathBuf> {
    let Some(options) = own_options(program) else { return Vec::new() };
    let named = |word: &ShellWord| options.split(' ').any(|option| option == word.text);
    let pairs = words.windows(2).filter(|pair| named(&pair[0]));
    let paths = pairs.map(|pair| PathBuf::from(&pair[1].text));
    let glued = words.iter().filter_map(|word| {
        let (name, value) = word.text.split_once('=')?;
        options.split(' ').any(|option| option == name).then(|| PathBuf::from(value))
    });
    let paths = paths.chain(glued);
    paths.filter(|path| path.is_absolute()).take(8).collect()
}

static OPTIONS_BY_NAME: LazyLock<StaticNameMap<&'static str>> = LazyLock::new(|| {
    let entries = PROGRAM_OUTPUT_OPTIONS.iter();
    entries.flat_map(|(names, options)| names.split(' ').map(|name| (name, *options))).collect()
});

fn own_options(program: &str) -> Option<&'static str> {
    OPTIONS_BY_NAME.get(program).copied()
}

fn write_targets(act: &mut EffectBuilder<'_>, words: &[ShellWord], own: &str, usual: bool) {
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.text.starts_with('-')) {
        let (name, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        let wanted = (usual && USUAL_OUTPUT_OPTIONS.contains(&name))
            || own.split(' ').any(|option| {
                option == name || (option.contains('*') && crate::text::glob_match(option, name))
            });
        let short = !wanted
            && name.len() > 2
            && !name.starts_with("--")
            && name.get(..2).is_some_and(|start| own.split(' ').any(|option| option == start));
        let value = match (wanted, short, glued) {
            (true, _, Some(value)) => ShellWord { text: value.to_owned(), ..word.clone() },
            (true, _, None) => match words.get(at + 1) {
                Some(next) if !next.text.starts_with('-') => next.clone(),
                _ => continue,
            },
            (false, true, _) => {
                ShellWord { text: word.text.get(2..).unwrap_or("").to_owned(), ..word.clone() }
            }
            _ => continue,
        };
        write_or_run(act, &value);
    }
}

/// Adds a file to write, or a program that gets the output instead.
fn write_or_run(act: &mut EffectBuilder<'_>, value: &ShellWord) {
    let piped = value.text.strip_prefix(['|', '!']);
    match piped {
        Some(code) if !code.trim().is_empty() => {
            act.program_option(&ShellWord { text: code.trim().to_owned(), ..value.clone() });
        }
        _ => act.write(value),
    }
}
