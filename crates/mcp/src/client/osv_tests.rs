use super::*;

fn package(line: &str) -> Option<(String, &'static str, Option<String>)> {
    let mut words = line.split(' ').map(str::to_owned);
    let command = words.next()?;
    let args: Vec<String> = words.collect();
    FetchedPackage::from_command(&command, &args)
        .into_iter()
        .next()
        .map(|it| (it.name, it.ecosystem, it.version))
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
    is("npx --loglevel error pkg", "pkg", "npm", None);
    is("npx --@scope:registry https://h @scope/pkg@1.0.0", "@scope/pkg", "npm", Some("1.0.0"));
    is("npx -y alias@npm:pkg@1.0.0", "pkg", "npm", Some("1.0.0"));
    is("npx -y alias@npm:@scope/pkg", "@scope/pkg", "npm", None);
    is("npm --loglevel error exec pkg", "pkg", "npm", None);
    is("uv --directory /x --quiet tool run pkg", "pkg", "PyPI", None);
    is("uv x pkg", "pkg", "PyPI", None);
    is("uvx My__Pkg.x", "my-pkg-x", "PyPI", None);
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

#[test]
fn what_a_package_brings_along_and_what_others_start_is_looked_at() {
    let names = |command: &str, args: &[&str]| {
        let args: Vec<String> = args.iter().map(|it| (*it).to_owned()).collect();
        let found = FetchedPackage::from_command(command, &args).into_iter().map(|it| it.name);
        found.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names("uvx", &["--with", "a,b==1", "--with=c", "good", "--with", "no"]),
        "good a b c"
    );
    assert_eq!(names("uv", &["run", "--with", "evil", "server.py"]), "evil");
    assert_eq!(names("npx", &["-p", "a", "--package=b", "cmd"]), "a b");
    assert_eq!(names("env", &["-i", "X=1", "npx", "-y", "evil"]), "evil");
    assert_eq!(names("/usr/bin/env", &["uvx", "evil"]), "evil");
    assert_eq!(names("/usr/bin/env", &["-S", "npx evil"]), "evil");
    assert_eq!(names("env", &["-iSnpx -y 'evil'"]), "evil");
    assert_eq!(names("env", &["X=1", "--split-string=uvx evil", "-v"]), "evil");
    assert_eq!(names("timeout", &["600", "npx", "evil"]), "evil");
    assert_eq!(names("sh", &["-c", "cd /x && X=1 exec npx -y evil@1.0.0 | tee log"]), "evil");
    assert_eq!(names("bash", &["-lc", "uvx 'evil'"]), "evil");
    assert_eq!(names("env", &["python", "server.py"]), "");
}

#[test]
fn an_option_that_contains_its_value_does_not_hide_the_subcommand() {
    is("npm --registry=https://r.example exec pkg@1.0.0", "pkg", "npm", Some("1.0.0"));
    is("npm --@scope:registry=https://r.example exec pkg", "pkg", "npm", None);
    is("npm --@scope:registry https://r.example exec pkg", "pkg", "npm", None);
    is("uv --default-index=https://r.example tool run pkg", "pkg", "PyPI", None);
}
