//! Token shapes of well-known services, and the triggers of all patterns.

/// The kind of a detected secret, in the order of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Key,
    GitHub,
    GitLab,
    Slack,
    Google,
    HuggingFace,
    Npm,
    PyPi,
    Stripe,
    Webhook,
    SendGrid,
    DigitalOcean,
    Shopify,
    AwsId,
    AwsSecret,
    Jwt,
    PrivateKey,
    Authorization,
    UrlPassword,
    Query,
}

impl SecretKind {
    /// All kinds, in order.
    pub(crate) const ALL_KINDS: &[Self] = &[
        Self::Key,
        Self::GitHub,
        Self::GitLab,
        Self::Slack,
        Self::Google,
        Self::HuggingFace,
        Self::Npm,
        Self::PyPi,
        Self::Stripe,
        Self::Webhook,
        Self::SendGrid,
        Self::DigitalOcean,
        Self::Shopify,
        Self::AwsId,
        Self::AwsSecret,
        Self::Jwt,
        Self::PrivateKey,
        Self::Authorization,
        Self::UrlPassword,
        Self::Query,
    ];

    /// Returns the name used in the label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "api-key",
            Self::GitHub => "github-token",
            Self::GitLab => "gitlab-token",
            Self::Slack => "slack-token",
            Self::Google => "google-key",
            Self::HuggingFace => "huggingface-token",
            Self::Npm => "npm-token",
            Self::PyPi => "pypi-token",
            Self::Stripe => "stripe-key",
            Self::Webhook => "webhook-secret",
            Self::SendGrid => "sendgrid-key",
            Self::DigitalOcean => "digitalocean-token",
            Self::Shopify => "shopify-token",
            Self::AwsId => "aws-key-id",
            Self::AwsSecret => "aws-secret-key",
            Self::Jwt => "jwt",
            Self::PrivateKey => "private-key",
            Self::Authorization => "authorization",
            Self::UrlPassword => "url-password",
            Self::Query => "query-secret",
        }
    }
}

/// A prefix followed by a run of characters.
#[derive(Debug)]
pub(crate) struct TokenShape {
    pub(crate) prefix: &'static str,
    pub(crate) kind: SecretKind,
    /// The characters of the run.
    pub(crate) body: fn(u8) -> bool,
    /// The minimum length of the run.
    pub(crate) min_chars: usize,
    /// Whether the run must look random, because words may follow the prefix as
    /// well.
    pub(crate) must_look_random: bool,
}

const fn token(
    prefix: &'static str,
    kind: SecretKind,
    body: fn(u8) -> bool,
    least: usize,
) -> TokenShape {
    TokenShape { prefix, kind, body, min_chars: least, must_look_random: false }
}

