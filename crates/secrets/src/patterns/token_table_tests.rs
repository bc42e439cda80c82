//! Tokens and named values that are redacted, and ordinary lines that stay.

use super::redact;

/// Fills a shape up to `length` characters, so that no token stands here that a
/// scanner of repositories would report.
fn fill(prefix: &str, alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let body = (0..length).map(|at| letters[(at * 7 + at / 3 * 5 + 3) % letters.len()]);
    format!("{prefix}{}", body.collect::<String>())
}

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "023456789ACDEFGHJKLMNPQRSTUVWXYZ";

/// Prefixes of tokens, with the length of what follows.
#[rustfmt::skip]
const BASE62_TOKENS: &[(&str, usize)] = &[
    ("sk-", 48), ("sk-proj-", 48), ("sk-ant-api03-", 80), ("sk-or-v1-", 64), ("xai-", 80), ("tvly-", 32),
    ("gsk_", 52), ("r8_", 37), ("ghp_", 36), ("gho_", 36), ("ghu_", 36), ("ghs_", 36), ("ghr_", 36),
    ("github_pat_", 60), ("glpat-", 20), ("gldt-", 20), ("glrt-", 20), ("glptt-", 40), ("gloas-", 64),
    ("glft-", 20), ("glagent-", 50), ("glcbt-64_", 20), ("glsoat-", 20), ("glimt-", 25), ("GR1348941", 20),
    ("xoxb-", 50), ("xapp-1-", 60), ("AIza", 35), ("ya29.", 60), ("GOCSPX-", 28), ("hf_", 34), ("npm_", 36),
    ("pypi-AgEI", 100), ("sk_live_", 24), ("rk_test_", 24), ("whsec_", 32), ("pplx-", 48), ("fw_", 24),
    ("fpk_", 24), ("fal_", 32), ("ntn_", 46), ("secret_", 43), ("exa_", 32), ("sk_", 48), ("fc-", 32),
    ("csk-", 48), ("nvapi-", 64), ("jina_", 60), ("hvs.", 90), ("hvb.", 90), ("lin_api_", 40),
    ("dp.pt.", 43), ("dp.st.prd.", 43), ("lsv2_pt_", 44), ("figd_", 40), ("sb_secret_", 31),
    ("pscale_tkn_", 43), ("glsa_", 41), ("nfp_", 40), ("dckr_pat_", 27), ("ATATT3xFfGF0", 180),
    ("PMAK-", 59), ("CFPAT-", 43), ("xkeysib-", 81), ("phx_", 43), ("tskey-auth-", 40),
    ("sntrys_", 60), ("gAAAA", 90), ("pa-", 43), ("ops_eyJ", 200),
    ("pcsk_", 70), ("pat-na1-", 36), ("AKCp8", 68), ("sk.eyJ", 80), ("ATBB", 32), ("CLOJARS_", 60),
    ("FLWSECK-", 40), ("FLWSECK_TEST-", 32), ("EAAA", 60), ("sl.B", 130), ("sl.u.", 130), ("tfp_", 44),
    ("rdme_", 70), ("abc8Q~", 34), ("aBcDeFgHiJkLm1.atlasv1.", 67),
];

const HEX_TOKENS: &[(&str, usize)] = &[
    ("dop_v1_", 64),
    ("shpat_", 32),
    ("dapi", 32),
    ("SK", 32),
    ("key-", 32),
    ("sbp_", 40),
    ("rubygems_", 48),
    ("pul-", 40),
    ("bkua_", 40),
    ("sqp_", 40),
    ("squ_", 40),
    ("sqa_", 40),
    ("e2b_", 40),
    ("shippo_live_", 40),
];

