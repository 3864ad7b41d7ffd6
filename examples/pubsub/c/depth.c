// Publishes a depth five times a second, and prints the depths that all programs publish.

#include "sonar_depth_t.h"
#include <lcm/lcm.h>
#include <stdio.h>
#include <time.h>

static void on_depth(const lcm_recv_buf_t *buffer, const char *channel, const sonar_depth_t *depth, void *user)
{
    (void) buffer, (void) channel, (void) user;
    printf("%s %.1f m\n", depth->sensor, depth->depth_m);
    fflush(stdout);
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(void)
{
    lcm_t *lcm = lcm_create(NULL);
    if (!lcm)
        return 1;
    sonar_depth_t_subscribe(lcm, "sonar.depth", on_depth, NULL);
    for (int64_t next = 0;; lcm_handle_timeout(lcm, 50)) {
        if (now_us() < next)
            continue;
        next = now_us() + 200000;
        sonar_depth_t depth = {.utime = now_us(), .depth_m = 1.0, .sensor = "c"};
        sonar_depth_t_publish(lcm, "sonar.depth", &depth);
    }
}
