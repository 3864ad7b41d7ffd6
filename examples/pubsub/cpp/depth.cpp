// Publishes a depth five times a second, and prints the depths that all programs publish.

#include "sonar/depth_t.hpp"
#include <chrono>
#include <iostream>
#include <lcm/lcm-cpp.hpp>

using Clock = std::chrono::system_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Printer {
    void on_depth(const lcm::ReceiveBuffer *, const std::string &, const sonar::depth_t *depth)
    {
        std::cout << depth->sensor << " " << depth->depth_m << " m" << std::endl;
    }
};

int main()
{
    lcm::LCM lcm;
    if (!lcm.good())
        return 1;
    Printer printer;
    lcm.subscribe("sonar.depth", &Printer::on_depth, &printer);
    for (Clock::time_point next;; lcm.handleTimeout(50)) {
        const auto now = Clock::now();
        if (now < next)
            continue;
        next = now + milliseconds(200);
        sonar::depth_t depth;
        depth.utime = std::chrono::duration_cast<microseconds>(now.time_since_epoch()).count();
        depth.depth_m = 2.5;
        depth.sensor = "c++";
        lcm.publish("sonar.depth", &depth);
    }
}
