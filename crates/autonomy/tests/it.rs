//! What maps promise, through public interfaces.

mod it {
    mod components;
    mod draw;
    mod fusion;
    mod grid;
    mod mapper;
    mod support;
    mod terrain;
    mod traverse;
}
