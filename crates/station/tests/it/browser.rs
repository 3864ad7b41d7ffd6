//! A station, and what stands in for a browser: HTTP by hand, and a WebSocket.

use bowline_bus::Bus;
use bowline_msgs::{Audit, Authority, DirectCommand, Gate, LeaseRequest, StopCommand};
use bowline_station::{Access, Options, Origin, People, Station, hash_password};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::{self, Error, Message, WebSocket};

/// As many as come while a test has patience.
const MAX_STATUSES: u32 = 600;

pub(crate) fn options(bus: &Bus) -> Options {
    Options {
        origin: Origin::Bus(bus.clone()),
        listen: ([127, 0, 0, 1], 0).into(),
        name: "bridge".to_owned(),
        access: Access::Open,
        hosts: Vec::new(),
        charts: Vec::new(),
        panels: None,
        models: Vec::new(),
        audit: None,
        recording: None,
        session: Duration::from_secs(3_600),
    }
}

/// A station on a bus of its own.
pub(crate) fn open_station() -> (Bus, Station) {
    let bus = Bus::open("memq://").unwrap();
    let station = Station::start(options(&bus)).unwrap();
    (bus, station)
}

/// Anna operates, bob looks, eve is in charge; each has their name, twice, as password.
pub(crate) fn people() -> People {
    let people = [
        ("anna", "operator", 1),
        ("bob", "viewer", 0),
        ("eve", "supervisor", 2),
    ];
    let text: String = people
        .iter()
        .map(|(name, role, rank)| {
            let password = hash_password(&format!("{name}{name}"));
            format!("[user.{name}]\nrole = \"{role}\"\nrank = {rank}\npassword = \"{password}\"\n")
        })
        .collect();
    People::parse(&text).unwrap()
}

pub(crate) fn station_with_people() -> (Bus, Station) {
    let bus = Bus::open("memq://").unwrap();
    let options = Options {
        access: Access::LogIn {
            people: people(),
            certificate: None,
        },
        ..options(&bus)
    };
    (bus, Station::start(options).unwrap())
}

/// What came back over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut lines = lines.filter(|(it, _)| it.eq_ignore_ascii_case(name));
        lines.next().map(|(_, value)| value)
    }
}

/// A connection that looks to the station as if it came from another host.
pub(crate) fn connect_from(host: [u8; 4], address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((host, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

/// Sends bytes as they are; `None` if the connection is closed without an answer.
pub(crate) fn send_raw(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    send_over(TcpStream::connect(address).unwrap(), request)
}

pub(crate) fn send_over(mut stream: TcpStream, request: &[u8]) -> Option<Answer> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // It may be closed before all of it is sent.
    drop(stream.write_all(request));
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    let at = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        status,
        head,
        body: bytes[at + 4..].to_vec(),
    })
}

/// A request with a right Host, and more lines of head.
pub(crate) fn get(address: SocketAddr, path: &str, more: &str) -> Answer {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
    send_raw(address, request.as_bytes()).unwrap()
}

pub(crate) fn post(address: SocketAddr, path: &str, more: &str, body: &str) -> Answer {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n{more}\r\n{body}"
    );
    send_raw(address, request.as_bytes()).unwrap()
}

/// Logs in. Returns the cookie.
pub(crate) fn log_in(address: SocketAddr, user: &str) -> String {
    let body = json!({ "user": user, "password": format!("{user}{user}") });
    let answer = post(address, "/login", "", &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.head);
    let cookie = answer.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// A page.
pub(crate) struct Page {
    socket: WebSocket<TcpStream>,
    pub(crate) hello: Value,
    pub(crate) channels: Vec<(u32, String)>,
}

/// What a page is sent, as far as tests look at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sent {
    Message {
        channel: String,
        utime: i64,
        n_skipped: u32,
        payload: Vec<u8>,
    },
    Schema(u64),
    Status(Value),
    Reply(u32, Value),
    Pong(u32),
    Reset(Value),
    Closed(u16, String),
}

