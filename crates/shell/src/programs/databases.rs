//! Database clients and their statements.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, by_name};

/// How a client receives statements.
struct DatabaseClient {
    names: &'static [&'static str],
    code: &'static [&'static str],
    valued: &'static [&'static str],
    /// The zero-based index of the operand that is a statement.
    operand: Option<usize>,
}

const DATABASE_CLIENTS: &[DatabaseClient] = &[
    DatabaseClient {
        names: &["psql", "cockroach", "pgcli"],
        code: &["-c", "--command", "-e", "--execute"],
        valued: &[
            "-c",
            "--command",
            "-f",
            "--file",
            "-h",
            "-p",
            "-U",
            "-d",
            "--host",
            "--port",
            "--username",
            "--dbname",
            "-v",
            "-o",
            "-e",
            "--execute",
            "-P",
            "-F",
            "-L",
        ],
        operand: None,
    },
    DatabaseClient {
        names: &["mysql", "mariadb", "mycli"],
        code: &["-e", "--execute"],
        valued: &[
            "-e",
            "--execute",
            "-h",
            "-P",
            "-u",
            "-D",
            "--host",
            "--port",
            "--user",
            "--database",
            "-S",
        ],
        operand: None,
    },
    DatabaseClient {
        names: &["sqlite3", "sqlite", "duckdb"],
        code: &["-cmd", "-c"],
        valued: &["-cmd", "-separator", "-init", "-c", "-nullvalue"],
        operand: Some(1),
    },
    DatabaseClient {
        names: &["clickhouse-client", "clickhouse", "snowsql", "sqlcmd", "usql", "trino", "presto"],
        code: &["-q", "--query", "-Q", "--execute", "-e"],
        valued: &[
            "-q",
            "--query",
            "-Q",
            "--execute",
            "-e",
            "-S",
            "-U",
            "-P",
            "-h",
            "--host",
            "-d",
            "-f",
        ],
        operand: None,
    },
];

static CLIENTS_BY_NAME: LazyLock<StaticNameMap<&'static DatabaseClient>> =
    LazyLock::new(|| by_name(DATABASE_CLIENTS, |client| client.names));

/// Describes database clients.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let program = act.program;
    match program {
        "redis-cli" | "valkey-cli" => redis(act, words),
        "mongosh" | "mongo" => mongo(act, words),
        "pg_dump" | "pg_dumpall" | "mysqldump" | "mongodump" => {
            let args = CommandArgs::parse(
                words,
                &["-f", "--file", "-h", "-U", "-p", "-d", "-o", "--out", "-u", "-r"],
            );
            args.values(&["-f", "--file", "-o", "--out"]).iter().for_each(|word| act.write(word));
            act.affect_any(Scope::DATABASE_READ);
        }
        "dropdb" | "dropuser" => {
            act.affect_any(Scope::DATABASE_WRITE);
            act.ask("sql-loss", "Deletes a database or database user");
        }
        "createdb" | "createuser" | "pg_restore" | "mongorestore" | "mongoimport" => {
            act.affect_any(Scope::DATABASE_WRITE)
        }
        "pg_isready" | "mysqladmin" if program == "pg_isready" => act.mark_read_only(),
        _ => {
            let Some(client) = CLIENTS_BY_NAME.get(program) else { return false };
            sql(act, client, words);
        }
    }
    true
}

