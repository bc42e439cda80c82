//! TLS settings of a server connection: trust roots and client certificate.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::ToolError;
use reqwest::{Certificate, ClientBuilder, Identity};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use serde_json::{Map, Value};

use super::config_reader::ConfigReader;

/// Maximum size of a certificate or key file.
const MAX_PEM_BYTES: u64 = 4 * 1024 * 1024;

/// TLS settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Whether server certificates are verified.
    pub verify: bool,
    /// File with the trusted CA certificates, instead of those of the system.
    pub ca: Option<PathBuf>,
    /// File with the client certificate.
    pub cert: Option<PathBuf>,
    /// File with its private key, if that is a separate file.
    pub key: Option<PathBuf>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self { verify: true, ca: None, cert: None, key: None }
    }
}

/// Whether the system's trust roots apply in addition to the given file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustRoots {
    /// No.
    FileOnly,
    /// Yes.
    FileAndSystem,
}

impl TlsSettings {
    /// Reads `ssl_verify`, `client_cert` and `client_key`. The error is a
    /// message for the user.
    pub(crate) fn read(entry: &Map<String, Value>) -> Result<Self, String> {
        let it = ConfigReader(entry);
        let mut settings = Self { verify: it.flag("ssl_verify", true), ..Self::default() };
        if let Some(Value::String(text)) = entry.get("ssl_verify")
            && !matches!(
                text.trim().to_ascii_lowercase().as_str(),
                "" | "true" | "1" | "yes" | "on" | "false" | "0" | "no" | "off"
            )
        {
            settings.ca = Some(expand_path(text));
        }
        let key = it.string("client_key").filter(|text| !text.trim().is_empty());
        let passphrase = ["client_key_password", "client_key_passphrase"];
        if passphrase.iter().any(|name| it.string(name).is_some_and(|text| !text.is_empty())) {
            return Err(ENCRYPTED_KEY_ERROR.to_owned());
        }
        match entry.get("client_cert") {
            None | Some(Value::Null) => {}
            Some(Value::String(cert)) if !cert.trim().is_empty() => {
                settings.cert = Some(expand_path(cert));
                settings.key = key.as_deref().map(expand_path);
            }
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                let ([cert, key_file] | [cert, key_file, _]) = parts.as_slice() else {
                    return Err("`client_cert` must be a file or a list of two files".to_owned());
                };
                if key.is_some() {
                    return Err(
                        "`client_cert` already names the key; remove `client_key`".to_owned()
                    );
                }
                if parts.len() == 3 {
                    return Err(ENCRYPTED_KEY_ERROR.to_owned());
                }
                (settings.cert, settings.key) =
                    (Some(expand_path(cert)), Some(expand_path(key_file)));
            }
            Some(_) => return Err("`client_cert` must be a file or a list of two files".to_owned()),
        }
        if settings.cert.is_none() && key.is_some() {
            return Err("`client_key` needs `client_cert`".to_owned());
        }
        Ok(settings)
    }

    /// Whether all settings have their defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Applies the settings to a client builder.
    pub(crate) fn apply(
        &self,
        builder: ClientBuilder,
        trust: TrustRoots,
    ) -> Result<ClientBuilder, ToolError> {
        let mut builder = builder.tls_danger_accept_invalid_certs(!self.verify);
        if let Some(file) = &self.ca {
            let wrong = |error: &dyn std::fmt::Display| {
                ToolError::invalid(format!("`ssl_verify` names {}: {error}", file.display()))
            };
            let pem = read_pem(file).map_err(|error| wrong(&error))?;
            let all = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&error))?;
            if all.is_empty() {
                return Err(wrong(&"it contains no certificate"));
            }
            builder = match trust {
                TrustRoots::FileOnly => builder.tls_certs_only(all),
                TrustRoots::FileAndSystem => builder.tls_certs_merge(all),
            };
        }
        if let Some(cert) = &self.cert {
            builder = builder.identity(load_identity(cert, self.key.as_ref().unwrap_or(cert))?);
        }
        Ok(builder)
    }
}

/// Error for a key with a passphrase.
const ENCRYPTED_KEY_ERROR: &str = "keys with a passphrase are not supported; `openssl pkey -in \
                      KEY -out NEW` removes it";

/// Loads the client certificate and its key, which may be in one file.
fn load_identity(cert: &Path, key: &Path) -> Result<Identity, ToolError> {
    let wrong = |file: &Path, error: &dyn std::fmt::Display| {
        ToolError::invalid(format!("`client_cert` or `client_key`, {}: {error}", file.display()))
    };
    let read = |file: &Path| -> Result<Vec<u8>, ToolError> {
        let pem = read_pem(file).map_err(|error| wrong(file, &error))?;
        match pem_problem(&pem) {
            Some((why, hint)) => Err(wrong(file, &why).with_hint(hint)),
            None => Ok(pem),
        }
    };
    let (shown, secret) = (read(cert)?, read(key)?);
    let certs: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&shown).filter_map(Result::ok).collect();
    if certs.is_empty() {
        return Err(wrong(cert, &"it contains no certificate"));
    }
    let Ok(opened) = PrivateKeyDer::from_pem_slice(&secret) else {
        return Err(wrong(key, &"it contains no private key"));
    };
    let kind = match &opened {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    // Pass on only these; the files may contain other sections.
    let mut pem: String = certs.iter().map(|cert| pem_block("CERTIFICATE", cert)).collect();
    pem.push_str(&pem_block(kind, opened.secret_der()));
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(certs, opened, &provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            wrong(key, &format!("the key does not match the certificate in {}", cert.display()))
        }
        error => wrong(key, &error),
    })?;
    Identity::from_pem(pem.as_bytes()).map_err(|error| wrong(key, &error))
}

/// Encodes one PEM section.
fn pem_block(kind: &str, data: &[u8]) -> String {
    let body = STANDARD.encode(data);
    format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
}

/// Returns why a file cannot be used and a hint, or none if it may be usable.
fn pem_problem(pem: &[u8]) -> Option<(&'static str, &'static str)> {
    let has = |text: &[u8]| pem.windows(text.len()).any(|it| it == text);
    if has(b"ENCRYPTED") {
        Some(("the key has a passphrase", "`openssl pkey -in KEY -out NEW` removes it."))
    } else if has(b"BEGIN OPENSSH PRIVATE KEY") {
        let hint = "Convert it with `ssh-keygen -p -m PKCS8 -f KEY`.";
        Some(("the key is in OpenSSH format", hint))
    } else if !has(b"-----BEGIN ") {
        let hint = "`openssl pkcs12 -in FILE -nodes -out NEW` converts a PKCS#12 file to PEM, \
                    `openssl x509 -in FILE -out NEW` a certificate.";
        Some(("the file is not PEM", hint))
    } else {
        None
    }
}

fn read_pem(file: &Path) -> std::io::Result<Vec<u8>> {
    let about = std::fs::metadata(file)?;
    if !about.is_file() || about.len() > MAX_PEM_BYTES {
        return Err(std::io::Error::other(
            "not a regular file, or too large for certificates or keys",
        ));
    }
    std::fs::read(file)
}

/// Expands a leading `~/`.
fn expand_path(text: &str) -> PathBuf {
    let text = text.trim();
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