/// Opens a WebSocket with these headers; the status if it is refused.
pub(crate) fn connect(
    address: SocketAddr,
    headers: &[(&str, &str)],
) -> Result<WebSocket<TcpStream>, u16> {
    upgrade(TcpStream::connect(address).unwrap(), address, headers)
}

fn upgrade(
    stream: TcpStream,
    address: SocketAddr,
    headers: &[(&str, &str)],
) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    for (name, value) in headers {
        let name: tungstenite::http::HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

/// Opens a page whose system keeps little of what it has not read. Returns how many bytes that are, too.
pub(crate) fn connect_with(address: SocketAddr, received: usize) -> (Page, usize) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(received).unwrap();
    socket.connect(&address.into()).unwrap();
    let received = socket.recv_buffer_size().unwrap();
    let origin = format!("http://{address}");
    let socket = upgrade(socket.into(), address, &[("origin", &origin)]);
    (Page::greeted(socket.unwrap()), received)
}

impl Page {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::open_as(address, "")
    }

    pub(crate) fn open_as(address: SocketAddr, cookie: &str) -> Self {
        Self::try_open_as(address, cookie).unwrap()
    }

    /// The status if it is refused.
    pub(crate) fn try_open_as(address: SocketAddr, cookie: &str) -> Result<Self, u16> {
        let origin = format!("http://{address}");
        let headers = [
            ("origin", origin.as_str()),
            ("cookie", cookie),
            ("sec-websocket-protocol", "bowline"),
        ];
        Ok(Self::greeted(connect(address, &headers)?))
    }

    fn greeted(socket: WebSocket<TcpStream>) -> Self {
        let mut page = Self {
            socket,
            hello: Value::Null,
            channels: Vec::new(),
        };
        while page.hello.is_null() {
            let sent = page.next();
            assert!(!matches!(sent, Some(Sent::Closed(..))), "{sent:?}");
        }
        page
    }

    pub(crate) fn send(&mut self, frame: Vec<u8>) {
        // It may be closed already, which the next read shows.
        drop(self.socket.send(Message::binary(frame)));
    }

    /// Bytes as they are, past all that a WebSocket is.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        // It may be closed already, which the next read shows.
        drop(self.socket.get_mut().write_all(bytes));
    }

    /// The connection itself.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }

    pub(crate) fn send_ping(&mut self) {
        drop(self.socket.send(Message::Ping(vec![7; 125].into())));
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub(crate) fn subscribe(&mut self, patterns: Value) {
        let mut frame = vec![0x11];
        frame.extend(json!({ "patterns": patterns }).to_string().into_bytes());
        self.send(frame);
    }

    pub(crate) fn publish(&mut self, channel: &str, message: &[u8]) {
        let mut frame = vec![0x12, u8::try_from(channel.len()).unwrap()];
        frame.extend_from_slice(channel.as_bytes());
        frame.extend_from_slice(message);
        self.send(frame);
    }

    /// Asks, and does not wait for the reply.
    pub(crate) fn ask(&mut self, id: u32, request: &Value) {
        let mut frame = vec![0x13];
        frame.extend(id.to_be_bytes());
        frame.extend(request.to_string().into_bytes());
        self.send(frame);
    }

    /// Asks, and waits for the reply.
    pub(crate) fn request(&mut self, id: u32, request: Value) -> Value {
        self.ask(id, &request);
        self.wait(|sent| match sent {
            Sent::Reply(number, reply) if *number == id => Some(reply.clone()),
            _ => None,
        })
    }

    /// Waits for something. Everything before it is passed over.
    pub(crate) fn wait<T>(&mut self, mut find: impl FnMut(&Sent) -> Option<T>) -> T {
        let mut n_statuses = 0;
        loop {
            let Some(sent) = self.next() else {
                continue;
            };
            if let Some(found) = find(&sent) {
                return found;
            }
            assert!(!matches!(sent, Sent::Closed(..)), "{sent:?}");
            // They come five times a second as long as the station is there, whether anything else does or not.
            n_statuses += u32::from(matches!(sent, Sent::Status(_)));
            assert!(n_statuses < MAX_STATUSES, "it did not come: {sent:?}");
        }
    }

    pub(crate) fn wait_for_message(&mut self, name: &str) -> (i64, u32, Vec<u8>) {
        self.wait(|sent| match sent {
            Sent::Message {
                channel,
                utime,
                n_skipped,
                payload,
            } if channel == name => Some((*utime, *n_skipped, payload.clone())),
            _ => None,
        })
    }

    pub(crate) fn wait_for_count(&mut self, name: &str, at_least: u64) -> u64 {
        self.wait(|sent| match sent {
            Sent::Status(status) => status["counts"][name].as_u64().filter(|it| *it >= at_least),
            _ => None,
        })
    }

    pub(crate) fn wait_for_close(&mut self) -> (u16, String) {
        self.wait(|sent| match sent {
            Sent::Closed(code, why) => Some((*code, why.clone())),
            _ => None,
        })
    }

    fn next(&mut self) -> Option<Sent> {
        let bytes = match self.socket.read() {
            Ok(Message::Binary(bytes)) => bytes,
            Ok(Message::Close(frame)) => {
                let frame = frame.map(|it| (it.code.into(), it.reason.to_string()));
                let (code, why) = frame.unwrap_or((1005, String::new()));
                return Some(Sent::Closed(code, why));
            }
            Ok(_) => return None,
            Err(error) => return Some(Sent::Closed(1006, error.to_string())),
        };
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let long = |at: usize| i64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        let json = |at: usize| serde_json::from_slice::<Value>(&bytes[at..]).unwrap();
        match bytes[0] {
            0x01 => self.hello = json(1),
            0x02 => {
                let name = String::from_utf8(bytes[13..].to_vec()).unwrap();
                self.channels.push((number(1), name));
            }
            0x03 => return Some(Sent::Schema(long(1).cast_unsigned())),
            0x04 => {
                let id = number(1);
                let channel = self.channels.iter().find(|it| it.0 == id).unwrap();
                return Some(Sent::Message {
                    channel: channel.1.clone(),
                    utime: long(5),
                    n_skipped: number(13),
                    payload: bytes[17..].to_vec(),
                });
            }
            0x05 => return Some(Sent::Status(json(1))),
            0x06 => return Some(Sent::Reply(number(1), json(5))),
            0x07 => return Some(Sent::Pong(number(1))),
            0x08 => return Some(Sent::Reset(json(1))),
            other => panic!("expected a frame of a station, found 0x{other:02x}"),
        }
        None
    }
}

