//! `bowline demo messages`: the types of the LCM paper, in text.

use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::Bus;
use bowline_lang::emit::{RUST_WIRE, rust_modules};
use bowline_lang::{Rules, Source, compile, diff};
use bowline_wire::schema::{Docs, Type, TypeId, TypeSet};
use bowline_wire::{FieldPath, Items, Value};

const TYPES: &[(&str, &str)] = &[
    (
        "types/waypoint_t.lcm",
        include_str!("../../../files/types/waypoint_t.lcm"),
    ),
    (
        "types/path_t.lcm",
        include_str!("../../../files/types/path_t.lcm"),
    ),
];

const MISTAKE: &str = "package bowline;\n\nstruct path_t {\n    int64_t timestamp;\n    uint16_t num_waypoints;\n    \
                       waypoint_t waypoints[num_waypoint];\n}\n";

const PATH: &str = r#"{
  "timestamp": 1791849600000000,
  "waypoints": [
    {"id": "dock", "position": [0, 0]},
    {"id": "buoy 7", "position": [120.5, -42.25]}
  ]
}"#;

/// The types of the LCM paper, all the way to a bus.
pub(super) fn run() -> anyhow::Result<Outcome> {
    let sources: Vec<Source> = TYPES
        .iter()
        .map(|(name, text)| Source::new(*name, *text))
        .collect();
    let compiled = compile(&sources, &Rules::default());
    let types = &compiled.types;
    let path_t = types
        .by_name("path_t")
        .context("the demo's own types compile")?;

    heading("Two types of the LCM paper, in LCM's own language")?;
    for (name, text) in TYPES {
        output::line(&format!("{name}:\n{}", indent(text)))?;
    }
    show_fingerprints(types)?;
    show_rust(types)?;
    let message = show_message(types, path_t)?;
    show_damage(types, &message)?;
    show_mistake()?;
    show_change(types)?;
    show_bus(types, path_t, &message)?;
    heading("Next")?;
    output::line(
        "  bowline gen --help         the compiler: C, C++, Java, Python, Rust, TypeScript",
    )?;
    output::line(
        "  bowline types --help       fingerprints, checks, differences, JSON to messages and back",
    )?;
    output::line(
        "  bowline list, doctor, hub  what is on a bus, why messages do not arrive, a hub for tcpq://",
    )?;
    output::line("  bowline log --help         record, play, look into and repair logs")?;
    output::line(
        "  bowline demo               a vessel that surveys a harbour, in simulation, with a page",
    )?;
    output::line(
        "  make bench                 the speed of all this, side by side with lcm-gen's C",
    )?;
    Ok(Outcome::Fine)
}

/// Publishes and subscribes within this process; other URLs do the same over a network, shared memory or a log.
fn show_bus(types: &TypeSet, path_t: TypeId, message: &[u8]) -> anyhow::Result<()> {
    heading("The message on a bus, memq:// within this process; udpm:// is LCM's network")?;
    let bus = Bus::open("memq://")?;
    let inbox = bus.events("vehicle.*")?;
    for channel in ["vehicle.path", "camera.image", "vehicle.path.done"] {
        bus.publish_bytes(channel, message)?;
    }
    output::line(
        "    subscribed to vehicle.*, published on vehicle.path, camera.image, vehicle.path.done",
    )?;
    while let Some((_, event)) = inbox.try_recv()? {
        let value = types.decode_as(path_t, &event.payload)?;
        output::line(&format!(
            "    {:<18} {} bytes: {}",
            event.channel.as_str(),
            event.payload.len(),
            types.to_json(path_t, &value),
        ))?;
    }
    let counts = bus.counts();
    output::line(&format!(
        "    received {}, not subscribed to {}, lost {}",
        counts.received,
        counts.network.unwanted,
        counts.lost()
    ))
}

fn heading(text: &str) -> anyhow::Result<()> {
    output::line(&format!("\n== {text} ==\n"))
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}").trim_end().to_string() + "\n")
        .collect()
}

fn show_fingerprints(types: &TypeSet) -> anyhow::Result<()> {
    heading("Their fingerprints, the same as lcm-gen's")?;
    for (id, def) in types.iter() {
        let fingerprint = types
            .fingerprint(id)
            .context("the demo's types are complete")?;
        output::line(&format!("    {} {fingerprint}", def.full_name()))?;
    }
    Ok(())
}

fn show_rust(types: &TypeSet) -> anyhow::Result<()> {
    heading("What becomes of path_t in Rust")?;
    let code = rust_modules(types, RUST_WIRE)?;
    let start = code
        .find("    /// Waypoints to visit")
        .context("path_t is there")?;
    let definition = code
        .get(start..)
        .and_then(|rest| rest.split_once("\n\n"))
        .map_or("", |(definition, _)| definition);
    output::line(definition)
}