#[test]
fn every_token_shape_is_redacted_wherever_it_stands() {
    let base62 = BASE62_TOKENS.iter().map(|(prefix, length)| fill(prefix, BASE62, *length));
    let hex = HEX_TOKENS.iter().map(|(prefix, length)| fill(prefix, HEX, *length));
    let others = [
        format!("{}-us12", fill("", HEX, 32)),
        fill("AGE-SECRET-KEY-1", UPPER, 58),
        fill("NRAK-", UPPER, 27),
        fill("AKIA", UPPER, 16),
        fill("123456789:AA", BASE62, 33),
        format!("{}.{}", fill("pat", BASE62, 14), fill("", HEX, 64)),
        format!("{}.G{}.{}", fill("MTA", BASE62, 23), fill("", BASE62, 5), fill("", BASE62, 38)),
        format!("SG.{}.{}", fill("", BASE62, 22), fill("", BASE62, 43)),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0".to_owned(),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.".to_owned(),
    ];
    let tokens: Vec<String> = base62.chain(hex).chain(others).collect();
    assert!(tokens.len() >= 60);
    for token in tokens {
        let core = token.trim_end_matches('.');
        for text in [
            token.clone(),
            format!("the token is {token}."),
            format!("x = \"{token}\"\n"),
            format!("12|{token}\n"),
            format!("https://example.com/?q={token}&x=1"),
            format!("\u{1b}[32m{token}\u{1b}[0m"),
        ] {
            let clean = redact(&text);
            let middle = &core[core.len() / 2..core.len() / 2 + 8];
            assert!(clean.contains("[redacted"), "{text}: {clean}");
            assert!(!clean.contains(middle), "{text}: {clean}");
        }
    }
}

#[test]
fn addresses_that_are_secrets_keep_their_host() {
    let key = fill("", BASE62, 24);
    for (text, host) in [
        (format!("https://hooks.slack.com/services/T01ABCDEF/B02GHIJKL/{key}"), "hooks.slack.com"),
        (
            format!("https://discord.com/api/webhooks/1012345678901234567/{key}{key}{key}"),
            "discord.com",
        ),
        (format!("https://api.telegram.org/bot123456789:AA{key}{key}/getMe"), "api.telegram.org"),
        (format!("https://{key}@github.com/owner/repo.git"), "@github.com/owner"),
        (format!("https://{key}:x-oauth-basic@github.com/owner"), "@github.com/owner"),
        (format!("https://oauth2:{key}@gitlab.example/a.git"), "@gitlab.example"),
        (format!("https://app.example/cb#id_token={key}&state=1"), "app.example"),
        (format!("https://app.example/cb?code={key}&state=1"), "app.example"),
        (format!("https://s.blob.core.windows.net/c?sv=1&sig={key}"), "s.blob.core"),
    ] {
        let clean = redact(&text);
        assert!(!clean.contains(&key) && clean.contains(host), "{text}: {clean}");
    }
}

