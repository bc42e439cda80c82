//! npm: installing packages, a development server, and programs run with npx.

use super::everyone;
use super::user::TestUser;

/// Waits until the server of the project responds.
const CURL: &str = "curl -s --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:3123/";

fn has_registry(user: &TestUser) -> bool {
    user.has(&["node", "npm"])
        && user.can("npm's registry", "npm view --cache ~/probe is-number version")
}

everyone!(install_and_development_server);
fn install_and_development_server(user: &mut TestUser) {
    if !has_registry(user) {
        return;
    }
    user.write(
        "package.json",
        r#"{"name":"shop","version":"1.0.0","private":true,"scripts":{"dev":"node server.js"}}"#,
    );
    user.write(
        "server.js",
        "const isNumber = require('is-number');\n\
         const answer = (_, response) => response.end('numbers: ' + isNumber('7'));\n\
         require('http').createServer(answer).listen(3123, '127.0.0.1');\n",
    );
    let outputs = user.succeed(&["npm install is-number", "npm run dev &", CURL]);
    assert_eq!(outputs[2], "numbers: true", "{outputs:?}");
    assert!(user.project().join("node_modules/is-number").is_dir());
    // The user's own cache is unchanged.
    assert!(user.on_host("grep -rqs is-number ~/.npm").is_err());
}

everyone!(a_package_is_run_once);
fn a_package_is_run_once(user: &mut TestUser) {
    if !has_registry(user) {
        return;
    }
    let outputs = user.succeed(&["npx --yes cowsay moo"]);
    assert!(outputs[0].contains("< moo >"), "{outputs:?}");
}

everyone!(code_test_with_a_local_server);
fn code_test_with_a_local_server(user: &mut TestUser) {
    if !user.has(&["node"]) {
        return;
    }
    user.write("package.json", r#"{"name":"shop","scripts":{"test":"node --test"}}"#);
    user.write(
        "server.test.js",
        "const test = require('node:test'), assert = require('node:assert'), http = require('http');\n\
         test('answers', async () => {\n\
           const server = http.createServer((_, response) => response.end('well'));\n\
           await new Promise(done => server.listen(0, '127.0.0.1', done));\n\
           const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);\n\
           assert.equal(await answer.text(), 'well');\n\
           server.close();\n\
         });\n",
    );
    let result = user.call("code_test", serde_json::json!({ "tool": "node" }));
    super::user::assert_unhindered("code_test", &result);
    assert_eq!(result["tool_status"], "passed", "{result}");
}