fn by(station: &str) -> Authority {
    Authority {
        station: station.to_owned(),
        ..Authority::default()
    }
}

pub(crate) fn stop(station: &str) -> Vec<u8> {
    let command = StopCommand {
        by: by(station),
        ask: StopCommand::STOP,
        ..StopCommand::default()
    };
    command.encode().unwrap()
}

pub(crate) fn thrust(station: &str) -> Vec<u8> {
    let command = DirectCommand {
        by: by(station),
        ..DirectCommand::default()
    };
    command.encode().unwrap()
}

pub(crate) fn take(station: &str, rank: i32) -> Vec<u8> {
    let request = LeaseRequest {
        by: by(station),
        ask: LeaseRequest::TAKE,
        rank,
        ..LeaseRequest::default()
    };
    request.encode().unwrap()
}

/// A vehicle announces that it has a gate, and the station has received it.
pub(crate) fn show_gate(bus: &Bus, page: &mut Page) {
    bus.publish("gate.state", &Gate::default()).unwrap();
    page.subscribe(json!([{ "pattern": "gate.state", "max_hz": 0 }]));
    page.wait_for_message("gate.state");
}

/// What was written down, up to something.
pub(crate) fn audits_until(
    bus_audits: &bowline_bus::Inbox,
    is_last: impl Fn(&Audit) -> bool,
) -> Vec<Audit> {
    let mut audits = Vec::new();
    loop {
        let (_, event) = bus_audits
            .recv_timeout(PATIENCE)
            .unwrap()
            .expect("an audit");
        audits.push(Audit::decode(&event.payload).unwrap());
        if is_last(audits.last().unwrap()) {
            return audits;
        }
    }
}
