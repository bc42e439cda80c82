use crate::Redactor;

#[path = "patterns/token_table_tests.rs"]
mod token_table;

fn redact(text: &str) -> String {
    Redactor::default().redact(text).into_owned()
}

#[test]
fn tokens_of_known_services_go() {
    for (token, kind) in [
        ("sk-abcdefghijklmnop1234", "api-key"),
        ("sk-proj-aB3dE5_gH7iJ9kL1mN-3oP5qR7sT9uV1", "api-key"),
        ("sk-ant-api03-Zx8Qw2Er4Ty6Ui8Op0As-2Df4Gh6Jk8", "api-key"),
        ("xai-0123456789abcdefghijABCDEFGHIJ", "api-key"),
        ("gsk_0123456789abcdefghijABCDEFGHIJ", "api-key"),
        ("tvly-dev-0123456789abcdefghij", "api-key"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "github-token"),
        ("gho_0123456789abcdefghijABCDEFGHIJ012345", "github-token"),
        ("github_pat_11ABCDEFG0123456789_abcdefghij0123456789", "github-token"),
        ("glpat-0123456789abcdefghij", "gitlab-token"),
        ("xoxb-123456789012-123456789012-AbCdEfGhIjKl", "slack-token"),
        ("AIzaSyA0123456789abcdefghijABCDEFGHIJ012", "google-key"),
        ("hf_abcdefghijABCDEFGHIJ0123456789abcd", "huggingface-token"),
        ("npm_abcdefghijABCDEFGHIJ0123456789abcdef", "npm-token"),
        ("pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZg", "pypi-token"),
        ("sk_live_0123456789abcdefghijABCD", "stripe-key"),
        ("whsec_0123456789abcdefghijABCD", "webhook-secret"),
        ("SG.abcdefghijABCDEFGHIJ01.abcdefghijABCDEFGHIJ0123456789abcdefghijABC", "sendgrid-key"),
        ("AKIAIOSFODNN7EXAMPL2", "aws-key-id"),
        ("ASIAIOSFODNN7EXAMPL2", "aws-key-id"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "jwt"),
    ] {
        let label = format!("[redacted:{kind}]");
        assert_eq!(redact(token), label);
        assert_eq!(redact(&format!("use \"{token}\", please")), format!("use \"{label}\", please"));
        assert_eq!(redact(&format!("a\\n{token} %3D{token}.")), format!("a\\n{label} %3D{label}."));
    }
}

#[test]
fn credentials_in_headers_and_addresses_go() {
    for (text, clean) in [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:authorization]"),
        ("authorization: token 8f3k2m9d", "authorization: token [redacted:authorization]"),
        (
            "{\"Authorization\": \"Bearer aaa111bbb222ccc333\"}",
            "{\"Authorization\": \"Bearer [redacted:authorization]\"}",
        ),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]"),
        ("Basic dXNlcjpodW50ZXIy and so on", "Basic [redacted:authorization] and so on"),
        (
            "PROXY-AUTHORIZATION: 0123456789abcdef01",
            "PROXY-AUTHORIZATION: [redacted:authorization]",
        ),
        ("curl -H 'X-Api-Key: 12ab34cd56ef'", "curl -H 'X-Api-Key: [redacted:api-key]'"),
        ("x-goog-api-key=12ab34cd56ef", "x-goog-api-key=[redacted:api-key]"),
        (
            "postgres://app:hunter2@db.example.com/main",
            "postgres://app:[redacted:url-password]@db.example.com/main",
        ),
        ("redis://:p:w@x@host:6379", "redis://:[redacted:url-password]@host:6379"),
        (
            "https://a.b/c?user=me&password=hunter2&x=1",
            "https://a.b/c?user=me&password=[redacted:query-secret]&x=1",
        ),
        ("GET /v1?api_key=abc123def456 HTTP", "GET /v1?api_key=[redacted:query-secret] HTTP"),
        ("/cb#access_token=abc123def456", "/cb#access_token=[redacted:query-secret]"),
        ("?X-Amz-Signature=0123456789abcdef", "?X-Amz-Signature=[redacted:query-secret]"),
    ] {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn the_secret_of_an_access_key_goes_with_it() {
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPL2KEY";
    for text in [
        format!("AKIAIOSFODNN7EXAMPL2,{secret}"),
        format!("aws_access_key_id=AKIAIOSFODNN7EXAMPL2\naws_secret_access_key = {secret}\n"),
        format!("{{\"SecretAccessKey\": \"{secret}\"}}"),
        format!("export AWS_SECRET_ACCESS_KEY='{secret}'"),
    ] {
        let clean = redact(&text);
        assert!(clean.contains("[redacted:aws-secret-key]"), "{clean}");
        assert!(!clean.contains("wJalr") && !clean.contains("AKIAIO"), "{clean}");
    }
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let text = format!("AKIAIOSFODNN7EXAMPL2 at {commit}");
    assert_eq!(redact(&text), format!("[redacted:aws-key-id] at {commit}"));
}

#[test]
fn private_keys_go_whole_or_cut_off() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    for title in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"] {
        let key = format!("-----BEGIN {title}-----\n{line}\n{line}\n-----END {title}-----");
        assert_eq!(redact(&format!("a\n{key}\nb")), "a\n[redacted:private-key]\nb");
        let written = key.replace('\n', "\\n");
        assert_eq!(redact(&format!("\"{written}\"")), "\"[redacted:private-key]\"");
        let cut = format!("-----BEGIN {title}-----\n{line}\n{line}\n\n(more)");
        assert_eq!(redact(&cut), "[redacted:private-key]\n\n(more)");
    }
    let public = format!("-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----");
    assert_eq!(redact(&public), public);
}

