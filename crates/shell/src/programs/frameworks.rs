//! Command-line scripts of web frameworks, some of whose subcommands empty a
//! database.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// Scripts by name, and their subcommands that lose data or open a shell.
const SCRIPT_ORDERS: &[(&str, &str)] = &[
    (
        "artisan",
        "migrate:fresh migrate:reset migrate:refresh migrate:rollback db:wipe tinker queue:flush \
         queue:clear cache:clear-all key:generate down",
    ),
    (
        "manage.py django-admin",
        "flush reset_db sqlflush dbshell shell shell_plus migrate_zero delete_all_data",
    ),
    (
        "console",
        "doctrine:database:drop doctrine:schema:drop doctrine:fixtures:load dbal:run-sql \
         doctrine:migrations:rollup messenger:stop-workers",
    ),
    (
        "rails",
        "db:drop db:reset db:rollback db:purge db:truncate_all db:migrate:reset runner console",
    ),
    (
        "drush",
        "sql-drop sql:drop site:install si sql-query sql:query sqlq eval php:eval ev core:execute",
    ),
    ("wp", "db/drop db/reset db/clean db/query eval eval-file shell site/empty site/delete"),
    ("mix", "ecto.drop ecto.reset ecto.rollback hex.publish run phx.gen.release-drop"),
    ("flask", "shell db/downgrade db/stamp"),
    ("quarkus", "deploy"),
    ("yarn npm pnpm bun", "db:drop db:reset"),
];

static ORDERS_BY_SCRIPT: LazyLock<StaticNameMap<&'static str>> = LazyLock::new(|| {
    let entries = SCRIPT_ORDERS.iter();
    entries.flat_map(|(names, orders)| names.split(' ').map(|name| (name, *orders))).collect()
});

/// Asks about subcommands that lose data.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    let words = act.words;
    let first = words.iter().enumerate().take(4);
    let script = first.filter(|(_, word)| !word.text.starts_with('-')).find_map(|(at, word)| {
        let name = crate::text::base_name(&word.text);
        ORDERS_BY_SCRIPT.get(name).map(|orders| (at, name, *orders))
    });
    let Some((at, name, orders)) = script else { return };
    let given: Vec<&ShellWord> =
        words.iter().skip(at + 1).filter(|word| !word.text.starts_with('-')).take(3).collect();
    let loses = orders.split_whitespace().any(|order| {
        let parts: Vec<&str> = order.split('/').collect();
        given
            .windows(parts.len())
            .any(|window| window.iter().zip(&parts).all(|(word, part)| word.text == *part))
    });
    if loses {
        let reason = format!("May delete data or run other code ({name})");
        act.affect_any(Scope::DATABASE_WRITE);
        act.ask("sql-loss", reason);
    }
}
