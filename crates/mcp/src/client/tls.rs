//! What a connection to a server is secured with: whom it trusts, and how it
//! shows who we are.

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

/// The longest file of certificates or keys.
const MAX_PEM_BYTES: u64 = 4 * 1024 * 1024;

/// How connections to a server are secured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Whether certificates are checked.
    pub verify: bool,
    /// A file with the certificates that are trusted, instead of those of the
    /// system.
    pub ca: Option<PathBuf>,
    /// A file with our certificate.
    pub cert: Option<PathBuf>,
    /// A file with the key of it, if that is another file.
    pub key: Option<PathBuf>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self { verify: true, ca: None, cert: None, key: None }
    }
}

/// Whether certificates besides those of the given file are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustRoots {
    /// No.
    FileOnly,
    /// Those of the system, too.
    FileAndSystem,
}

impl TlsSettings {
    /// Reads `ssl_verify`, `client_cert` and `client_key`. The error is a
    /// sentence.
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
                    return Err("`client_cert` is a file, or a list of two files".to_owned());
                };
                if key.is_some() {
                    return Err("`client_cert` names the key already; drop `client_key`".to_owned());
                }
                if parts.len() == 3 {
                    return Err(ENCRYPTED_KEY_ERROR.to_owned());
                }
                (settings.cert, settings.key) =
                    (Some(expand_path(cert)), Some(expand_path(key_file)));
            }
            Some(_) => return Err("`client_cert` is a file, or a list of two files".to_owned()),
        }
        if settings.cert.is_none() && key.is_some() {
            return Err("`client_key` needs `client_cert`".to_owned());
        }
        Ok(settings)
    }

    /// Whether nothing is set.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// A client that is secured in this way.
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
                return Err(wrong(&"there is no certificate in it"));
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

/// What is said to somebody who has given a passphrase.
const ENCRYPTED_KEY_ERROR: &str = "a key with a passphrase cannot be used; \
                      `openssl pkey -in KEY -out NEW` takes it off";

/// Our certificate with its key, which may be in one file.
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
        return Err(wrong(cert, &"there is no certificate in it"));
    }
    let Ok(opened) = PrivateKeyDer::from_pem_slice(&secret) else {
        return Err(wrong(key, &"there is no private key in it"));
    };
    let kind = match &opened {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    // Only these: what else is in the files is not meant for this.
    let mut pem: String = certs.iter().map(|cert| pem_block("CERTIFICATE", cert)).collect();
    pem.push_str(&pem_block(kind, opened.secret_der()));
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(certs, opened, &provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            wrong(key, &format!("the key is not that of the certificate in {}", cert.display()))
        }
        error => wrong(key, &error),
    })?;
    Identity::from_pem(pem.as_bytes()).map_err(|error| wrong(key, &error))
}

/// A section of a file, written anew.
fn pem_block(kind: &str, data: &[u8]) -> String {
    let body = STANDARD.encode(data);
    format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
}

/// Why a file is none that can be used, and what helps; nothing if it may be.
fn pem_problem(pem: &[u8]) -> Option<(&'static str, &'static str)> {
    let has = |text: &[u8]| pem.windows(text.len()).any(|it| it == text);
    if has(b"ENCRYPTED") {
        Some(("the key has a passphrase", "`openssl pkey -in KEY -out NEW` takes it off."))
    } else if has(b"BEGIN OPENSSH PRIVATE KEY") {
        let hint = "`ssh-keygen -p -m PKCS8 -f KEY` writes it in the form that is needed.";
        Some(("this is a key of OpenSSH", hint))
    } else if !has(b"-----BEGIN ") {
        let hint = "`openssl pkcs12 -in FILE -nodes -out NEW` turns a PKCS#12 file into PEM, \
                    `openssl x509 -in FILE -out NEW` a certificate.";
        Some(("this is not PEM", hint))
    } else {
        None
    }
}

fn read_pem(file: &Path) -> std::io::Result<Vec<u8>> {
    let about = std::fs::metadata(file)?;
    if !about.is_file() || about.len() > MAX_PEM_BYTES {
        return Err(std::io::Error::other("this is no file of certificates or keys"));
    }
    std::fs::read(file)
}

/// A path as people write it.
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
