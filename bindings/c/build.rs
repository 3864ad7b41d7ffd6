//! Names the library as programs know it: the linker wrote `liblcm.so.1` into each of them.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblcm.so.1");
    println!("cargo:rerun-if-changed=build.rs");
}
