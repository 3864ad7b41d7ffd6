"""Casts the beams of a laser in a blocks world with MuJoCo: rays.py BLOCKS N. Prints microseconds for a scan."""
import json
import math
import sys
import time

import mujoco
import numpy


def main(blocks, n_scans):
    boxes = "".join(
        f'<geom type="box" pos="{x} {y} {z}" size="{hx} {hy} {hz}" euler="0 0 {yaw}"/>'
        for x, y, z, hx, hy, hz, yaw in json.loads(blocks)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="100 100 1"/>{boxes}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    n_beams = 361
    angles = [-math.pi / 2 + math.pi * k / (n_beams - 1) for k in range(n_beams)]
    directions = numpy.array([[math.cos(a), math.sin(a), 0.0] for a in angles]).flatten()
    origin = numpy.array([0.0, 0.0, 1.0])
    geom = numpy.zeros(n_beams, dtype=numpy.int32)
    ranges = numpy.zeros(n_beams)
    normals = None
    best = math.inf
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(n_scans):
            mujoco.mj_multiRay(model, data, origin, directions, None, 1, -1, geom, ranges, normals, n_beams, 15.0)
        best = min(best, (time.perf_counter() - start) / n_scans)
    hits = int(sum(1 for r in ranges if 0 <= r <= 15.0))
    print(f"{best * 1e6:.2f} {hits}")


main(sys.argv[1], int(sys.argv[2]))
