//! Components that run beside a test, live, on a bus.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use bowline::bus::Bus;
use bowline::component::engine::{Engine, Instance};
use bowline::component::{Kind, Setting};
use bowline::host::{Live, LiveOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// They end with the value.
pub(crate) struct Hosted {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hosted {
    pub(crate) fn start(url: &str, instances: Vec<Instance>) -> Self {
        let engine = Engine::new(instances).unwrap();
        let mut live = Live::new(engine, Bus::open(url).unwrap(), LiveOptions::default()).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&end);
        let run = move || live.run(&is_over).map(drop).unwrap();
        let thread = Builder::new().name("hosted".to_owned()).spawn(run).unwrap();
        Self {
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Of the name of its kind.
pub(crate) fn instance(kind: &Kind, settings: &[(&str, Setting)]) -> Instance {
    Instance::new(kind, kind.name, settings, BTreeMap::new()).unwrap()
}
