//! Programs without proxy support reach a host that the profile allows, and no
//! other.

use super::everyone;
use super::user::{TestUser, assert_stopped};

/// The address of npm's registry; `None` if it is not reachable from here.
fn reachable_url(user: &TestUser) -> Option<(String, String)> {
    if !user.has(&["npm", "node"]) {
        return None;
    }
    let registry = user.on_host("npm config get registry").ok()?;
    let host = registry.split('/').nth(2)?.to_owned();
    let url = format!("{}/is-number", registry.trim_end_matches('/'));
    user.write(
        "client.mjs",
        "const answer = await fetch(process.argv[2]);\n\
         console.log(answer.status, (await answer.text()).length > 0);\n",
    );
    user.can("npm's registry", &format!("node client.mjs {url}")).then_some((host, url))
}

/// Allows one host, whatever it resolves to.
fn permit_host(user: &mut TestUser, host: &str) {
    let name = host.split(':').next().unwrap_or(host);
    user.permit(&format!(
        "approved: [{{scope: \"network:*\", hosts: [\"{name}\"]}}]\n    restrictions:\n      \
         \"network:*\": {{allowed_hosts: [\"{name}\"], elsewhere: ask}}"
    ));
}

everyone!(fetch_of_node);
fn fetch_of_node(user: &mut TestUser) {
    let Some((host, url)) = reachable_url(user) else { return };
    let refused = user.attempt(&format!("node client.mjs {url}"));
    assert_stopped("before it is allowed", &refused, &host, "network:send");
    permit_host(user, &host);
    let outputs = user.succeed(&[&format!("node client.mjs {url}")]);
    assert_eq!(outputs[0], "200 true\n", "{outputs:?}");
    let other = user.attempt("node client.mjs http://upload.example.com/");
    assert_stopped("another host", &other, "upload.example.com", "network:send");
}

const JAVA_CLIENT: &str = r#"
public class Client {
    public static void main(String[] arguments) throws Exception {
        var connection = (java.net.HttpURLConnection) new java.net.URL(arguments[0]).openConnection();
        System.out.println(connection.getResponseCode());
    }
}
"#;

everyone!(connections_of_java, slow);
fn connections_of_java(user: &mut TestUser) {
    let Some((host, url)) = reachable_url(user) else { return };
    user.write("Client.java", JAVA_CLIENT);
    let command = format!("java Client.java {url}");
    if !user.has(&["java", "javac"]) || !user.can("Java's own client", &command) {
        return;
    }
    let refused = user.attempt(&command);
    assert_stopped("before it is allowed", &refused, &host, "network:send");
    permit_host(user, &host);
    assert_eq!(user.succeed(&[&command]), ["200\n"]);
}
