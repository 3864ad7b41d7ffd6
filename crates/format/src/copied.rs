//! What a log has besides events, on its way into another.

use crate::reader::ReadError;
use crate::writer::WriteError;

/// What became of the attachments and metadata of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedExtras {
    /// Attachments that were copied.
    pub n_attachments: u64,
    /// Records of metadata that were copied.
    pub n_metadata: u64,
    /// Attachments for which the other format has no room.
    pub n_left_attachments: u64,
    /// Records of metadata for which the other format has no room.
    pub n_left_metadata: u64,
    /// Attachments and metadata that are not what was written, or too many.
    pub n_damaged: u64,
}

/// Why attachments and metadata were not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyExtrasError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The other cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
