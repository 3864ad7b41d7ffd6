//! Where a bus is: `scheme://address?option=value&option=value`, as LCM writes it.
//!
//! In: text. Out: the parts, and typed options. An option that no code asks for is an error, so that a misspelt one
//! does not pass for a default.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// What is used without a URL: LCM's own default, which never leaves the host.
pub const DEFAULT_URL: &str = "udpm://239.255.76.67:7667?ttl=0";

/// The parts of a bus URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    scheme: String,
    address: String,
    options: Vec<(String, String)>,
}

impl Url {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// When there is no `scheme://`, or an option has no `=`.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let bad = |what: String| BadUrl::new(text, what);
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            bad("expected scheme://address, as in udpm://239.255.76.67:7667?ttl=0".to_owned())
        })?;
        // LCM lets further question marks separate options too.
        let mut parts = rest.split('?');
        let address = parts.next().unwrap_or_default();
        let mut options = Vec::new();
        for option in parts
            .flat_map(|part| part.split('&'))
            .filter(|option| !option.is_empty())
        {
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| bad(format!("expected key=value, found {option:?}")))?;
            options.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.to_owned(),
            address: address.to_owned(),
            options,
        })
    }

    /// Which transport: `udpm`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What is between `://` and `?`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Refuses an address with the first option in it, after `&` instead of `?`.
    pub(crate) fn check_address(&self) -> Result<(), BadUrl> {
        match self.address.split_once('&') {
            Some((place, options)) if options.contains('=') => {
                let scheme = &self.scheme;
                let what = format!(
                    "expected ? before the first option: did you mean {scheme}://{place}?{options}"
                );
                Err(BadUrl::new(&*self.text, what))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// All options as they are written, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Takes an option out that the bus itself understands, whatever the transport.
    pub(crate) fn without_duration(
        self,
        key: &'static str,
    ) -> Result<(Self, Option<Duration>), BadUrl> {
        let duration = self.options().duration(key)?;
        Ok((self.without(key), duration))
    }

    /// The same for one that is `on` or `off`.
    pub(crate) fn without_switch(self, key: &'static str) -> Result<(Self, Option<bool>), BadUrl> {
        let is_on = self.options().switch(key)?;
        Ok((self.without(key), is_on))
    }

    /// Without an option, as if it had never been written.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.options.retain(|(found, _)| found != key);
        self
    }

    /// The options, to be taken one by one.
    #[must_use]
    pub fn options(&self) -> Options<'_> {
        Options {
            url: self,
            asked: Vec::new(),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Takes options by name, and knows in the end which were never asked for.
#[derive(Debug)]
pub struct Options<'a> {
    url: &'a Url,
    asked: Vec<&'static str>,
}

impl<'a> Options<'a> {
    /// The text of an option; the last one counts when there are several.
    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.asked.push(key);
        let mut all = self.url.options.iter().rev();
        all.find(|(found, _)| found == key)
            .map(|(_, value)| value.as_str())
    }

    /// An option that is anything with a text form, such as a number.
    ///
    /// # Errors
    /// When the text is not one.
    pub fn parse<T: std::str::FromStr>(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Result<Option<T>, BadUrl> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_unspecific) => Err(self.bad(format!("{key}= expects {expected}, found {text:?}"))),
        }
    }

    /// An option with a size in bytes: `4194304`, `4MiB`, `64k`.
    ///
    /// # Errors
    /// When the text is not a size.
    pub fn size(&mut self, key: &'static str) -> Result<Option<usize>, BadUrl> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        parse_size(text).map(Some).ok_or_else(|| {
            self.bad(format!(
                "{key}= expects a size such as 4194304 or 4MiB, found {text:?}"
            ))
        })
    }

    /// An option with a duration: `200us`, `5ms`, `1s`.
    ///
    /// # Errors
    /// When the text is not a duration.
    pub fn duration(&mut self, key: &'static str) -> Result<Option<Duration>, BadUrl> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        parse_duration(text).map(Some).ok_or_else(|| {
            self.bad(format!(
                "{key}= expects a duration such as 200us or 5ms, found {text:?}"
            ))
        })
    }

    /// An option that is `on` or `off`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn switch(&mut self, key: &'static str) -> Result<Option<bool>, BadUrl> {
        match self.text(key) {
            None => Ok(None),
            Some("on") => Ok(Some(true)),
            Some("off") => Ok(Some(false)),
            Some(text) => Err(self.bad(format!("{key}= expects on or off, found {text:?}"))),
        }
    }

    /// An error about this URL.
    #[must_use]
    pub fn bad(&self, what: impl Into<Cow<'static, str>>) -> BadUrl {
        BadUrl::new(&self.url.text, what)
    }

    /// To be called last.
    ///
    /// # Errors
    /// When the URL has an option that was not asked for.
    pub fn finish(self) -> Result<(), BadUrl> {
        let mut options = self.url.options.iter();
        let Some((unknown, _)) = options.find(|(key, _)| !self.asked.contains(&key.as_str()))
        else {
            return Ok(());
        };
        let mut known = self.asked.clone();
        known.sort_unstable();
        let what = format!(
            "{} has no option {unknown:?}; it has {}",
            self.url.scheme,
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            },
        );
        Err(BadUrl {
            unknown_option: Some(unknown.clone()),
            ..self.bad(what)
        })
    }
}

