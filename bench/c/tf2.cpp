// A chain of frames in tf2's BufferCore, looked up from one end to the other: `tf2 KIND EDGES N`.
// KIND is static or moving, then -at or -latest. A moving edge has 10 s of poses at 100 Hz. Asks N times in bursts, and
// prints the ns of a lookup in the best of them, so that other programs on the machine are not measured.
#include <tf2/buffer_core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "expected KIND EDGES N\n";
        return 2;
    }
    const std::string kind = argv[1];
    const int edges = std::atoi(argv[2]);
    const long n = std::atol(argv[3]);
    const bool is_moving = kind.rfind("moving", 0) == 0;
    const bool is_latest = kind.find("latest") != std::string::npos;
    tf2::BufferCore buffer(ros::Duration(20.0));
    const int samples = is_moving ? 1000 : 1;
    for (int edge = 0; edge < edges; ++edge) {
        for (int sample = 0; sample < samples; ++sample) {
            geometry_msgs::TransformStamped pose;
            pose.header.frame_id = "body_" + std::to_string(edge);
            pose.child_frame_id = "body_" + std::to_string(edge + 1);
            pose.header.stamp = ros::Time(100.0 + 0.01 * sample);
            const double angle = 0.1 * edge + 0.001 * sample;
            pose.transform.translation.x = 0.3;
            pose.transform.rotation.z = std::sin(angle / 2);
            pose.transform.rotation.w = std::cos(angle / 2);
            buffer.setTransform(pose, "bench", !is_moving);
        }
    }
    const std::string first = "body_0", last = "body_" + std::to_string(edges);
    std::vector<ros::Time> times;
    for (int i = 0; i < 256; ++i) {
        times.push_back(is_latest ? ros::Time(0) : ros::Time(100.0 + 9.9 * i / 256.0));
    }
    constexpr long burst = 250;
    double sum = 0, best = 1e300;
    for (long i = 0; i < n;) {
        const auto start = std::chrono::steady_clock::now();
        for (const long end = i + burst; i < end; ++i) {
            sum += buffer.lookupTransform(first, last, times[i % times.size()]).transform.translation.x;
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count() / burst);
    }
    std::cout << best << "\n";
    // So that nothing is left out because nobody looks at it.
    return std::isnan(sum) ? 1 : 0;
}
