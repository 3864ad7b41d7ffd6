// Reads SDF or URDF files with the simulator's own library, and prints where everything of a model is:
// `sdformat FILE...`, for each file a line for each link, frame and joint with its pose in the model's coordinates
// (x y z, quaternion w x y z), for each joint that moves its axis, and for each sensor its pose and kind.
#include <sdf/sdf.hh>

#include <cstdio>
#include <iostream>

static bool fail(const sdf::Errors &errors) {
    for (const auto &error : errors) std::cerr << error << "\n";
    return !errors.empty();
}

static void print(const char *kind, const std::string &name, const ignition::math::Pose3d &pose) {
    const auto &p = pose.Pos();
    const auto &q = pose.Rot();
    std::printf("%s %s %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", kind, name.c_str(), p.X(), p.Y(), p.Z(), q.W(),
                q.X(), q.Y(), q.Z());
}

template <class Thing>
static bool place(const char *kind, const std::string &name, const Thing &thing) {
    ignition::math::Pose3d pose;
    if (fail(thing.SemanticPose().Resolve(pose, "__model__"))) return false;
    print(kind, name, pose);
    return true;
}

static bool report(const sdf::Model &model) {
    for (uint64_t i = 0; i < model.LinkCount(); ++i) {
        const auto &link = *model.LinkByIndex(i);
        if (!place("link", link.Name(), link)) return false;
        for (uint64_t j = 0; j < link.SensorCount(); ++j) {
            const auto &sensor = *link.SensorByIndex(j);
            const auto name = link.Name() + "/" + sensor.Name() + "/" + sensor.TypeStr();
            if (!place("sensor", name, sensor)) return false;
        }
    }
    for (uint64_t i = 0; i < model.FrameCount(); ++i) {
        const auto &frame = *model.FrameByIndex(i);
        if (!place("frame", frame.Name(), frame)) return false;
    }
    for (uint64_t i = 0; i < model.JointCount(); ++i) {
        const auto &joint = *model.JointByIndex(i);
        if (!place("joint", joint.Name(), joint)) return false;
        if (joint.Axis(0) != nullptr) {
            ignition::math::Vector3d axis;
            if (fail(joint.Axis(0)->ResolveXyz(axis, "__model__"))) return false;
            std::printf("axis %s %.17g %.17g %.17g\n", joint.Name().c_str(), axis.X(), axis.Y(), axis.Z());
        }
    }
    return true;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        sdf::Root root;
        if (fail(root.Load(argv[i]))) return 1;
        if (root.Model() == nullptr || !report(*root.Model())) return 1;
        std::puts("end");
    }
    return 0;
}
