// Uses every function of LCM's C library and prints what happens, a case by its name. It is built once, for LCM's own
// library, and run on that and on ours: both have to print the same.
//
// Nothing here is measured. Times are printed only as "in time" or "late".

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <lcm/lcm.h>

#define LONG_MS 30000
#define QUIET_MS 50

static const char *url;

// The clock of this program and of all its libraries. One that fails is what Rust's standard library panics on.
static volatile int is_clock_broken;

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (is_clock_broken) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_clock_gettime, id, now);
}

static lcm_t *create(void)
{
    lcm_t *lcm = lcm_create(url);
    if (!lcm) {
        fprintf(stderr, "lcm_create(%s) failed\n", url);
        exit(1);
    }
    return lcm;
}

static void print_message(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    printf("  %s got %s: %.*s\n", (const char *) user, channel, (int) rbuf->data_size, (char *) rbuf->data);
}

static void say(lcm_t *lcm, const char *channel, const char *text)
{
    int status = lcm_publish(lcm, channel, text, strlen(text));
    if (status)
        printf("publish on %s: %d\n", channel, status);
}

// One call, one message, all its handlers in the order of subscription.
static void dispatch(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "POSE", print_message, "exact");
    lcm_subscribe(lcm, "PO.*", print_message, "prefix");
    lcm_subscribe(lcm, "(POSE|MAP)_[0-9]+", print_message, "regex");
    lcm_subscribe(lcm, "POSE", print_message, "exact again");
    lcm_subscribe(lcm, "(?!POSE).*7", print_message, "look-ahead");
    const char *channels[] = {"POSE", "POLE", "MAP_17", "POSE_2", "XPOSE", "POSEX", "MAP_", "MAP_7"};
    for (int i = 0; i < 8; i++)
        say(lcm, channels[i], "hello");
    int status;
    while ((status = lcm_handle_timeout(lcm, QUIET_MS)) > 0)
        printf("handled\n");
    printf("then %d\n", status);
    lcm_destroy(lcm);
}

static int is_readable_by_poll(int fd, int timeout_ms)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, timeout_ms);
}

static int is_readable_by_select(int fd, int timeout_ms)
{
    fd_set fds;
    FD_ZERO(&fds);
    FD_SET(fd, &fds);
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    return select(fd + 1, &fds, NULL, NULL, &timeout);
}

static int is_readable_by_epoll(int fd, int timeout_ms)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    int status = epoll_wait(epoll, &event, 1, timeout_ms);
    close(epoll);
    return status;
}

// Readable exactly while lcm_handle would not block, however it is asked, and however often.
static void fileno_with(int (*is_readable)(int fd, int timeout_ms))
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "FD", print_message, "fd");
    int fd = lcm_get_fileno(lcm);
    printf("fd %s, the same again: %d\n", fd >= 0 ? "is good" : "is bad", fd == lcm_get_fileno(lcm));
    printf("readable at first: %d\n", is_readable(fd, 0));
    say(lcm, "OTHER", "not for us");
    printf("readable after one for others: %d\n", is_readable(fd, QUIET_MS));
    for (int round = 0; round < 2; round++) {
        say(lcm, "FD", "one");
        say(lcm, "FD", "two");
        for (int i = 0; i < 2; i++) {
            printf("readable: %d\n", is_readable(fd, LONG_MS));
            printf("still readable: %d\n", is_readable(fd, 0));
            printf("handle: %d\n", lcm_handle(lcm));
        }
        printf("readable when all is handled: %d\n", is_readable(fd, 0));
    }
    lcm_destroy(lcm);
}

static void fileno_poll(void)
{
    fileno_with(is_readable_by_poll);
}

static void fileno_select(void)
{
    fileno_with(is_readable_by_select);
}

static void fileno_epoll(void)
{
    fileno_with(is_readable_by_epoll);
}

static void timeouts(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "T", print_message, "t");
    printf("negative: %d\n", lcm_handle_timeout(lcm, -1));
    printf("nothing there: %d\n", lcm_handle_timeout(lcm, 0));
    printf("nothing comes: %d\n", lcm_handle_timeout(lcm, 20));
    say(lcm, "T", "x");
    printf("something comes: %d\n", lcm_handle_timeout(lcm, LONG_MS));
    printf("nothing more: %d\n", lcm_handle_timeout(lcm, 20));
    lcm_destroy(lcm);
}

