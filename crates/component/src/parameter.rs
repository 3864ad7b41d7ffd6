//! Parameters: declared once, with default, documentation and limits; set from a robot file or over the bus.
//!
//! [`parameters!`](crate::parameters) writes the struct, its defaults and the table that `bowline run --explain` prints,
//! that robot files are checked against and that changes at run time go through.

mod setting;

pub use setting::{BadSetting, Setting};
pub(crate) use setting::{duration_text, parse_duration};

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// A set of parameters, by name. Made by [`parameters!`](crate::parameters).
pub trait Parameters: Send {
    /// What there is to set, in the order of declaration.
    fn table(&self) -> &'static [Parameter];

    /// The value of a parameter.
    fn get(&self, name: &str) -> Option<Setting>;

    /// Sets a parameter. On error nothing has changed.
    ///
    /// # Errors
    /// When there is no such parameter, or the value is not of its type or not within its limits.
    fn set(&mut self, name: &str, value: &Setting) -> Result<(), BadParameter>;
}

/// What is known of a parameter before it has a value.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its name, with the unit at its end where it has one.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// What its values are, in words: `number`, `list of text`.
    pub kind: &'static str,
    /// Its default.
    pub default: fn() -> Setting,
    /// What it may be, in words, where it may not be everything of its kind.
    pub limits: Option<fn() -> String>,
    /// Whether it may change while the component runs.
    pub change: Change,
    /// The group that it is of, which a robot file sets once for all components that have it: `vehicle`.
    pub group: Option<&'static str>,
}

impl Parameter {
    /// What [`parameters!`](crate::parameters) begins tables with.
    const NONE: Self = Self {
        name: "",
        doc: "",
        kind: "",
        default: || Setting::Boolean(false),
        limits: None,
        change: Change::AtStart,
        group: None,
    };

    /// Its value among settings, of which a later one wins, or its default.
    pub(crate) fn value_in(&self, settings: &[(&str, Setting)]) -> Setting {
        let set = settings.iter().rev().find(|(name, _)| *name == self.name);
        set.map_or_else(self.default, |(_, value)| value.clone())
    }

    /// Whether its values name files.
    pub(crate) fn is_path(&self) -> bool {
        self.kind.ends_with("path") || self.kind.ends_with("paths")
    }
}

/// When a parameter may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only before the component starts.
    AtStart,
    /// At any time.
    Live,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("default", &(self.default)())
            .field("change", &self.change)
            .finish_non_exhaustive()
    }
}

/// Why a parameter was not set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadParameter {
    /// There is none of that name.
    #[error("there is no parameter {name:?}{}", suggestion.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        suggestion: Option<&'static str>,
    },
    /// It is of another type.
    #[error(
        "parameter {name:?} is a {expected}{}, found {found}",
        example(expected)
    )]
    Type {
        /// Of the parameter.
        name: &'static str,
        /// What its values are.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// It is out of bounds.
    #[error("parameter {name:?} must be {limits}, found {found}")]
    Limits {
        /// Of the parameter.
        name: &'static str,
        /// What it may be.
        limits: String,
        /// What was given.
        found: Setting,
    },
    /// It cannot change while the component runs.
    #[error(
        "parameter {name:?} can only be set before the component starts: set it in the robot file and restart"
    )]
    AtStart {
        /// Of the parameter.
        name: &'static str,
    },
}

/// How values are written that people get wrong otherwise.
fn example(kind: &str) -> &'static str {
    match kind {
        "duration" => " such as \"700ms\" or \"3s\"",
        _ => "",
    }
}

/// A type that a parameter can have.
pub trait ParameterValue: Sized {
    /// Values of this type, in words.
    const KIND: &'static str;

    /// From a written value, if it is of this type.
    fn from_setting(setting: &Setting) -> Option<Self>;

    /// As a file would have it.
    fn to_setting(&self) -> Setting;
}

