// Times lcm-gen's C code on one message: `marshal CASE OPERATION ITERATIONS` prints nanoseconds a message.
// OPERATION is `encode` (into a buffer that is there already) or `decode` (with the clean-up that C needs).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image_t.h"
#include "laser_t.h"
#include "path_t.h"

enum { N_WAYPOINTS = 50, N_RANGES = 180, WIDTH = 640, HEIGHT = 480 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

// Keeps the compiler from seeing that the result is not used.
static void touch(const void *p)
{
    __asm__ volatile("" : : "g"(p) : "memory");
}

#define RUN(type, message)                                                             \
    do {                                                                               \
        int size = type##_encoded_size(message);                                       \
        unsigned char *buf = malloc(size);                                             \
        if (type##_encode(buf, 0, size, message) != size) return 1;                    \
        double start = now_ns();                                                       \
        if (encodes) {                                                                 \
            for (long i = 0; i < n; i++) {                                             \
                touch(message);                                                        \
                if (type##_encode(buf, 0, size, message) != size) return 1;            \
                touch(buf);                                                            \
            }                                                                          \
        } else {                                                                       \
            for (long i = 0; i < n; i++) {                                             \
                type decoded;                                                          \
                touch(buf);                                                            \
                if (type##_decode(buf, 0, size, &decoded) != size) return 1;           \
                touch(&decoded);                                                       \
                type##_decode_cleanup(&decoded);                                       \
            }                                                                          \
        }                                                                              \
        printf("%.3f\n", (now_ns() - start) / n);                                      \
    } while (0)

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: marshal path|laser|image encode|decode ITERATIONS\n");
        return 2;
    }
    int encodes = strcmp(argv[2], "encode") == 0;
    long n = atol(argv[3]);

    if (strcmp(argv[1], "path") == 0) {
        waypoint_t waypoints[N_WAYPOINTS];
        char ids[N_WAYPOINTS][8];
        for (int i = 0; i < N_WAYPOINTS; i++) {
            snprintf(ids[i], sizeof ids[i], "wp%04d", i);
            waypoints[i].id = ids[i];
            waypoints[i].position[0] = i;
            waypoints[i].position[1] = -i;
        }
        path_t path = {.timestamp = 1, .num_waypoints = N_WAYPOINTS, .waypoints = waypoints};
        RUN(path_t, &path);
    } else if (strcmp(argv[1], "laser") == 0) {
        float ranges[N_RANGES];
        for (int i = 0; i < N_RANGES; i++) ranges[i] = i * 0.5f;
        laser_t laser = {.utime = 1, .nranges = N_RANGES, .ranges = ranges, .rad0 = -1.5f, .radstep = 0.017f};
        RUN(laser_t, &laser);
    } else {
        unsigned char *data = malloc(WIDTH * HEIGHT);
        for (int i = 0; i < WIDTH * HEIGHT; i++) data[i] = i;
        image_t image = {.utime = 1, .width = WIDTH, .height = HEIGHT, .size = WIDTH * HEIGHT, .data = data};
        RUN(image_t, &image);
    }
    return 0;
}
