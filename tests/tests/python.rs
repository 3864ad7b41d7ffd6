//! Our Python module beside the reference's. What is promised in detail is in `bindings/python/tests`.

use bowline_tests::peers::Peers;
use bowline_tests::python::Python;

fn run_tests(module: &str) {
    let peers = Peers::find();
    Python::with_our_module(&peers).run_tests(&peers, module);
}

#[test]
fn a_python_program_has_the_same_results_on_the_reference_and_on_ours() {
    run_tests("test_same");
}

#[test]
fn python_programs_on_the_reference_and_on_ours_understand_each_other() {
    run_tests("test_interop");
}

#[test]
fn python_programs_take_steps_on_request() {
    run_tests("test_steps");
}

#[test]
fn the_python_module_keeps_its_own_promises() {
    run_tests("test_more");
}
