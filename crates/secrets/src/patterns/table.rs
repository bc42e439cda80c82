//! The kinds of secrets, and the triggers of all patterns.

use super::shapes::TOKEN_SHAPES;

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
    Telegram,
    Discord,
    AwsId,
    AwsSecret,
    Jwt,
    PrivateKey,
    Authorization,
    UrlPassword,
    Query,
    Cookie,
    Named,
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
        Self::Telegram,
        Self::Discord,
        Self::AwsId,
        Self::AwsSecret,
        Self::Jwt,
        Self::PrivateKey,
        Self::Authorization,
        Self::UrlPassword,
        Self::Query,
        Self::Cookie,
        Self::Named,
    ];

    /// Returns the label that replaces a secret of this kind.
    pub(crate) fn label(self) -> String {
        match self {
            // The name before it says what it is.
            Self::Named => "[redacted]".to_owned(),
            _ => format!("[redacted:{}]", self.name()),
        }
    }

    fn name(self) -> &'static str {
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
            Self::Telegram => "telegram-token",
            Self::Discord => "discord-token",
            Self::AwsId => "aws-key-id",
            Self::AwsSecret => "aws-secret-key",
            Self::Jwt => "jwt",
            Self::PrivateKey => "private-key",
            Self::Authorization => "authorization",
            Self::UrlPassword => "url-password",
            Self::Query => "query-secret",
            Self::Cookie => "cookie",
            Self::Named => "",
        }
    }
}

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
    /// The end of a name that may have a secret value.
    Named,
    Cookie,
    NetrcPassword,
    /// `-u user:password`.
    UserOption,
    /// `-b name=value`.
    CookieOption,
    /// `-p password`.
    PasswordOption,
    /// `BasicAuth("user", "password")`.
    AuthPair,
    AzureSecret,
    Terraform,
    Mailchimp,
    Telegram,
    Discord,
}

