//! A mass spectrometer with an inlet in the water.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::math::single;
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{
    Attribute, Bounds, ElementKind, ElementRole, ElementValues, Value, is_name, numbers,
};
use bowline_msgs::Spectrum;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "spectrometer",
        doc: "A mass spectrometer with its inlet in the water.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::required(
                "masses",
                Value::Text,
                "rows `daltons substance ampere` with commas between them: what it looks at, and the ion current that is always there",
            ),
            Attribute::required(
                "sensitivity_a",
                Value::Number(Bounds::NOT_NEGATIVE),
                "the ion current of a gram of a substance in a cubic metre, ampere",
            ),
            Attribute::noise(
                "current_sd_ratio",
                "the noise of a current, as a share of it",
            ),
            Attribute::noise(
                "current_sd_a",
                "the noise that does not depend on it, ampere",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<Spectrum>()],
    build: |values| {
        let masses = masses(values);
        Some(Instrument::new(Spectrometer {
            masses: masses?,
            sensitivity_a: values.number("sensitivity_a")?,
            current_sd_ratio: values.noise("current_sd_ratio"),
            current_sd_a: values.noise("current_sd_a"),
        }))
    },
};

#[derive(Clone, Debug)]
struct Spectrometer {
    masses: Vec<Mass>,
    sensitivity_a: f64,
    current_sd_ratio: f64,
    current_sd_a: f64,
}

/// A mass that a spectrometer looks at.
#[derive(Clone, Debug)]
struct Mass {
    /// By charge, daltons.
    mass_da: f64,
    /// What it is taken for.
    substance: String,
    /// The ion current that is always there, ampere.
    background_a: f64,
}

const MAX_MASSES: usize = 1_000;

/// `daltons substance ampere, daltons substance ampere, ...`.
fn masses(values: &mut ElementValues<'_>) -> Option<Vec<Mass>> {
    let rows = values.text("masses")?.split(',').map(|row| {
        let mut words = row.split_ascii_whitespace();
        let [mass_da] = numbers(words.next()?)?;
        let substance = words.next().filter(|word| is_name(word))?.to_owned();
        let [background_a] = numbers(words.next()?)?;
        let is_sound = mass_da > 0.0 && background_a >= 0.0 && words.next().is_none();
        is_sound.then_some(Mass {
            mass_da,
            substance,
            background_a,
        })
    });
    let rows: Option<Vec<Mass>> = rows.take(MAX_MASSES).collect();
    if rows.is_none() {
        let expected =
            "rows of daltons, a substance and its background in ampere, with commas between them";
        values.refuse("masses", expected);
    }
    rows
}

impl Sensor for Spectrometer {
    type Message = Spectrum;

    /// What is dissolved in the water at the inlet, over what is always there.
    fn measure(&mut self, sample: &Sample<'_>, noise: &mut Stream) -> Spectrum {
        let (moment, at) = (sample.moment, sample.world_from_sensor().translation);
        let mut spectrum = Spectrum {
            utime: sample.utime(),
            frame: sample.frame(),
            ..Spectrum::default()
        };
        for mass in &self.masses {
            let dissolved = moment.water.map_or(0.0, |water| {
                water.dissolved_gpm3(&mass.substance, [at.x, at.y], moment.elapsed_ns)
            });
            let true_a = mass.background_a + self.sensitivity_a * dissolved;
            let [share, floor] = [noise.normal(), noise.normal()];
            let error = self.current_sd_ratio * true_a * share + self.current_sd_a * floor;
            spectrum.names.push(mass.substance.clone());
            spectrum.mass_da.push(single(mass.mass_da));
            let told = (true_a + sample.noise_ratio() * error).max(0.0);
            spectrum.current_a.push(single(told));
        }
        spectrum.with_lengths()
    }

    fn utime_of(message: &mut Spectrum) -> &mut i64 {
        &mut message.utime
    }
}