fn sql(act: &mut EffectBuilder<'_>, client: &DatabaseClient, words: &[ShellWord]) {
    // The long options of sqlite have a single dash.
    let single = words
        .iter()
        .map(|word| word.text.as_str())
        .any(|text| text == "-cmd" || text == "-json" || text == "-header" || text == "-csv");
    let kept: Vec<ShellWord>;
    let args = if single {
        kept = words
            .iter()
            .filter(|word| {
                !matches!(
                    word.text.as_str(),
                    "-json"
                        | "-header"
                        | "-csv"
                        | "-readonly"
                        | "-line"
                        | "-column"
                        | "-box"
                        | "-markdown"
                )
            })
            .cloned()
            .collect();
        CommandArgs::parse(&kept, client.valued)
    } else {
        CommandArgs::parse(words, client.valued)
    };
    if args.has(&["--version", "--help", "-V"])
        || (args.has(&["-l", "--list"]) && act.program == "psql")
    {
        act.affect_any(Scope::DATABASE_READ);
        return act.mark_read_only();
    }
    let mut statements = args.values(client.code);
    if let Some(index) = client.operand {
        statements.extend(args.operands.iter().skip(index).cloned());
        if let Some(file) = args.operands.first().filter(|word| word.text != ":memory:") {
            act.read(file);
        }
    }
    let mut files = args.values(&["-f", "--file", "--init-file"]);
    files.extend(word_after(words, "-init"));
    files.iter().for_each(|word| act.read(word));
    let input = act.context.input;
    if statements.is_empty() && input.connected {
        let text = input.text.clone();
        statements.push(match text {
            Some(text) => ShellWord::literal(text),
            None => ShellWord { text: String::new(), ..ShellWord::default() },
        });
    }
    args.values(&["-o", "--output", "-L", "--log-file", "--tee"])
        .iter()
        .for_each(|word| act.write(word));
    let certain =
        !statements.is_empty() && files.is_empty() && statements.iter().all(|word| word.known);
    let reads = certain && statements.iter().all(|word| is_read_only(&word.text));
    if reads {
        act.affect_any(Scope::DATABASE_READ);
        act.mark_read_only();
    } else {
        act.affect_any(Scope::DATABASE_WRITE);
        if let Some(index) = client.operand
            && let Some(file) =
                args.operands.get(index.saturating_sub(1)).filter(|word| word.text != ":memory:")
        {
            act.write(file);
        }
    }
    if matches!(act.program, "duckdb" | "clickhouse-local" | "clickhouse" | "sqlite3") {
        let quoted = statements.iter().flat_map(|word| word.text.split('\'').skip(1).step_by(2));
        let paths: Vec<ShellWord> = quoted
            .filter(|text| text.contains(['/', '.']) && !text.contains(char::is_whitespace))
            .map(ShellWord::literal)
            .collect();
        paths.iter().for_each(|word| act.read(word));
    }
    for word in &statements {
        if let Some(reason) = loss_reason(&word.text) {
            act.ask("sql-loss", reason);
        }
        if runs_programs(&word.text) {
            act.ask("interpreter-code", "Runs a program from a database client");
        }
    }
}

fn word_after(words: &[ShellWord], option: &str) -> Option<ShellWord> {
    let at = words.iter().position(|word| word.text == option)?;
    words.get(at + 1).cloned()
}

/// Splits text into statements, in upper case, without quoted text and
/// comments.
fn statements(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current = String::new();
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                current.push(' ');
            }
            (None, ';') => all.push(std::mem::take(&mut current)),
            (None, '-') if letters.peek() == Some(&'-') => {
                for skipped in letters.by_ref() {
                    if skipped == '\n' {
                        break;
                    }
                }
                current.push(' ');
            }
            (None, '/') if letters.peek() == Some(&'*') => {
                let mut before = ' ';
                for skipped in letters.by_ref() {
                    if before == '*' && skipped == '/' {
                        break;
                    }
                    before = skipped;
                }
                current.push(' ');
            }
            (None, _) => current.push(c.to_ascii_uppercase()),
        }
    }
    all.push(current);
    all.retain(|statement| !statement.trim().is_empty());
    all
}

/// The names in a statement.
fn tokens(statement: &str) -> Vec<&str> {
    statement
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '\\')))
        .filter(|token| !token.is_empty())
        .collect()
}

