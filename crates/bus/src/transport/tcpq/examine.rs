//! What `bowline doctor` looks at for a hub: whether it answers.

use super::hub_address;
use crate::diagnosis::{self, Examination, Finding, Fix, quote};
use crate::schemes::Scheme;
use crate::url::Url;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long a hub may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How a hub is started on this machine.
const HUB_COMMAND: &str = "bowline hub";
/// What a client of the protocol begins with: its magic number and version.
const GREETING: [u8; 8] = [0x28, 0x76, 0x17, 0xfb, 0, 0, 1, 0];
/// What a hub begins with, before its version.
const HUB_MAGIC: [u8; 4] = [0x28, 0x76, 0x17, 0xfa];

/// Examines a URL.
pub(super) fn examine(row: &'static Scheme, url: &Url) -> Examination {
    diagnosis::examine_as(row, url, || match hub_address(url) {
        Ok((host, port)) => format!("A hub at {host}, port {port}."),
        Err(error) => error.to_string(),
    })
}

/// Calls the hub, and reports whether it answers.
pub(super) fn hub(url: &Url) -> Vec<Finding> {
    let Ok((host, port)) = hub_address(url) else {
        return Vec::new();
    };
    vec![judge(&host, port, &call(&host, port))]
}

/// What happened when the hub was called.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Hub,
    /// Something else listens there.
    Strange(String),
    Unreachable(String),
}

fn call(host: &str, port: u16) -> Answer {
    let mut addrs = match (host, port).to_socket_addrs() {
        Ok(addrs) => addrs,
        Err(error) => return Answer::Unreachable(format!("{host:?} has no address ({error})")),
    };
    let Some(addr) = addrs.next() else {
        return Answer::Unreachable(format!("{host:?} has no address"));
    };
    let mut stream = match TcpStream::connect_timeout(&addr, PATIENCE) {
        Ok(stream) => stream,
        Err(error) => return Answer::Unreachable(error.to_string()),
    };
    let mut greet = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&GREETING)?;
        let mut greeting = [0; 8];
        stream.read_exact(&mut greeting)?;
        Ok::<_, io::Error>(greeting)
    };
    match greet() {
        Ok(greeting) if greeting.starts_with(&HUB_MAGIC) => Answer::Hub,
        Ok(other) => Answer::Strange(format!("it greets with {other:02x?}")),
        Err(error) => Answer::Strange(format!("it does not greet as a hub ({error})")),
    }
}

fn judge(host: &str, port: u16, answer: &Answer) -> Finding {
    let why = "Every message goes through the hub; without it none arrives.";
    match answer {
        Answer::Hub => Finding::ok(format!("A hub answers at {host}:{port}.")),
        Answer::Unreachable(reason) => {
            let found = format!("No hub at {host}:{port}: {reason}.");
            Finding::bad(found, why).user(start_command(host, port))
        }
        Answer::Strange(reason) => {
            let found = format!("Something listens at {host}:{port}, but {reason}.");
            let look = format!("ss -tlnp 'sport = :{port}'");
            Finding::bad(found, why).look(Fix::Root(look))
        }
    }
}

fn start_command(host: &str, port: u16) -> String {
    match host {
        "127.0.0.1" | "localhost" => format!("{HUB_COMMAND} tcpq://{host}:{port}"),
        "::1" => format!("{HUB_COMMAND} tcpq://[{host}]:{port}"),
        _ => format!("ssh {} {HUB_COMMAND} tcpq://0.0.0.0:{port}", quote(host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_hub_is_started_at_the_url() {
        for (host, command) in [
            ("127.0.0.1", "bowline hub tcpq://127.0.0.1:7700"),
            ("::1", "bowline hub tcpq://[::1]:7700"),
            ("robot", "ssh robot bowline hub tcpq://0.0.0.0:7700"),
        ] {
            let finding = judge(host, 7700, &Answer::Unreachable("refused".to_owned()));
            assert_eq!(finding.fix, [Fix::User(command.to_owned())]);
        }
    }
}
