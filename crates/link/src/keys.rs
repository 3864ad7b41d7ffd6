//! Who an end is: a key of its own, a certificate that vouches for itself, and the fingerprint of it that the other end's
//! file has. No authority signs anything, and nothing expires: a peer is the one whose fingerprint was written down.

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The name in certificates, which is not checked.
pub(crate) const SERVER_NAME: &str = "bowline-link";

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes
            .iter_mut()
            .zip(digest.as_ref())
            .for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected \"sha256:\" and 64 hexadecimal digits, as `bowline link key` prints them, found {0:?}"
)]
pub struct BadFingerprint(String);

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let bad = || BadFingerprint(text.to_owned());
        let digits = text.strip_prefix("sha256:").ok_or_else(bad)?;
        let is_hex = digits.len() == 64 && digits.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_hex {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (nth, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(2 * nth..2 * nth + 2).ok_or_else(bad)?;
            *byte = u8::from_str_radix(pair, 16).ok().ok_or_else(bad)?;
        }
        Ok(Self(bytes))
    }
}

/// A key and its certificate.
#[derive(Debug)]
pub struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads one from a file.
    ///
    /// # Errors
    /// When there is no key and certificate in it.
    pub fn load(path: &Path) -> Result<Self, LoadKeyError> {
        let read = |source| LoadKeyError::Read {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read(path).map_err(read)?;
        let bad = || LoadKeyError::NoKey {
            path: path.to_owned(),
        };
        let identity = Self {
            certificate: CertificateDer::from_pem_slice(&text).ok().ok_or_else(bad)?,
            key: PrivateKeyDer::from_pem_slice(&text).ok().ok_or_else(bad)?,
        };
        match identity.is_of_one_key() {
            Some(true) => Ok(identity),
            Some(false) => Err(LoadKeyError::Mismatch {
                path: path.to_owned(),
            }),
            None => Err(bad()),
        }
    }

    /// Whether the certificate is of the key; `None` when the key is of no kind that is known.
    fn is_of_one_key(&self) -> Option<bool> {
        let key = any_supported_type(&self.key).ok()?;
        let pair = CertifiedKey::new(vec![self.certificate.clone()], key);
        Some(pair.keys_match().is_ok())
    }

    /// The value for the other end's file.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum LoadKeyError {
    /// The system refused.
    #[error("expected a key that can be read at {path:?}, found: {source}; `bowline link keygen {}` makes one", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is something else.
    #[error(
        "expected a private key and a certificate in {path:?}, as `bowline link keygen` writes them, found something else"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The key is of another certificate.
    #[error(
        "expected a private key and its certificate in {path:?}, as `bowline link keygen` writes them, found a certificate of another key"
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
    },
}

/// Makes a key and writes it to a new file that only its owner may read.
///
/// # Errors
/// When the file is there already, or the system refuses.
pub fn generate(path: &Path) -> Result<Fingerprint, GenerateKeyError> {
    let key = KeyPair::generate()?;
    let params = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
    let certificate = params.self_signed(&key)?;
    let text = format!("{}{}", key.serialize_pem(), certificate.pem());
    let write = |source| GenerateKeyError::Write {
        path: path.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).map_err(write)?;
    file.write_all(text.as_bytes()).map_err(write)?;
    file.sync_all().map_err(write)?;
    Ok(Fingerprint::of(certificate.der()))
}

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateKeyError {
    /// The system refused, or the file is there.
    #[error("expected to write a new file {path:?}, found: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// No certificate came of it.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_once_for_its_owner_only_and_read_with_the_same_fingerprint() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("harbour.key");
        let told = generate(&path).expect("a key");
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = Identity::load(&path).expect("it is a key").fingerprint();
        assert_eq!(read, told);
        assert_eq!(told.to_string().parse(), Ok(told));
        generate(&path).expect_err("it is there already");
        assert_eq!(
            Identity::load(&path)
                .expect("it is unchanged")
                .fingerprint(),
            told
        );
    }

    #[test]
    fn texts_that_are_no_fingerprints_are_refused() {
        let long = format!("sha256:{}", "0".repeat(65));
        for text in ["", "sha256:", "sha256:00", &long, &"é".repeat(32)] {
            text.parse::<Fingerprint>().expect_err(text);
        }
    }
}
