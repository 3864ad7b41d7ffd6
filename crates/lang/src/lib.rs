//! The LCM type language and its compiler.
//!
//! In: the text of .lcm files. Out: a [`TypeSet`](bowline_wire::schema::TypeSet), the one intermediate form, and
//! [`Diagnostic`]s; from a type set, source files in any of [`emit::LANGUAGES`].
//!
//! ```
//! use bowline_lang::{Rules, Source, compile};
//!
//! let source = Source::new("depth.lcm", "struct depth_t { double depth_m; } // below the surface");
//! let compiled = compile(&[source], &Rules::default());
//! assert!(compiled.diagnostics.is_empty());
//!
//! let depth_t = compiled.types.by_name("depth_t").expect("just defined");
//! println!("{}", compiled.types.fingerprint(depth_t).expect("nothing in it is defined elsewhere"));
//! ```
//!
//! Deliberately absent: files and folders. Callers read and write those.

#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod ast;
mod check;
mod diagnostic;
mod diff;
pub mod emit;
mod lexer;
mod lint;
mod parser;
mod source;

pub use check::{Compiled, Leaks, Rules, compile};
pub use diagnostic::{Diagnostic, Severity};
pub use diff::{Change, TypeChange, diff};
pub use lint::lint;
pub use source::{Source, Span};
