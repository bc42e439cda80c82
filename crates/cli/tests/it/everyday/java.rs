//! Maven, with a mirror on this machine's loopback that the user's settings
//! name.

use std::path::Path;

use super::everyone;
use super::server::HostServer;
use super::user::{TestUser, skip};

/// Debian's own repository of artifacts.
const REPOSITORY: &str = "/usr/share/maven-repo";

/// The artifacts that a trivial build needs.
const PLUGINS: [&str; 4] = [
    "maven-compiler-plugin",
    "maven-jar-plugin",
    "maven-resources-plugin",
    "maven-surefire-plugin",
];

const PROJECT: &str = r"<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1.0</version>
  <properties>
    <maven.compiler.source>8</maven.compiler.source>
    <maven.compiler.target>8</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
";

const TEST: &str = r#"public class ShopTest {
    @org.junit.Test public void answers() throws Exception {
        try (java.net.ServerSocket server = new java.net.ServerSocket(0)) {
            new java.net.Socket("127.0.0.1", server.getLocalPort()).close();
        }
    }
}
"#;

everyone!(maven_packages_and_tests, slow);
fn maven_packages_and_tests(user: &mut TestUser) {
    let plugins = Path::new(REPOSITORY).join("org/apache/maven/plugins");
    if let Some(missing) = PLUGINS.iter().find(|name| !plugins.join(name).is_dir()) {
        skip(&format!("{REPOSITORY} has no {missing} (scripts/components/everyday.sh)"));
        return;
    }
    // Java takes the home from the user database, not from a variable.
    if !user.has(&["mvn", "javac"]) || !user.lay_over("/etc/passwd", &user.password_file()) {
        return;
    }
    let server = HostServer::for_files(Path::new(REPOSITORY));
    user.write_home(
        ".m2/settings.xml",
        format!(
            "<settings><mirrors><mirror><id>here</id><mirrorOf>*</mirrorOf><url>{}</url></mirror>\
             </mirrors></settings>\n",
            server.url()
        ),
    );
    user.write("pom.xml", PROJECT);
    user.write("src/main/java/Shop.java", "public class Shop {}\n");
    user.write("src/test/java/ShopTest.java", TEST);
    let outputs = user.succeed(&["mvn -B package"]);
    assert!(outputs[0].contains("BUILD SUCCESS"), "{outputs:?}");
    let report = user.project().join("target/surefire-reports/ShopTest.txt");
    let report = std::fs::read_to_string(report).expect("a report of the tests");
    assert!(report.contains("Tests run: 1, Failures: 0, Errors: 0"), "{report}");
    assert!(user.project().join("target/shop-1.0.jar").is_file());
    assert!(!server.seen().is_empty(), "nothing was fetched");
    assert!(!user.home().join(".m2/repository").exists(), "the user's own cache stays empty");
}
