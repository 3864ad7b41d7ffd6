//! Clocks and CPU time from the operating system: the only `unsafe` of the library.
#![expect(unsafe_code, reason = "no safe wrapper without a dependency")]

const NS_PER_S: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC` in nanoseconds: the same clock in every process, unlike `Instant`.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing, and the clock always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * NS_PER_S + time.tv_nsec.cast_unsigned()
}

/// Returns at once if that is in the past; may return early on a signal.
pub(crate) fn sleep_until(at_ns: u64) {
    let time = libc::timespec {
        tv_sec: (at_ns / NS_PER_S).cast_signed(),
        tv_nsec: (at_ns % NS_PER_S).cast_signed(),
    };
    // SAFETY: `time` is a valid timespec; the remainder is not asked for.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// Lets this process's timers fire when they are due, not up to 50 us later.
pub(crate) fn sharpen_timers() {
    // SAFETY: this call takes a number and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Has the kernel end this process when the one that started it ends, so that an interrupted run leaves no process behind.
pub(crate) fn end_with_parent() {
    // SAFETY: this call takes numbers and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Has the kernel end this process after so many seconds, whatever it waits for.
pub(crate) fn end_after(seconds: u32) {
    // SAFETY: this call takes a number, and the signal's default is to end the process.
    unsafe { libc::alarm(seconds) };
}

/// User and system time of this process so far.
pub(crate) fn cpu_ns() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid rusage, and the kernel has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| {
        time.tv_sec.cast_unsigned() * NS_PER_S + time.tv_usec.cast_unsigned() * 1000
    };
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
