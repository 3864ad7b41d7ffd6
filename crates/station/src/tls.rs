//! Certificates: those of files, and ones that vouch for themselves.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// A certificate with its key, as PEM.
#[derive(Clone)]
pub struct Certificate {
    /// The chain, the station's own first.
    pub chain_pem: String,
    /// Its key.
    pub key_pem: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}

/// A certificate that cannot be used or made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// There is none in the file.
    #[error("expected certificates as PEM, found none")]
    NoCertificate,
    /// What should be certificates is no PEM.
    #[error("expected certificates as PEM: {0}")]
    Chain(#[source] rustls::pki_types::pem::Error),
    /// What should be the key is no PEM, or has none.
    #[error("expected a private key as PEM: {0}")]
    Key(#[source] rustls::pki_types::pem::Error),
    /// Certificate and key do not belong together, or are of a kind that is not known.
    #[error("certificate and key: {0}")]
    Tls(#[from] rustls::Error),
    /// It cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

impl Certificate {
    /// Whether a station could use it.
    ///
    /// # Errors
    /// When one of the two is not what it should be, or they do not belong together.
    pub fn check(&self) -> Result<(), TlsError> {
        self.config().map(drop)
    }

    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.chain_pem.as_bytes()).collect();
        let chain = chain.map_err(TlsError::Chain)?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).map_err(TlsError::Key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A certificate for these names and addresses that vouches for itself: browsers ask once whether to trust it.
///
/// # Errors
/// When a name is none.
pub fn self_signed(names: &[String]) -> Result<Certificate, TlsError> {
    let made = rcgen::generate_simple_self_signed(names.to_vec())?;
    Ok(Certificate {
        chain_pem: made.cert.pem(),
        key_pem: made.signing_key.serialize_pem(),
    })
}
