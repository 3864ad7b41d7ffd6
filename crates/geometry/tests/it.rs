//! The model server through its public interface.

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
