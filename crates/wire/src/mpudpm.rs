//! How LCM spreads channels over the ports of one multicast group, so that receivers receive only what they asked for.
//!
//! The datagrams are those of udpm. A channel's port follows from its name; those who subscribe with a regular
//! expression cannot know the names, so publishers announce which channels they use and on which ports.

/// Names that begin so are the protocol's own.
pub const RESERVED_PREFIX: &str = "#!";

/// Publishers announce their channels here, on the base port.
pub const MAP_UPDATE_CHANNEL: &str = "#!mpudpm_CH2PRT_UPD";

/// Subscribers ask for the channels here, on the base port.
pub const MAP_REQUEST_CHANNEL: &str = "#!mpudpm_CH2PRT_REQ";

/// liblcm sends itself a message here, on the port of the name.
pub const SELF_TEST_CHANNEL: &str = "#!mpudpm_SELF_TEST";

/// The payload of a request.
pub const MAP_REQUEST: &[u8] = b"r";

/// How many ports a group has by default.
pub const DEFAULT_N_PORTS: u16 = 500;

/// Whether a channel is the protocol's own. Messages on it are for the transport, not for subscribers.
#[must_use]
pub fn is_reserved(channel: &str) -> bool {
    channel.starts_with(RESERVED_PREFIX)
}

/// The port of a channel, among `n_ports` from `base_port` on. `n_ports` of 0 counts as 1.
///
/// Ports wrap around after 65535; choose a base and a number that do not.
#[must_use]
pub fn port_of(channel: &str, base_port: u16, n_ports: u16) -> u16 {
    if channel == MAP_UPDATE_CHANNEL || channel == MAP_REQUEST_CHANNEL {
        return base_port;
    }
    base_port.wrapping_add(remainder(hash(channel), n_ports.max(1)))
}

fn remainder(hash: u32, n_ports: u16) -> u16 {
    u16::try_from(hash % u32::from(n_ports)).expect("a remainder is below its divisor")
}

/// Bernstein's hash, on signed bytes as `char` is where liblcm was written.
fn hash(channel: &str) -> u32 {
    let add = |hash: u32, byte: u8| {
        hash.wrapping_mul(33)
            .wrapping_add_signed(i32::from(byte.cast_signed()))
    };
    channel.bytes().fold(5381, add)
}

/// Whether liblcm takes a pattern for a regular expression, and so listens for channels of any name.
///
/// It looks for a special character after any other but a backslash: one in front goes unnoticed.
#[must_use]
pub fn is_regex(pattern: &str) -> bool {
    let mut pairs = pattern.bytes().zip(pattern.bytes().skip(1));
    pairs.any(|(before, special)| before != b'\\' && br".[{()\*+?|^$".contains(&special))
}

#[cfg(test)]
mod tests {
    use super::{MAP_REQUEST_CHANNEL, MAP_UPDATE_CHANNEL, SELF_TEST_CHANNEL, is_reserved, port_of};

    #[test]
    fn the_map_is_on_the_base_port_and_no_number_of_ports_panics() {
        for channel in [MAP_REQUEST_CHANNEL, MAP_UPDATE_CHANNEL] {
            assert!(is_reserved(channel));
            assert_eq!(port_of(channel, 7667, 500), 7667);
        }
        // Seen on the wire of liblcm.
        assert_eq!(port_of(SELF_TEST_CHANNEL, 20_000, 500), 20_456);
        assert_eq!(port_of("POSE", 65_535, 1), 65_535);
        assert_eq!(port_of("POSE", 7667, 0), 7667);
        assert!(!is_reserved("POSE"));
    }
}