typedef struct {
    lcm_t *lcm;
    lcm_subscription_t *self, *other;
    const char *name;
} actor_t;

static void unsubscribe_self(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    actor_t *actor = user;
    print_message(rbuf, channel, (void *) actor->name);
    printf("  unsubscribes itself: %d\n", lcm_unsubscribe(actor->lcm, actor->self));
}

static void unsubscribe_other(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    actor_t *actor = user;
    print_message(rbuf, channel, (void *) actor->name);
    if (actor->other) {
        printf("  unsubscribes another: %d\n", lcm_unsubscribe(actor->lcm, actor->other));
        actor->other = NULL;
    }
}

static void handle_all(lcm_t *lcm)
{
    while (lcm_handle_timeout(lcm, QUIET_MS) > 0)
        printf("handled\n");
}

static void unsubscribe_inside(void)
{
    lcm_t *lcm = create();
    actor_t self = {.lcm = lcm, .name = "self"}, other = {.lcm = lcm, .name = "first"};
    other.self = lcm_subscribe(lcm, "U", unsubscribe_other, &other);
    self.self = lcm_subscribe(lcm, "U", unsubscribe_self, &self);
    lcm_subscription_t *last = lcm_subscribe(lcm, "U", print_message, "last");
    other.other = last;
    for (int i = 0; i < 3; i++) {
        say(lcm, "U", "x");
        printf("handle: %d\n", lcm_handle(lcm));
    }
    printf("again: %d\n", lcm_unsubscribe(lcm, last));
    // All at once: messages wait while their subscription ends.
    actor_t tired = {.lcm = lcm, .name = "tired"};
    tired.self = lcm_subscribe(lcm, "V", unsubscribe_self, &tired);
    for (int i = 0; i < 3; i++)
        say(lcm, "V", "x");
    while (lcm_handle_timeout(lcm, QUIET_MS) > 0)
        ;
    lcm_destroy(lcm);
}

static void subscribe_here(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    actor_t *actor = user;
    print_message(rbuf, channel, (void *) actor->name);
    if (!actor->other)
        actor->other = lcm_subscribe(actor->lcm, "S2", print_message, "new");
    say(actor->lcm, "S2", "from a handler");
}

static void subscribe_inside(void)
{
    lcm_t *lcm = create();
    actor_t actor = {.lcm = lcm, .name = "old"};
    lcm_subscribe(lcm, "S", subscribe_here, &actor);
    say(lcm, "S", "x");
    handle_all(lcm);
    lcm_destroy(lcm);
}

static void count(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    (void) rbuf, (void) channel;
    ++*(int *) user;
}

static void wait_for_queue(lcm_subscription_t *subscription, int size)
{
    for (int i = 0; i < LONG_MS && lcm_subscription_get_queue_size(subscription) < size; i++)
        usleep(1000);
}

// A queue of a size that the program chose keeps the oldest.
static void queue_capacity(void)
{
    lcm_t *lcm = create();
    lcm_subscription_t *queue = lcm_subscribe(lcm, "Q", print_message, "queue");
    lcm_subscription_t *end = lcm_subscribe(lcm, "END", print_message, "end");
    printf("set: %d\n", lcm_subscription_set_queue_capacity(queue, 5));
    char text[16];
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "%d", i);
        say(lcm, "Q", text);
    }
    say(lcm, "END", "");
    wait_for_queue(end, 1);
    printf("waiting: %d and %d\n", lcm_subscription_get_queue_size(queue), lcm_subscription_get_queue_size(end));
    handle_all(lcm);
    printf("waiting: %d\n", lcm_subscription_get_queue_size(queue));
    lcm_destroy(lcm);
}

static void queue_unlimited(void)
{
    lcm_t *lcm = create();
    int n = 0;
    lcm_subscription_t *queue = lcm_subscribe(lcm, "Q", count, &n);
    printf("set: %d\n", lcm_subscription_set_queue_capacity(queue, 0));
    for (int i = 0; i < 300; i++) {
        say(lcm, "Q", "x");
        usleep(100);
    }
    wait_for_queue(queue, 300);
    printf("waiting: %d\n", lcm_subscription_get_queue_size(queue));
    while (lcm_handle_timeout(lcm, QUIET_MS) > 0)
        ;
    printf("got: %d\n", n);
    lcm_destroy(lcm);
}

