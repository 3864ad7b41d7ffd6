//! What models may have for the simulator: our tables, and rows that a program adds to them.

use crate::actuation::{ACTUATIONS, ActuationKind, Gear, MountedBody};
use crate::sensor::{Instrument, SENSORS, SensorKind};
use crate::vehicle::MakeVehicleError;
use bowline_geometry::{
    Assembly, BODY_ELEMENTS, Element, ElementKind, ElementRole, Fault, Mistakes, to_reference,
    to_schema,
};
use std::fmt;

/// Rows that a program adds to the simulator's tables.
///
/// A kind of component is made by type, so they are handed over by type: `Kind::of::<Sim<MyTables>>("sim", ...)` simulates
/// with them, and [`Catalog::of`] has them for everything else that reads models.
///
/// ```
/// use bowline_sim::{Catalog, SensorKind, Sim, Tables};
///
/// #[derive(Debug)]
/// struct MyTables;
///
/// impl Tables for MyTables {
///     const SENSORS: &'static [SensorKind] = &[/* one for each kind */];
/// }
///
/// let kind = bowline_component::Kind::of::<Sim<MyTables>>("sim", "Simulates my vehicle and its sensors.");
/// let catalog = Catalog::of::<MyTables>();
/// # assert!(kind.name == "sim" && catalog.sensors().count() > 0);
/// ```
pub trait Tables: fmt::Debug + Send + 'static {
    /// Sensors. One whose word is one of ours takes its place.
    const SENSORS: &'static [SensorKind] = &[];
    /// Actuation. A model is looked through for the parts of these before those of ours.
    const ACTUATIONS: &'static [ActuationKind] = &[];
}

/// No rows beside our own.
#[derive(Clone, Copy, Debug)]
pub struct Ours;

impl Tables for Ours {}

/// Kinds of sensors and of actuation that models can have.
#[derive(Clone, Copy, Debug)]
pub struct Catalog {
    sensors: [&'static [SensorKind]; 2],
    actuations: [&'static [ActuationKind]; 2],
}

impl Default for Catalog {
    /// Our own rows.
    fn default() -> Self {
        Self::of::<Ours>()
    }
}

impl Catalog {
    /// The rows of a program, and ours.
    #[must_use]
    pub const fn of<T: Tables>() -> Self {
        Self {
            sensors: [T::SENSORS, SENSORS],
            actuations: [T::ACTUATIONS, ACTUATIONS],
        }
    }

    /// All kinds of sensors; those of a program first.
    pub fn sensors(&self) -> impl Iterator<Item = &'static SensorKind> {
        let [theirs, ours] = self.sensors;
        let ours = ours.iter().filter(move |kind| {
            let word = kind.element.word;
            theirs.iter().all(|other| other.element.word != word)
        });
        theirs.iter().chain(ours)
    }

    /// All kinds of actuation; those of a program first.
    pub fn actuations(&self) -> impl Iterator<Item = &'static ActuationKind> {
        let [theirs, ours] = self.actuations;
        theirs.iter().chain(ours)
    }

