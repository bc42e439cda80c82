//! PostgreSQL that is started in the workspace and used by the project's tests;
//! and one of this machine that the settings name.

use super::user::{Account, TestUser};

const PORT: u16 = 54_329;

/// Finds PostgreSQL's own programs, which Debian keeps out of the way.
const PROGRAMS: &str = "PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)";

/// An ordinary user with a name, as PostgreSQL refuses root.
fn with_user(work: impl FnOnce(&mut TestUser)) {
    TestUser::with(Account::Ordinary, |user| {
        if user.has(&["psql"])
            && user.can("PostgreSQL", &format!("{PROGRAMS}; command -v initdb"))
            && user.lay_over("/etc/passwd", &user.password_file())
        {
            work(user);
        }
    });
}

fn start(directory: &str) -> String {
    format!(
        "{PROGRAMS}; initdb -D {directory} -A trust -U shop >init.log && \
         pg_ctl -D {directory} -w -l log.txt -o \"-p {PORT} -c listen_addresses=127.0.0.1 \
         -c unix_socket_directories=$PWD/{directory}\" start"
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
        let socket = format!("psql -h \"$PWD/data\" -p {PORT} -U shop postgres");
        let outputs = user.succeed(&[
            &start("data"),
            &format!("{socket} -qc 'create table item as select generate_series(1, 3)'"),
            &format!(
                "psql -h 127.0.0.1 -p {PORT} -U shop -Atc 'select count(*) from item' postgres"
            ),
            "python3 -m unittest -q test_shop",
            &format!("{PROGRAMS}; pg_ctl -D data -m fast stop"),
        ]);
        assert_eq!(outputs[2], "3\n", "{outputs:?}");
        assert!(outputs[4].contains("server stopped"), "{outputs:?}");
    });
}

#[test]
#[ignore = "slow"]
fn a_server_of_this_machine_is_used_where_the_settings_name_its_port() {
    with_user(|user| {
        let port = PORT + 1;
        let start = start("data").replace(&PORT.to_string(), &port.to_string());
        if !user.can("a server of this machine", &start) {
            return;
        }
        let query = format!("psql -h 127.0.0.1 -p {port} -U shop -Atc 'select 7' postgres");
        let refused = user.attempt(&query);
        user.write_home(".hermes/config.yaml", format!("sandbox:\n  host_ports: [{port}]\n"));
        let reached = user.attempt(&query);
        let stopped = user.on_host(&format!("{PROGRAMS}; pg_ctl -D data -m fast stop"));
        assert_ne!(refused["output"], "7\n", "{refused}");
        super::user::assert_unhindered(&query, &reached);
        assert_eq!(reached["output"], "7\n", "{reached}");
        assert!(stopped.is_ok(), "{stopped:?}");
    });
}
