//! The page is read while this crate is compiled, which the compiler does not see.

fn main() {
    println!("cargo:rerun-if-changed=web/dist");
}