// How many of a hundred arrive when nobody said anything of queues.
static void queue_default(void)
{
    lcm_t *lcm = create();
    int n = 0, n_end = 0;
    lcm_subscribe(lcm, "Q", count, &n);
    lcm_subscription_t *end = lcm_subscribe(lcm, "END", count, &n_end);
    for (int i = 0; i < 100; i++)
        say(lcm, "Q", "x");
    say(lcm, "END", "");
    wait_for_queue(end, 1);
    while (lcm_handle_timeout(lcm, QUIET_MS) > 0)
        ;
    printf("got: %d\n", n);
    lcm_destroy(lcm);
}

typedef struct {
    lcm_t *lcm;
    const unsigned char *expected;
    size_t size;
    int64_t before;
} large_t;

static int64_t now_us(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec * INT64_C(1000000) + now.tv_usec;
}

static void check_large(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    large_t *large = user;
    int is_same = rbuf->data_size == large->size && !memcmp(rbuf->data, large->expected, large->size);
    int is_now = large->before <= rbuf->recv_utime && rbuf->recv_utime <= now_us();
    printf("  %s: %u bytes, %s, time %s, lcm %s\n", channel, rbuf->data_size, is_same ? "the same" : "DIFFERENT",
           is_now ? "good" : "WRONG", rbuf->lcm == large->lcm ? "good" : "WRONG");
}

static void sizes_up_to(const size_t *sizes, int n)
{
    lcm_t *lcm = create();
    for (int i = 0; i < n; i++) {
        unsigned char *bytes = malloc(sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = at * 7 + at / 251;
        large_t large = {.lcm = lcm, .expected = bytes, .size = sizes[i], .before = now_us()};
        lcm_subscription_t *subscription = lcm_subscribe(lcm, "LARGE", check_large, &large);
        printf("publish: %d\n", lcm_publish(lcm, "LARGE", bytes, sizes[i]));
        printf("handle: %d\n", lcm_handle_timeout(lcm, 2000));
        lcm_unsubscribe(lcm, subscription);
        free(bytes);
    }
    lcm_destroy(lcm);
}

static void sizes(void)
{
    const size_t sizes[] = {0, 1, 1400, 65493, 65494, 65495, 100000, 150000};
    sizes_up_to(sizes, 8);
}

// More than liblcm receives with the buffers that Linux gives.
static void very_large(void)
{
    const size_t sizes[] = {1000000, 8000000};
    sizes_up_to(sizes, 2);
}

static void names(void)
{
    lcm_t *lcm = create();
    char name[65] = {0};
    memset(name, 'n', 64);
    lcm_subscribe(lcm, "n+", print_message, "long");
    printf("64 bytes: %s\n", lcm_publish(lcm, name, "x", 1) < 0 ? "refused" : "taken");
    name[63] = 0;
    printf("63 bytes: %d\n", lcm_publish(lcm, name, "x", 1));
    handle_all(lcm);
    printf("bad regex: %s\n", lcm_subscribe(lcm, "A(", print_message, "") ? "taken" : "refused");
    lcm_destroy(lcm);
    printf("bad URL: %s\n", lcm_create("smoke://signals") ? "taken" : "refused");
    printf("no URL: %s\n", lcm_create("no url at all") ? "taken" : "refused");
}

// The URL is in LCM_DEFAULT_URL when there is none, and nothing is as good as NULL.
static void default_url(void)
{
    setenv("LCM_DEFAULT_URL", "memq://", 1);
    lcm_t *one = lcm_create(NULL), *other = lcm_create("");
    lcm_subscribe(one, "X", print_message, "one");
    lcm_subscribe(other, "X", print_message, "other");
    say(one, "X", "private");
    printf("one: %d\n", lcm_handle_timeout(one, LONG_MS));
    printf("other: %d\n", lcm_handle_timeout(other, QUIET_MS));
    lcm_destroy(one);
    lcm_destroy(other);
    setenv("LCM_DEFAULT_URL", "smoke://signals", 1);
    printf("bad default: %s\n", lcm_create(NULL) ? "taken" : "refused");
}

static void overwrite(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    print_message(rbuf, channel, user);
    memset(rbuf->data, '*', rbuf->data_size);
}

// Handlers may write into what they get.
static void writable(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "W", overwrite, "first");
    lcm_subscribe(lcm, "W", overwrite, "second");
    const char text[] = "mine";
    for (int i = 0; i < 2; i++) {
        say(lcm, "W", text);
        lcm_handle(lcm);
    }
    lcm_destroy(lcm);
}

