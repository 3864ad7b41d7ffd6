//! MCAP as a file: gives the decoder the bytes that it asks for.

use super::decode::Decoder;
use super::extras::{self, Extras};
use super::window::{Needed, Window};
use crate::copied::{CopiedExtras, CopyExtrasError};
use crate::damage::Damages;
use crate::event::{LogEvent, Provenance};
use crate::format::Format;
use crate::index::{Builder, IndexFile, LogShape, Tail};
use crate::input::Input;
use crate::reader::{ReadError, Source};
use crate::schemas::Schemas;
use crate::writer::Writer;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of the log between two reports of progress while an index is made.
const PROGRESS_EVERY: u64 = 16 << 20;

/// Reads a file.
#[derive(Debug)]
pub(crate) struct McapFile {
    path: PathBuf,
    input: Input,
    size: u64,
    decoder: Decoder,
}

impl McapFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let input = Input::open(path)?;
        let mut file = Self {
            path: path.to_owned(),
            size: input.size()?,
            input,
            decoder: Decoder::new(),
        };
        file.drive(|decoder, window| decoder.learn_directory(window))?;
        Ok(file)
    }

    /// Has the decoder do something, with all the bytes that this takes.
    fn drive<T>(
        &mut self,
        mut work: impl FnMut(&mut Decoder, Window<'_>) -> Result<T, Needed>,
    ) -> io::Result<T> {
        loop {
            let (offset, bytes) = self.input.window();
            let window = Window {
                offset,
                bytes,
                size: self.size,
            };
            let Needed { offset, n_bytes } = match work(&mut self.decoder, window) {
                Ok(done) => return Ok(done),
                Err(needed) => needed,
            };
            let n_bytes = usize::try_from(n_bytes).map_err(io::Error::other)?;
            if !self.input.fill(offset, n_bytes)? {
                // It is shorter than it was when it was opened.
                let (offset, bytes) = self.input.window();
                self.size = self.size.min(offset + bytes.len() as u64);
            }
        }
    }

    /// Where attachments and metadata are. Reads all of the file if no directory lists them.
    fn extras(&self) -> io::Result<Extras> {
        if let Some(extras) = self.decoder.extras() {
            return Ok(extras.clone());
        }
        let mut file = Self::open(&self.path)?;
        while file.next_event()?.is_some() {}
        Ok(file.decoder.extras().cloned().unwrap_or_default())
    }
}

impl Source for McapFile {
    fn format(&self) -> Format {
        Format::Mcap
    }

    fn next_event(&mut self) -> io::Result<Option<LogEvent<'_>>> {
        let found = self.drive(Decoder::next)?;
        Ok(found.map(|found| self.decoder.event(&found)))
    }

    fn next_with_provenance(
        &mut self,
    ) -> io::Result<Option<(LogEvent<'_>, Option<Provenance<'_>>)>> {
        let found = self.drive(Decoder::next)?;
        Ok(found.map(|found| {
            let provenance = self.decoder.provenance(&found);
            (self.decoder.event(&found), Some(provenance))
        }))
    }

    fn rewind(&mut self) -> io::Result<()> {
        self.decoder.rewind();
        Ok(())
    }

    fn seek_to(&mut self, utime: i64, is_damaged: bool) -> io::Result<()> {
        if is_damaged {
            self.decoder.rewind_to(utime);
            return Ok(());
        }
        self.drive(|decoder, window| decoder.seek_to(utime, window))
    }

    fn damages(&mut self) -> &Damages {
        self.decoder.damages()
    }

    fn position(&self) -> u64 {
        self.decoder.position()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    /// An index of a log that has changed since knows nothing of its chunks.
    fn is_indexed_by(&mut self, _: &mut IndexFile) -> bool {
        false
    }

    fn use_index(&mut self, _: IndexFile) -> io::Result<()> {
        Ok(())
    }

    fn build_index(&self, each: &mut dyn FnMut(&[u8], u64)) -> io::Result<Tail> {
        let mut file = Self::open(&self.path)?;
        let mut builder = Builder::new(LogShape::Chunks);
        let mut reached = 0;
        while let Some(event) = file.next_event()? {
            builder.add(&event, 0, &[]);
            if file.position() - reached > PROGRESS_EVERY {
                reached = file.position();
                each(&[], reached);
            }
        }
        builder.add_schemas(file.decoder.schemas());
        builder.set_damages(file.decoder.damages().clone());
        let (bytes, tail) = builder.finish(file.size);
        each(&bytes, file.size);
        Ok(tail)
    }

    fn is_verified(&self) -> bool {
        true
    }

    fn schemas(&self) -> Option<&Schemas> {
        Some(self.decoder.schemas())
    }

    fn n_foreign_schemas(&self) -> usize {
        self.decoder.n_foreign_schemas()
    }

    fn is_from_lcm(&self) -> bool {
        self.decoder.is_from_lcm()
    }

    fn profile(&self) -> &str {
        self.decoder.profile()
    }

    fn accept_unverified(&mut self) {
        self.decoder.accept_unverified();
    }

    fn copy_extras(&self, to: &mut Writer) -> Result<CopiedExtras, CopyExtrasError> {
        let failed = ReadError::of(&self.path);
        let extras = self.extras().map_err(failed)?;
        extras::copy(&self.path, &extras, to)
    }
}
