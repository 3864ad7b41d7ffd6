//! A program without `std`, with an allocator and a panic handler of its own, that decodes and encodes a message.
//!
//! If `bowline-wire` or generated code needed `std`, there would be two panic handlers and this would not build.
#![no_std]

use bowline_msgs::Pose;
use bowline_wire::Message as _;
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

/// Hands out nothing: only whether it links matters here.
struct NoMemory;

// SAFETY: it never returns memory, so none of it can be misused.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Decodes a pose and encodes it into a buffer; what a microcontroller would do.
#[unsafe(no_mangle)]
pub extern "C" fn recode_pose(utime: i64) -> usize {
    let mut buffer = [0; 128];
    let pose = Pose { utime, ..Pose::default() };
    let Ok(n) = pose.encode_to_slice(&mut buffer) else { return 0 };
    Pose::decode(&buffer[..n]).map_or(0, |pose| pose.state.len())
}
