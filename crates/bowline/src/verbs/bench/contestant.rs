//! Who takes part: our bus at each URL, and stock liblcm where it is found.

use crate::input::Usage;
use crate::output;
use anyhow::Context as _;
use bowline_bus::transport::udpm;
use bowline_bus::{Capability, Schemes, Url};
use bowline_measure::exchange::{Case, Launch};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hidden verb that runs one worker.
pub(crate) const WORKER: &str = "bench-worker";

/// What stock liblcm is called.
pub(crate) const LIBLCM: &str = "liblcm";

/// A system at an address.
pub(crate) struct Contestant {
    label: String,
    kind: Kind,
    address: String,
    /// Whether sender and receiver have to be in one process.
    is_inside: bool,
}

enum Kind {
    Ours,
    /// The folder of the library.
    Liblcm(PathBuf),
}

impl Contestant {
    /// What tables and plots call it.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn url(&self) -> &str {
        &self.address
    }
}

impl Launch for Contestant {
    fn name(&self) -> &str {
        &self.label
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn command(&self, _case: &Case) -> anyhow::Result<Command> {
        let program =
            std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        command.arg(WORKER);
        match &self.kind {
            Kind::Ours => command.arg("bowline"),
            Kind::Liblcm(folder) => command.arg("liblcm").env("LD_LIBRARY_PATH", folder),
        };
        Ok(command)
    }

    fn is_inside(&self) -> bool {
        self.is_inside
    }
}

/// All systems, ours first.
pub(crate) fn all(urls: &[String], liblcm: Option<&Path>) -> anyhow::Result<Vec<Contestant>> {
    let urls: Vec<Url> = urls
        .iter()
        .map(|url| checked(url))
        .collect::<Result<_, _>>()?;
    let mut contestants: Vec<Contestant> =
        urls.iter().map(|url| ours(url, urls.len() == 1)).collect();
    // It is on our multicast, but has not our options.
    let Some(group) = urls.iter().find(|url| url.scheme() == udpm::SCHEME.name) else {
        return Ok(contestants);
    };
    match find_liblcm(liblcm)? {
        Some(folder) => contestants.push(Contestant {
            label: LIBLCM.to_owned(),
            kind: Kind::Liblcm(folder),
            address: format!("udpm://{}?ttl=0", group.address()),
            is_inside: false,
        }),
        None => output::note(
            "stock liblcm is left out: not found; `pip install lcm`, or give its path with --liblcm",
        ),
    }
    Ok(contestants)
}

fn ours(url: &Url, is_only: bool) -> Contestant {
    let options = url.to_string();
    let options = options
        .split_once('?')
        .map(|(_, options)| format!("?{options}"));
    let label = match (is_only, &options) {
        (true, _) => "bowline".to_owned(),
        (false, Some(options)) if options != "?ttl=0" => {
            format!("bowline {}{options}", url.scheme())
        }
        (false, _) => format!("bowline {}", url.scheme()),
    };
    let row = Schemes::installed().row_of(url);
    let is_inside = row.is_ok_and(|row| row.has(Capability::InProcess));
    // Buses of one process meet only under a name.
    let address = match url.address() {
        "" if is_inside => format!("{}://bench", url.scheme()),
        _ => url.to_string(),
    };
    Contestant {
        label,
        kind: Kind::Ours,
        address,
        is_inside,
    }
}

/// A benchmark floods: it must not leave the host.
fn checked(text: &str) -> anyhow::Result<Url> {
    let url = Url::parse(text)?;
    let ttl = url.options().parse::<u32>("ttl", "0 to 255")?.unwrap_or(0);
    if ttl != 0 {
        let message = format!(
            "expected ttl=0, so that the benchmark stays on this host, found ttl={ttl} in {text}"
        );
        return Err(Usage(message).into());
    }
    Ok(url)
}

/// The folder with liblcm: where the user points, where `make peers` puts it, or where Python's packages are.
fn find_liblcm(path: Option<&Path>) -> Result<Option<PathBuf>, Usage> {
    if let Some(path) = path {
        let folder = if path.is_dir() {
            path
        } else {
            let parent = path.parent().unwrap_or(Path::new("."));
            if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            }
        };
        if !path.exists() || !has_liblcm(folder) {
            let found = match (path.exists(), path.is_dir()) {
                (false, _) => "found nothing there",
                (true, true) => "found no liblcm.so in it",
                (true, false) => "found no liblcm.so beside it",
            };
            return Err(Usage(format!(
                "expected liblcm.so or its folder at {}, {found}",
                path.display()
            )));
        }
        // The loader would take a relative one from wherever the worker is.
        return Ok(Some(
            folder
                .canonicalize()
                .unwrap_or_else(|_error| folder.to_path_buf()),
        ));
    }
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program
        .ancestors()
        .map(|folder| folder.join("peers/venv/lib"));
    let pythons = beside
        .chain([PathBuf::from("target/peers/venv/lib")])
        .filter_map(|lib| lib.read_dir().ok());
    let mut folders = pythons
        .flat_map(|entries| {
            entries
                .flatten()
                .map(|python| python.path().join("site-packages/lib"))
        })
        .chain(python_packages().map(|packages| packages.join("lib")));
    let found = folders.find(|folder| has_liblcm(folder));
    Ok(found.map(|folder| folder.canonicalize().unwrap_or(folder)))
}

fn has_liblcm(folder: &Path) -> bool {
    ["liblcm.so", "liblcm.so.1"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

fn python_packages() -> Option<PathBuf> {
    let output = Command::new("python3")
        .args([
            "-c",
            "import sysconfig; print(sysconfig.get_path('platlib'))",
        ])
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    (!path.trim().is_empty()).then(|| PathBuf::from(path.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_stays_on_the_host() {
        let error = checked("udpm://239.255.76.67:7667?ttl=1").unwrap_err();
        assert!(error.is::<Usage>(), "{error}");
        assert!(checked("udpm://239.255.76.67:7667").is_ok());
    }

    #[test]
    fn a_library_that_is_not_there_is_named_as_it_was_typed() {
        let error = find_liblcm(Some(Path::new("/nope"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected liblcm.so or its folder at /nope, found nothing there"
        );
    }

    #[test]
    fn labels_distinguish_urls() {
        let label = |url: &str| ours(&Url::parse(url).unwrap(), false).label;
        assert_eq!(label("memq://"), "bowline memq");
        assert_eq!(label("udpm://?ttl=0"), "bowline udpm");
        assert_eq!(label("udpm://?batch=1ms"), "bowline udpm?batch=1ms");
    }
}