/// Lines with a secret between `‹` and `›`.
const NAMED: &[&str] = &[
    "MISTRAL_API_KEY=‹q8Zk2LmP0vXw7Rt5Yb3Nc1Jd›",
    "export COHERE_API_KEY=\"‹q8Zk2LmP0vXw7Rt5Yb3Nc1Jd›\"",
    "GITHUB_TOKEN=‹0d1e2f3a4b5c6d7e8f90›",
    "TOKEN2=‹q8Zk2LmP0vXw7Rt5›",
    "SECRET_KEY_BASE=‹0123abcd4567ef890123abcd4567ef89›",
    "DB_PASSWORD=‹hunter2x›",
    "DB_PASSWORD=‹correcthorsebattery›",
    "MYSQL_ROOT_PASSWORD: ‹s3cr3t-Pa55›",
    "password: ‹hunter2›",
    "  password: ‹Tr0ub4dor&3›",
    "password = ‹Tr0ub4dor!3›",
    "password=‹hunter2›",
    "password=\"‹hunter2›\"",
    "'password': '‹hunter2›',",
    "{\"user\":\"me\",\"password\":\"‹hunter2›\"}",
    "{\"access_token\": \"‹q8Zk2LmP0vXw7Rt5Yb3N›\", \"expires_in\": 3600}",
    "{\"refresh_token\":\"‹1b2c3d4e5f60718293a4b5c6›\"}",
    "{\\\"client_secret\\\": \\\"‹q8Zk2LmP0vXw7Rt5Yb3N›\\\"}",
    "\"apiKey\": \"‹q8Zk2LmP0vXw7Rt5Yb3N›\",",
    "apiKey: '‹q8Zk2LmP0vXw7Rt5Yb3N›',",
    "api_key = \"‹q8Zk2LmP0vXw7Rt5Yb3N›\"",
    "const API_KEY: &str = \"‹q8Zk2LmP0vXw7Rt5Yb3N›\";",
    "api_key: str = \"‹q8Zk2LmP0vXw7Rt5Yb3N›\"",
    "apiKey := \"‹q8Zk2LmP0vXw7Rt5Yb3N›\"",
    "os.environ[\"API_KEY\"] = \"‹q8Zk2LmP0vXw7Rt5Yb3N›\"",
    "'api_key' => '‹q8Zk2LmP0vXw7Rt5Yb3N›',",
    "api_key: ‹0123456789abcdef0123456789abcdef›",
    "client_secret: ‹550e8400-e29b-41d4-a716-446655440000›",
    "SECRET_KEY = 'django-insecure-‹k3#x9v&p2m!q8z$r5t^y7u*i1o(e4w-s6_d0=f+g›'",
    "SECRET_KEY = '‹$x9v&p2m!q8z$r5t^y7u*i1o(e4w-s6_d0=f+gk3#hb2n›'",
    "AccountName=a;AccountKey=‹q8Zk2LmP0vXw7Rt5Yb3Nc1Jdq8Zk2LmP0vXw7Rt5Yb3Nc1Jd==›;EndpointSuffix=x",
    "Server=db;User Id=app;Password=‹hunter2x›;",
    "host=db user=app password=‹hunter2x› dbname=shop",
    "password=‹mysecretvalue›&user=me",
    "user=me&password=‹mysecretvalue›&x=1",
    "client_secret=‹q8Zk2LmP0vXw7Rt5›&grant_type=client_credentials",
    "Cookie: session=‹q8Zk2LmP0vXw7Rt5›; theme=dark",
    "Set-Cookie: sid=‹q8Zk2LmP0vXw7Rt5›; Path=/; Max-Age=31536000",
    "machine api.example.com login me password ‹hunter›",
    "machine api.example.com\n  login me\n  password ‹hunter›\n",
    "<password>‹hunter2x›</password>",
    "X-Vault-Token: ‹q8Zk2LmP0vXw7Rt5Yb3N›",
    "registry.example.org/:_authToken=‹q8Zk2LmP0vXw7Rt5Yb3N›",
    "tool --password=‹hunter2x› --force",
    "tool --password=‹correcthorse›",
    "tool --db-password ‹hunter2x› --force",
    "tool --password '‹Tr0ub4dor&3›'",
    "tool --api-key ‹q8Zk2LmP0vXw› run",
    "tool --api-key=‹q8Zk2LmP0vXw7Rt5›",
    "tool --token ‹q8Zk2LmP0vXw›\n",
    "tool -client-secret ‹q8Zk2LmP0vXw›",
    "args: [\"--token\",\"‹q8Zk2LmP0vXw›\"]",
    "[\"--token\",\n  \"‹q8Zk2LmP0vXw›\"]",
    "['login', '--password', '‹hunter2x›']",
    "curl -u admin:‹geheim› https://example.com",
    "curl -s -u 'admin:‹ge heim›' https://example.com",
    "curl -uadmin:‹geheim› https://example.com",
    "3|curl --user admin:‹geheim› https://example.com",
    "http --proxy-user=admin:‹hunter2x›",
    "curl -b \"session=‹q8Zk2LmP0vXw7Rt5›\" https://example.com",
    "curl --cookie 'theme=dark; sid=‹q8Zk2LmP0vXw7Rt5›' https://example.com",
    "curl -b sid=‹q8Zk2LmP0vXw7Rt5› https://example.com",
    "\"ghcr.io\": {\"auth\": \"‹bWU6aHVudGVyMng=›\"}",
    "- name: DB_PASSWORD\n  value: ‹hunter2x›\n",
    "12|- name: DB_PASSWORD\n13|  value: \"‹hunter2x›\"\n",
    "- name: \"API_TOKEN\"\n  value: '‹q8Zk2LmP0vXw›'\n",
    "{\"name\": \"API_TOKEN\", \"value\": \"‹q8Zk2LmP0vXw›\"}",
    "name  = \"api_token\"\nvalue = \"‹q8Zk2LmP0vXw7Rt5Yb3N›\"",
    "ENV DB_PASSWORD ‹hunter2x›\n",
    "setenv API_TOKEN ‹q8Zk2LmP0vXw›",
    "set -gx API_TOKEN ‹q8Zk2LmP0vXw›",
    "password: |\n  ‹hunter2x›\nuser: me\n",
    "  password: >-\n    ‹hunter2x›\n  user: me\n",
    "9|password: |\n10|  ‹hunter2x›\n11|user: me\n",
    "<property name=\"password\" value=\"‹hunter2x›\"/>",
    "<add key=\"ApiSecret\" value=\"‹q8Zk2LmP0vXw7Rt5Yb3N›\" />",
    "Server=db;Uid=sa;Pwd=‹hunter2x›;Database=a",
    "Server=db;UID=sa;PWD=‹hunter2x›;Database=a",
    "server=db;uid=sa;pwd=‹hunter2x›;",
    "Authorization: SSWS ‹00q8Zk2LmP0vXw7Rt5Yb3N›",
    "authorization: Klaviyo-API-Key ‹q8Zk2LmP0vXw7Rt5Yb3N›",
    "GH_PAT=‹q8Zk2LmP0vXw7Rt5›",
    "ASANA_PAT=‹1/1203456789:0d1e2f3a4b5c6d7e›",
    "  tls.key: ‹LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBdTE=›",
    "sshpass -p ‹geheim› ssh me@host",
    "SSHPASS=‹hunter2x› sshpass -e ssh me@host",
    "docker login -p‹geheim› ghcr.io",
    "curl -sSu admin:‹geheim› https://example.com",
    "args:\n  - --token\n  - ‹q8Zk2LmP0vXw›\n",
    "  tls.key: ‹aGVsbG8gd29ybGQgdGhpcyBpcyBhIGtleSBpbiBiYXNlNjQ=›\n",
    "sshpass -p'‹geheim›' ssh me@host",
    "docker login -u me -p ‹geheim› ghcr.io",
    "1|mysql -u root -p‹geheim› shop",
    "mysqldump -p'‹geheim›' shop",
    "requests.get(url, auth=(\"admin\", \"‹hunter2x›\"))",
    "auth = ('admin', '‹correcthorse›')",
    "session.auth = HTTPBasicAuth('admin', '‹hunter2x›')",
];

