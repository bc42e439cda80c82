//! The tokens of well-known services, and the texts at which it pays to look.

/// What was found. The order is that of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
    /// All of them, in order.
    pub(crate) const ALL: &[Self] = &[
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

    /// As the label says it.
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

/// A prefix and a run of letters.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) prefix: &'static str,
    pub(crate) kind: Kind,
    /// The letters of the run.
    pub(crate) body: fn(u8) -> bool,
    /// The fewest that make a token.
    pub(crate) least: usize,
    /// Whether words may follow the prefix as well, so that the run must look
    /// random.
    pub(crate) wordy: bool,
}

const fn shape(prefix: &'static str, kind: Kind, body: fn(u8) -> bool, least: usize) -> Shape {
    Shape { prefix, kind, body, least, wordy: false }
}

const fn wordy(prefix: &'static str, kind: Kind, body: fn(u8) -> bool, least: usize) -> Shape {
    Shape { prefix, kind, body, least, wordy: true }
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn scored(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

pub(crate) const SHAPES: &[Shape] = &[
    wordy("sk-", Kind::Key, url_safe, 16),
    wordy("xai-", Kind::Key, url_safe, 20),
    wordy("tvly-", Kind::Key, url_safe, 16),
    shape("gsk_", Kind::Key, alnum, 20),
    shape("r8_", Kind::Key, alnum, 30),
    shape("ghp_", Kind::GitHub, alnum, 20),
    shape("gho_", Kind::GitHub, alnum, 20),
    shape("ghu_", Kind::GitHub, alnum, 20),
    shape("ghs_", Kind::GitHub, alnum, 20),
    shape("ghr_", Kind::GitHub, alnum, 20),
    shape("github_pat_", Kind::GitHub, scored, 22),
    wordy("glpat-", Kind::GitLab, url_safe, 16),
    wordy("xoxa-", Kind::Slack, dashed, 16),
    wordy("xoxb-", Kind::Slack, dashed, 16),
    wordy("xoxe-", Kind::Slack, dashed, 16),
    wordy("xoxo-", Kind::Slack, dashed, 16),
    wordy("xoxp-", Kind::Slack, dashed, 16),
    wordy("xoxr-", Kind::Slack, dashed, 16),
    wordy("xoxs-", Kind::Slack, dashed, 16),
    wordy("xapp-", Kind::Slack, dashed, 16),
    shape("AIza", Kind::Google, url_safe, 30),
    wordy("ya29.", Kind::Google, url_safe, 20),
    shape("GOCSPX-", Kind::Google, url_safe, 20),
    shape("hf_", Kind::HuggingFace, alnum, 20),
    shape("npm_", Kind::Npm, alnum, 30),
    wordy("pypi-", Kind::PyPi, url_safe, 32),
    shape("sk_live_", Kind::Stripe, alnum, 16),
    shape("sk_test_", Kind::Stripe, alnum, 16),
    shape("rk_live_", Kind::Stripe, alnum, 16),
    shape("rk_test_", Kind::Stripe, alnum, 16),
    wordy("whsec_", Kind::Webhook, base64, 16),
    shape("dop_v1_", Kind::DigitalOcean, hex, 32),
    shape("shpat_", Kind::Shopify, hex, 24),
];

/// What to look for at a place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trigger {
    /// A shape, by its place in the table.
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

const OTHERS: &[(&str, Trigger)] = &[
    ("eyJ", Trigger::Jwt),
    ("SG.", Trigger::Dotted),
    ("-----BEGIN ", Trigger::PrivateKey),
    ("AKIA", Trigger::AwsId),
    ("ASIA", Trigger::AwsId),
    ("ecret_access_key", Trigger::AwsSecret),
    ("ECRET_ACCESS_KEY", Trigger::AwsSecret),
    ("ecretAccessKey", Trigger::AwsSecret),
    // Without the first letter, which may be a capital.
    ("earer ", Trigger::Bearer),
    ("EARER ", Trigger::Bearer),
    ("asic ", Trigger::Basic),
    ("ASIC ", Trigger::Basic),
    ("uthorization", Trigger::Authorization),
    ("UTHORIZATION", Trigger::Authorization),
    ("api-key", Trigger::KeyHeader),
    ("Api-Key", Trigger::KeyHeader),
    ("API-Key", Trigger::KeyHeader),
    ("API-KEY", Trigger::KeyHeader),
    ("auth-token", Trigger::KeyHeader),
    ("Auth-Token", Trigger::KeyHeader),
    ("AUTH-TOKEN", Trigger::KeyHeader),
    ("rivate-token", Trigger::KeyHeader),
    ("RIVATE-TOKEN", Trigger::KeyHeader),
    ("rivate-Token", Trigger::KeyHeader),
    ("ubscription-key", Trigger::KeyHeader),
    ("ubscription-Key", Trigger::KeyHeader),
    ("://", Trigger::Url),
    ("key=", Trigger::Query),
    ("Key=", Trigger::Query),
    ("KEY=", Trigger::Query),
    ("oken=", Trigger::Query),
    ("OKEN=", Trigger::Query),
    ("ecret=", Trigger::Query),
    ("ECRET=", Trigger::Query),
    ("assword=", Trigger::Query),
    ("ASSWORD=", Trigger::Query),
    ("asswd=", Trigger::Query),
    ("pass=", Trigger::Query),
    ("pwd=", Trigger::Query),
    ("auth=", Trigger::Query),
    ("sig=", Trigger::Query),
    ("ignature=", Trigger::Query),
];

const COUNT: usize = SHAPES.len() + OTHERS.len();

/// Every text to look out for, and what to look for there.
pub(crate) const TRIGGERS: &[(&str, Trigger)] = &triggers();

const fn triggers() -> [(&'static str, Trigger); COUNT] {
    let mut all = [("", Trigger::Jwt); COUNT];
    let mut at = 0;
    while at < SHAPES.len() {
        all[at] = (SHAPES[at].prefix, Trigger::Shape(at));
        at += 1;
    }
    while at < COUNT {
        all[at] = OTHERS[at - SHAPES.len()];
        at += 1;
    }
    all
}