    /// All kinds of elements that bodies may have beside those of geometry itself: what moves first, then sensors by their
    /// words.
    #[must_use]
    pub fn elements(&self) -> Vec<&'static ElementKind> {
        let mut elements: Vec<&'static ElementKind> = Vec::new();
        for element in self.actuations().flat_map(|kind| kind.elements) {
            // Two kinds may have an element in common.
            if elements.iter().all(|other| other.word != element.word) {
                elements.push(element);
            }
        }
        let mut sensors: Vec<_> = self.sensors().map(|kind| &kind.element).collect();
        sensors.sort_by_key(|element| element.word);
        elements.extend(sensors);
        elements
    }

    /// Checks what a model has beside bodies, frames and constraints.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn check(&self, assembly: &Assembly) -> Result<(), Mistakes> {
        let mut mistakes = Mistakes::new();
        let elements = self.elements();
        for element in assembly.bodies.iter().flat_map(|body| &body.elements) {
            if let Some(kind) = self.sensor(&element.word) {
                kind.instrument(element, &mut mistakes);
                continue;
            }
            match elements.iter().find(|kind| kind.word == element.word) {
                Some(kind) => kind.check(element, &mut mistakes),
                None => refuse(element, &elements, &mut mistakes),
            }
        }
        mistakes.or(())
    }

    /// The schema of Body and Assembly files, as XSD.
    #[must_use]
    pub fn schema(&self) -> String {
        to_schema(&self.elements())
    }

    /// A reference of what bodies may have, for people, as Markdown.
    #[must_use]
    pub fn reference(&self) -> String {
        let (sensors, devices): (Vec<_>, Vec<_>) = self
            .elements()
            .into_iter()
            .partition(|kind| kind.role == ElementRole::Sensor);
        let mut text = REFERENCE.to_owned();
        text += "\n# What carries and moves a vehicle\n\n";
        for kind in self.actuations() {
            let needs = kind.needs.replace('<', "`<").replace('>', ">`");
            text += &format!("- {needs}\n");
        }
        text.push('\n');
        text += &to_reference(&devices);
        text += "# Sensors\n\nA sensor has a `name`, the `frame` that it sits in, and `rate_hz`: how often it measures, or 0 for every step of the simulator.\nIt looks along the frame's x axis, with z up.\n\n";
        for kind in self.sensors() {
            let types: Vec<String> = kind
                .publishes
                .iter()
                .map(|it| format!("`{}`", it.name))
                .collect();
            let (word, types) = (kind.element.word, types.join(" or "));
            text += &format!("- [`<{word}>`](#{word}) publishes {types}.\n");
        }
        text.push('\n');
        text += &to_reference(&sensors);
        text.trim_end().to_owned() + "\n"
    }

    pub(crate) fn instrument(
        &self,
        element: &Element,
    ) -> Result<(&'static str, Instrument), Mistakes> {
        let mut mistakes = Mistakes::new();
        let Some(kind) = self.sensor(&element.word) else {
            refuse(element, &self.elements(), &mut mistakes);
            return Err(mistakes);
        };
        match kind.instrument(element, &mut mistakes) {
            Some(instrument) => mistakes.or((kind.element.word, instrument)),
            None => Err(mistakes),
        }
    }

    /// What carries and moves a vehicle.
    pub(crate) fn gear(
        &self,
        bodies: &[MountedBody<'_>],
    ) -> Result<Box<dyn Gear>, MakeVehicleError> {
        for kind in self.actuations() {
            if let Some(gear) = (kind.build)(bodies).map_err(MakeVehicleError::Gear)? {
                return Ok(gear);
            }
        }
        let needs: Vec<&str> = self.actuations().map(|kind| kind.needs).collect();
        Err(MakeVehicleError::NoGear {
            expected: needs.join(", or "),
        })
    }

    fn sensor(&self, word: &str) -> Option<&'static SensorKind> {
        self.sensors().find(|kind| kind.element.word == word)
    }
}

impl SensorKind {
    /// A sensor of the kind, unless something is wrong with its element.
    fn instrument(&self, element: &Element, mistakes: &mut Mistakes) -> Option<Instrument> {
        let mut values = self.element.read(element, mistakes);
        (self.build)(&mut values)
    }
}

/// Complains about an element that no table has.
fn refuse(element: &Element, kinds: &[&'static ElementKind], mistakes: &mut Mistakes) {
    let words = kinds.iter().map(|kind| kind.word);
    let words: Vec<&str> = BODY_ELEMENTS.iter().copied().chain(words).collect();
    let expected: Vec<String> = words.iter().map(|word| format!("<{word}>")).collect();
    let fault = Fault::UnknownElement {
        found: element.word.clone(),
        expected: format!("one of {}", expected.join(", ")),
        suggestion: mistakes.suggest(&element.word, words.iter().copied()),
    };
    mistakes.push(element.place.clone(), fault);
}

const REFERENCE: &str = "\
<!-- Written by `bowline model elements`: change the tables of elements, not this. -->

What bodies may have beside frames, shapes and a mass ([models](model.md)): what a simulated vehicle moves by, and what it
senses with.
An attribute that is left out is 0, unless it says otherwise.
Each has a `name` and the `frame` of its body that it sits in, but for what describes its body as a whole.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_unique_and_documented() {
        let words =
            |kinds: &[SensorKind]| kinds.iter().map(|it| it.element.word).collect::<Vec<_>>();
        assert!(words(SENSORS).is_sorted_by(|one, two| one < two));
        let catalog = Catalog::default();
        for kind in catalog.elements() {
            assert!(kind.doc.ends_with('.'), "{}", kind.word);
            for attribute in kind.attributes {
                let (word, name) = (kind.word, attribute.name);
                assert!(!attribute.doc.is_empty(), "{word} {name}");
                assert!(!attribute.doc.ends_with('.'), "{word} {name}");
                let same = kind.attributes.iter().filter(|it| it.name == name);
                assert_eq!(same.count(), 1, "{word} {name}");
            }
        }
        for kind in SENSORS {
            assert_eq!(kind.element.role, ElementRole::Sensor);
            assert!(!kind.publishes.is_empty(), "{}", kind.element.word);
        }
    }
}
