//! Token shapes of well-known services: a prefix, followed by a run of
//! characters.

use super::plausibility::{is_documented, is_filler, is_random};
use super::table::SecretKind;

/// A prefix followed by a run of characters.
#[derive(Debug)]
pub(crate) struct TokenShape {
    pub(crate) prefix: &'static str,
    pub(crate) kind: SecretKind,
    /// The characters of the run.
    pub(crate) body: fn(u8) -> bool,
    /// The minimum length of the run.
    min_chars: usize,
    /// Whether the run must look random, because words may follow the prefix as
    /// well.
    must_look_random: bool,
    /// Whether the prefix is the address of a service and stays.
    pub(crate) keeps_prefix: bool,
}

impl TokenShape {
    /// Whether a run after the prefix is a token.
    pub(crate) fn is_token(&self, body: &str) -> bool {
        body.len() >= self.min_chars
            && !is_documented(body)
            && if self.must_look_random { is_random(body, 14) } else { !is_filler(body) }
    }
}

/// Whether a text begins with a token of a known shape.
pub(crate) fn starts_with_token(text: &str) -> bool {
    TOKEN_SHAPES.iter().any(|shape| {
        text.strip_prefix(shape.prefix).is_some_and(|rest| {
            let length = rest.bytes().take_while(|byte| (shape.body)(*byte)).count();
            rest.get(..length).is_some_and(|body| shape.is_token(body))
        })
    })
}

const fn token(
    prefix: &'static str,
    kind: SecretKind,
    body: fn(u8) -> bool,
    min_chars: usize,
) -> TokenShape {
    TokenShape { prefix, kind, body, min_chars, must_look_random: false, keeps_prefix: false }
}

const fn random_token(
    prefix: &'static str,
    kind: SecretKind,
    body: fn(u8) -> bool,
    min_chars: usize,
) -> TokenShape {
    TokenShape { prefix, kind, body, min_chars, must_look_random: true, keeps_prefix: false }
}

