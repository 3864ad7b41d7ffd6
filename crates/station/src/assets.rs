//! The built page, inside the binary: paths are looked up in a table, so there is no file system to climb.

use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};
use std::io::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{collections::BTreeMap, path::Path};

static PAGE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asset {
    path: &'static Path,
    pub(crate) bytes: &'static [u8],
    pub(crate) content_type: &'static str,
    /// Whether its name carries a hash of its content.
    pub(crate) is_immutable: bool,
}

/// The file at a path of a URL, without the slash that it begins with.
pub(crate) fn find(path: &str) -> Option<Asset> {
    let path = if path.is_empty() { "index.html" } else { path };
    let file = PAGE.get_file(path)?;
    Some(Asset {
        path: file.path(),
        bytes: file.contents(),
        content_type: content_type(path),
        is_immutable: path.starts_with("assets/"),
    })
}

impl Asset {
    /// The same in fewer bytes, made once. `None` where that is not worth it.
    pub(crate) fn gzipped(&self) -> Option<bytes::Bytes> {
        static MADE: LazyLock<Mutex<BTreeMap<&'static Path, bytes::Bytes>>> =
            LazyLock::new(Mutex::default);
        if self.content_type.starts_with("font/") {
            return None;
        }
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = made.get(self.path) {
            return Some(bytes.clone());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(self.bytes).ok()?;
        let bytes = bytes::Bytes::from(encoder.finish().ok()?);
        made.insert(self.path, bytes.clone());
        Some(bytes)
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff") => "font/woff",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_inside_and_nothing_else_is() {
        let index = find("").unwrap();
        assert_eq!(index.content_type, "text/html; charset=utf-8");
        assert!(!index.is_immutable);
        let html = std::str::from_utf8(index.bytes).unwrap();
        let script = html.split("src=\"./").nth(1).unwrap();
        let script = find(script.split('"').next().unwrap()).unwrap();
        assert!(script.is_immutable);
        assert!(script.gzipped().unwrap().len() < script.bytes.len() / 2);
        for path in [
            "nothing",
            "assets",
            "../Cargo.toml",
            "assets/../index.html",
            "/etc/passwd",
        ] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