macro_rules! plain_value {
    ($type:ty, $kind:literal, $variant:ident) => {
        impl ParameterValue for $type {
            const KIND: &'static str = $kind;

            fn from_setting(setting: &Setting) -> Option<Self> {
                match setting {
                    Setting::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }

            fn to_setting(&self) -> Setting {
                Setting::$variant(self.clone())
            }
        }
    };
}

plain_value!(bool, "boolean", Boolean);
plain_value!(i64, "whole number", Integer);
plain_value!(String, "text", Text);

impl ParameterValue for f64 {
    const KIND: &'static str = "number";

    fn from_setting(setting: &Setting) -> Option<Self> {
        match setting {
            Setting::Real(value) => Some(*value),
            // People write 5 for 5.0. What a number cannot hold exactly is not meant as one.
            Setting::Integer(value) => i32::try_from(*value).ok().map(Self::from),
            Setting::Boolean(_) | Setting::Text(_) | Setting::List(_) => None,
        }
    }

    fn to_setting(&self) -> Setting {
        Setting::Real(*self)
    }
}

impl ParameterValue for Duration {
    const KIND: &'static str = "duration";

    fn from_setting(setting: &Setting) -> Option<Self> {
        match setting {
            Setting::Text(text) => parse_duration(text),
            Setting::Boolean(_) | Setting::Integer(_) | Setting::Real(_) | Setting::List(_) => None,
        }
    }

    fn to_setting(&self) -> Setting {
        Setting::Text(duration_text(*self))
    }
}

/// A robot file's paths are relative to itself.
impl ParameterValue for PathBuf {
    const KIND: &'static str = "path";

    fn from_setting(setting: &Setting) -> Option<Self> {
        match setting {
            Setting::Text(path) => Some(path.into()),
            Setting::Boolean(_) | Setting::Integer(_) | Setting::Real(_) | Setting::List(_) => None,
        }
    }

    fn to_setting(&self) -> Setting {
        Setting::Text(self.display().to_string())
    }
}

macro_rules! list_value {
    ($type:ty, $kind:literal) => {
        impl ParameterValue for Vec<$type> {
            const KIND: &'static str = $kind;

            fn from_setting(setting: &Setting) -> Option<Self> {
                match setting {
                    Setting::List(items) => {
                        items.iter().map(ParameterValue::from_setting).collect()
                    }
                    _ => None,
                }
            }

            fn to_setting(&self) -> Setting {
                Setting::List(self.iter().map(ParameterValue::to_setting).collect())
            }
        }
    };
}

/// A parameter that may have no value: that is written as an empty text, as a path that is not given is.
impl<T: ParameterValue> ParameterValue for Option<T> {
    const KIND: &'static str = T::KIND;

    fn from_setting(setting: &Setting) -> Option<Self> {
        if *setting == None::<T>.to_setting() {
            return Some(None);
        }
        T::from_setting(setting).map(Some)
    }

    fn to_setting(&self) -> Setting {
        let none = || Setting::Text(String::new());
        self.as_ref().map_or_else(none, T::to_setting)
    }
}

list_value!(f64, "list of numbers");
list_value!(i64, "list of whole numbers");
list_value!(String, "list of text");
list_value!(PathBuf, "list of paths");

/// What [`parameters!`](crate::parameters) needs; nothing for people.
#[doc(hidden)]
pub mod support {
    use super::{BadParameter, Parameter, ParameterValue, Parameters, RangeInclusive, Setting};

    /// What [`parameters!`](crate::parameters) has made, as a type.
    pub trait Declared {
        /// What there is to set.
        const TABLE: &'static [Parameter];
    }

    /// The parameters of a struct, and after them those of its groups with the groups' names.
    ///
    /// # Panics
    /// When N is not the number of all of them, which the compiler then reports.
    #[must_use]
    pub const fn join<const N: usize>(
        own: &[Parameter],
        groups: &[(&'static str, &[Parameter])],
    ) -> [Parameter; N] {
        let mut joined = [Parameter::NONE; N];
        let mut at = 0;
        while at < own.len() {
            joined[at] = own[at];
            at += 1;
        }
        let mut nth = 0;
        while nth < groups.len() {
            let (name, rows) = groups[nth];
            let mut row = 0;
            while row < rows.len() {
                joined[at] = Parameter {
                    group: Some(name),
                    ..rows[row]
                };
                at += 1;
                row += 1;
            }
            nth += 1;
        }
        assert!(at == N, "N is the number of all parameters");
        joined
    }

    /// The value of a parameter in one of the groups.
    pub fn get_in(groups: &[&dyn Parameters], name: &str) -> Option<Setting> {
        groups.iter().find_map(|group| group.get(name))
    }

    /// Sets a parameter in the group that has it.
    pub fn set_in(
        groups: &mut [&mut dyn Parameters],
        table: &'static [Parameter],
        (name, value): (&str, &Setting),
    ) -> Result<(), BadParameter> {
        for group in groups {
            if group.get(name).is_some() {
                return group.set(name, value);
            }
        }
        Err(unknown(table, name))
    }

    /// Takes a value apart, or reports what is wrong with it.
    pub fn convert<T: ParameterValue>(
        name: &'static str,
        value: &Setting,
    ) -> Result<T, BadParameter> {
        T::from_setting(value).ok_or_else(|| BadParameter::Type {
            name,
            expected: T::KIND,
            found: value.describe(),
        })
    }

    /// Whether a value may be taken.
    pub fn check(
        parameter: &Parameter,
        value: &Setting,
        is_within: bool,
    ) -> Result<(), BadParameter> {
        if is_within {
            return Ok(());
        }
        Err(BadParameter::Limits {
            name: parameter.name,
            limits: parameter.limits.map(|limits| limits()).unwrap_or_default(),
            found: value.clone(),
        })
    }

    /// What may be, as a table shows it.
    pub trait Limits<T> {
        fn allow(&self, value: &T) -> bool;
        fn words(&self) -> String;
    }

    impl<T: PartialOrd + ParameterValue> Limits<T> for RangeInclusive<T> {
        fn allow(&self, value: &T) -> bool {
            self.contains(value)
        }

        fn words(&self) -> String {
            let (start, end) = (self.start().to_setting(), self.end().to_setting());
            format!("{start} to {end}")
        }
    }

    impl<T: PartialOrd + ParameterValue> Limits<Option<T>> for RangeInclusive<T> {
        fn allow(&self, value: &Option<T>) -> bool {
            value.as_ref().is_none_or(|value| self.contains(value))
        }

        fn words(&self) -> String {
            Limits::<T>::words(self)
        }
    }

    impl<const N: usize> Limits<String> for [&'static str; N] {
        fn allow(&self, value: &String) -> bool {
            self.contains(&value.as_str())
        }

        fn words(&self) -> String {
            let quoted: Vec<String> = self.iter().map(|choice| format!("{choice:?}")).collect();
            format!("one of {}", quoted.join(", "))
        }
    }

    /// No parameter is called so; one may be nearly.
    pub fn unknown(table: &'static [Parameter], name: &str) -> BadParameter {
        let names = table.iter().map(|parameter| parameter.name);
        BadParameter::Unknown {
            name: name.to_owned(),
            suggestion: bowline_wire::suggest::nearest(name, names),
        }
    }
}

/// For components that have nothing to set.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoParameters;

impl Parameters for NoParameters {
    fn table(&self) -> &'static [Parameter] {
        &[]
    }

    fn get(&self, _name: &str) -> Option<Setting> {
        None
    }

    fn set(&mut self, name: &str, _value: &Setting) -> Result<(), BadParameter> {
        Err(support::unknown(&[], name))
    }
}

/// Declares the parameters of a component: a struct with defaults, documentation and limits.
///
/// ```
/// bowline_component::parameters! {
///     /// How a distance is kept.
///     pub struct Settings {
///         /// The distance to keep.
///         distance_m: f64 = 5.0, within 0.5..=50.0;
///         /// From the error to the speed, 1/s.
///         gain: f64 = 0.4, within 0.0..=2.0 => live;
///         /// What to do when nothing is ahead.
///         alone: String = "stop".into(), within ["stop", "go"];
///     }
/// }
/// # use bowline_component::{Parameters as _, Setting};
/// let mut settings = Settings::default();
/// settings.set("gain", &Setting::Real(0.5))?;
/// assert_eq!((settings.distance_m, settings.gain), (5.0, 0.5));
/// assert!(settings.set("gain", &Setting::Real(3.0)).is_err());
/// # Ok::<(), bowline_component::BadParameter>(())
/// ```
///
/// What several components need is a group, declared once in the same way; a struct that begins with `in` has its
/// parameters too, by their own names. [`Vehicle`](crate::Vehicle) is one.
///
/// ```
/// use bowline_component::{Parameters as _, Setting, Vehicle};
///
/// bowline_component::parameters! {
///     /// How one drives.
///     pub struct Driving {
///         in vehicle: Vehicle;
///         /// The fastest, metres a second.
///         fastest_mps: f64 = 1.0;
///     }
/// }
/// let mut driving = Driving::default();
/// driving.set("wheelbase_m", &Setting::Real(1.9))?;
/// assert_eq!(driving.vehicle.wheelbase_m()?, 1.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$outer:meta])*
        $vis:vis struct $struct:ident {
            $( in $group:ident : $group_type:ty ; )*
            $(
                $(#[doc = $doc:literal])+
                $name:ident : $type:ty = $default:expr
                $(, within $limits:expr)?
                $(=> $live:ident)?
                ;
            )*
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug)]
        $vis struct $struct {
            $(
                #[doc = concat!("The group `", stringify!($group), "`.")]
                pub $group: $group_type,
            )*
            $( $(#[doc = $doc])+ pub $name: $type, )*
        }

        impl Default for $struct {
            fn default() -> Self {
                Self {
                    $( $group: <$group_type as Default>::default(), )*
                    $( $name: $default, )*
                }
            }
        }

        impl $struct {
            const OWN: &'static [$crate::Parameter] = &[
                $(
                    $crate::Parameter {
                        name: stringify!($name),
                        doc: concat!($($doc),+),
                        kind: <$type as $crate::ParameterValue>::KIND,
                        default: || {
                            let default: $type = $default;
                            $crate::ParameterValue::to_setting(&default)
                        },
                        limits: $crate::parameters!(@limits $type $(, $limits)?),
                        change: $crate::parameters!(@change $($live)?),
                        group: None,
                    },
                )*
            ];
        }

        impl $crate::parameter_support::Declared for $struct {
            const TABLE: &'static [$crate::Parameter] = &$crate::parameter_support::join::<
                { $struct::OWN.len() $(+ <$group_type as $crate::parameter_support::Declared>::TABLE.len())* },
            >(
                $struct::OWN,
                &[$((stringify!($group), <$group_type as $crate::parameter_support::Declared>::TABLE)),*],
            );
        }

        impl $crate::Parameters for $struct {
            fn table(&self) -> &'static [$crate::Parameter] {
                <Self as $crate::parameter_support::Declared>::TABLE
            }

            fn get(&self, name: &str) -> Option<$crate::Setting> {
                match name {
                    $( stringify!($name) => Some($crate::ParameterValue::to_setting(&self.$name)), )*
                    _ => $crate::parameter_support::get_in(&[$(&self.$group),*], name),
                }
            }

            fn set(&mut self, name: &str, value: &$crate::Setting) -> Result<(), $crate::BadParameter> {
                let table = self.table();
                let own = Self::OWN.iter().find(|parameter| parameter.name == name);
                let Some(parameter) = own else {
                    return $crate::parameter_support::set_in(&mut [$(&mut self.$group),*], table, (name, value));
                };
                match name {
                    $(
                        stringify!($name) => {
                            let converted: $type = $crate::parameter_support::convert(parameter.name, value)?;
                            let is_within = $crate::parameters!(@within $type, &converted $(, $limits)?);
                            $crate::parameter_support::check(parameter, value, is_within)?;
                            self.$name = converted;
                        }
                    )*
                    _ => return Err($crate::parameter_support::unknown(table, name)),
                }
                Ok(())
            }
        }
    };
    (@limits $type:ty) => { None };
    (@limits $type:ty, $limits:expr) => {
        Some(|| $crate::parameter_support::Limits::<$type>::words(&$limits))
    };
    (@within $type:ty, $value:expr) => { true };
    (@within $type:ty, $value:expr, $limits:expr) => {
        $crate::parameter_support::Limits::<$type>::allow(&$limits, $value)
    };
    (@change) => { $crate::Change::AtStart };
    (@change live) => { $crate::Change::Live };
}