const fn random_token(
    prefix: &'static str,
    kind: SecretKind,
    body: fn(u8) -> bool,
    least: usize,
) -> TokenShape {
    TokenShape { prefix, kind, body, min_chars: least, must_look_random: true }
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_alphanumeric_or_dash(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn is_alphanumeric_or_underscore(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

pub(crate) const TOKEN_SHAPES: &[TokenShape] = &[
    random_token("sk-", SecretKind::Key, is_url_safe, 16),
    random_token("xai-", SecretKind::Key, is_url_safe, 20),
    random_token("tvly-", SecretKind::Key, is_url_safe, 16),
    token("gsk_", SecretKind::Key, is_alphanumeric, 20),
    token("r8_", SecretKind::Key, is_alphanumeric, 30),
    token("ghp_", SecretKind::GitHub, is_alphanumeric, 20),
    token("gho_", SecretKind::GitHub, is_alphanumeric, 20),
    token("ghu_", SecretKind::GitHub, is_alphanumeric, 20),
    token("ghs_", SecretKind::GitHub, is_alphanumeric, 20),
    token("ghr_", SecretKind::GitHub, is_alphanumeric, 20),
    token("github_pat_", SecretKind::GitHub, is_alphanumeric_or_underscore, 22),
    random_token("glpat-", SecretKind::GitLab, is_url_safe, 16),
    random_token("xoxa-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxb-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxe-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxo-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxp-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxr-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxs-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xapp-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    token("AIza", SecretKind::Google, is_url_safe, 30),
    random_token("ya29.", SecretKind::Google, is_url_safe, 20),
    token("GOCSPX-", SecretKind::Google, is_url_safe, 20),
    token("hf_", SecretKind::HuggingFace, is_alphanumeric, 20),
    token("npm_", SecretKind::Npm, is_alphanumeric, 30),
    random_token("pypi-", SecretKind::PyPi, is_url_safe, 32),
    token("sk_live_", SecretKind::Stripe, is_alphanumeric, 16),
    token("sk_test_", SecretKind::Stripe, is_alphanumeric, 16),
    token("rk_live_", SecretKind::Stripe, is_alphanumeric, 16),
    token("rk_test_", SecretKind::Stripe, is_alphanumeric, 16),
    random_token("whsec_", SecretKind::Webhook, is_base64, 16),
    token("dop_v1_", SecretKind::DigitalOcean, is_hex, 32),
    token("shpat_", SecretKind::Shopify, is_hex, 24),
];

/// What to examine at a trigger.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PatternTrigger {
    /// A shape, by its index in the table.
    Shape(usize),
    Jwt,
    Dotted,
    PrivateKey,
    AwsId,
    AwsSecret,
    Bearer,
    Basic,
    Authorization,
    KeyHeader,
    Url,
    Query,
}

const OTHER_TRIGGERS: &[(&str, PatternTrigger)] = &[
    ("eyJ", PatternTrigger::Jwt),
    ("SG.", PatternTrigger::Dotted),
    ("-----BEGIN ", PatternTrigger::PrivateKey),
    ("AKIA", PatternTrigger::AwsId),
    ("ASIA", PatternTrigger::AwsId),
    ("ecret_access_key", PatternTrigger::AwsSecret),
    ("ECRET_ACCESS_KEY", PatternTrigger::AwsSecret),
    ("ecretAccessKey", PatternTrigger::AwsSecret),
    // Without the first letter, which may be upper-case.
    ("earer ", PatternTrigger::Bearer),
    ("EARER ", PatternTrigger::Bearer),
    ("asic ", PatternTrigger::Basic),
    ("ASIC ", PatternTrigger::Basic),
    ("uthorization", PatternTrigger::Authorization),
    ("UTHORIZATION", PatternTrigger::Authorization),
    ("api-key", PatternTrigger::KeyHeader),
    ("Api-Key", PatternTrigger::KeyHeader),
    ("API-Key", PatternTrigger::KeyHeader),
    ("API-KEY", PatternTrigger::KeyHeader),
    ("auth-token", PatternTrigger::KeyHeader),
    ("Auth-Token", PatternTrigger::KeyHeader),
    ("AUTH-TOKEN", PatternTrigger::KeyHeader),
    ("rivate-token", PatternTrigger::KeyHeader),
    ("RIVATE-TOKEN", PatternTrigger::KeyHeader),
    ("rivate-Token", PatternTrigger::KeyHeader),
    ("ubscription-key", PatternTrigger::KeyHeader),
    ("ubscription-Key", PatternTrigger::KeyHeader),
    ("://", PatternTrigger::Url),
    ("key=", PatternTrigger::Query),
    ("Key=", PatternTrigger::Query),
    ("KEY=", PatternTrigger::Query),
    ("oken=", PatternTrigger::Query),
    ("OKEN=", PatternTrigger::Query),
    ("ecret=", PatternTrigger::Query),
    ("ECRET=", PatternTrigger::Query),
    ("assword=", PatternTrigger::Query),
    ("ASSWORD=", PatternTrigger::Query),
    ("asswd=", PatternTrigger::Query),
    ("pass=", PatternTrigger::Query),
    ("pwd=", PatternTrigger::Query),
    ("auth=", PatternTrigger::Query),
    ("sig=", PatternTrigger::Query),
    ("ignature=", PatternTrigger::Query),
];

const TRIGGER_COUNT: usize = TOKEN_SHAPES.len() + OTHER_TRIGGERS.len();

/// Every trigger text, and what to examine there.
pub(crate) const PATTERN_TRIGGERS: &[(&str, PatternTrigger)] = &triggers();

const fn triggers() -> [(&'static str, PatternTrigger); TRIGGER_COUNT] {
    let mut all = [("", PatternTrigger::Jwt); TRIGGER_COUNT];
    let mut at = 0;
    while at < TOKEN_SHAPES.len() {
        all[at] = (TOKEN_SHAPES[at].prefix, PatternTrigger::Shape(at));
        at += 1;
    }
    while at < TRIGGER_COUNT {
        all[at] = OTHER_TRIGGERS[at - TOKEN_SHAPES.len()];
        at += 1;
    }
    all
}
