//! The C API of liblcm, loaded at run time so that no build depends on where the library is.
#![expect(unsafe_code, reason = "a C library has no safe side")]

use anyhow::{Context as _, Result, ensure};
use bowline_measure::Handler;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::time::Duration;

#[repr(C)]
struct RecvBuf {
    data: *const u8,
    data_size: u32,
    recv_utime: i64,
    lcm: *mut c_void,
}

type OnMessage = extern "C" fn(*const RecvBuf, *const c_char, *mut c_void);

type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Subscribe =
    unsafe extern "C" fn(*mut c_void, *const c_char, OnMessage, *mut c_void) -> *mut c_void;
type SetQueueCapacity = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Publish = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, c_uint) -> c_int;
type HandleTimeout = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// The functions that a worker needs.
struct Functions {
    create: Create,
    subscribe: Subscribe,
    set_queue_capacity: SetQueueCapacity,
    publish: Publish,
    handle_timeout: HandleTimeout,
}

/// One `lcm_t`. It is never destroyed: a worker ends with its process.
pub(super) struct Lcm {
    functions: Functions,
    lcm: *mut c_void,
}

// SAFETY: liblcm documents that one thread may handle messages while others publish, which is all that a worker does.
unsafe impl Send for Lcm {}
// SAFETY: as above.
unsafe impl Sync for Lcm {}

thread_local! {
    /// Set while `handle` is in liblcm, which calls back on the same thread.
    static HANDLER: RefCell<Option<*mut Handler>> = const { RefCell::new(None) };
}

extern "C" fn on_message(message: *const RecvBuf, _channel: *const c_char, _user: *mut c_void) {
    // SAFETY: liblcm passes a message that lives as long as this call.
    let message = unsafe { &*message };
    // SAFETY: the message has that many bytes. liblcm never passes null here.
    let bytes = unsafe { std::slice::from_raw_parts(message.data, message.data_size as usize) };
    let handler = HANDLER.with_borrow(|handler| *handler);
    if let Some(handler) = handler {
        // SAFETY: `handle` holds the only reference to it and waits for this call.
        let handler = unsafe { &mut *handler };
        handler(bytes);
    }
}

impl Lcm {
    pub(super) fn create(url: &CStr) -> Result<Self> {
        let functions = load()?;
        // SAFETY: a C string, as lcm.h asks for.
        let lcm = unsafe { (functions.create)(url.as_ptr()) };
        ensure!(!lcm.is_null(), "liblcm refused {url:?}");
        Ok(Self { functions, lcm })
    }

    pub(super) fn subscribe(&self, pattern: &CStr, is_unlimited: bool) -> Result<()> {
        // SAFETY: the instance is alive and liblcm copies the pattern.
        let subscription = unsafe {
            (self.functions.subscribe)(self.lcm, pattern.as_ptr(), on_message, std::ptr::null_mut())
        };
        ensure!(
            !subscription.is_null(),
            "liblcm refused to subscribe to {pattern:?}"
        );
        if is_unlimited {
            // SAFETY: the subscription was just made.
            unsafe { (self.functions.set_queue_capacity)(subscription, 0) };
        }
        Ok(())
    }

    pub(super) fn publish(&self, channel: &CStr, message: &[u8]) -> Result<()> {
        let n = c_uint::try_from(message.len())?;
        // SAFETY: the instance is alive; channel and message outlive the call.
        let result = unsafe {
            (self.functions.publish)(self.lcm, channel.as_ptr(), message.as_ptr().cast(), n)
        };
        ensure!(result == 0, "lcm_publish returned {result}");
        Ok(())
    }

    /// At most one message, as `lcm_handle_timeout` does.
    pub(super) fn handle(&self, timeout: Duration, handler: &mut Handler) -> Result<()> {
        HANDLER.set(Some(handler));
        let ms = c_int::try_from(timeout.as_millis())?;
        // SAFETY: the instance is alive, and only this thread handles.
        let result = unsafe { (self.functions.handle_timeout)(self.lcm, ms) };
        HANDLER.set(None);
        ensure!(result >= 0, "lcm_handle_timeout returned {result}");
        Ok(())
    }
}

fn load() -> Result<Functions> {
    // The wheel has both names, a system without LCM's headers only the second.
    let library = [c"liblcm.so", c"liblcm.so.1"].into_iter().map(|name| {
        // SAFETY: loading liblcm runs its initialisers, which are sound.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) }
    });
    let library = { library }
        .find(|library| !library.is_null())
        .context("expected liblcm.so in LD_LIBRARY_PATH, found none")?;
    let symbol = |name: &CStr| {
        // SAFETY: the library stays loaded.
        let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!symbol.is_null())
            .then_some(symbol)
            .with_context(|| format!("liblcm has no {name:?}"))
    };
    Ok(Functions {
        // SAFETY: the types here and below are those of lcm.h.
        create: unsafe { std::mem::transmute::<*mut c_void, Create>(symbol(c"lcm_create")?) },
        // SAFETY: as above.
        subscribe: unsafe {
            std::mem::transmute::<*mut c_void, Subscribe>(symbol(c"lcm_subscribe")?)
        },
        // SAFETY: as above.
        set_queue_capacity: unsafe {
            std::mem::transmute::<*mut c_void, SetQueueCapacity>(symbol(
                c"lcm_subscription_set_queue_capacity",
            )?)
        },
        // SAFETY: as above.
        publish: unsafe { std::mem::transmute::<*mut c_void, Publish>(symbol(c"lcm_publish")?) },
        // SAFETY: as above.
        handle_timeout: unsafe {
            std::mem::transmute::<*mut c_void, HandleTimeout>(symbol(c"lcm_handle_timeout")?)
        },
    })
}