/// Functions that write, run or access something outside the database.
const ACTING_FUNCTIONS: &[&str] = &[
    "WRITEFILE",
    "READFILE",
    "LOAD_EXTENSION",
    "EDIT",
    "FTS3_TOKENIZER",
    "PG_READ_FILE",
    "PG_READ_BINARY_FILE",
    "PG_LS_DIR",
    "PG_STAT_FILE",
    "LO_EXPORT",
    "LO_IMPORT",
    "LO_FROM_BYTEA",
    "DBLINK",
    "DBLINK_EXEC",
    "LOAD_FILE",
    "SYS_EXEC",
    "SYS_EVAL",
    "XP_CMDSHELL",
    "PG_RELOAD_CONF",
    "PG_TERMINATE_BACKEND",
    "PG_CANCEL_BACKEND",
    "SETVAL",
    "NEXTVAL",
    "SET_CONFIG",
    "PG_ROTATE_LOGFILE",
    "PG_FILE_WRITE",
    "PG_LOGICAL_EMIT_MESSAGE",
    "QUERY_TO_XML",
    "OPENROWSET",
    "URL",
    "REMOTE",
    "FILE",
];

fn is_read_only(text: &str) -> bool {
    statements(text).iter().all(|statement| {
        let words = tokens(statement);
        let first = words.first().copied().unwrap_or("");
        let changes = words.iter().any(|word| {
            matches!(*word, "INSERT" | "UPDATE" | "DELETE" | "INTO" | "DROP" | "MERGE" | "TRUNCATE")
        });
        let acts =
            words.iter().zip(words.iter().skip(1)).any(|(word, _)| ACTING_FUNCTIONS.contains(word))
                || words.last().is_some_and(|word| ACTING_FUNCTIONS.contains(word));
        // A client command in the middle of a query.
        let ordered = words.iter().skip(1).any(|word| word.starts_with('\\'));
        match first {
            _ if acts || ordered => false,
            "SELECT" | "WITH" | "VALUES" | "TABLE" => !changes,
            "EXPLAIN" => !words.iter().any(|word| word.starts_with("ANALY")) || !changes,
            "SHOW" | "DESCRIBE" | "DESC" | "USE" => true,
            "PRAGMA" => !statement.contains('='),
            _ => {
                matches!(
                    first,
                    ".TABLES"
                        | ".SCHEMA"
                        | ".HEADERS"
                        | ".MODE"
                        | ".INDEXES"
                        | ".DATABASES"
                        | ".QUIT"
                        | ".EXIT"
                        | ".HEADER"
                        | ".WIDTH"
                        | ".DUMP"
                        | ".INDICES"
                        | ".STATS"
                        | ".TIMER"
                        | ".NULLVALUE"
                        | ".SEPARATOR"
                        | ".SHOW"
                ) || first.starts_with("\\D")
                    || matches!(
                        first,
                        "\\L"
                            | "\\LIST"
                            | "\\X"
                            | "\\TIMING"
                            | "\\PSET"
                            | "\\CONNINFO"
                            | "\\Q"
                            | "\\C"
                            | "\\Z"
                            | "\\SF"
                            | "\\SV"
                            | "\\A"
                            | "\\T"
                    )
            }
        }
    })
}

pub(super) fn loss_reason(text: &str) -> Option<&'static str> {
    statements(text).iter().find_map(|statement| {
        let words = tokens(statement);
        let at = |name: &str| words.iter().position(|word| *word == name);
        match words.first().copied().unwrap_or("") {
            "DROP" => Some("Deletes tables or a whole database"),
            "TRUNCATE" => Some("Empties a table"),
            "ALTER" if at("DROP").is_some() => Some("Deletes part of a table"),
            "DELETE" if at("WHERE").is_none() => Some("Deletes all rows of a table"),
            "UPDATE" if at("WHERE").is_none() && at("SET").is_some() => {
                Some("Changes all rows of a table")
            }
            "FLUSHALL" | "FLUSHDB" => Some("Deletes all keys"),
            "WITH" | "EXPLAIN" | "BEGIN" | "DO" | "IF" => {
                let deletes = at("DELETE").is_some() || at("UPDATE").is_some();
                let drops = at("DROP").is_some() || at("TRUNCATE").is_some();
                ((deletes && at("WHERE").is_none()) || drops).then_some("Deletes rows or tables")
            }
            _ => None,
        }
    })
}

