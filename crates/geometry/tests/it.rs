//! The model server through its public interface.
#![expect(
    clippy::panic,
    reason = "tests fail by panicking, with all mistakes in the message"
)]

mod it {
    mod covariance;
    mod exports;
    mod files;
    mod imports;
    mod joints;
    mod mistakes;
    mod models;
    mod support;
    mod transforms;
}
