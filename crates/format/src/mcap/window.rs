//! What a decoder is given of a file, and what it asks for.

/// Bytes of a file from a place on, and how long the file is.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Where the bytes begin.
    pub offset: u64,
    /// What is there.
    pub bytes: &'a [u8],
    /// How long the file is.
    pub size: u64,
}

/// Bytes that a decoder has to be given before it can go on, all of them in one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// Where they begin.
    pub offset: u64,
    /// How many there are: never more than the file has from there on.
    pub n_bytes: u64,
}

impl<'a> Window<'a> {
    /// So many bytes from a place on; fewer only at the end of the file.
    pub(super) fn get(&self, offset: u64, n_bytes: u64) -> Result<&'a [u8], Needed> {
        let n_bytes = n_bytes.min(self.size.saturating_sub(offset));
        if n_bytes == 0 {
            return Ok(&[]);
        }
        let place = || {
            let at = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
            let n_bytes = usize::try_from(n_bytes).ok()?;
            self.bytes.get(at..)?.get(..n_bytes)
        };
        place().ok_or(Needed { offset, n_bytes })
    }

    /// So many bytes from `at` on, with everything from `from` on in the same window: it is still needed.
    pub(super) fn ahead(&self, from: u64, at: u64, n_bytes: u64) -> Result<&'a [u8], Needed> {
        let n_before = at.saturating_sub(from);
        let bytes = self.get(from, n_before.saturating_add(n_bytes))?;
        let n_before = usize::try_from(n_before).unwrap_or(usize::MAX);
        Ok(bytes.get(n_before..).unwrap_or_default())
    }
}
