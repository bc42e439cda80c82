use hermes_core::{Effect, Tool as _};
use serde_json::json;

use super::super::Repl;
use super::*;

fn at() -> WorkingDir {
    WorkingDir::new("/ws", None)
}

#[test]
fn statements_read_or_write() {
    for reading in
        ["select 1", "SELECT * FROM a; explain query plan select 2", "pragma table_info(a)"]
    {
        assert_eq!(sql_scope(reading, &at()), Scope::DATABASE_READ, "{reading}");
    }
    for writing in ["drop table a", "select 1; insert into a values (1)", "vacuum"] {
        assert_eq!(sql_scope(writing, &at()), Scope::DATABASE_WRITE, "{writing}");
    }
}

#[test]
fn the_file_of_a_session_is_declared_with_what_is_done_to_it() {
    let repl = Repl::default();
    let declared = |arguments: serde_json::Value| {
        let args = serde_json::from_value(arguments).unwrap();
        let effects = repl.effects(&args, &at());
        let of_database = effects.into_iter().filter(|effect| effect.scope.family() == "database");
        of_database.collect::<Vec<Effect>>()
    };
    let sql = |code: &str| json!({"language": "sql", "code": code});
    let with = |code: &str| json!({"language": "sql", "code": code, "database": "app.db"});
    assert_eq!(declared(with("select 1")), [Effect::path(Scope::DATABASE_READ, "/ws/app.db")]);
    assert_eq!(declared(with("drop table a")), [Effect::path(Scope::DATABASE_WRITE, "/ws/app.db")]);
    // A database in memory needs no permission.
    assert_eq!(declared(sql("drop table a")), []);
    repl.databases.record("main", Path::new("/ws/app.db"));
    assert_eq!(declared(sql("drop table a")), [Effect::path(Scope::DATABASE_WRITE, "/ws/app.db")]);
    assert_eq!(declared(json!({"code": "1"})), []);
}
