//! Which process of this machine a sender is, from /proc.

use crate::verbs::doctor;
use bowline_bus::Sender;
use bowline_inspect::Process;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The processes that send from there, as far as they are of this machine and may be seen.
pub(super) fn processes(senders: impl Iterator<Item = Sender>) -> HashMap<Sender, Process> {
    let senders: Vec<(Sender, SocketAddr)> = senders
        .filter_map(|sender| match sender {
            Sender::Socket(address) => Some((sender, address)),
            Sender::Process | Sender::Memory(_) | Sender::Hub | Sender::Log => None,
        })
        .collect();
    if senders.is_empty() {
        return HashMap::new();
    }
    let sockets = doctor::sockets().unwrap_or_default();
    let owners = doctor::owners();
    let mut is_ours = HashMap::new();
    let process = |(sender, address): (Sender, SocketAddr)| {
        let ip = address.ip();
        if !*is_ours.entry(ip).or_insert_with(|| can_send_from(ip)) {
            return None;
        }
        let is_from = |addr: IpAddr| addr == ip || addr.is_unspecified();
        let mut sockets = sockets.iter();
        let socket = sockets.find(|it| it.port == address.port() && is_from(it.addr))?;
        let owner = owners.iter().find(|it| it.inodes.contains(&socket.inode))?;
        let process = Process {
            name: owner.name.clone(),
            pid: owner.pid,
        };
        Some((sender, process))
    };
    senders.into_iter().filter_map(process).collect()
}

/// An address is this machine's if a socket can be bound to it.
fn can_send_from(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// What this machine is called.
pub(super) fn host_name() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok()
}
