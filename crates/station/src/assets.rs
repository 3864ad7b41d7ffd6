//! The built page, inside the binary: paths are looked up in a table, so there is no file system to climb.

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};
use std::io::Write as _;

static PAGE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");
/// The same in fewer bytes, where that is worth it: made while this is compiled.
static ZIPPED: Dir<'static> = include_dir!("$OUT_DIR/zipped");

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asset {
    pub(crate) bytes: &'static [u8],
    pub(crate) zipped: Option<&'static [u8]>,
    pub(crate) content_type: &'static str,
    /// Whether its name carries a hash of its content.
    pub(crate) is_immutable: bool,
}

/// The file at a path of a URL, without the slash that it begins with.
pub(crate) fn find(path: &str) -> Option<Asset> {
    let path = if path.is_empty() { "index.html" } else { path };
    let file = PAGE.get_file(path)?;
    Some(Asset {
        bytes: file.contents(),
        zipped: ZIPPED.get_file(path).map(include_dir::File::contents),
        content_type: content_type(path),
        is_immutable: path.starts_with("assets/"),
    })
}

/// Something in fewer bytes.
pub(crate) fn zip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).ok()?;
    let zipped = encoder.finish().ok()?;
    (zipped.len() < bytes.len()).then(|| zipped.into())
}

pub(crate) fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
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
    use std::io::Read as _;

    #[test]
    fn the_page_is_inside_and_nothing_else_is() {
        let index = find("").unwrap();
        assert_eq!(index.content_type, "text/html; charset=utf-8");
        assert!(!index.is_immutable);
        let html = std::str::from_utf8(index.bytes).unwrap();
        let script = html.split("src=\"./").nth(1).unwrap();
        let script = find(script.split('"').next().unwrap()).unwrap();
        assert!(script.is_immutable);
        let mut whole = Vec::new();
        let mut zipped = flate2::read::GzDecoder::new(script.zipped.unwrap());
        zipped.read_to_end(&mut whole).unwrap();
        assert!(whole == script.bytes, "it is the same");
        assert!(script.zipped.unwrap().len() < script.bytes.len() / 2);
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