impl PatternTrigger {
    /// Whether what it finds is secret only because of the name before it.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Self::Named | Self::NetrcPassword | Self::AuthPair)
    }

    /// Whether what it finds is secret only because of the option before it.
    pub(crate) fn is_option(self) -> bool {
        matches!(self, Self::UserOption | Self::CookieOption | Self::PasswordOption)
    }
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
    ("code=", PatternTrigger::Query),
    ("session=", PatternTrigger::Query),
    ("jwt=", PatternTrigger::Query),
    // Ends of names, without a letter that may be upper-case.
    ("assword", PatternTrigger::Named),
    ("ASSWORD", PatternTrigger::Named),
    ("asswd", PatternTrigger::Named),
    ("ASSWD", PatternTrigger::Named),
    ("assphrase", PatternTrigger::Named),
    ("ASSPHRASE", PatternTrigger::Named),
    ("asscode", PatternTrigger::Named),
    ("ecret=", PatternTrigger::Named),
    ("ecret:", PatternTrigger::Named),
    ("ecret\"", PatternTrigger::Named),
    ("ecret'", PatternTrigger::Named),
    ("ecret =", PatternTrigger::Named),
    ("ecret :", PatternTrigger::Named),
    ("ecret\\\"", PatternTrigger::Named),
    ("ECRET", PatternTrigger::Named),
    ("oken=", PatternTrigger::Named),
    ("oken:", PatternTrigger::Named),
    ("oken\"", PatternTrigger::Named),
    ("oken'", PatternTrigger::Named),
    ("oken =", PatternTrigger::Named),
    ("oken :", PatternTrigger::Named),
    ("oken\\\"", PatternTrigger::Named),
    ("OKEN", PatternTrigger::Named),
    ("redential=", PatternTrigger::Named),
    ("redential:", PatternTrigger::Named),
    ("redential\"", PatternTrigger::Named),
    ("redential'", PatternTrigger::Named),
    ("redential =", PatternTrigger::Named),
    ("redential :", PatternTrigger::Named),
    ("redential\\\"", PatternTrigger::Named),
    ("REDENTIAL", PatternTrigger::Named),
    ("_key=", PatternTrigger::Named),
    ("_key:", PatternTrigger::Named),
    ("_key\"", PatternTrigger::Named),
    ("_key'", PatternTrigger::Named),
    ("_key =", PatternTrigger::Named),
    ("_key :", PatternTrigger::Named),
    ("_key\\\"", PatternTrigger::Named),
    ("_KEY", PatternTrigger::Named),
    ("apikey", PatternTrigger::Named),
    ("APIKEY", PatternTrigger::Named),
    ("Key=", PatternTrigger::Named),
    ("Key:", PatternTrigger::Named),
    ("Key\"", PatternTrigger::Named),
    ("Key'", PatternTrigger::Named),
    ("Key =", PatternTrigger::Named),
    ("Key :", PatternTrigger::Named),
    ("Key\\\"", PatternTrigger::Named),
    ("pass=", PatternTrigger::Named),
    ("PASS=", PatternTrigger::Named),
    ("pass:", PatternTrigger::Named),
    ("PASS:", PatternTrigger::Named),
    ("pass\":", PatternTrigger::Named),
    ("pwd=", PatternTrigger::Named),
    ("PWD=", PatternTrigger::Named),
    ("Pwd=", PatternTrigger::Named),
    ("pwd:", PatternTrigger::Named),
    ("pwd\":", PatternTrigger::Named),
    ("auth=", PatternTrigger::Named),
    ("AUTH=", PatternTrigger::Named),
    ("ookie:", PatternTrigger::Cookie),
    ("COOKIE:", PatternTrigger::Cookie),
    ("password ", PatternTrigger::NetrcPassword),
    ("password\t", PatternTrigger::NetrcPassword),
    // Options, and other names before a blank.
    (" -u", PatternTrigger::UserOption),
    (" -U", PatternTrigger::UserOption),
    (" -su ", PatternTrigger::UserOption),
    (" -sSu ", PatternTrigger::UserOption),
    (" -fsSu ", PatternTrigger::UserOption),
    (" -ku ", PatternTrigger::UserOption),
    (" -sku ", PatternTrigger::UserOption),
    (" -Lu ", PatternTrigger::UserOption),
    (" -sLu ", PatternTrigger::UserOption),
    ("-user ", PatternTrigger::UserOption),
    ("-user=", PatternTrigger::UserOption),
    (" -b", PatternTrigger::CookieOption),
    ("--cookie", PatternTrigger::CookieOption),
    (" -p", PatternTrigger::PasswordOption),
    ("BasicAuth(", PatternTrigger::AuthPair),
    ("basic_auth(", PatternTrigger::AuthPair),
    ("auth=(", PatternTrigger::AuthPair),
    ("auth = (", PatternTrigger::AuthPair),
    ("auth: (", PatternTrigger::AuthPair),
    ("-token ", PatternTrigger::Named),
    ("-secret ", PatternTrigger::Named),
    ("-key ", PatternTrigger::Named),
    ("-key=", PatternTrigger::Named),
    ("-key\"", PatternTrigger::Named),
    ("-key'", PatternTrigger::Named),
    (".key:", PatternTrigger::Named),
    ("-key\n", PatternTrigger::Named),
    ("-pass ", PatternTrigger::Named),
    ("-pwd ", PatternTrigger::Named),
    ("_PASS ", PatternTrigger::Named),
    ("_PASS\n", PatternTrigger::Named),
    ("_PASS\"", PatternTrigger::Named),
    ("_PAT=", PatternTrigger::Named),
    ("_PAT:", PatternTrigger::Named),
    ("_PAT ", PatternTrigger::Named),
    ("_PAT\"", PatternTrigger::Named),
    ("_PAT\n", PatternTrigger::Named),
    ("_pat=", PatternTrigger::Named),
    ("_pat:", PatternTrigger::Named),
    ("_pat =", PatternTrigger::Named),
    ("_pat\"", PatternTrigger::Named),
    ("auth\":", PatternTrigger::Named),
    ("auth\" :", PatternTrigger::Named),
    ("auth\\\":", PatternTrigger::Named),
    ("oken\n", PatternTrigger::Named),
    ("ecret\n", PatternTrigger::Named),
    ("_key\n", PatternTrigger::Named),
    ("Q~", PatternTrigger::AzureSecret),
    (".atlasv1.", PatternTrigger::Terraform),
    ("-us1", PatternTrigger::Mailchimp),
    ("-us2", PatternTrigger::Mailchimp),
    ("-us3", PatternTrigger::Mailchimp),
    ("-us4", PatternTrigger::Mailchimp),
    ("-us5", PatternTrigger::Mailchimp),
    ("-us6", PatternTrigger::Mailchimp),
    ("-us7", PatternTrigger::Mailchimp),
    ("-us8", PatternTrigger::Mailchimp),
    ("-us9", PatternTrigger::Mailchimp),
    ("0:A", PatternTrigger::Telegram),
    ("1:A", PatternTrigger::Telegram),
    ("2:A", PatternTrigger::Telegram),
    ("3:A", PatternTrigger::Telegram),
    ("4:A", PatternTrigger::Telegram),
    ("5:A", PatternTrigger::Telegram),
    ("6:A", PatternTrigger::Telegram),
    ("7:A", PatternTrigger::Telegram),
    ("8:A", PatternTrigger::Telegram),
    ("9:A", PatternTrigger::Telegram),
    // The time in a Discord token.
    (".G", PatternTrigger::Discord),
    (".X", PatternTrigger::Discord),
    (".Y", PatternTrigger::Discord),
    (".Z", PatternTrigger::Discord),
    ("sig=", PatternTrigger::Query),
    ("ignature=", PatternTrigger::Query),
];

/// Whether a text may contain a name and a value on different lines.
pub(crate) fn may_span_lines(text: &str) -> bool {
    const PARTS: &[&str] = &["password ", "password\\t", "value", ": |", ": >", "PRIVATE KEY"];
    PARTS.iter().any(|part| memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some())
}

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
