//! The functions and structs of `lcm.h`.

use crate::complaint::complain;
use crate::ffi::{guarded, string};
use crate::instance::{HandleError, Instance, Subscription};
use bowline_bus::{BadUrl, PublishError};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// `lcm_recv_buf_t`.
#[repr(C)]
struct ReceiveBuffer {
    data: *mut c_void,
    data_size: u32,
    recv_utime: i64,
    lcm: *const Instance,
}

/// `lcm_msg_handler_t`. C++ may throw through it.
type Handler = unsafe extern "C-unwind" fn(*const ReceiveBuffer, *const c_char, *mut c_void);

/// A handler of the program's, and what it is to be called with.
#[derive(Debug)]
pub(crate) struct Callback {
    handler: Handler,
    user_data: *mut c_void,
}

// SAFETY: the pointer is never followed here, only handed back to the program, which may call `lcm_handle` in another
// thread than `lcm_subscribe` if its data can bear that. LCM has the same contract.
unsafe impl Send for Callback {}
// SAFETY: as above; one thread at a time calls handlers.
unsafe impl Sync for Callback {}

/// The instance that a `lcm_t` points to, kept alive for the length of a call: a handler may destroy it.
///
/// # Safety
/// The pointer must be NULL or of `lcm_create`, and not destroyed.
unsafe fn instance(lcm: *const Instance) -> Option<Arc<Instance>> {
    if lcm.is_null() {
        return None;
    }
    // SAFETY: it is of `Arc::into_raw`, and the program's own reference is still there.
    unsafe { Arc::increment_strong_count(lcm) };
    // SAFETY: this takes over the reference that was just added.
    Some(unsafe { Arc::from_raw(lcm) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_create(provider: *const c_char) -> *const Instance {
    // SAFETY: NULL or a string, by LCM's contract.
    let url = unsafe { string(provider) };
    guarded(ptr::null(), || {
        let Ok(url) = url.unwrap_or_default().to_str() else {
            complain("lcm_create: the URL is not UTF-8");
            return ptr::null();
        };
        let ignored = |option: &BadUrl| complain(format_args!("lcm_create: ignored: {option}"));
        match Instance::open(url, ignored) {
            Ok(instance) => Arc::into_raw(Arc::new(instance)),
            Err(error) => {
                complain(format_args!("lcm_create: {error}"));
                ptr::null()
            }
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_destroy(lcm: *const Instance) {
    if lcm.is_null() {
        return;
    }
    // SAFETY: this takes over the program's own reference, which it must not use again.
    let instance = unsafe { Arc::from_raw(lcm) };
    guarded((), move || instance.close());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_get_fileno(lcm: *const Instance) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract.
    let Some(instance) = (unsafe { instance(lcm) }) else {
        return -1;
    };
    guarded(-1, || {
        instance.descriptor().unwrap_or_else(|error| {
            complain(format_args!("lcm_get_fileno: {error}"));
            -1
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_subscribe(
    lcm: *const Instance,
    channel: *const c_char,
    handler: Option<Handler>,
    user_data: *mut c_void,
) -> *const Subscription {
    // SAFETY: NULL or not destroyed, by LCM's contract.
    let instance = unsafe { instance(lcm) };
    // SAFETY: NULL or a string, by LCM's contract.
    let pattern = unsafe { string(channel) };
    let (Some(instance), Some(pattern), Some(handler)) = (instance, pattern, handler) else {
        return ptr::null();
    };
    let callback = Callback { handler, user_data };
    guarded(ptr::null(), || {
        let Ok(pattern) = pattern.to_str() else {
            complain("lcm_subscribe: the channel is not UTF-8");
            return ptr::null();
        };
        match instance.subscribe(pattern, callback) {
            // The instance owns it until it is unsubscribed or the instance destroyed.
            Ok(subscription) => {
                if let Some(trouble) = instance.trouble() {
                    complain(format_args!("lcm_subscribe: {trouble}"));
                }
                Arc::as_ptr(&subscription)
            }
            Err(error) => {
                complain(format_args!("lcm_subscribe: {error}"));
                ptr::null()
            }
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_unsubscribe(
    lcm: *const Instance,
    subscription: *const Subscription,
) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract.
    let Some(instance) = (unsafe { instance(lcm) }) else {
        return -1;
    };
    guarded(-1, || {
        if instance.unsubscribe(subscription) {
            0
        } else {
            -1
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_publish(
    lcm: *const Instance,
    channel: *const c_char,
    data: *const c_void,
    size: c_uint,
) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract.
    let instance = unsafe { instance(lcm) };
    // SAFETY: NULL or a string, by LCM's contract.
    let channel = unsafe { string(channel) };
    let (Some(instance), Some(channel)) = (instance, channel) else {
        return -1;
    };
    let payload = if data.is_null() || size == 0 {
        if size > 0 {
            return -1;
        }
        &[]
    } else {
        // SAFETY: so many bytes are there, by LCM's contract, and the program leaves them alone until we return.
        unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size as usize) }
    };
    guarded(-1, || publish(&instance, channel, payload))
}

fn publish(instance: &Instance, channel: &CStr, payload: &[u8]) -> c_int {
    let Ok(name) = channel.to_str() else {
        complain_once(instance, "the channel is not UTF-8");
        return -1;
    };
    match instance.publish(name, payload) {
        Ok(()) => 0,
        Err(
            error @ (PublishError::Channel(_) | PublishError::Encode(_) | PublishError::Send(_)),
        ) => {
            complain_once(instance, format_args!("on channel {name:?}: {error}"));
            -1
        }
    }
}

fn complain_once(instance: &Instance, what: impl std::fmt::Display) {
    if instance.should_complain() {
        complain(format_args!("lcm_publish: {what} (reported once)"));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn lcm_handle(lcm: *const Instance) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract.
    match unsafe { handle(lcm, None) } {
        Ok(_) => 0,
        Err(HandleError::Interrupted | HandleError::Refused) => -1,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn lcm_handle_timeout(lcm: *const Instance, timeout_ms: c_int) -> c_int {
    let Ok(timeout_ms) = u64::try_from(timeout_ms) else {
        return -1;
    };
    // SAFETY: NULL or not destroyed, by LCM's contract.
    match unsafe { handle(lcm, Some(Duration::from_millis(timeout_ms))) } {
        Ok(is_handled) => c_int::from(is_handled),
        Err(HandleError::Interrupted | HandleError::Refused) => -1,
    }
}

/// Hands one message to its handlers; returns whether one came in time.
///
/// The handlers run outside of [`guarded`], because an exception of C++ may not be caught by Rust. On its way it drops
/// what is here, so that the turn is free again and the message's memory returned.
///
/// # Safety
/// The pointer must be NULL or of `lcm_create`, and not destroyed.
unsafe fn handle(lcm: *const Instance, timeout: Option<Duration>) -> Result<bool, HandleError> {
    // SAFETY: the caller's promise.
    let instance = unsafe { instance(lcm) }.ok_or(HandleError::Refused)?;
    let taken = guarded(Err(HandleError::Refused), || instance.take(timeout));
    if matches!(taken, Err(HandleError::Interrupted)) {
        // SAFETY: every thread has an `errno`.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: it may be written.
        unsafe { *errno = libc::EINTR };
    }
    let Some(mut delivery) = taken? else {
        return Ok(false);
    };
    // Of nothing, programs read the first byte all the same.
    let mut nothing = [0; 16];
    let payload = delivery.payload();
    let (data_size, data) = if payload.is_empty() {
        (0, nothing.as_mut_ptr())
    } else {
        let size = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        (size, payload.as_mut_ptr())
    };
    let buffer = ReceiveBuffer {
        data_size,
        data: data.cast(),
        recv_utime: delivery.utime(),
        lcm,
    };
    let channel = delivery.channel().as_ptr().cast();
    for subscription in delivery.wanted_by() {
        // One handler may end the subscription of the next.
        if subscription.is_live() {
            let Callback { handler, user_data } = subscription.callback;
            // SAFETY: the program gave us the handler for this call. Buffer, payload and channel live until
            // `delivery` is dropped, and no other code has a hold on the payload.
            unsafe { handler(&raw const buffer, channel, user_data) };
        }
    }
    Ok(true)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_subscription_set_queue_capacity(
    subscription: *const Subscription,
    n_messages: c_int,
) -> c_int {
    // SAFETY: NULL or not unsubscribed, by LCM's contract; its instance keeps it alive.
    let Some(subscription) = (unsafe { subscription.as_ref() }) else {
        return -1;
    };
    guarded(-1, || {
        subscription.set_capacity(n_messages);
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_subscription_get_queue_size(subscription: *const Subscription) -> c_int {
    // SAFETY: NULL or not unsubscribed, by LCM's contract; its instance keeps it alive.
    let Some(subscription) = (unsafe { subscription.as_ref() }) else {
        return -1;
    };
    guarded(-1, || {
        c_int::try_from(subscription.n_waiting()).unwrap_or(c_int::MAX)
    })
}