static void on_alarm(int signal)
{
    (void) signal;
}

// Again and again, because the first may come before anybody waits.
static void start_alarms(int flags)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &often, NULL);
}

static void *say_later(void *user)
{
    // Its sleep would end with the first alarm otherwise.
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    usleep(100000);
    say(user, "S", "later");
    return NULL;
}

// A signal ends waiting if its handler was installed so, and does not otherwise.
static void signals(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "S", print_message, "s");
    start_alarms(0);
    printf("handle: %d\n", lcm_handle(lcm));
    printf("handle_timeout: %d\n", lcm_handle_timeout(lcm, LONG_MS));
    start_alarms(SA_RESTART);
    pthread_t thread;
    pthread_create(&thread, NULL, say_later, lcm);
    printf("handle: %d\n", lcm_handle(lcm));
    pthread_join(thread, NULL);
    lcm_destroy(lcm);
}

static void *handle_some(void *user)
{
    int n = 0;
    while (lcm_handle_timeout(user, QUIET_MS) > 0)
        n++;
    return (void *) (intptr_t) n;
}

// Several threads publish, and several handle.
static void threads(void)
{
    lcm_t *lcm = create();
    int n = 0;
    lcm_subscription_t *all = lcm_subscribe(lcm, "N.*", count, &n);
    lcm_subscription_set_queue_capacity(all, 1000);
    for (int i = 0; i < 200; i++)
        say(lcm, i % 2 ? "N1" : "N2", "x");
    wait_for_queue(all, 200);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, handle_some, lcm);
    intptr_t n_handled = 0;
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        n_handled += (intptr_t) result;
    }
    printf("handled %d, called %d\n", (int) n_handled, n);
    lcm_destroy(lcm);
}

// A log as a transport, to be written and to be played to its end.

static void record(void)
{
    lcm_t *lcm = create();
    char text[16];
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "%d", i);
        say(lcm, i % 2 ? "ODD" : "EVEN", text);
    }
    lcm_destroy(lcm);
    printf("recorded\n");
}

static void play(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "ODD", print_message, "odd");
    lcm_subscribe(lcm, ".*", print_message, "all");
    for (int i = 0; i < 50; i++)
        printf("handle: %d\n", lcm_handle(lcm));
    printf("at the end: %d\n", lcm_handle(lcm));
    printf("and then: %d\n", lcm_handle(lcm));
    lcm_destroy(lcm);
}

// Whoever counts events needs no handler.
static void play_for_nobody(void)
{
    lcm_t *lcm = create();
    int n = 0;
    while (lcm_handle(lcm) == 0)
        n++;
    printf("handled %d\n", n);
    lcm_destroy(lcm);
}

// A program that publishes and subscribes can be pointed at a log.
static void subscribe_to_a_recording(void)
{
    lcm_t *lcm = create();
    lcm_subscription_t *all = lcm_subscribe(lcm, ".*", print_message, "all");
    printf("subscribed: %d\n", all != NULL);
    say(lcm, "A", "x");
    printf("handle_timeout: %d\n", lcm_handle_timeout(lcm, 0));
    lcm_destroy(lcm);
}

// What has no bytes is read all the same.
static void print_first_byte(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    volatile char first = *(const char *) rbuf->data;
    (void) first;
    printf("%s: %u bytes, and the first can be read\n", channel, rbuf->data_size);
}

static void empty(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "E", print_first_byte, NULL);
    lcm_publish(lcm, "E", "", 0);
    printf("handle: %d\n", lcm_handle(lcm));
    lcm_destroy(lcm);
}