/// Whether a client command (not SQL) runs a program or writes a file.
fn runs_programs(text: &str) -> bool {
    const CLIENT_COMMANDS: &[&str] = &[
        ".shell", ".system", ".load", ".output", ".once", ".excel", ".import", ".log", ".read",
        ".backup", ".save", ".clone", ".archive", ".trace", "\\!", "\\i ", "\\ir", "\\o", "\\w",
        "\\g |", "\\g|", "\\copy", "\\lo_", "\\e", "\\setenv", "system ", "pager ", "tee ",
        "source ", "edit",
    ];
    let lower = text.to_ascii_lowercase();
    lower
        .lines()
        .map(str::trim)
        .any(|line| CLIENT_COMMANDS.iter().any(|order| line.starts_with(order)))
        || ["from program", "to program", "load_extension(", "writefile(", "\\g |", "\\gexec"]
            .iter()
            .any(|mark| lower.contains(mark))
}

fn redis(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-h", "-p", "-a", "-n", "-u", "-r", "-i", "--user", "--pass"]);
    let verb = args.operand(0).to_ascii_uppercase();
    let reads = [
        "GET", "MGET", "KEYS", "SCAN", "INFO", "PING", "TTL", "TYPE", "EXISTS", "HGET", "HGETALL",
        "LRANGE", "SMEMBERS", "ZRANGE", "DBSIZE", "LLEN", "STRLEN", "HKEYS", "TIME", "MEMORY",
        "PTTL",
    ];
    if reads.contains(&verb.as_str()) {
        act.affect_any(Scope::DATABASE_READ);
        return act.mark_read_only();
    }
    act.affect_any(Scope::DATABASE_WRITE);
    if matches!(verb.as_str(), "FLUSHALL" | "FLUSHDB" | "SHUTDOWN" | "CONFIG" | "EVAL") {
        act.ask("sql-loss", "Deletes all keys or changes the server");
    }
}

fn mongo(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["--eval", "-u", "-p", "--host", "--port", "-f", "--file"]);
    let code: String = args.values(&["--eval"]).iter().map(|word| word.text.as_str()).collect();
    // Calls that are known to only read; others may change something.
    let looking = [
        "find",
        "findOne",
        "countDocuments",
        "count",
        "estimatedDocumentCount",
        "distinct",
        "limit",
        "sort",
        "pretty",
        "toArray",
        "explain",
        "stats",
        "getIndexes",
        "getCollectionNames",
        "version",
        "serverStatus",
        "hello",
        "ping",
        "skip",
        "project",
        "printjson",
        "print",
        "status",
        "getCollection",
        "getSiblingDB",
        "ISODate",
        "ObjectId",
        "aggregate",
    ];
    let calls = code.match_indices('(').map(|(at, _)| {
        let before = code.get(..at).unwrap_or("");
        before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("")
    });
    let mut calls = calls.peekable();
    if calls.peek().is_some()
        && calls.all(|name| looking.contains(&name))
        && !code.contains("$out")
        && !code.contains("$merge")
    {
        act.affect_any(Scope::DATABASE_READ);
        return act.mark_read_only();
    }
    act.affect_any(Scope::DATABASE_WRITE);
    let marks = [
        "dropDatabase",
        ".drop(",
        "deleteMany({})",
        "remove({})",
        "deleteMany( {} )",
        "shutdownServer",
        "dropIndexes",
    ];
    if marks.iter().any(|mark| code.contains(mark)) {
        act.ask("sql-loss", "Deletes a whole collection or database");
    }
}
