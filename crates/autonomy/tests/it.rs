//! What maps promise, through public interfaces.

mod it {
    mod components;
    mod fusion;
    mod grid;
    mod mapper;
    mod support;
    mod terrain;
    mod traverse;
}
