use crate::corpus_tests::{findings, has_effect, look};

/// A plain run of these has the network or keys; what the variable names would
/// get both.
#[test]
fn variables_that_lend_the_network_to_other_code_ask() {
    const ASKED: &[&str] = &[
        "RSYNC_CONNECT_PROG='rm -rf src' rsync rsync://h.x/a b",
        "RESTIC_PASSWORD_COMMAND=./x restic snapshots",
        "BORG_PASSCOMMAND=./x borg list",
        "BORG_RSH=./x borg list",
        "RCLONE_PASSWORD_COMMAND=./x rclone ls a:",
        "KUBECTL_EXTERNAL_DIFF=./x kubectl diff -f a.yaml",
        "CLOUDSDK_PYTHON=./x gcloud info",
        "GOAUTH=./x go mod download",
        "GOENV=./x go build",
        "GOROOT=. go mod download",
        "CARGO_HOME=. cargo fetch",
        "CARGO_HOME=$PWD/x cargo install ripgrep",
        "CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=./x cargo fetch",
        "CARGO_REGISTRY_CREDENTIAL_PROVIDER=./x cargo fetch",
        "CARGO_REGISTRIES_A_CREDENTIAL_PROVIDER=./x cargo fetch",
        "RUSTC_WORKSPACE_WRAPPER=./x cargo build",
        "RUSTUP_TOOLCHAIN=./x cargo build",
        "PYTHONPATH=. pip install y",
        "PYTHONPATH=src aws s3 ls",
        "PYTHONPATH=.:$PYTHONPATH pip install y",
        "JAVA_HOME=$(cat f) mvn dependency:resolve",
        "set -a; NODE_PATH=.; npm ci",
        "RUBYLIB=. bundle install",
        "NODE_PATH=. npm ci",
        "export NODE_PATH=.; npm ci",
        "export PYTHONPATH=.; pip install y",
        "env RUBYLIB=lib bundle install",
        "YARN_YARN_PATH=./x yarn install",
        "CORECLR_ENABLE_PROFILING=1 dotnet build",
        "CORECLR_PROFILER_PATH=./x dotnet build",
        "LIBMYSQL_PLUGINS=x mysql",
        "LIBMYSQL_PLUGIN_DIR=. mysql",
        "AZURE_EXTENSION_DIR=. az vm list",
        "HELM_DATA_HOME=. helm list",
        "HELM_PLUGINS=. helm list",
        "DOCKER_CLI_PLUGIN_EXTRA_DIRS=. docker ps",
        "TG_TF_PATH=./x terragrunt plan",
        "SYSTEM_WGETRC=x wget https://h.x",
        "GH_CONFIG_DIR=. gh pr list",
        "TF_CLI_ARGS_init=-plugin-dir=. terraform init",
        "TF_CLI_ARGS=\"$x\" terraform plan",
        "export TF_CLI_ARGS_plan=-generate-config-out=x; terraform plan",
        "curl --engine ./x https://h.x",
        "wrk -s ./x.lua https://h.x",
    ];
    let quiet: Vec<_> = ASKED.iter().filter(|source| look(source).level().is_none()).collect();
    assert!(quiet.is_empty(), "{quiet:#?}");
}

#[test]
fn the_same_variables_are_quiet_where_they_lend_nothing() {
    const QUIET: &[&str] = &[
        "PYTHONPATH=. pytest",
        "PYTHONPATH=src python3 x.py",
        "PYTHONPATH=src:tests python3 -m pytest",
        "export PYTHONPATH=src; python3 x.py && curl https://h.x",
        "NODE_PATH=./lib node x.js",
        "NODE_PATH=. npm test",
        "RUBYLIB=lib ruby x.rb",
        "CARGO_HOME=.cargo cargo build --offline",
        "CARGO_HOME=.cargo cargo test",
        "RUSTUP_TOOLCHAIN=nightly cargo build",
        "RUSTUP_TOOLCHAIN=1.80.0 cargo fetch",
        "GOROOT=/usr/local/go go mod download",
        "GOENV=off go build ./...",
        "GOAUTH=off go mod download",
        "JAVA_HOME=/usr/lib/jvm/java-21 mvn package",
        "export GOROOT=$(go env GOROOT); go mod download",
        "export CARGO_HOME=$HOME/.cargo; cargo fetch",
        "JAVA_HOME=$JDK mvn dependency:resolve",
        "CLOUDSDK_PYTHON=python3 gcloud info",
        "CLOUDSDK_PYTHON=/usr/bin/python3 gcloud info",
        "TG_TF_PATH=tofu terragrunt plan",
        "TF_CLI_ARGS_plan='-parallelism=30 -no-color' terraform plan",
        "TF_CLI_ARGS_init=-upgrade terraform init",
        "curl --engine pkcs11 https://h.x",
    ];
    let loud: Vec<_> = QUIET
        .iter()
        .map(|source| (source, findings(source)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

#[test]
fn files_that_variables_name_are_written() {
    let expected: &[(&str, &str)] = &[
        ("TMPDIR=/x mktemp", "file:write /x"),
        ("export TMPDIR=~/x; mktemp -d", "file:write /home/user/x"),
        ("GIT_INDEX_FILE=/x/i git add .", "file:write /x/i"),
        ("SSLKEYLOGFILE=/x/keys curl https://h.x", "file:write /x/keys"),
        ("mktemp -p ~/x", "file:write /home/user/x"),
        ("mktemp --tmpdir=/x a.XXXX", "file:write /x"),
        ("mktemp -d /x/a.XXXX", "file:write /x/a.XXXX"),
    ];
    for (source, wanted) in expected {
        assert!(has_effect(source, wanted), "{source} {:#?}", look(source).leaves);
    }
    for source in ["mktemp", "mktemp -d", "mktemp -t a.XXXX", "TMPDIR=/x git add ."] {
        let leaves = look(source).leaves;
        assert!(leaves.iter().all(|l| !has(l, "file:write")), "{source}");
    }
}

fn has(leaf: &crate::LeafCommand, scope: &str) -> bool {
    leaf.effects.iter().any(|effect| effect.to_string().starts_with(scope))
}
