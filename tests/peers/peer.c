/* One end of a bus, on liblcm. The verbs and lines that all ends share are described in tests/src/bus_peers.rs. */
#include <lcm/lcm.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* As in tests/src/content.rs. */
#define PERIOD_WORDS 65521

static lcm_t *bus;
static uint64_t n_messages, n_bytes;
static const char *reply_channel;

static void die(const char *what)
{
    fprintf(stderr, "peer: %s\n", what);
    exit(2);
}

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

static uint32_t digest(const uint8_t *bytes, size_t size)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int bit = 0; bit < 8; bit++)
                c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
            table[i] = c;
        }
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void fill(uint8_t *bytes, size_t size, uint64_t seed, uint64_t index)
{
    const size_t period = 8 * (size_t) PERIOD_WORDS;
    uint64_t x = seed + index * 0x9e3779b97f4a7c15u;
    if (!x)
        x = 0x9e3779b97f4a7c15u;
    for (size_t at = 0; at < size && at < period; at += 8) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        uint64_t word = x * 0x2545f4914f6cdd1du;
        for (size_t i = 0; i < 8 && at + i < size; i++)
            bytes[at + i] = (uint8_t) (word >> 8 * i);
    }
    for (size_t at = period; at < size; at += period)
        memcpy(bytes + at, bytes, size - at < period ? size - at : period);
}

static void on_message(const lcm_recv_buf_t *message, const char *channel, void *user)
{
    (void) user;
    n_messages++;
    n_bytes += message->data_size;
    if (reply_channel) {
        lcm_publish(bus, reply_channel, message->data, message->data_size);
        return;
    }
    printf("%s %u %08x\n", channel, message->data_size, digest(message->data, message->data_size));
    fflush(stdout);
}

static void summary(void)
{
    printf("done %llu messages %llu bytes\n", (unsigned long long) n_messages, (unsigned long long) n_bytes);
}

/* Handles messages until there were `count` (0: for ever), or stdin is closed. */
static void handle(const char *pattern, uint64_t count)
{
    lcm_subscription_t *subscription = lcm_subscribe(bus, pattern, on_message, NULL);
    if (!subscription)
        die("cannot subscribe");
    /* A full queue drops messages; what is tested is the wire. */
    lcm_subscription_set_queue_capacity(subscription, 0);
    struct pollfd fds[2] = {{.fd = lcm_get_fileno(bus), .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    say("ready");
    char ignored[256];
    while (!count || n_messages < count) {
        if (poll(fds, 2, -1) < 0)
            die("cannot poll");
        if (fds[0].revents)
            lcm_handle(bus);
        else if (fds[1].revents && read(0, ignored, sizeof ignored) <= 0)
            break;
    }
    summary();
}

struct job {
    const char *channel;
    uint64_t n_channels, seed;
    char **sizes;
    int n_sizes;
};

static void publish(const struct job *job, uint64_t index)
{
    char channel[128];
    if (job->n_channels > 1)
        snprintf(channel, sizeof channel, "%s%llu", job->channel, (unsigned long long) (index % job->n_channels));
    else
        snprintf(channel, sizeof channel, "%s", job->channel);
    size_t size = strtoull(job->sizes[index % (uint64_t) job->n_sizes], NULL, 10);
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        die("no memory");
    fill(bytes, size, job->seed, index);
    if (lcm_publish(bus, channel, bytes, (unsigned) size) < 0)
        die("cannot publish");
    free(bytes);
    n_messages++;
    n_bytes += size;
}

static void send_on_demand(const struct job *job, uint64_t count)
{
    char line[64];
    while ((!count || n_messages < count) && fgets(line, sizeof line, stdin)) {
        uint64_t index = strtoull(line, NULL, 10);
        publish(job, index);
        printf("sent %llu\n", (unsigned long long) index);
        fflush(stdout);
    }
}

static void send_at(const struct job *job, uint64_t count, double per_second)
{
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (uint64_t index = 0; index < count; index++) {
        publish(job, index);
        if (per_second <= 0)
            continue;
        uint64_t ns = (uint64_t) due.tv_nsec + (uint64_t) (1e9 / per_second);
        due.tv_sec += (time_t) (ns / 1000000000u);
        due.tv_nsec = (long) (ns % 1000000000u);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        die("expected a verb, a URL and more; see tests/src/bus_peers.rs");
    bus = lcm_create(argv[2]);
    if (!bus)
        die("cannot open the bus");
    if (!strcmp(argv[1], "receive")) {
        handle(argv[3], strtoull(argv[4], NULL, 10));
    } else if (!strcmp(argv[1], "echo")) {
        reply_channel = argv[4];
        handle(argv[3], 0);
    } else if (!strcmp(argv[1], "send") && argc > 8) {
        struct job job = {argv[3], strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10), argv + 8, argc - 8};
        uint64_t count = strtoull(argv[6], NULL, 10);
        say("ready");
        if (!strcmp(argv[7], "step"))
            send_on_demand(&job, count);
        else
            send_at(&job, count, atof(argv[7]));
        summary();
    } else {
        die("expected receive, send or echo; see tests/src/bus_peers.rs");
    }
    lcm_destroy(bus);
    return 0;
}
