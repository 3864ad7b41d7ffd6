//! The command line of a worker.

use anyhow::{Context as _, Result, bail};

/// What a worker was asked to do.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `pub`, `sub`, `idle`, `ping` or `pong`.
    pub verb: String,
    /// In the system's own notation.
    pub address: String,
    /// Messages a second; 0 is flat out.
    pub rate_hz: u64,
    /// Bytes a message.
    pub size: usize,
    /// How long to publish.
    pub seconds: f64,
    /// Whether messages are handed over many at a time.
    pub is_batched: bool,
    /// How many `sub` or `pong` workers there are.
    pub n_peers: usize,
    /// Which of them this is.
    pub idx: usize,
    /// Whether they are threads of this process.
    pub is_inside: bool,
}

impl Settings {
    /// # Errors
    /// Names the argument that was not understood.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let usage = "expected VERB ADDRESS [--rate N] [--size N] [--seconds S] [--batch] [--peers N] [--idx N] [--inside]";
        let mut settings = Self {
            verb: args.next().context(usage)?,
            address: args.next().context(usage)?,
            rate_hz: 0,
            size: 800,
            seconds: 1.0,
            is_batched: false,
            n_peers: 1,
            idx: 0,
            is_inside: false,
        };
        while let Some(name) = args.next() {
            match name.as_str() {
                "--batch" => {
                    settings.is_batched = true;
                    continue;
                }
                "--inside" => {
                    settings.is_inside = true;
                    continue;
                }
                _ => {}
            }
            let value = args
                .next()
                .with_context(|| format!("{name} needs a value; {usage}"))?;
            settings
                .set(&name, &value)
                .with_context(|| format!("{name} {value}; {usage}"))?;
        }
        settings.size = settings.size.max(crate::payload::HEADER);
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--rate" => self.rate_hz = value.parse()?,
            "--size" => self.size = value.parse()?,
            "--seconds" => self.seconds = value.parse()?,
            "--peers" => self.n_peers = value.parse()?,
            "--idx" => self.idx = value.parse()?,
            _ => bail!("not an option"),
        }
        Ok(())
    }

    /// Whether this is the one process at the centre, `pub` or `ping`, rather than one of the `--peers`.
    #[must_use]
    pub fn is_centre(&self) -> bool {
        matches!(self.verb.as_str(), "pub" | "ping")
    }
}
