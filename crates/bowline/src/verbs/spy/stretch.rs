//! A stretch of time that is marked and written to a log.

use bowline_inspect::History;
use bowline_log::{Catalog, LogEvent, Schemas, WriteError, Writer, WriterOptions};

/// From when to when.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    from_ns: Option<i64>,
    to_ns: Option<i64>,
}

impl Stretch {
    pub(crate) fn begin(&mut self, at_ns: i64) {
        self.from_ns = Some(at_ns);
        self.to_ns = None;
    }

    pub(crate) fn end(&mut self, at_ns: i64) -> Result<(), &'static str> {
        match self.from_ns {
            None => Err("[ begins a stretch first"),
            Some(from_ns) if from_ns > at_ns => Err("the stretch would end before it begins"),
            Some(_) => {
                self.to_ns = Some(at_ns);
                Ok(())
            }
        }
    }

    /// Writes what is remembered of it. Returns what came of that.
    pub(crate) fn write(&self, file: &str, history: &History, catalog: &Catalog) -> String {
        let (Some(from_ns), Some(to_ns)) = (self.from_ns, self.to_ns) else {
            return "no stretch is marked".to_owned();
        };
        let written = write(file, history, catalog, (from_ns, to_ns));
        let n_events = match written {
            Ok(n_events) => n_events,
            Err(error) => return format!("cannot write {file}: {error}"),
        };
        let gone_ns = history.oldest_ns().map_or(0, |oldest| oldest - from_ns);
        let gone = if history.n_forgotten() > 0 && gone_ns > 0 {
            let seconds = super::table::seconds(gone_ns);
            format!("; the first {seconds:.1} s were forgotten already")
        } else {
            String::new()
        };
        format!("wrote {n_events} events to {file}{gone}")
    }
}

fn write(
    file: &str,
    history: &History,
    catalog: &Catalog,
    (from_ns, to_ns): (i64, i64),
) -> Result<u64, WriteError> {
    let mut schemas = Schemas::default();
    let mut writer = Writer::create_new(file, WriterOptions::default())?;
    let mut n_events = 0;
    for event in history.between(from_ns, to_ns) {
        let event = LogEvent::from(event);
        if let Some(fingerprint) = event.fingerprint()
            && schemas.find(fingerprint).is_none()
            && let Some((types, id)) = catalog.find(fingerprint)
        {
            schemas.add(&types.closure(id));
            writer.add_schemas(&schemas);
        }
        writer.write(event)?;
        n_events += 1;
    }
    writer.finish()?;
    Ok(n_events)
}