/// What must stay as it is.
pub(crate) const ORDINARY: &[&str] = &[
    "os.getenv(\"API_KEY\")",
    "process.env.OPENAI_API_KEY",
    "api_key = os.environ['OPENAI_API_KEY']",
    "sk-...",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-your-api-key-here",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "risk-assessment-of-the-year-2024-and-more",
    "task-0123456789abcdefghij",
    "<div class=\"sk-folding-cube sk-cube1\">",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${process.env.TOKEN}",
    "Authorization: Bearer YOUR_API_KEY",
    "headers = {\"Authorization\": f\"Bearer {token}\"}",
    "headers.set('authorization', `Bearer ${accessToken}`)",
    "'x-api-key': process.env.ANTHROPIC_API_KEY,",
    "\"x-api-key\": self.api_key,",
    "x-api-key: xxxxxxxxxxxxxxxx",
    "Bearer authentication is described in RFC6750",
    "Basic authentication, basic training, basic knowledge",
    "postgres://user:password@localhost/db",
    "postgres://{user}:{password}@{host}/db",
    "https://${USER}:${PASS}@example.com",
    "\"mysql://%s:%s@%s/%s\"",
    "https://example.com:8080/a@b",
    "http://localhost:3000 and mail me@example.com",
    "git@github.com:owner/repo.git",
    "url + \"?api_key=\" + key",
    "`/v1?token=${token}&password=${password}`",
    "?key=name&token=next&password=<password>",
    "connect(user=u, password=pw, token=tok)",
    "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { strip(\"-----END PRIVATE KEY-----\") }",
    "hf_hub_download_with_progress_and_more",
    "npm_config_registry_and_other_settings",
    "eyJ is how a JWT begins: eyJhbGciOi...",
    "AKIA and ASIA are prefixes; AKIAXXXXXXXXXXXXXXXX",
    "d41d8cd98f00b204e9800998ecf8427e 0123456789abcdef0123456789abcdef01234567",
    "let authorization = compute_authorization(request);",
    "the SG.module.path.is.a.name",
    "aws_secret_access_key = var.secret_key",
    "TOKEN=abc; KEY=def",
];

#[test]
fn ordinary_code_and_prose_stay() {
    for text in ORDINARY {
        assert_eq!(redact(text), *text);
    }
}

#[test]
fn long_hostile_texts_are_read_once() {
    // Each would take hours if every trigger read to the end.
    for unit in [
        "sk-",
        "eyJ",
        "eyJaaaaaaa.",
        "://",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nA",
        "authorization=",
        "authorization: ",
        "x-api-key=",
        "?token=",
        "aws_secret_access_key=",
        "AKIAIOSFODNN7EXAMPL2",
        "AKIAIOSFODNN7EXAMPL2 ",
        "Bearer ",
        "SG.",
        "SG.a",
        "whsec_",
        "\\nsk-",
        "%3Dsk-",
        "Basic dXNlcjpwYXNz",
        "a://b@",
        "password=",
        "password=a",
        "password: ",
        "\"password\":",
        "PASSWORD",
        "secret_",
        "a_key = ",
        "a_key: str = ",
        "api_key=api_key",
        "Cookie:",
        "Cookie: a=b;",
        "machine a login b password ",
        "1234567:A",
        "MTE",
        "MTE.",
        "pat",
        "pata",
        "<password>",
        "x=1&password=1",
        "\u{1b}[0m",
        "\u{200b}",
        "   a",
        "101 ",
        "01010101 ",
        "1, ",
        "https://abc1def2ghi3jkl4@",
        "[-",
        "{+a",
        "[-a-]",
        " -p",
        "mysql -p",
        " -b",
        " -b \"",
        "curl -u ",
        "curl -u a:",
        "--token ",
        "name: PASSWORD\n",
        "password: |\n ",
        "a8Q~",
        "auth=(\"",
    ] {
        let text = unit.repeat(400_000 / unit.len());
        assert!(!redact(&text).is_empty());
    }
}
