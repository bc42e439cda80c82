//! PostgreSQL started in the workspace and used by the project's tests, and a
//! server of this machine that the settings name.

use super::user::{Account, TestUser};

const INIT: &str = "initdb -D data -A trust -U shop";
const STOP: &str = "pg_ctl -D data -m fast stop";
const PORT: u16 = 54_329;

/// An ordinary user with a name, as PostgreSQL refuses root.
fn with_user(work: impl FnOnce(&mut TestUser)) {
    TestUser::with(Account::Ordinary, |user| {
        if user.has(&["psql", "initdb", "pg_ctl"])
            && user.lay_over("/etc/passwd", &user.password_file())
        {
            work(user);
        }
    });
}

/// Starts a server whose data and socket are in the project.
fn start(port: u16) -> String {
    format!(
        "pg_ctl -D data -w -l log.txt -o \"-p {port} -k $PWD/data -c listen_addresses=127.0.0.1\" \
         start"
    )
}

#[test]
#[ignore = "slow"]
fn a_server_in_the_workspace_is_used_by_tests() {
    with_user(|user| {
        user.write(
            "test_shop.py",
            format!(
                "import subprocess, unittest\n\n\nclass Shop(unittest.TestCase):\n    \
                 def test_rows(self):\n        \
                 words = ['psql', '-h', '127.0.0.1', '-p', '{PORT}', '-U', 'shop', '-Atc', 'select count(*) from item', 'postgres']\n        \
                 self.assertEqual(subprocess.check_output(words), b'3\\n')\n"
            ),
        );
        // With scripts, as projects do. The server exits with hermes.
        user.write("start.sh", format!("set -e\n{INIT} >/dev/null\n{}\n", start(PORT)));
        let seed = "create table item as select generate_series(1, 3)";
        user.write(
            "seed.sh",
            format!("psql -h \"$PWD/data\" -p {PORT} -U shop -qc '{seed}' postgres\n"),
        );
        let count = "select count(*) from item";
        let outputs = user.succeed(&[
            "sh start.sh",
            "sh seed.sh",
            &format!("psql -h 127.0.0.1 -p {PORT} -U shop -Atc '{count}' postgres"),
            "python3 -m unittest -q test_shop",
        ]);
        assert_eq!(outputs[2], "3\n", "{outputs:?}");
    });
}

#[test]
#[ignore = "slow"]
fn a_server_of_this_machine_is_used_where_the_settings_name_its_port() {
    with_user(|user| {
        let port = PORT + 1;
        if !user.can("a server of this machine", &format!("{INIT} && {}", start(port))) {
            return;
        }
        let query = format!("psql -h 127.0.0.1 -p {port} -U shop -Atc 'select 7' postgres");
        let refused = user.attempt(&query);
        user.write_home(".hermes/config.yaml", format!("sandbox:\n  host_ports: [{port}]\n"));
        let reached = user.attempt(&query);
        let stopped = user.on_host(STOP);
        assert_ne!(refused["output"], "7\n", "{refused}");
        super::user::assert_unhindered(&query, &reached);
        assert_eq!(reached["output"], "7\n", "{reached}");
        assert!(stopped.is_ok(), "{stopped:?}");
    });
}