static void play_by_poll(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, ".*", print_message, "all");
    int fd = lcm_get_fileno(lcm), n = 0;
    while (is_readable_by_poll(fd, LONG_MS) > 0 && lcm_handle(lcm) == 0)
        n++;
    printf("played %d\n", n);
    lcm_destroy(lcm);
}

// What liblcm does not survive, or does not as its header says.

static void strangers(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "X", print_message, "x");
    printf("no such subscription: %d\n", lcm_unsubscribe(lcm, (lcm_subscription_t *) &lcm));
    lcm_destroy(lcm);
}

static void handle_again(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    print_message(rbuf, channel, "outer");
    printf("  handle: %d\n", lcm_handle(user));
    printf("  handle_timeout: %d\n", lcm_handle_timeout(user, 0));
}

static void recursion(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "R", handle_again, lcm);
    say(lcm, "R", "1");
    say(lcm, "R", "2");
    printf("handle: %d\n", lcm_handle(lcm));
    printf("handle: %d\n", lcm_handle(lcm));
    lcm_destroy(lcm);
}

static void destroy_here(const lcm_recv_buf_t *rbuf, const char *channel, void *user)
{
    print_message(rbuf, channel, "first");
    lcm_destroy(user);
}

static void destroy_inside(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "D", destroy_here, lcm);
    lcm_subscribe(lcm, "D", print_message, "never called");
    say(lcm, "D", "x");
    printf("handle: %d\n", lcm_handle(lcm));
}

static void *handle_once(void *user)
{
    return (void *) (intptr_t) lcm_handle(user);
}

static void destroy_elsewhere(void)
{
    lcm_t *lcm = create();
    lcm_subscribe(lcm, "D", print_message, "never called");
    pthread_t thread;
    pthread_create(&thread, NULL, handle_once, lcm);
    usleep(50000);
    lcm_destroy(lcm);
    void *result;
    pthread_join(thread, &result);
    printf("handle: %d\n", (int) (intptr_t) result);
}

// Descriptors beyond what select() can take.
static void many_descriptors(void)
{
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 1500; i++)
        assert(dup(0) >= 0);
    timeouts();
}

// Logs.

static void log_write(const char *path, const char *mode)
{
    lcm_eventlog_t *log = lcm_eventlog_create(path, mode);
    if (!log) {
        printf("cannot open\n");
        return;
    }
    static char data[3000];
    for (int i = 0; i < 200; i++) {
        char channel[32];
        snprintf(channel, sizeof channel, "CHANNEL_%d", i % 7);
        memset(data, i, sizeof data);
        lcm_eventlog_event_t event = {
            .eventnum = -1,
            .timestamp = INT64_C(1700000000000000) + i * 1000,
            .channellen = strlen(channel),
            .datalen = i * 37 % 3000,
            .channel = channel,
            .data = data,
        };
        int status = lcm_eventlog_write_event(log, &event);
        if (status || i % 50 == 0)
            printf("wrote %d: %d, number %d, count %d, at %ld\n", i, status, (int) event.eventnum,
                   (int) log->eventcount, ftell(log->f));
    }
    lcm_eventlog_destroy(log);
}

static void print_event(const lcm_eventlog_event_t *event)
{
    unsigned sum = 0;
    for (int i = 0; i < event->datalen; i++)
        sum = sum * 31 + ((unsigned char *) event->data)[i];
    printf("%d at %lld on %s (%d): %d bytes, sum %u", (int) event->eventnum, (long long) event->timestamp,
           event->channel, event->channellen, event->datalen, sum);
}

static void log_read(const char *path)
{
    lcm_eventlog_t *log = lcm_eventlog_create(path, "r");
    if (!log) {
        printf("cannot open\n");
        return;
    }
    lcm_eventlog_event_t *event;
    long second = 0;
    for (int i = 0; (event = lcm_eventlog_read_next_event(log)); i++) {
        print_event(event);
        printf(", file at %ld\n", ftell(log->f));
        lcm_eventlog_free_event(event);
        if (i == 0)
            second = ftell(log->f);
    }
    printf("end: %d\n", feof(log->f) != 0);
    // The program moves in the file by itself.
    fseek(log->f, second, SEEK_SET);
    event = lcm_eventlog_read_next_event(log);
    if (event) {
        print_event(event);
        printf(" again\n");
        lcm_eventlog_free_event(event);
    }
    lcm_eventlog_destroy(log);
}

