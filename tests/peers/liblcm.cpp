// The C++ interface of LCM, which is headers over its C library. Built once, for LCM's own library, and run on that and
// on ours: both have to print the same. `drop_in::sample_t` is of LCM's own generator.

#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include <lcm/lcm-cpp.hpp>

#include "drop_in/sample_t.hpp"

using drop_in::sample_t;

static void print(const char *who, const std::string &channel, const sample_t *sample)
{
    std::printf("  %s got %s: %s, %d values, last %g\n", who, channel.c_str(), sample->name.c_str(), sample->n,
                sample->values.empty() ? 0.0 : sample->values.back());
}

struct Listener {
    int n_raw = 0;

    void on_sample(const lcm::ReceiveBuffer *, const std::string &channel, const sample_t *sample)
    {
        print("member", channel, sample);
    }

    void on_raw(const lcm::ReceiveBuffer *buffer, const std::string &channel)
    {
        n_raw++;
        std::printf("  raw member got %s: %u bytes\n", channel.c_str(), buffer->data_size);
    }
};

static void on_function(const lcm::ReceiveBuffer *, const std::string &channel, const sample_t *sample,
                        const char *context)
{
    print(context, channel, sample);
}

static void on_raw_function(const lcm::ReceiveBuffer *buffer, const std::string &channel, int *n)
{
    ++*n;
    std::printf("  raw function got %s: %u bytes\n", channel.c_str(), buffer->data_size);
}

static sample_t sample(const std::string &name, int n)
{
    sample_t made;
    made.utime = 1;
    made.name = name;
    made.n = n;
    for (int i = 0; i < n; i++)
        made.values.push_back(i * 0.5);
    return made;
}

static int handlers(const char *url)
{
    lcm::LCM bus(url);
    if (!bus.good())
        return 1;
    Listener listener;
    int n_raw = 0, n_lambda = 0;
    bus.subscribe("SAMPLE", &Listener::on_sample, &listener);
    lcm::Subscription *raw = bus.subscribe(".*AMPLE", &Listener::on_raw, &listener);
    bus.subscribeFunction("SAMPLE", on_function, "function");
    bus.subscribeFunction("S.*", on_raw_function, &n_raw);
    std::function<void(const lcm::ReceiveBuffer *, const std::string &, const sample_t *)> lambda =
        [&](const lcm::ReceiveBuffer *, const std::string &channel, const sample_t *got) {
            n_lambda++;
            print("lambda", channel, got);
        };
    bus.subscribe("SAMPLE|EXAMPLE", lambda);
    raw->setQueueCapacity(10);
    std::printf("queue: %d\n", raw->getQueueSize());
    for (int i = 0; i < 3; i++) {
        sample_t out = sample("number " + std::to_string(i), i * 100);
        std::printf("publish: %d\n", bus.publish("SAMPLE", &out));
        std::printf("handle: %d\n", bus.handle());
    }
    std::printf("unsubscribe: %d\n", bus.unsubscribe(raw));
    std::printf("bytes: %d\n", bus.publish("SHORT", "abc", 3));
    std::printf("handle: %d\n", bus.handleTimeout(30000));
    std::printf("then: %d\n", bus.handleTimeout(20));
    std::printf("fileno: %d\n", bus.getFileno() >= 0);
    std::printf("%d, %d, %d\n", listener.n_raw, n_raw, n_lambda);
    return 0;
}

static void throwing(const lcm::ReceiveBuffer *, const std::string &channel, const sample_t *got, int *)
{
    if (got->n == 1)
        throw std::runtime_error("no " + channel);
    print("function", channel, got);
}

// An exception in a handler comes out of handle(), and the bus goes on.
static int exceptions(const char *url)
{
    lcm::LCM bus(url);
    bus.subscribeFunction("SAMPLE", throwing, (int *) nullptr);
    for (int i = 0; i < 3; i++) {
        sample_t out = sample("x", i);
        bus.publish("SAMPLE", &out);
        try {
            std::printf("handle: %d\n", bus.handleTimeout(30000));
        } catch (const std::runtime_error &error) {
            std::printf("caught: %s\n", error.what());
        }
    }
    return 0;
}

static int logs(const char *path)
{
    {
        lcm::LogFile log(path, "w");
        if (!log.good())
            return 1;
        for (int i = 0; i < 50; i++) {
            sample_t out = sample("logged", i);
            std::string bytes(out.getEncodedSize(), '\0');
            out.encode(&bytes[0], 0, bytes.size());
            lcm::LogEvent event;
            event.eventnum = i;
            event.timestamp = 1000 * i;
            event.channel = i % 2 ? "ODD" : "EVEN";
            event.datalen = bytes.size();
            event.data = &bytes[0];
            if (log.writeEvent(&event))
                return 1;
        }
    }
    lcm::LogFile log(path, "r");
    while (const lcm::LogEvent *event = log.readNextEvent()) {
        sample_t got;
        int size = got.decode(event->data, 0, event->datalen);
        std::printf("%d at %d on %s: %d bytes\n", (int) event->eventnum, (int) event->timestamp,
                    event->channel.c_str(), size);
    }
    std::printf("seek: %d\n", log.seekToTimestamp(30000));
    const lcm::LogEvent *event = log.readNextEvent();
    std::printf("found %d, file at %ld\n", event ? (int) event->eventnum : -1, std::ftell(log.getFilePtr()));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::string name = argv[1];
    if (name == "handlers")
        return handlers(argv[2]);
    if (name == "exceptions")
        return exceptions(argv[2]);
    if (name == "logs")
        return logs(argv[2]);
    return 2;
}
