use super::*;

fn package(line: &str) -> Option<(String, &'static str, Option<String>)> {
    let mut words = line.split(' ').map(str::to_owned);
    let command = words.next()?;
    let args: Vec<String> = words.collect();
    Package::of(&command, &args).map(|it| (it.name, it.ecosystem, it.version))
}

fn is(line: &str, name: &str, ecosystem: &'static str, version: Option<&str>) {
    assert_eq!(package(line), Some((name.into(), ecosystem, version.map(str::to_owned))), "{line}");
}

#[test]
fn packages_are_found_in_commands() {
    is("npx -y @scope/pkg@1.2.3 dir", "@scope/pkg", "npm", Some("1.2.3"));
    is("npx -y @scope/pkg@latest", "@scope/pkg", "npm", None);
    is("npx pkg@latest", "pkg", "npm", None);
    is("/usr/bin/npx --package=pkg@2.0.0 cmd", "pkg", "npm", Some("2.0.0"));
    is("npx -p pkg cmd --package other", "pkg", "npm", None);
    is("npm exec -- pkg@3.1.0", "pkg", "npm", Some("3.1.0"));
    is("pnpm dlx pkg", "pkg", "npm", None);
    is("uvx --python 3.12 Pkg", "pkg", "PyPI", None);
    is("uvx --from pkg[x]==1.0 cmd", "pkg", "PyPI", Some("1.0"));
    is("uvx pkg@1.4.2", "pkg", "PyPI", Some("1.4.2"));
    is("uv tool run pkg>=2", "pkg", "PyPI", None);
    is("pipx run --spec pkg==1.1 cmd", "pkg", "PyPI", Some("1.1"));
}

#[test]
fn other_commands_are_no_packages() {
    for line in [
        "python server.py",
        "npm start",
        "uv run x",
        "npx ./local",
        "uvx --from git+https://x y",
        "npx",
    ] {
        assert_eq!(package(line), None, "{line}");
    }
}
