//! How to break each promise by one line.

/// A line of the bus that can be weakened.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    pub name: &'static str,
    /// The promise that it must break.
    pub breaks: &'static str,
    /// Below the bus's sources.
    pub file: &'static str,
    /// What is there, once.
    pub strong: &'static str,
    /// What takes its place: the same, but for where `WEAK` is true.
    pub weak: &'static str,
}

/// All twins.
pub const TWINS: &[Twin] = &[
    Twin {
        name: "a_new_leader_reads_at_once",
        breaks: "a_message_wakes_the_reader_it_is_for",
        file: "pump.rs",
        strong: "Some(_) if !mailbox.is_idle() => continue,",
        weak: "Some(_) if !WEAK && !mailbox.is_idle() => continue,",
    },
    Twin {
        name: "a_nudge_is_forgotten",
        breaks: "a_reader_that_leaves_passes_the_lead_on",
        file: "pump.rs",
        strong: "next.nudge();",
        weak: "if !WEAK { next.nudge(); }",
    },
    Twin {
        name: "relief_reads_without_the_lead",
        breaks: "relief_and_readers_take_turns",
        file: "pump.rs",
        strong: r"*n_vain_looks = 0;
            let inlet = state.inlet.take();",
        weak: r"*n_vain_looks = 0;
            let inlet = if WEAK { state.inlet.clone() } else { state.inlet.take() };",
    },
    Twin {
        name: "a_mailbox_waits_once",
        breaks: "several_threads_may_read_one_inbox",
        file: "pump.rs",
        strong: "if !self.is_waiting {\n                self.is_waiting",
        weak: r"if !self.is_waiting
                && !(WEAK && state.waiting.iter().any(|other| Arc::ptr_eq(other, self.mailbox)))
            {
                self.is_waiting",
    },
    Twin {
        name: "closing_an_inbox_interrupts_nobody",
        breaks: "a_closed_inbox_lets_its_readers_go",
        file: "inbox.rs",
        strong: r"self.mailbox.end(End::Closed);
        self.bus.shared.pump.interrupt();",
        weak: r"self.mailbox.end(End::Closed);
        if !WEAK { self.bus.shared.pump.interrupt(); }",
    },
    Twin {
        name: "a_waker_is_kept_without_a_look",
        breaks: "a_stream_is_woken_by_what_comes",
        file: "mailbox.rs",
        strong: r"if !state.is_idle() {
            return false;",
        weak: r"if !WEAK && !state.is_idle() {
            return false;",
    },
    Twin {
        name: "relief_is_not_woken",
        breaks: "a_stream_is_woken_by_what_comes",
        file: "pump.rs",
        strong: "self.unattended.notify_one();",
        weak: "if !WEAK { self.unattended.notify_one(); }",
    },
    Twin {
        name: "the_flag_is_raised_last",
        breaks: "an_interrupt_ends_one_read",
        file: "pump.rs",
        strong: r"self.interrupt.raise();
        self.is_interrupted.store(true, Ordering::Release);",
        weak: r"if WEAK {
            self.is_interrupted.store(true, Ordering::Release);
        }
        self.interrupt.raise();
        if !WEAK {
            self.is_interrupted.store(true, Ordering::Release);
        }",
    },
    Twin {
        name: "a_closing_flag_comes_down",
        breaks: "closing_lets_everybody_go",
        file: "pump.rs",
        strong: r"if self.is_closing() {
                self.interrupt.raise();",
        weak: r"if !WEAK && self.is_closing() {
                self.interrupt.raise();",
    },
    Twin {
        name: "callbacks_are_started_at_once",
        breaks: "callbacks_have_one_thread",
        file: "bus.rs",
        strong: "let _starting = starting.lock()",
        weak: r"let not_starting = Mutex::default();
        let starting = if WEAK { &not_starting } else { starting };
        let _starting = starting.lock()",
    },
    Twin {
        name: "a_handler_comes_after_its_subscription",
        breaks: "a_callback_hears_everything_from_its_start",
        file: "callback.rs",
        strong: "handlers.insert(id,",
        weak: r"if WEAK {
            drop(handlers);
            handlers = self.handlers.lock();
        }
        handlers.insert(id,",
    },
    Twin {
        name: "one_writer_is_not_waiting",
        breaks: "reading_lets_a_blocked_publisher_go_on",
        file: "mailbox.rs",
        strong: "if state.n_writers_waiting > 0 {",
        weak: "if state.n_writers_waiting > usize::from(WEAK) {",
    },
    Twin {
        name: "a_closed_lane_has_no_room",
        breaks: "unsubscribing_lets_a_blocked_publisher_go_on",
        file: "mailbox.rs",
        strong: r"self.settle(&state);
        self.room.notify_all();",
        weak: r"self.settle(&state);
        if !WEAK { self.room.notify_all(); }",
    },
    Twin {
        name: "a_larger_queue_is_not_told",
        breaks: "a_larger_queue_lets_a_blocked_publisher_go_on",
        file: "mailbox.rs",
        strong: r"Ordering::Relaxed);
        self.room.notify_all();",
        weak: r"Ordering::Relaxed);
        if !WEAK { self.room.notify_all(); }",
    },
    Twin {
        name: "a_route_is_dated_when_it_is_found",
        breaks: "a_subscription_gets_what_is_published_after_it",
        file: "router.rs",
        strong: "last.get_or_insert_with(|| (generation, router.route(channel)));",
        weak: r"last.get_or_insert_with(|| {
                let route = router.route(channel);
                let found = WEAK.then(|| router.generation.load(Ordering::Acquire));
                (found.unwrap_or(generation), route)
            });",
    },
    Twin {
        name: "routes_have_no_date",
        breaks: "nothing_is_routed_to_a_subscription_that_ended",
        file: "router.rs",
        strong: "self.generation.fetch_add(1, Ordering::Release);",
        weak: "self.generation.fetch_add(u64::from(!WEAK), Ordering::Release);",
    },
    Twin {
        name: "transport_learns_of_subscriptions_in_any_order",
        breaks: "transport_is_left_with_all_subscriptions",
        file: "bus.rs",
        strong: "let _wanting = self.wanting.lock()",
        weak: r"let not_wanting = Mutex::default();
            let wanting = if WEAK { &not_wanting } else { &self.wanting };
            let _wanting = wanting.lock()",
    },
    Twin {
        name: "an_item_is_left_without_a_mark",
        breaks: "a_message_wakes_the_reader_it_is_for",
        file: "mailbox.rs",
        strong: "self.is_occupied.store(true, Ordering::Release);",
        weak: "if !WEAK { self.is_occupied.store(true, Ordering::Release); }",
    },
    Twin {
        name: "a_look_does_not_read",
        breaks: "a_look_takes_what_the_network_holds",
        file: "pump.rs",
        strong: "if has_looked {",
        weak: "if has_looked || WEAK {",
    },
    Twin {
        name: "the_first_message_is_not_told",
        breaks: "what_is_held_back_goes_out_in_time",
        file: "cork.rs",
        strong: "if is_first {",
        weak: "if is_first && !WEAK {",
    },
    Twin {
        name: "closing_comes_before_sending",
        breaks: "closing_sends_what_is_held_back",
        file: "cork.rs",
        strong: r"if state.collected.messages.is_empty() {
                if state.is_closing",
        weak: r"if state.collected.messages.is_empty() || WEAK && state.is_closing {
                if state.is_closing",
    },
];
