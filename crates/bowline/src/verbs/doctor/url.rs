//! Which bus programs would use, and what its URL means.

use bowline_bus::diagnosis::{Fault, Group, Place, Verdict};
use bowline_bus::{Capability, DEFAULT_URL, Scheme, Schemes, Url};

/// A URL, who chose it, and what it means as far as it means anything.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) text: String,
    pub(crate) origin: Origin,
    /// The URL and the row of its transport, where there is one.
    pub(crate) url: Option<(Url, &'static Scheme)>,
    pub(crate) place: Option<Place>,
    pub(crate) faults: Vec<Fault>,
}

/// Who chose the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Argument,
    Variable(&'static str),
    Default,
}

impl Target {
    /// The URL that programs would use: the argument, then Bowline's variable, then LCM's, then the default. Empty is unset.
    pub(crate) fn choose(argument: Option<&str>, bowline: Option<&str>, lcm: Option<&str>) -> Self {
        Self::choose_among(Schemes::installed(), argument, bowline, lcm)
    }

    fn choose_among(
        schemes: &Schemes,
        argument: Option<&str>,
        bowline: Option<&str>,
        lcm: Option<&str>,
    ) -> Self {
        let set = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_string);
        let choices = [
            (set(argument), Origin::Argument),
            (set(bowline), Origin::Variable("BOWLINE_URL")),
            (set(lcm), Origin::Variable("LCM_DEFAULT_URL")),
        ];
        let chosen = choices
            .into_iter()
            .find_map(|(text, origin)| Some((text?, origin)));
        let (text, origin) = chosen.unwrap_or_else(|| (DEFAULT_URL.to_string(), Origin::Default));
        let mut target = Self::parse(schemes, &text, origin);
        if let (Some(ours), Some(theirs), true) = (
            set(bowline),
            set(lcm),
            matches!(origin, Origin::Variable(_)),
        ) && ours != theirs
        {
            target.faults.push(Fault {
                verdict: Verdict::Warn,
                found: format!("BOWLINE_URL is {ours}, but LCM_DEFAULT_URL is {theirs}"),
                why: "LCM's own programs read only LCM_DEFAULT_URL, so they would be on another bus.",
                instead: Some(ours),
            });
        }
        target
    }

    fn parse(schemes: &Schemes, text: &str, origin: Origin) -> Self {
        let mut target = Self {
            text: text.to_string(),
            origin,
            url: None,
            place: None,
            faults: Vec::new(),
        };
        let examined = Url::parse(text).and_then(|url| Ok((schemes.examine(&url)?, url)));
        match examined {
            Ok(((row, examination), url)) => {
                target.place = examination.place;
                target.faults = examination.faults;
                target.url = Some((url, row));
            }
            Err(error) => {
                // An option after & instead of ?, perhaps.
                let mended = text.replacen('&', "?", 1);
                let is_sound = |url: &Url| schemes.row_of(url).is_ok();
                let is_mended = Url::parse(&mended).as_ref().is_ok_and(is_sound);
                let instead = if is_mended { &mended } else { DEFAULT_URL };
                target.faults.push(Fault {
                    verdict: Verdict::Bad,
                    found: format!("Expected a URL of a bus, found {text:?}: {}.", error.what()),
                    why: "Without one no program knows how to send.",
                    instead: Some(instead.to_string()),
                });
            }
        }
        target
    }

    /// The group, if messages go to one.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.place.as_ref()?.group.as_ref()
    }

    /// Whether the transport has a capability.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.url
            .as_ref()
            .is_some_and(|(_, row)| row.has(capability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_bus::diagnosis::{self, Check, Finding};
    use bowline_bus::transport::memq;

    fn parse(text: &str) -> Target {
        Target::choose(Some(text), None, None)
    }

    #[test]
    fn the_argument_comes_first_then_our_variable_then_lcms_then_the_default() {
        let choose = |argument, bowline, lcm| {
            let target = Target::choose(argument, bowline, lcm);
            (target.text, target.origin)
        };
        let (a, b, c) = (Some("memq://a"), Some("memq://b"), Some("memq://c"));
        assert_eq!(choose(a, b, c), ("memq://a".into(), Origin::Argument));
        assert_eq!(
            choose(None, b, c),
            ("memq://b".into(), Origin::Variable("BOWLINE_URL"))
        );
        assert_eq!(
            choose(None, Some(""), c),
            ("memq://c".into(), Origin::Variable("LCM_DEFAULT_URL"))
        );
        assert_eq!(
            choose(None, None, None),
            (DEFAULT_URL.into(), Origin::Default)
        );
    }

    #[test]
    fn variables_that_disagree_are_a_warning() {
        let target = Target::choose(None, Some("memq://b"), Some("memq://c"));
        assert_eq!(target.faults.len(), 1);
        assert!(
            Target::choose(None, Some("memq://b"), Some("memq://b"))
                .faults
                .is_empty()
        );
        assert!(
            Target::choose(Some("memq://"), Some("memq://b"), Some("memq://c"))
                .faults
                .is_empty()
        );
    }

    #[test]
    fn url_without_a_transport_gets_a_verdict() {
        for (text, part) in [
            ("239.255.76.67:7667", "scheme"),
            ("udp://239.255.76.67:7667", "\"udp\""),
            ("tcpq://robot:hub", "robot:hub"),
            ("memq://?ttl=1", "\"ttl\""),
        ] {
            let faults = parse(text).faults;
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert_eq!(faults[0].verdict, Verdict::Bad, "{text}");
            assert!(faults[0].found.contains(part), "{text}: {faults:?}");
        }
    }

    #[test]
    fn option_after_the_wrong_letter_is_put_right() {
        let target = parse("udpm://239.255.76.67:7667&ttl=0&iface=lo");
        let [fault] = target.faults.as_slice() else {
            panic!("{:?}", target.faults);
        };
        assert!(fault.found.contains("did you mean"), "{fault:?}");
        let instead = "udpm://239.255.76.67:7667?ttl=0&iface=lo";
        assert_eq!(fault.instead.as_deref(), Some(instead));
    }

    #[test]
    fn each_transport_describes_its_place() {
        for (text, description) in [
            ("tcpq://", "A hub at 127.0.0.1, port 7700."),
            ("tcpq://robot:1234", "A hub at robot, port 1234."),
            ("file:///tmp/a.lcm?mode=w", "The log /tmp/a.lcm, mode w."),
            (
                "udpm://",
                "Group 239.255.76.67, port 7667, ttl 0 (this host only).",
            ),
        ] {
            let place = parse(text).place.unwrap();
            assert_eq!(place.description, description);
        }
    }

    #[test]
    fn transport_of_the_program_is_examined_by_its_own_row() {
        static PIGEON: Scheme = Scheme {
            name: "pigeon",
            summary: "by pigeon",
            example: "pigeon://loft",
            options: &[],
            capabilities: &[Capability::NeedsHub],
            check: |url| url.options().finish(),
            open: |url| memq::SCHEME.open(url),
            examine: diagnosis::examine_by_check,
            checks: &[Check {
                name: "loft",
                look: |url| vec![Finding::bad(format!("No loft {}.", url.address()), "")],
            }],
        };
        let schemes = Schemes::built_in().with(&PIGEON).unwrap();
        let target = Target::choose_among(&schemes, Some("pigeon://hill"), None, None);
        assert_eq!(target.place.as_ref().unwrap().description, "by pigeon.");
        assert!(target.has(Capability::NeedsHub));
        let found = crate::verbs::doctor::gather::transport(&target);
        let [(name, finding)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((*name, finding.found.as_str()), ("loft", "No loft hill."));
    }
}