fn show_message(types: &TypeSet, path_t: TypeId) -> anyhow::Result<Vec<u8>> {
    heading("A path in JSON; the length is filled in")?;
    output::line(&indent(PATH))?;
    let value = types.from_json(path_t, PATH.as_bytes())?;
    let message = types.encode(path_t, &value)?;
    heading(&format!(
        "The same as a message of {} bytes, with no generated code",
        message.len()
    ))?;
    for (name, bytes, text) in Layout::of(types, path_t, &value, &message).rows {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        output::line(&format!("    {:<36} {name:<24} {text}", hex.join(" ")))?;
    }
    let field = types.select(path_t, &FieldPath::parse("waypoints[1].position[0]")?)?;
    let picked = field
        .pick(&value)
        .and_then(|value| value.as_f64())
        .context("the path has two waypoints")?;
    output::line(&format!("\n    waypoints[1].position[0] is {picked}"))?;
    let size = types.closure(path_t).to_bytes(Docs::Keep).len();
    output::line(&format!(
        "    its schema, with comments, travels in {size} bytes"
    ))?;
    Ok(message)
}

fn show_damage(types: &TypeSet, message: &[u8]) -> anyhow::Result<()> {
    heading("Messages that were cut short or tampered with")?;
    let mut many = message.to_vec();
    if let Some(count) = many.get_mut(16..20) {
        count.copy_from_slice(&i32::MAX.to_be_bytes());
    }
    for damaged in [message.get(..50).unwrap_or_default(), &many] {
        if let Err(error) = types.decode(damaged) {
            output::line(&format!("    {error}"))?;
        }
    }
    Ok(())
}

fn show_mistake() -> anyhow::Result<()> {
    heading("Mistakes in a type, which lcm-gen would let pass or report one by one")?;
    let (name, text) = TYPES.first().context("the demo has types")?;
    let sources = [
        Source::new(*name, *text),
        Source::new("types/path_t.lcm", MISTAKE),
    ];
    for diagnostic in &compile(&sources, &Rules::default()).diagnostics {
        output::line(&indent(&diagnostic.render(&sources)))?;
    }
    Ok(())
}

fn show_change(old: &TypeSet) -> anyhow::Result<()> {
    heading("What happens to everyone if a waypoint gets a depth")?;
    let changed = TYPES.iter().map(|(name, text)| {
        Source::new(
            *name,
            text.replace("float position[2]; ", "float position[3]; "),
        )
    });
    let new = compile(&changed.collect::<Vec<_>>(), &Rules::default()).types;
    for change in diff(old, &new) {
        output::line(&indent(&change.to_string()))?;
    }
    Ok(())
}

/// Which bytes of a message are which field.
struct Layout<'m> {
    rest: &'m [u8],
    rows: Vec<(String, &'m [u8], String)>,
}

impl<'m> Layout<'m> {
    fn of(types: &TypeSet, id: TypeId, value: &Value<'_>, message: &'m [u8]) -> Self {
        let mut layout = Self {
            rest: message,
            rows: Vec::new(),
        };
        layout.row("(fingerprint)", 8, types.def(id).full_name());
        layout.value(types, Type::Named(id), "", value);
        layout
    }

    fn row(&mut self, name: &str, n_bytes: usize, text: String) {
        let (bytes, rest) = self.rest.split_at(n_bytes.min(self.rest.len()));
        self.rest = rest;
        self.rows.push((name.to_string(), bytes, text));
    }

    fn value(&mut self, types: &TypeSet, ty: Type, name: &str, value: &Value<'_>) {
        match (value, ty) {
            (Value::Struct(members), Type::Named(id)) => {
                let body = types.as_struct(id).map_or(&[][..], |body| &body.members);
                for (member, value) in body.iter().zip(members) {
                    let dot = if name.is_empty() { "" } else { "." };
                    self.value(
                        types,
                        member.ty,
                        &format!("{name}{dot}{}", member.name),
                        value,
                    );
                }
            }
            (Value::Array(array), _) => {
                for (i, value) in array.iter().enumerate() {
                    self.value(types, ty, &format!("{name}[{i}]"), &value);
                }
                if let (Items::Numbers { .. }, 0) = (array.items(), array.len()) {
                    self.row(name, 0, "(empty)".to_string());
                }
            }
            (Value::Text(text), _) => self.row(
                name,
                4 + text.len() + 1,
                format!("{:?}", value.as_str().unwrap_or("?")),
            ),
            (_, Type::Primitive(ty)) => {
                let text = value.as_integer().map_or_else(
                    || format!("{:?}", value.as_f64().unwrap_or(f64::NAN)),
                    |n| n.to_string(),
                );
                self.row(name, ty.fixed_size().unwrap_or(0), text);
            }
            (_, Type::Named(_)) => self.row(name, 4, format!("{:?}", value.as_integer())),
        }
    }
}
