//! What only real sockets, names and certificates show.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::{Connection, Deadlines, Fault, FaultKind, Network, Reply, Settings, Upstream};
use bytes::Bytes;
use haleway_mockllm::{Act, Behaviour, Mock};
use http::Request;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::bed::{secs, within_a_second};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

async fn get(network: &Network, url: &str) -> Result<Reply, Fault> {
    let upstream = Upstream::new(network, &Settings::default());
    let request = Request::get(url).body(Bytes::new()).unwrap();
    upstream.send(request, Deadlines::total(secs(10)), Connection::Pooled).await
}

#[tokio::test]
async fn answers_resets_and_refusals_over_tcp() {
    let network = Network::system().unwrap();
    let mock = Mock::new();
    let port = mock.listen(LOOPBACK, "u").await.unwrap();
    let url = format!("http://{}/v1/models", port.address());
    assert_eq!(get(&network, &url).await.unwrap().status, 200);
    mock.script("u", Behaviour::of(Act::Reset));
    assert_eq!(get(&network, &url).await.unwrap_err().kind(), FaultKind::Reset);
    mock.script("u", Behaviour::of(Act::Close));
    assert_eq!(get(&network, &url).await.unwrap_err().kind(), FaultKind::Closed);
    port.close().await;
    assert_eq!(get(&network, &url).await.unwrap_err().kind(), FaultKind::Refused);
    mock.shutdown().await;
}

#[tokio::test]
async fn a_dropped_call_over_tcp_is_seen_by_the_provider() {
    let network = Network::system().unwrap();
    let mock = Mock::new();
    mock.script("u", Behaviour::hang());
    let port = mock.listen(LOOPBACK, "u").await.unwrap();
    let url = format!("http://{}/v1/models", port.address());
    let upstream = Upstream::new(&network, &Settings::default());
    let request = Request::get(url).body(Bytes::new()).unwrap();
    let call = upstream.send(request, Deadlines::default(), Connection::Pooled);
    tokio::select! {
        result = call => panic!("{result:?}"),
        () = within_a_second("arrived", || mock.counts("u").in_flight == 1) => {}
    }
    within_a_second("cancelled", || mock.counts("u").cancelled == 1).await;
}

#[tokio::test]
async fn a_name_that_cannot_resolve_is_a_dns_fault() {
    // A label longer than DNS allows: fails without asking anybody.
    let url = format!("http://{}.test/v1/models", "a".repeat(70));
    let fault = get(&Network::system().unwrap(), &url).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Dns, false));
}

/// Answers one request over TLS with a certificate for `localhost` from the test authority.
async fn tls_server() -> SocketAddr {
    let certificate =
        CertificateDer::from_pem_slice(include_bytes!("../../tests/fixtures/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../tests/fixtures/localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let address = listener.local_addr().unwrap();
    let _detached = TaskTracker::new().spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        // A client that distrusts us ends the handshake: then there is nothing to serve.
        if let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await {
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    address
}

fn authority() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(include_bytes!("../../tests/fixtures/ca.pem")).unwrap()
}

#[tokio::test]
async fn https_with_a_trusted_authority_is_verified() {
    let network = Network::system().unwrap().trusting([authority()]).unwrap();
    let port = tls_server().await.port();
    assert_eq!(get(&network, &format!("https://localhost:{port}/")).await.unwrap().status, 204);
}

#[tokio::test]
async fn https_with_an_unknown_authority_or_a_wrong_name_is_a_tls_fault() {
    let port = tls_server().await.port();
    let distrusting = Network::system().unwrap();
    let fault = get(&distrusting, &format!("https://localhost:{port}/")).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Tls, false));
    let port = tls_server().await.port();
    let trusting = Network::system().unwrap().trusting([authority()]).unwrap();
    let fault = get(&trusting, &format!("https://127.0.0.1:{port}/")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Tls);
}
