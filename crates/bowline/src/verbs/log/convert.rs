//! `bowline log convert`: from one format into the other.

use super::choice::{self, Files};
use super::report;
use crate::Outcome;
use crate::known_types::Types;
use bowline_log::{Compression, CopyPlan, Format, McapOptions, Schemas, Writer, WriterOptions};
use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  bowline log convert day.log day.mcap --types types/         LCM to MCAP, with its types described
  bowline log convert day.mcap day.log                        and back: the same bytes
  bowline log convert --compression lz4 day.mcap quick.mcap   MCAP, compressed otherwise

An LCM log that becomes MCAP and LCM again is the same, byte for byte, if its events are numbered
from 0. MCAP that was recorded as such takes its descriptions along into the LCM log, on the
channel bowline.schema. From MCAP to MCAP, what other writers put there comes along as it is:
schemas, publish times, attachments and metadata. An LCM log has no room for those; what is not
copied is counted.
Exit code 0 if all was converted; 1 if the log is damaged or something could not be written.";

#[derive(Args, Debug)]
#[command(about = "Convert between LCM event logs and MCAP", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    /// The format; by default from the name
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// How MCAP is compressed
    #[arg(long, value_name = "HOW", default_value = "zstd")]
    compression: How,
    #[command(flatten)]
    types: Types,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    Lcm,
    Mcap,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    None,
    Lz4,
    Zstd,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let mut log = arguments.files.open()?;
    let destination = &arguments.files.destination;
    let format = match arguments.to {
        Some(To::Lcm) => Format::Lcm,
        Some(To::Mcap) => Format::Mcap,
        None => Format::of_name(destination),
    };
    let mut schemas = arguments.types.given()?;
    if format == Format::Mcap {
        schemas.merge(&Schemas::generated(bowline_msgs::SCHEMA));
    }
    let options = WriterOptions {
        format: Some(format),
        mcap: McapOptions {
            compression: match arguments.compression {
                How::None => Compression::None,
                How::Lz4 => Compression::Lz4,
                How::Zstd => Compression::Zstd,
            },
            ..log.mcap_options()?
        },
        schemas,
        ..WriterOptions::default()
    };
    let writer = Writer::create(destination, options)?;
    let copied = choice::copy_all("converting", &mut log, writer, &CopyPlan::default())?;
    report::note_copied(&copied, false);
    report::note_damage(log.damages());
    Ok(report::outcome(&copied, log.damages()))
}
