//! The host names of a station for browsers, and the address that is printed.

use std::net::SocketAddr;

/// The names that browsers may use: as given, with the port where that is missing; on this machine, its usual names.
/// Browsers send no port where it is the usual one.
pub(crate) fn hosts(address: SocketAddr, given: &[String], is_tls: bool) -> Vec<String> {
    let port = address.port();
    let mut names = vec![match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
    }
    let mut hosts = given.to_vec();
    hosts.extend(
        names
            .iter()
            .chain(given)
            .map(|name| format!("{name}:{port}")),
    );
    if port == if is_tls { 443 } else { 80 } {
        hosts.extend(names);
    }
    hosts
}

/// The printed address: where it listens, or a name if that is everywhere.
pub(crate) fn main_host(address: SocketAddr, given: &[String]) -> String {
    let port = address.port();
    match given.first() {
        _ if !address.ip().is_unspecified() => address.to_string(),
        Some(name) if has_port(name) => name.clone(),
        Some(name) => format!("{name}:{port}"),
        None => format!("localhost:{port}"),
    }
}

fn has_port(name: &str) -> bool {
    let port = name.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_addresses_are_accepted_as_hosts() {
        let given = ["bridge.local".to_owned(), "bridge:9443".to_owned()];
        for (address, given, expected) in [
            ("127.0.0.1:8080", &given[..0], "127.0.0.1:8080"),
            ("127.0.0.1:8080", &given, "127.0.0.1:8080"),
            ("0.0.0.0:8443", &given, "bridge.local:8443"),
            ("[::]:8443", &given[1..], "bridge:9443"),
            ("0.0.0.0:8443", &given[..0], "localhost:8443"),
            ("[::1]:8443", &given[..0], "[::1]:8443"),
        ] {
            let address = address.parse().unwrap();
            let host = main_host(address, given);
            assert_eq!(host, expected);
            assert!(hosts(address, given, true).contains(&host), "{host}");
        }
    }

    #[test]
    fn default_port_is_left_out_of_hosts() {
        for (address, is_tls, is_usual) in [
            ("127.0.0.1:80", false, true),
            ("127.0.0.1:443", true, true),
            ("127.0.0.1:80", true, false),
            ("127.0.0.1:8080", false, false),
        ] {
            let hosts = hosts(address.parse().unwrap(), &[], is_tls);
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                assert_eq!(
                    hosts.contains(&name.to_owned()),
                    is_usual,
                    "{address} {name}"
                );
            }
        }
    }
}