/// The secret path of an address.
const fn webhook(prefix: &'static str, body: fn(u8) -> bool, min_chars: usize) -> TokenShape {
    let kind = SecretKind::Webhook;
    TokenShape { prefix, kind, body, min_chars, must_look_random: true, keeps_prefix: true }
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_digit() || byte.is_ascii_uppercase()
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

fn is_dotted(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.'
}

fn is_path(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'/' || byte == b'@'
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn is_django_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!@#$%^&*(-_=+)".contains(&byte)
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
    random_token("glpat-", SecretKind::GitLab, is_dotted, 16),
    random_token("gldt-", SecretKind::GitLab, is_dotted, 16),
    random_token("glrt-", SecretKind::GitLab, is_dotted, 16),
    random_token("glrtr-", SecretKind::GitLab, is_dotted, 16),
    random_token("glptt-", SecretKind::GitLab, is_dotted, 16),
    random_token("gloas-", SecretKind::GitLab, is_dotted, 16),
    random_token("glft-", SecretKind::GitLab, is_dotted, 16),
    random_token("glffct-", SecretKind::GitLab, is_dotted, 16),
    random_token("glagent-", SecretKind::GitLab, is_dotted, 16),
    random_token("glcbt-", SecretKind::GitLab, is_dotted, 16),
    random_token("glimt-", SecretKind::GitLab, is_dotted, 16),
    random_token("glsoat-", SecretKind::GitLab, is_dotted, 16),
    random_token("GR1348941", SecretKind::GitLab, is_url_safe, 16),
    random_token("xoxa-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxb-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxc-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxd-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxe-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxo-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxp-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxr-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxs-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xapp-", SecretKind::Slack, is_alphanumeric_or_dash, 16),
    random_token("xoxe.", SecretKind::Slack, is_dotted, 24),
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
    token("doo_v1_", SecretKind::DigitalOcean, is_hex, 32),
    token("dor_v1_", SecretKind::DigitalOcean, is_hex, 32),
    token("shpat_", SecretKind::Shopify, is_hex, 24),
    token("shpca_", SecretKind::Shopify, is_hex, 24),
    token("shppa_", SecretKind::Shopify, is_hex, 24),
    token("shpss_", SecretKind::Shopify, is_hex, 24),
    // Providers of models and search.
    random_token("sk_", SecretKind::Key, is_alphanumeric, 24),
    random_token("pplx-", SecretKind::Key, is_alphanumeric, 16),
    random_token("csk-", SecretKind::Key, is_alphanumeric, 16),
    random_token("nvapi-", SecretKind::Key, is_url_safe, 20),
    random_token("fc-", SecretKind::Key, is_alphanumeric, 16),
    random_token("pa-", SecretKind::Key, is_url_safe, 40),
    random_token("ctx7sk-", SecretKind::Key, is_url_safe, 20),
    random_token("fw_", SecretKind::Key, is_alphanumeric, 16),
    random_token("fpk_", SecretKind::Key, is_alphanumeric, 16),
    random_token("fal_", SecretKind::Key, is_alphanumeric, 16),
    random_token("exa_", SecretKind::Key, is_alphanumeric, 16),
    random_token("jina_", SecretKind::Key, is_alphanumeric, 16),
    random_token("rpa_", SecretKind::Key, is_alphanumeric, 16),
    random_token("vck_", SecretKind::Key, is_alphanumeric, 16),
    random_token("vcp_", SecretKind::Key, is_alphanumeric, 16),
    random_token("tgp_v1_", SecretKind::Key, is_url_safe, 16),
    random_token("bb_live_", SecretKind::Key, is_url_safe, 16),
    random_token("apify_api_", SecretKind::Key, is_url_safe, 16),
    random_token("esecret_", SecretKind::Key, is_url_safe, 16),
    random_token("gAAAA", SecretKind::Key, is_url_safe, 40),
    // Services for developers.
    random_token("ntn_", SecretKind::Key, is_alphanumeric, 24),
    random_token("secret_", SecretKind::Key, is_alphanumeric, 24),
    random_token("lin_api_", SecretKind::Key, is_alphanumeric, 20),
    random_token("lin_oauth_", SecretKind::Key, is_alphanumeric, 20),
    random_token("lsv2_pt_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("lsv2_sk_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("figd_", SecretKind::Key, is_url_safe, 20),
    random_token("figo_", SecretKind::Key, is_url_safe, 20),
    random_token("dp.pt.", SecretKind::Key, is_dotted, 20),
    random_token("dp.st.", SecretKind::Key, is_dotted, 20),
    random_token("dp.ct.", SecretKind::Key, is_dotted, 20),
    random_token("dp.sa.", SecretKind::Key, is_dotted, 20),
    random_token("dp.scim.", SecretKind::Key, is_dotted, 20),
    random_token("dp.audit.", SecretKind::Key, is_dotted, 20),
    random_token("hvs.", SecretKind::Key, is_url_safe, 20),
    random_token("hvb.", SecretKind::Key, is_url_safe, 20),
    random_token("hvr.", SecretKind::Key, is_url_safe, 20),
    token("dapi", SecretKind::Key, is_lower_hex, 32),
    token("dkea", SecretKind::Key, is_lower_hex, 32),
    random_token("sbp_", SecretKind::Key, is_alphanumeric, 32),
    random_token("sb_secret_", SecretKind::Key, is_url_safe, 20),
    random_token("pscale_tkn_", SecretKind::Key, is_dotted, 20),
    random_token("pscale_pw_", SecretKind::Key, is_dotted, 20),
    random_token("pscale_oauth_", SecretKind::Key, is_dotted, 20),
    token("AGE-SECRET-KEY-1", SecretKind::PrivateKey, is_upper, 40),
    token("SK", SecretKind::Key, is_lower_hex, 32),
    token("key-", SecretKind::Key, is_lower_hex, 32),
    random_token("glsa_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("glc_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("nfp_", SecretKind::Key, is_alphanumeric, 24),
    random_token("nfc_", SecretKind::Key, is_alphanumeric, 24),
    random_token("nfu_", SecretKind::Key, is_alphanumeric, 24),
    random_token("nfb_", SecretKind::Key, is_alphanumeric, 24),
    random_token("dckr_pat_", SecretKind::Key, is_url_safe, 20),
    random_token("dckr_oat_", SecretKind::Key, is_url_safe, 20),
    random_token("ATATT3x", SecretKind::Key, is_url_safe, 40),
    random_token("ATCTT3x", SecretKind::Key, is_url_safe, 40),
    random_token("NRAK-", SecretKind::Key, is_upper, 20),
    random_token("NRAL-", SecretKind::Key, is_upper, 20),
    random_token("PMAK-", SecretKind::Key, is_alphanumeric_or_dash, 30),
    random_token("CFPAT-", SecretKind::Key, is_url_safe, 30),
    token("rubygems_", SecretKind::Key, is_lower_hex, 32),
    random_token("sntrys_", SecretKind::Key, is_url_safe, 24),
    random_token("sntryu_", SecretKind::Key, is_url_safe, 24),
    random_token("xkeysib-", SecretKind::Key, is_alphanumeric_or_dash, 32),
    random_token("xsmtpsib-", SecretKind::Key, is_alphanumeric_or_dash, 32),
    random_token("phx_", SecretKind::Key, is_alphanumeric, 24),
    random_token("tskey-", SecretKind::Key, is_alphanumeric_or_dash, 20),
    token("pul-", SecretKind::Key, is_lower_hex, 32),
    token("bkua_", SecretKind::Key, is_lower_hex, 32),
    random_token("sgp_", SecretKind::Key, is_alphanumeric_or_underscore, 32),
    random_token("CCIPAT_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("CCIPRJ_", SecretKind::Key, is_alphanumeric_or_underscore, 24),
    random_token("HRKU-", SecretKind::Key, is_url_safe, 30),
    random_token("fm1r_", SecretKind::Key, is_base64, 32),
    random_token("fm2_", SecretKind::Key, is_base64, 32),
    random_token("fo1_", SecretKind::Key, is_base64, 32),
    token("ops_eyJ", SecretKind::Key, is_url_safe, 40),
    random_token("dt0c01.", SecretKind::Key, is_dotted, 40),
    random_token("dt0s16.", SecretKind::Key, is_dotted, 40),
    random_token("sq0atp-", SecretKind::Key, is_url_safe, 20),
    random_token("sq0csp-", SecretKind::Key, is_url_safe, 20),
    token("EZAK", SecretKind::Key, is_alphanumeric, 54),
    token("EZTK", SecretKind::Key, is_alphanumeric, 54),
    random_token("duffel_live_", SecretKind::Key, is_url_safe, 30),
    random_token("duffel_test_", SecretKind::Key, is_url_safe, 30),
    random_token("django-insecure-", SecretKind::Key, is_django_key, 24),
    random_token("pcsk_", SecretKind::Key, is_alphanumeric_or_underscore, 40),
    token("sqp_", SecretKind::Key, is_lower_hex, 32),
    token("squ_", SecretKind::Key, is_lower_hex, 32),
    token("sqa_", SecretKind::Key, is_lower_hex, 32),
    random_token("pat-na1-", SecretKind::Key, is_alphanumeric_or_dash, 30),
    random_token("pat-na2-", SecretKind::Key, is_alphanumeric_or_dash, 30),
    random_token("pat-eu1-", SecretKind::Key, is_alphanumeric_or_dash, 30),
    random_token("pat-ap1-", SecretKind::Key, is_alphanumeric_or_dash, 30),
    random_token("AKCp", SecretKind::Key, is_alphanumeric, 50),
    random_token("sk.eyJ", SecretKind::Key, is_dotted, 40),
    random_token("ATBB", SecretKind::Key, is_alphanumeric, 28),
    token("e2b_", SecretKind::Key, is_lower_hex, 32),
    random_token("CLOJARS_", SecretKind::Key, is_alphanumeric, 40),
    token("shippo_live_", SecretKind::Key, is_lower_hex, 32),
    token("shippo_test_", SecretKind::Key, is_lower_hex, 32),
    random_token("FLWSECK-", SecretKind::Key, is_alphanumeric_or_dash, 20),
    random_token("FLWSECK_TEST-", SecretKind::Key, is_alphanumeric_or_dash, 12),
    random_token("EAAA", SecretKind::Key, is_url_safe, 50),
    random_token("sl.", SecretKind::Key, is_url_safe, 60),
    random_token("sl.u.", SecretKind::Key, is_url_safe, 40),
    random_token("tfp_", SecretKind::Key, is_url_safe, 40),
    random_token("rdme_", SecretKind::Key, is_alphanumeric, 40),
    // `-----BEGIN … PRIVATE KEY` in base64.
    token("LS0tLS1CRUdJTiBQUklW", SecretKind::PrivateKey, is_base64, 40),
    token("LS0tLS1CRUdJTiBSU0EgUFJJ", SecretKind::PrivateKey, is_base64, 40),
    token("LS0tLS1CRUdJTiBFQyBQUklW", SecretKind::PrivateKey, is_base64, 40),
    token("LS0tLS1CRUdJTiBFTkNS", SecretKind::PrivateKey, is_base64, 40),
    token("LS0tLS1CRUdJTiBPUEVO", SecretKind::PrivateKey, is_base64, 40),
    token("LS0tLS1CRUdJTiBEU0EgUFJJ", SecretKind::PrivateKey, is_base64, 40),
    // Addresses that are secrets.
    webhook("hooks.slack.com/services/", is_path, 20),
    webhook("hooks.slack.com/workflows/", is_path, 20),
    webhook("hooks.slack.com/triggers/", is_path, 20),
    webhook("discord.com/api/webhooks/", is_path, 40),
    webhook("discordapp.com/api/webhooks/", is_path, 40),
    webhook("webhook.office.com/webhookb2/", is_path, 40),
];
