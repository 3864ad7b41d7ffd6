//! A program that serves, and one that calls, for networks and lives that are worse than a test's own process.
//!
//! Requests and replies are waypoints. What becomes of one is in its id: `fail` has an error, `never` has no reply,
//! `hold` has one when the server may go on, and everything else comes back as it is.

use bowline_bus::{Bus, Event};
use bowline_component::Health;
use bowline_component::service::{CallId, Failure, Incoming};
use bowline_host::clock::Live;
use bowline_host::presence::{Beacon, Identity, Presenter};
use bowline_host::service::{Client, ClientError, Responder};
use bowline_msgs::{HeartbeatComponent, PresenceComponent, Waypoint};
use bowline_wire::Message as _;
use std::error::Error;
use std::io::stdin;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// What a server is known by: the same in all its lives.
pub const SERVER: &str = "harbour";
/// How often the server looks for input.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Serves until stdin is closed. Prints `ready`, then `executed ID` for each execution and `dropped` for each call that
/// no caller waits for any more. At any line on stdin it answers what it holds.
///
/// # Errors
/// When the bus refuses.
pub fn serve(url: &str, name: &str) -> Result<(), Box<dyn Error>> {
    let bus = Bus::open(url)?;
    let clock = Live::new();
    let started = clock.now();
    let mut responder = Responder::new::<Waypoint, Waypoint>(&bus, name, SERVER, started.utime())?;
    let component = PresenceComponent {
        name: SERVER.to_owned(),
        kind: "harbour".to_owned(),
        services: vec![responder.offer()],
        ..PresenceComponent::default()
    };
    let identity = Identity::of_this_process("boat", SERVER, started);
    let beacon = Beacon::new(identity, vec![component], started);
    let mut presenter = Presenter::new(&bus, beacon);
    let inbox = bus.inbox();
    let calls = responder.subscribe(&inbox)?;
    presenter.subscribe(&inbox)?;
    let told = lines_of_stdin()?;
    println!("ready");
    let mut held: Vec<(CallId, Waypoint)> = Vec::new();
    loop {
        match told.try_recv() {
            Ok(_line) => {
                for (id, waypoint) in held.drain(..) {
                    responder.reply(clock.now(), id, Ok(&waypoint));
                }
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
        presenter.on_time(&clock, || vec![health()]);
        for _expired in responder.on_time(clock.now()) {
            println!("dropped");
        }
        if let Some((subscription, event)) = inbox.recv_timeout(LOOK_EVERY)? {
            if subscription == calls {
                on_call(&mut responder, &clock, &event, &mut held)?;
            } else {
                presenter.on_event(clock.now(), &event);
            }
        }
    }
}

fn on_call(
    responder: &mut Responder,
    clock: &Live,
    event: &Event,
    held: &mut Vec<(CallId, Waypoint)>,
) -> Result<(), Box<dyn Error>> {
    match responder.on_event(clock.now(), event) {
        Some(Incoming::Called(called)) => {
            let waypoint = Waypoint::decode(&called.body)?;
            println!("executed {}", waypoint.id);
            match waypoint.id.as_str() {
                "never" => {}
                "hold" => held.push((called.id, waypoint)),
                "fail" => {
                    let failure = Failure::new(7, "no such place");
                    responder.reply::<Waypoint>(clock.now(), called.id, Err(failure));
                }
                _ => responder.reply(clock.now(), called.id, Ok(&waypoint)),
            }
        }
        Some(Incoming::Cancelled(_) | Incoming::Expired(_)) => println!("dropped"),
        None => {}
    }
    Ok(())
}

fn health() -> HeartbeatComponent {
    Health::Good.heartbeat(SERVER)
}

fn lines_of_stdin() -> Result<Receiver<String>, Box<dyn Error>> {
    let (tell, told) = sync_channel(16);
    let reader = std::thread::Builder::new().name("stdin".to_owned());
    reader.spawn(move || {
        for line in stdin().lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(told)
}

/// Makes so many calls, one after the other, with ids `call-0` and on; or, while there are lines on stdin, with these as
/// ids. Prints `ready`, then `ID reply`, or `ID` and what went wrong, for each.
///
/// # Errors
/// When the bus refuses.
pub fn call(url: &str, name: &str, count: u32, timeout_ms: u64) -> Result<(), Box<dyn Error>> {
    let bus = Bus::open(url)?;
    let mut client = Client::new(&bus);
    println!("ready");
    let mut call = |id: String| {
        let request = Waypoint {
            id: id.clone(),
            position: [1.0, 2.0],
        };
        let timeout = Duration::from_millis(timeout_ms);
        match client.call::<_, Waypoint>(name, &request, timeout) {
            Ok(reply) if reply == request => println!("{id} reply"),
            Ok(reply) => println!("{id} another reply: {reply:?}"),
            Err(ClientError::Call { source, .. }) => println!("{id} {source}"),
            Err(error) => println!("{id} broken: {error}"),
        }
    };
    for number in 0..count {
        call(format!("call-{number}"));
    }
    for line in stdin().lines().map_while(Result::ok) {
        call(line);
    }
    Ok(())
}
