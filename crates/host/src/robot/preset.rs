//! Parameters that are set from outside of a robot file, as `--set` writes them.

use bowline_component::Setting;
use bowline_component::document::setting;
use std::fmt;
use std::str::FromStr;
use toml::de::DeTable;

/// A parameter and its value, for one component or for all that have it. It overrides the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Whose; `None` for every component that has a parameter of that name.
    pub component: Option<String>,
    /// Which parameter.
    pub name: String,
    /// What it is to be. Paths are relative to the current folder.
    pub value: Setting,
}

/// Why a text is no [`Preset`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected COMPONENT.PARAMETER=VALUE or PARAMETER=VALUE, found {found:?}")]
pub struct BadPreset {
    found: String,
}

impl FromStr for Preset {
    type Err = BadPreset;

    fn from_str(text: &str) -> Result<Self, BadPreset> {
        let bad = || BadPreset {
            found: text.to_owned(),
        };
        let (whose, value) = text.split_once('=').ok_or_else(bad)?;
        let (component, name) = match whose.rsplit_once('.') {
            Some((component, name)) => (Some(component), name),
            None => (None, whose),
        };
        if name.is_empty() || component.is_some_and(str::is_empty) {
            return Err(bad());
        }
        Ok(Self {
            component: component.map(str::to_owned),
            name: name.to_owned(),
            value: value_of(value),
        })
    }
}

/// As a robot file would have it; what is no value of such a file is a text, so that shells need no second quotes.
fn value_of(text: &str) -> Setting {
    let line = format!("value = {text}");
    let table = DeTable::parse(&line).ok();
    let table = table.as_ref().map(toml::Spanned::get_ref);
    // A text with a line break in it may be more than one key.
    let only = table.filter(|table| table.len() == 1);
    let value = only.and_then(|table| table.values().next());
    let value = value.and_then(|value| setting(value.get_ref()));
    value.unwrap_or_else(|| Setting::Text(text.to_owned()))
}

/// As it is read.
impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.whose(), self.value)
    }
}

impl Preset {
    /// How the command line has it.
    pub(super) fn whose(&self) -> String {
        match &self.component {
            Some(component) => format!("{component}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_read_as_robot_files_are() {
        let real = |number| Setting::Real(number);
        let text = |text: &str| Setting::Text(text.to_owned());
        let cases = [
            ("sim.seed=3", Some("sim"), "seed", Setting::Integer(3)),
            ("seed=3", None, "seed", Setting::Integer(3)),
            ("a.b.c=true", Some("a.b"), "c", Setting::Boolean(true)),
            ("x.y=1.5", Some("x"), "y", real(1.5)),
            (
                "x.y=[1.0, 2.0]",
                Some("x"),
                "y",
                Setting::List(vec![real(1.0), real(2.0)]),
            ),
            ("x.y=\"a b\"", Some("x"), "y", text("a b")),
            ("x.y=a/b.toml", Some("x"), "y", text("a/b.toml")),
            ("x.y=", Some("x"), "y", text("")),
            ("x.y=1\nz = 2", Some("x"), "y", text("1\nz = 2")),
            ("x.y=a=b", Some("x"), "y", text("a=b")),
        ];
        for (written, component, name, value) in cases {
            let expected = Preset {
                component: component.map(str::to_owned),
                name: name.to_owned(),
                value,
            };
            assert_eq!(expected.to_string().parse(), Ok(expected.clone()));
            assert_eq!(written.parse(), Ok(expected), "{written}");
        }
        for written in ["", "x", "x.y", "=1", ".y=1", "x.=1"] {
            assert!(written.parse::<Preset>().is_err(), "{written}");
        }
    }
}
