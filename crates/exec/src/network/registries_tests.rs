use super::*;

#[test]
fn addresses_are_found_in_any_configuration() {
    let text = "registry=https://npm.example:4873/\n\
                <url>http://127.0.0.1:8081/repository/</url>\n\
                index-url = https://user:pass@pypi.example/simple\n\
                GOPROXY=http://localhost:3000,direct\n\
                http:// https://[::1]:9/x";
    let found: Vec<String> = url_hosts(text).iter().map(ToString::to_string).collect();
    let wanted =
        ["127.0.0.1:8081", "localhost:3000", "npm.example:4873", "pypi.example:443", "[::1]:9"];
    assert_eq!(found, wanted);
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("deep/registries.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{broken").unwrap();
    let registries = UserRegistries::new(file);
    assert!(registries.hosts_for("no-such-manager").is_empty());
}
