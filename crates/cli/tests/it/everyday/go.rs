//! Go modules from a module proxy that the user's own configuration names, on
//! this machine's loopback.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::everyone;
use super::server::HostServer;
use super::user::TestUser;

const MODULE: &str = "example.test/greeting";

/// Creates a directory in the layout of a module proxy; false if that is not
/// possible here.
fn make_module_proxy(directory: &Path) -> bool {
    let versions = directory.join(MODULE).join("@v");
    let source = directory.join("source").join(format!("{MODULE}@v1.0.0"));
    fs::create_dir_all(&versions).expect("a directory");
    fs::create_dir_all(&source).expect("a directory");
    let module = format!("module {MODULE}\n\ngo 1.18\n");
    fs::write(source.join("go.mod"), &module).expect("a file");
    let code = "package greeting\n\nfunc Hello() string { return \"hello\" }\n";
    fs::write(source.join("greeting.go"), code).expect("a file");
    fs::write(versions.join("list"), "v1.0.0\n").expect("a file");
    fs::write(versions.join("v1.0.0.mod"), module).expect("a file");
    let about = r#"{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}"#;
    fs::write(versions.join("v1.0.0.info"), about).expect("a file");
    // Module archives have no entries for directories.
    let zip = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as archive:\n    \
               for name in ('go.mod', 'greeting.go'):\n        \
               archive.write(f'{sys.argv[2]}/{name}')\n";
    let zip = Command::new("python3")
        .args(["-c", zip])
        .arg(versions.join("v1.0.0.zip"))
        .arg(format!("{MODULE}@v1.0.0"))
        .current_dir(directory.join("source"))
        .output();
    zip.is_ok_and(|output| output.status.success())
}

everyone!(modules_are_downloaded_and_tested);
fn modules_are_downloaded_and_tested(user: &mut TestUser) {
    let proxy = user.outside().join("modules");
    if !user.has(&["go", "python3"]) || !make_module_proxy(&proxy) {
        return;
    }
    let server = HostServer::for_files(&proxy);
    user.write_home(".config/go/env", format!("GOPROXY={}\nGOSUMDB=off\n", server.url()));
    user.write("go.mod", format!("module shop\n\ngo 1.18\n\nrequire {MODULE} v1.0.0\n"));
    user.write(
        "shop_test.go",
        format!(
            "package shop\n\nimport (\n\t\"net\"\n\t\"testing\"\n\n\t\"{MODULE}\"\n)\n\n\
             func TestHello(t *testing.T) {{\n\
             \tlistener, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\
             \tif err != nil {{\n\t\tt.Fatal(err)\n\t}}\n\
             \tif _, err := net.Dial(\"tcp\", listener.Addr().String()); err != nil {{\n\t\tt.Fatal(err)\n\t}}\n\
             \tif greeting.Hello() != \"hello\" {{\n\t\tt.Fatal(\"no greeting\")\n\t}}\n}}\n"
        ),
    );
    let outputs = user.succeed(&["go mod download", "go mod tidy", "go test ./..."]);
    assert!(outputs[2].starts_with("ok"), "{outputs:?}");
    assert!(server.seen().iter().any(|line| line.contains("v1.0.0.zip")), "{:?}", server.seen());
    assert!(!user.home().join("go").exists(), "the user's own cache stays empty");
}