/// A URL that cannot be understood, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("in the bus URL {url:?}: {what}")]
pub struct BadUrl {
    url: String,
    what: Cow<'static, str>,
    unknown_option: Option<String>,
}

impl BadUrl {
    /// Adds the URL to an error.
    pub fn new(url: impl Into<String>, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            url: url.into(),
            what: what.into(),
            unknown_option: None,
        }
    }

    /// The option that the transport does not know, if that is what is wrong.
    #[must_use]
    pub fn unknown_option(&self) -> Option<&str> {
        self.unknown_option.as_deref()
    }

    /// What is wrong, without the URL.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

fn parse_size(text: &str) -> Option<usize> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: usize = match unit {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
}

fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart_as_lcm_does_it() {
        let url =
            Url::parse("udpm://239.255.76.67:7667?ttl=1&recv_buf_size=2097152?iface=lo").unwrap();
        assert_eq!(
            (url.scheme(), url.address()),
            ("udpm", "239.255.76.67:7667")
        );
        let mut options = url.options();
        assert_eq!(options.parse::<u8>("ttl", "0 to 255").unwrap(), Some(1));
        assert_eq!(options.size("recv_buf_size").unwrap(), Some(2 << 20));
        assert_eq!(options.text("iface"), Some("lo"));
        options.finish().unwrap();
    }

    #[test]
    fn url_error_has_the_correction() {
        let error = Url::parse("239.255.76.67").unwrap_err().to_string();
        assert!(error.contains("expected scheme://address"), "{error}");

        let url = Url::parse("udpm://?tll=1").unwrap();
        let mut options = url.options();
        options.text("ttl");
        let error = options.finish().unwrap_err().to_string();
        assert!(error.contains("no option \"tll\"; it has ttl"), "{error}");

        let url = Url::parse("udpm://?ttl=red&batch=5").unwrap();
        let error = url.options().parse::<u8>("ttl", "0 to 255").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("ttl= expects 0 to 255, found \"red\"")
        );
        let error = url.options().duration("batch").unwrap_err().to_string();
        assert!(error.contains("such as 200us"), "{error}");
    }

    #[test]
    fn sizes_and_durations_carry_units() {
        for (text, size) in [
            ("0", 0),
            ("17", 17),
            ("64k", 65_536),
            ("4MiB", 4 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        assert_eq!(parse_size("4 MB"), None);
        assert_eq!(parse_size("99999999999999999999"), None);
        assert_eq!(parse_duration("200us"), Some(Duration::from_micros(200)));
        assert_eq!(parse_duration("us"), None);
    }
}