#[test]
fn values_of_secret_names_are_redacted_and_nothing_around_them() {
    for line in NAMED {
        let (before, rest) = line.split_once('‹').expect("a mark");
        let (secret, after) = rest.split_once('›').expect("a mark");
        let text = format!("{before}{secret}{after}");
        let clean = redact(&text);
        assert!(!clean.contains(secret), "{text}: {clean}");
        let before = before.trim_end_matches("django-insecure-");
        assert!(clean.starts_with(&format!("{before}[redacted")), "{text}: {clean}");
        assert!(clean.ends_with(&format!("]{after}")), "{text}: {clean}");
        assert_eq!(redact(&clean), clean, "a second time changes nothing");
    }
}

/// Lines of code, configuration and prose that must stay.
const PLAIN_LINES: &[&str] = &[
    "password = get_password()",
    "password = input(\"Password: \")",
    "password = getpass.getpass()",
    "password = args.password",
    "password = password2",
    "password = user2.password",
    "password: \"\"",
    "password: ''",
    "password: str",
    "password: Optional[str] = None",
    "password: Option<String>,",
    "password: string;",
    "password: &'a str,",
    "password?: string",
    "password: \"Password\",",
    "\"password\": \"Enter your password\",",
    "'password' => 'required|min:8|confirmed',",
    "'password' => env('DB_PASSWORD', ''),",
    "'password' => Hash::make($request->password),",
    "password: {{ vault_db_password }}",
    "password: ${DB_PASSWORD}",
    "password: \"${DB_PASSWORD}\"",
    "password: !vault |",
    "password: changeme",
    "password: <your password>",
    "password=xxxxxxxx",
    "password=********",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=postgres",
    "DB_PASSWORD=",
    "PASSWORD=$1",
    "PASSWORD=$(cat /run/secrets/db)",
    "PASSWORD_FILE=/run/secrets/db_password1",
    "password_hash = hashlib.sha256(password)",
    "MIN_PASSWORD_LENGTH = 12",
    "if password == other_password:",
    "<input type=\"password\" name=\"password\" placeholder=\"Password\">",
    "the password is stored in the vault",
    "Forgot your password? Ask for a new token.",
    "api_key: str",
    "api_key: str = Field(default=None)",
    "api_key=api_key,",
    "api_key = os.environ[\"API_KEY\"]",
    "api_key = config.get(\"api_key_v2\")",
    "apiKey: process.env.API_KEY,",
    "API_KEY=$OTHER",
    "API_KEY=<your key>",
    "API_KEY=your-api-key-here",
    "API_KEY=xxxx",
    "OPENAI_API_KEY=sk-...",
    "API_KEY=${{ secrets.API_KEY }}",
    "token=token",
    "token = secrets.token_hex(32)",
    "token = tokens[0]",
    "let token = self.next_token();",
    "let token: Token = lexer.next();",
    "Token::Ident(name) => Some(name),",
    "token_count: 123456789012345678,",
    "max_tokens=4096",
    "next_page_token: \"CAUQAA1b2c3d4e5f6\"",
    "tokenizer: \"gpt2-1b2c3d4e5f6a7b8c\"",
    "cache_key = \"user:1b2c3d4e5f6a7b8c9d0e\"",
    "key = \"d41d8cd98f00b204e9800998ecf8427e\"",
    "public_key: \"AAAAC3NzaC1lZDI1NTE5AAAAIJ1b2c3d4e5\"",
    "primary_key=True, foreign_key='users.id'",
    "\"idempotency_key\": \"550e8400-e29b-41d4-a716-446655440000\"",
    "sort_key: Option<u64>,",
    "for key: u64 in keys",
    "KeyError: 'password'",
    "struct sk_buff *skb = alloc_sk_buff(len);",
    "sk_wmem_alloc sk_receive_queue_length_total sk_storage_free",
    "fw_update_progress_callback_registered_at_boot",
    "secret_manager_client_configuration_builder",
    "re_export_everything_from_the_module_below",
    "fc-daygrid-day-number fc-cache -fv",
    "key-value stores and key-based access control",
    "path/to/pattern.rs and patch.diff",
    "commit 9f8db4352c1a0d6e8b7f9f8db4352c1a0d6e8b7f",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "MTU 1500, MDNS and NTP are on; OTA updates are off",
    "12:30:45:Alpha release, 1234567:Abc",
    "auth = HTTPBasicAuth(user, password)",
    "author=Jane&year=1984",
    "Cookie: theme=dark; lang=en",
    "Cookie: name=value",
    "const secret = await vault.read('secret/data/app1');",
    "secret: { name: 'db-1', key: 'password' }",
    "secretName: my-secret-2",
    "client_secret = var.client_secret_v2",
    "credentials: 'include',",
    "https://user@example.com/path and ssh://git@github.com/owner/repo",
    "https://docs.rs/crate-name@1.2.3",
    "machine learning models need a login and a password too",
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "access_token: ACCESS_TOKEN_PLACEHOLDER",
    "\"secret\": \"projects/123456789012/secrets/db/versions/3\"",
    "KEY_TYPE=ed25519 SSH_KEY=~/.ssh/id_ed25519",
    "AUTH_TOKEN_TTL=86400s",
    "TOKEN_URL=https://auth.example.com/oauth2/token",
    "  --password string   the password to use",
    "  --token TOKEN       the token to use",
    "--password PASSWORD --token $TOKEN --api-key <key>",
    "tool --password-file /run/secrets/db --token-type bearer",
    "docker run -u 1000:1000 -p 8080:80 --user www-data:www-data image",
    "git checkout -b feature=one; git push -u origin main:main",
    "mkdir -p build1234 && docker login && ssh -p 2222 host",
    "mysql -u root -p shop; mysql -P 3306 -h db",
    "curl -u \"$USER:$PASSWORD\" -b cookies.txt https://example.com",
    "curl -u admin https://example.com",
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-secret-1",
    "- name: DB_PASSWORD\n  value: \"$(OTHER_1)\"",
    "password: |\n  Enter the password\n  of the user 1\n",
    "ENV PASSWORD_FILE /run/secrets/db1",
    "<input type=\"password\" name=\"password\" value=\"\">",
    "<property name=\"password\" value=\"${db.password}\"/>",
    "pwd=$(pwd) PWD=/home/me/project1",
    "{\"auth\": \"required\", \"auth\": \"oauth2-client\"}",
    "authorization: Digest username=\"me\", realm=\"a1b2c3\"",
    "auth=(user, password)",
    "args:\n  - --token\n  - --force\n  - $(API_TOKEN)",
    "page.key: navigation.main.title; ssh login -p2222",
    "the zone is 0123-us1 and n3w-us2-east",
    "postgres://postgres:postgres@localhost:5432/app",
    "mysql://root:root@127.0.0.1/app and redis://app:app@[::1]:6379",
    "amqp://guest:guest@mq.example.com/",
    "password=\"password123\" and DB_PASSWORD=secret1234",
    "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "wait_for(&screen, \"password:\").await;",
];

#[test]
fn ordinary_lines_stay() {
    assert!(PLAIN_LINES.len() >= 60);
    let changed: Vec<String> = PLAIN_LINES
        .iter()
        .map(|line| (line, redact(line)))
        .filter(|(line, clean)| clean != *line)
        .map(|(line, clean)| format!("{line}\n    {clean}"))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
    let all = PLAIN_LINES.join("\n");
    assert_eq!(redact(&all), all, "nor together");
}

#[test]
fn values_of_secret_keys_are_redacted_in_json() {
    let mut json = r#"{"user":"me","api_key":"q8Zk2LmP0vXw7Rt5Yb3N","token":"334a92ff601693e5",
        "nested":{"client_secret" : "q8Zk2LmP0vXw7Rt5Yb3N"},"password":"string"}"#
        .to_owned();
    crate::Redactor::default().redact_json(&mut json);
    assert!(!json.contains("q8Zk2"), "{json}");
    // A ticket of the policy is called `token`.
    assert!(json.contains("334a92ff601693e5") && json.contains(r#""password":"string""#), "{json}");
    serde_json::from_str::<serde_json::Value>(&json).expect("still JSON");
}

#[test]
fn line_numbers_hide_no_secret_that_spans_lines() {
    let key = fill("", BASE62, 64);
    let entry = ["machine h.example", "  login b", "password N3trcP4ssw0rd"];
    let numbered = |lines: &[&str], separator: &str, path: &str| {
        let lines = lines.iter().enumerate();
        lines.map(|(at, line)| format!("{path}{}{separator}{line}\n", at + 9)).collect::<String>()
    };
    let pem = ["-----BEGIN PRIVATE KEY-----", key.as_str(), key.as_str()];
    let mut texts = vec![
        "1|machine h login b password N3trcP4ssw0rd".to_owned(),
        ".netrc:1:machine h login b password N3trcP4ssw0rd".to_owned(),
        ".netrc:machine h login b password N3trcP4ssw0rd".to_owned(),
        "+machine h\n+login b\n+password N3trcP4ssw0rd".to_owned(),
        "default\n\tlogin b\n\tpassword\tN3trcP4ssw0rd\n".to_owned(),
        "machine h login b account c password N3trcP4ssw0rd".to_owned(),
    ];
    for separator in ["|", ":", ": ", "-", "| ", "\t"] {
        texts.push(numbered(&entry, separator, ""));
        texts.push(numbered(&entry, separator, "  "));
        texts.push(numbered(&pem, separator, ""));
    }
    texts.push(numbered(&entry, ":", "/home/me/.netrc:"));
    for text in texts {
        let clean = redact(&text);
        assert!(!clean.contains("N3trcP4") && !clean.contains(&key[8..32]), "{text}: {clean}");
        let mut json = serde_json::json!({ "content": text }).to_string();
        crate::Redactor::default().redact_json(&mut json);
        assert!(!json.contains("N3trcP4") && !json.contains(&key[8..32]), "{text}: {json}");
    }
}
