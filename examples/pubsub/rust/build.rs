fn main() -> Result<(), bowline_build::GenerateError> {
    bowline_build::generate_on("../types/", "bowline::wire")
}
