//! How the two ends know each other: TLS 1.3 with one certificate that is known at either end, and QUIC made to stay out of
//! the way.

use super::{IDLE, MAX_PENDING, RECEIVE_BUFFER, SEND_BUFFER};
use crate::keys::{Fingerprint, Identity};
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{AckFrequencyConfig, ClientConfig, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The protocol of both ends.
pub(super) const PROTOCOL: &[u8] = b"bowline-link";
/// What may be on the way, bytes: more than the link ever wants.
const WINDOW: u64 = 4 << 20;

pub(super) fn transport() -> io::Result<Arc<TransportConfig>> {
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(20));
    acks.max_ack_delay(Some(Duration::from_millis(200)));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(IDLE.try_into().map_err(io::Error::other)?))
        .keep_alive_interval(Some(IDLE / 4))
        .mtu_discovery_config(None)
        // What bytes the wire has is for the link to decide.
        .ack_frequency_config(Some(acks))
        .datagram_send_buffer_size(SEND_BUFFER)
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER))
        .enable_segmentation_offload(false)
        .congestion_controller_factory(Arc::new(Open));
    Ok(Arc::new(transport))
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(super) fn server(identity: &Identity, pinned: Arc<Pinned>) -> io::Result<ServerConfig> {
    let tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?;
    let mut tls = tls
        .with_client_cert_verifier(pinned)
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .map_err(io::Error::other)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport()?);
    config.max_incoming(MAX_PENDING);
    Ok(config)
}

pub(super) fn client(identity: &Identity, pinned: Arc<Pinned>) -> io::Result<ClientConfig> {
    let tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?;
    let mut tls = tls
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .map_err(io::Error::other)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport()?);
    Ok(config)
}

/// Knows one certificate, by its fingerprint. That its owner has the key is checked by its signature.
#[derive(Debug)]
pub(super) struct Pinned {
    peer: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    pub(super) fn new(peer: Fingerprint) -> Self {
        Self {
            peer,
            provider: provider(),
        }
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        let found = Fingerprint::of(certificate);
        match found == self.peer {
            true => Ok(()),
            false => Err(rustls::Error::General(format!(
                "expected a peer with the key {}, found {found}",
                self.peer
            ))),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// TLS 1.2 is not used.
fn no_tls12() -> Result<HandshakeSignatureValid, rustls::Error> {
    Err(rustls::Error::General(
        "expected TLS 1.3, found 1.2".to_owned(),
    ))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(end_entity)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(end_entity)
            .map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

/// No congestion control of QUIC's own: the link has one that knows what the bytes are for.
#[derive(Clone, Debug)]
struct Open;

impl Controller for Open {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Open {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Self)
    }
}
