//! How messages look on a terminal.

mod dots;
mod graphics;
mod image;
mod plot;
mod scan;