static void log_seek(const char *path)
{
    lcm_eventlog_t *log = lcm_eventlog_create(path, "r");
    const int64_t start = INT64_C(1700000000000000);
    const int64_t times[] = {start, start + 1000, start + 57000, start + 150000, start + 199000};
    for (int i = 0; i < 5; i++) {
        printf("seek: %d\n", lcm_eventlog_seek_to_timestamp(log, times[i]));
        lcm_eventlog_event_t *event = lcm_eventlog_read_next_event(log);
        if (event) {
            print_event(event);
            printf("\n");
            lcm_eventlog_free_event(event);
        }
    }
    lcm_eventlog_destroy(log);
}

// What panics inside our library fails, and what is called afterwards works.
static void panics(void)
{
    lcm_t *lcm = create();
    lcm_subscription_t *subscription = lcm_subscribe(lcm, "P", print_message, "p");
    is_clock_broken = 1;
    for (int i = 0; i < 3; i++) {
        int status = lcm_handle_timeout(lcm, QUIET_MS);
        printf("handle without a clock: %d\n", status);
    }
    // These may need a clock or not.
    lcm_t *other = lcm_create(url);
    lcm_publish(lcm, "OTHER", "x", 1);
    lcm_subscription_t *others = lcm_subscribe(lcm, "NONE", print_message, "none");
    lcm_get_fileno(lcm);
    lcm_subscription_set_queue_capacity(subscription, 10);
    lcm_subscription_get_queue_size(subscription);
    is_clock_broken = 0;
    if (others)
        printf("unsubscribe: %d\n", lcm_unsubscribe(lcm, others));
    say(lcm, "P", "x");
    printf("handle: %d\n", lcm_handle_timeout(lcm, LONG_MS));
    if (other)
        lcm_destroy(other);
    lcm_destroy(lcm);
}

static void log_modes(const char *path)
{
    printf("mode x: %s\n", lcm_eventlog_create(path, "x") ? "taken" : "refused");
    printf("not there: %s\n", lcm_eventlog_create("/nonexistent/log", "r") ? "taken" : "refused");
    printf("no folder: %s\n", lcm_eventlog_create("/nonexistent/log", "w") ? "taken" : "refused");
}

typedef struct {
    const char *name;
    void (*run)(void);
} case_t;

static const case_t cases[] = {
    {"dispatch", dispatch},
    {"fileno_poll", fileno_poll},
    {"fileno_select", fileno_select},
    {"fileno_epoll", fileno_epoll},
    {"timeouts", timeouts},
    {"unsubscribe_inside", unsubscribe_inside},
    {"subscribe_inside", subscribe_inside},
    {"queue_capacity", queue_capacity},
    {"queue_unlimited", queue_unlimited},
    {"queue_default", queue_default},
    {"sizes", sizes},
    {"very_large", very_large},
    {"names", names},
    {"default_url", default_url},
    {"writable", writable},
    {"signals", signals},
    {"threads", threads},
    {"record", record},
    {"play", play},
    {"play_by_poll", play_by_poll},
    {"play_for_nobody", play_for_nobody},
    {"subscribe_to_a_recording", subscribe_to_a_recording},
    {"empty", empty},
    {"strangers", strangers},
    {"recursion", recursion},
    {"destroy_inside", destroy_inside},
    {"destroy_elsewhere", destroy_elsewhere},
    {"many_descriptors", many_descriptors},
    {"panics", panics},
};

// liblcm CASE URL, or liblcm log-CASE PATH.
int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    // What was printed is not lost when liblcm dies.
    setvbuf(stdout, NULL, _IOLBF, 0);
    url = argv[2];
    if (!strcmp(argv[1], "log-write"))
        return log_write(argv[2], "w"), 0;
    if (!strcmp(argv[1], "log-append"))
        return log_write(argv[2], "a"), 0;
    if (!strcmp(argv[1], "log-read"))
        return log_read(argv[2]), 0;
    if (!strcmp(argv[1], "log-seek"))
        return log_seek(argv[2]), 0;
    if (!strcmp(argv[1], "log-modes"))
        return log_modes(argv[2]), 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strcmp(argv[1], cases[i].name))
            return cases[i].run(), 0;
    }
    return 2;
}
