//! cargo with an empty, separate home.

use serde_json::json;

use super::everyone;
use super::user::{TestUser, assert_unhindered};

everyone!(add_build_and_test);
fn add_build_and_test(user: &mut TestUser) {
    user.share_toolchain();
    let probe = "CARGO_HOME=\"$HOME/probe\" cargo info -q itoa";
    if !user.has(&["cargo"]) || !user.can("cargo's registry", probe) {
        return;
    }
    user.write("src/lib.rs", concat!(
        "pub fn shown(number: u64) -> String {\n    itoa::Buffer::new().format(number).to_owned()\n}\n\n",
        "#[test]\nfn a_server_answers() {\n",
        "    let listener = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap();\n",
        "    std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();\n",
        "    assert_eq!(shown(7), \"7\");\n}\n",
    ));
    user.write(
        "Cargo.toml",
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    let outputs = user.succeed(&["cargo add itoa", "cargo build", "cargo test --lib"]);
    assert!(outputs[2].contains("1 passed"), "{outputs:?}");
    assert!(!user.home().join(".cargo/registry").exists(), "the user's own cache stays empty");
    let result = user.call("code_test", json!({ "tool": "cargo" }));
    assert_unhindered("code_test", &result);
    assert_eq!(result["tool_status"], "passed", "{result}");
}
