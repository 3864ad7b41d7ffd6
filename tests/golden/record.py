"""Builds messages with the reference's Python classes and writes down their bytes. Run by scripts/record-golden."""

import base64
import importlib
import json
import struct
import sys

PRIMITIVES = {"int8_t", "int16_t", "int32_t", "int64_t", "byte", "float", "double", "string", "boolean"}
ENUMS = {"golden.gear_t": {"REVERSE": -1, "NEUTRAL": 16, "DRIVE": 17}}

# The authority in several messages.
BY = {"station": "bridge", "session": "-81985529216486896", "epoch": 3, "sequence": 41, "token": "81985529216486895"}

# Types and values, in the JSON that Bowline reads and writes.
MESSAGES = [
    ("golden.empty_t", {}),
    ("golden.scalars_t", {"i8": -128, "i16": -32768, "i32": -2147483648, "i64": "-9223372036854775808", "b": 255,
                          "f": "-Infinity", "d": "NaN", "s": "", "yes": True, "no": False}),
    ("golden.scalars_t", {"i8": 127, "i16": 32767, "i32": 2147483647, "i64": "9223372036854775807", "b": 0,
                          "f": 0.1, "d": -0.0, "s": "d\u00e9j\u00e0 \u6f22 \U0001f6a2", "yes": True, "no": False}),
    ("golden.fixed_t", {"i8": [1, -2, 3], "i16": [256, -257], "i32": [65536, -65537], "i64": [4294967296, -4294967297],
                        "b": "AAH+/w==", "f": [1.5, "Infinity"], "d": [1e300, 5e-324], "s": ["a", "bc"],
                        "ok": [True, False, True]}),
    ("golden.variable_t", {"n": 0, "m": 0, "i8": [], "i16": [], "i32": [], "i64": [], "b": "", "f": [], "d": [], "s": [],
                           "ok": []}),
    ("golden.variable_t", {"n": 2, "m": 3, "i8": [1, 2], "i16": [1, 2, 3], "i32": [1, 2], "i64": [1, 2, 3], "b": "q80=",
                           "f": [1.0, 2.0, 3.0], "d": [1.0, 2.0], "s": ["x", "", "z"], "ok": [False, True]}),
    ("golden.grid_t", {"n": 2, "m": 3, "fixed": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "rows": [[1.0, 2.0], [3.0, 4.0]],
                       "columns": [[1, 2], [3, 4]], "pixels": ["AAEC", "AwQF"],
                       "names": [["a", "b", "c"], ["d", "e", "f"]],
                       "cube": [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]}),
    ("golden.grid_t", {"n": 0, "m": 5, "fixed": [[0.0] * 3] * 2, "rows": [], "columns": [[], []], "pixels": [],
                       "names": [], "cube": []}),
    ("golden.grid_t", {"n": 2, "m": 0, "fixed": [[0.0] * 3] * 2, "rows": [[0.0] * 2] * 2, "columns": [[1, 2], [3, 4]],
                       "pixels": ["", ""], "names": [[], []], "cube": [[[], []], [[], []]]}),
    ("golden.nested_t", {"one": {"name": "one", "xyz": [1.0, 2.0, 3.0]},
                         "two": [{"name": "two", "xyz": [4.0, 5.0, 6.0]}, {"name": "", "xyz": [0.0, 0.0, 0.0]}],
                         "n": 1, "many": [{"name": "three", "xyz": [7.0, 8.0, 9.0]}], "none": {}, "nones": [{}],
                         "far": {"x": -1}}),
    ("golden.node_t", {"label": "root", "n": 2, "children": [
        {"label": "left", "n": 0, "children": []},
        {"label": "right", "n": 1, "children": [{"label": "leaf", "n": 0, "children": []}]}]}),
    ("golden.car_t", {"gear": "DRIVE", "n": 3, "gears": ["REVERSE", "NEUTRAL", 99]}),
    ("bowline.channel_port_map_update_t", {"num_ports": 500, "num_channels": 2, "mapping": [
        {"channel": "POSE", "port": 20404}, {"channel": "IMAGE", "port": -25536}]}),
    ("bowline.channel_to_port_t", {"channel": "POSE", "port": 20404}),
    ("bowline.gps_rmc_t", {"utime": 1234567890123456, "lat": 45.5, "lon": -73.583333, "sog": 3.25}),
    ("bowline.audit_t", {"utime": 1, "station": "bridge/anna", "user": "anna", "role": "operator", "address": "127.0.0.1:4711",
                         "action": "publish", "subject": "operator.stop", "detail": "", "is_done": True, "n_bytes": 4,
                         "message": "QldUMQ=="}),
    ("bowline.image_t", {"utime": 1, "width": 2, "height": 2, "pixelformat": 1497715271, "size": 4, "data": "AECA/w=="}),
    ("bowline.laser_t", {"utime": -1, "nranges": 3, "ranges": [1.25, "Infinity", 0.0], "rad0": -1.5, "radstep": 0.0625}),
    ("bowline.path_t", {"timestamp": 0, "num_waypoints": 2, "waypoints": [
        {"id": "waypoint 0", "position": [0.0, 0.0]}, {"id": "waypoint 1", "position": [100.0, 100.0]}]}),
    ("bowline.pose_t", {"utime": 7, "state": [0.5 * i for i in range(12)]}),
    ("bowline.waypoint_t", {"id": "dock", "position": [12.0, -3.5]}),
    ("bowline.bookmark_t", {"utime": 1763269856250000, "text": "at the dock"}),
    ("bowline.schema_t", {"version": 1, "fingerprint": "-4611686018427387904", "name": "bowline.pose_t", "host": "vessel",
                          "process": "estimator", "pid": 4711, "n_channels": 2, "channels": ["pose", "pose.raw"],
                          "n_bytes": 4, "bytes": "QldUMQ=="}),
    ("bowline.schema_request_t", {"fingerprint": "-4611686018427387904"}),
    ("bowline.recorder_t", {"utime": 1763269856250000, "file": "dive.mcap", "alarm": "no space left", "n_recorded": 4072,
                            "n_lost": 3, "n_waiting": 17, "waiting_bytes": 13600, "disk_left": -1}),
    ("bowline.player_request_t", {"utime": 1, "player": "", "action": 6, "value": -2.5, "log_utime": 0, "text": ""}),
    ("bowline.player_status_t", {
        "utime": 1763269856250000, "player": "host:17", "log": "dive.log", "state": 1, "log_utime": 1700000000000000,
        "rate": 4.0, "log_first_utime": 1, "log_last_utime": 2, "range_start_utime": 3, "range_end_utime": 4,
        "is_looping": True, "n_loops": 5, "n_published": 6, "n_bytes": 7, "n_passed": 8, "n_failed": 9, "n_backward": 10,
        "n_shortened": 11, "n_stalls": 12, "n_refused": 13, "late_mean_s": 0.5, "late_p99_s": 0.75, "late_max_s": 1.5}),
    ("bowline.beat_t", {"utime": 1763269856250000, "count": 41}),
    ("bowline.link_t", {
        "utime": 1763269856250000, "name": "harbour", "peer": "bridge", "scheduler": "value", "n_unknown": 4, "n_paths": 1,
        "paths": [{
            "name": "quic 192.168.7.2:7800", "is_secure": True, "state": 2, "is_active": True, "problem": "", "rtt_s": 0.0625,
            "capacity_bps": 128000.0, "loss_ratio": 0.25, "n_sent": 5, "n_received": 6, "sent_bytes": 7, "received_bytes": 8,
            "n_stalls": 9, "n_bad": 10}],
        "n_streams": 1, "streams": [{
            "channel": "operator.thrust", "name": "harbour.thrust", "is_sent": False, "age_p50_s": 0.03125, "age_p99_s": "NaN",
            "n_offered": 11, "n_sent": 12, "n_delivered": 13, "n_bytes": 14, "n_resent": 15, "n_expired": 16,
            "n_replaced": 17, "n_shed": 18, "n_queue_full": 19, "n_too_large": 20, "n_unchanged": 21, "n_looped": 22,
            "n_stale": 23, "n_duplicate": 24, "n_incomplete": 25, "n_not_peers": 26}]}),
    ("bowline.link_path_t", {
        "name": "udp 127.0.0.1:7800", "is_secure": False, "state": 0, "is_active": False, "problem": "no route", "rtt_s": "NaN",
        "capacity_bps": 0.0, "loss_ratio": 0.0, "n_sent": 0, "n_received": 0, "sent_bytes": 0, "received_bytes": 0,
        "n_stalls": 0, "n_bad": 0}),
    ("bowline.link_stream_t", {
        "channel": "pose", "name": "pose", "is_sent": True, "age_p50_s": "NaN", "age_p99_s": "NaN",
        "n_offered": 1, "n_sent": 1, "n_delivered": 0, "n_bytes": 100, "n_resent": 0, "n_expired": 0,
        "n_replaced": 0, "n_shed": 0, "n_queue_full": 0, "n_too_large": 0, "n_unchanged": 0, "n_looped": 0,
        "n_stale": 0, "n_duplicate": 0, "n_incomplete": 0, "n_not_peers": 0}),
    ("bowline.supervisor_t", {
        "utime": 1763269856250000, "robot": "raptor", "host": "deck", "machine": "raptor-1", "pid": 17, "instance": 2,
        "state": 3, "alarm": "lidar: restarted 5 times in 30 s", "n_processes": 1, "processes": [{
            "name": "lidar", "group": "sensors", "n_components": 1, "components": ["lidar"], "state": 3, "pid": 0,
            "is_adopted": True, "n_restarts": 5, "last_exit": "exit code 1", "started_utime": 0, "cpu_ratio": 0.25,
            "memory_bytes": 4096, "health": "", "n_lines": 6, "n_lines_dropped": 7, "n_bytes_skipped": 8}]}),
    ("bowline.device_t", {"utime": 1763269856250000, "device": "PB9-11", "state": 3, "since_utime": 1, "last_good_utime": 2,
                          "last_error_utime": 3, "last_error": "no answer", "n_bytes": 4, "n_sent_bytes": 5, "n_good": 6,
                          "n_ignored": 7, "n_refused": 8, "n_bad_checksum": 9, "n_malformed": 10, "n_garbage_bytes": 11,
                          "n_timeouts": 12, "n_restarts": 13}),
    ("bowline.experiment_t", {
        "utime": 1763269856250000, "robot": "upsv", "host": "deck", "name": "sounding", "about": "Looks for depths.",
        "gate": "gate", "n_components": 1, "components": [{
            "name": "gate", "kind": "gate", "n_ports": 1, "ports": [{
                "name": "state", "direction": 2, "channel": "gate.state", "type_name": "bowline.gate_t",
                "fingerprint": "-4611686018427387904"}],
            "n_services": 0, "services": []}]}),
    ("bowline.alarm_t", {"utime": 2, "since_utime": 1, "robot": "raptor", "host": "deck", "source": "lidar",
                         "id": "given_up", "severity": 3, "state": 1, "cause": "restarted 5 times in 30 s",
                         "consequence": "", "action": "start it again"}),
    ("bowline.listed_alarm_t", {"alarm": {"utime": 2, "since_utime": 1, "robot": "raptor", "host": "deck", "source": "lidar",
                         "id": "given_up", "severity": 3, "state": 1, "cause": "restarted 5 times in 30 s",
                         "consequence": "", "action": "start it again"},
                                "is_refreshed": True, "acknowledged_by": "bridge/anna", "acknowledged_utime": 3}),
    ("bowline.alarms_t", {"utime": 4, "n_dropped": 0, "n_alarms": 1, "alarms": [{
        "alarm": {"utime": 2, "since_utime": 1, "robot": "raptor", "host": "deck", "source": "lidar",
                         "id": "given_up", "severity": 3, "state": 1, "cause": "restarted 5 times in 30 s",
                         "consequence": "", "action": "start it again"},
        "is_refreshed": False, "acknowledged_by": "", "acknowledged_utime": 0}]}),
    ("bowline.acknowledge_t", {"utime": 3, "by": {"station": "bridge/anna", "session": 7, "epoch": 0, "sequence": 1,
                                                  "token": 0}, "robot": "raptor", "host": "deck", "source": "lidar",
                               "id": "given_up", "since_utime": 1, "severity": 3}),
    ("bowline.output_t", {"utime": 3, "robot": "raptor", "host": "deck", "process": "lidar", "first_line": 40,
                          "n_lines_dropped": 1, "n_bytes_skipped": 2, "n_lines": 2, "lines": ["spinning up", ""]}),
    ("bowline.order_t", {"action": 3, "target": "sensors"}),
    ("bowline.order_reply_t", {"n_processes": 2, "processes": ["lidar", "sonar"]}),
    ("bowline.output_request_t", {"process": "lidar", "n_lines": 10}),
    ("bowline.supervised_t", {
        "name": "map", "group": "", "n_components": 0, "components": [], "state": 7, "pid": 18, "is_adopted": False,
        "n_restarts": 0, "last_exit": "", "started_utime": 4, "cpu_ratio": 1.5, "memory_bytes": 5, "health": "good",
        "n_lines": 0, "n_lines_dropped": 0, "n_bytes_skipped": 0}),
    ("bowline.range3d_t", {"utime": 1763269856250000, "duration_us": 13298, "frame": "Laser:ScanCenter", "min_range_m": 0.625,
                           "max_range_m": 15.0, "range_sd_m": 0.015625, "range_sd_per_m": 0.0, "bearing_sd_rad": 0.001953125,
                           "n_points": 2, "points": [[3.0, 4.0, 0.0, 5.0], [0.0, 1.0, 0.0, "Infinity"]]}),
    ("bowline.pose_transform_t", {"utime": 1763269856250000, "frame": "INS:SenseCenter", "reference": "map",
                                  "matrix": [1.0, 0.0, 0.0, 12.5, 0.0, 1.0, 0.0, -3.0, 0.0, 0.0, 1.0, 0.25, 0.0, 0.0, 0.0,
                                             1.0],
                                  "attitude_covariance": [1e-4, 0.0, 0.0, 0.0, 1e-4, 0.0, 0.0, 0.0, 4e-4],
                                  "position_covariance": [0.01, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 0.04],
                                  "velocity_mps": [1.5, 0.0, 0.0], "rate_radps": ["NaN", "NaN", 0.125]}),
    ("bowline.map_t", {"utime": 1763269856250000, "reference": "map", "origin_m": [-10.0, 5.5], "cell_m": 0.2, "n_planes": 2,
                       "n_rows": 1, "n_columns": 3, "names": ["height", "slope"], "units": ["m", "rad"],
                       "cells": [[[0.0, 0.5, "NaN"]], [[0.0, 1.25, "NaN"]]]}),
    ("bowline.arc_t", {"veto": True, "curvature_per_m": -0.25, "max_speed_mps": 0.0, "vote": -1.0, "confidence": 0.75}),
    ("bowline.vote_t", {"utime": 1763269856250000, "voter": "hazard", "position_m": [12.5, -3.0], "heading_rad": 1.5,
                        "n_arcs": 2, "arcs": [
                            {"veto": False, "curvature_per_m": -0.125, "max_speed_mps": "Infinity", "vote": 1.0,
                             "confidence": 0.5},
                            {"veto": True, "curvature_per_m": 0.125, "max_speed_mps": 0.0, "vote": -1.0, "confidence": 1.0}],
                        "free_m": ["Infinity", 2.5], "n_backward": 1, "backward": [
                            {"veto": False, "curvature_per_m": 0.0, "max_speed_mps": 0.5, "vote": 0.0, "confidence": 0.0}],
                        "backward_free_m": [3.5], "reason": "a step of 0.4 m on the left"}),
    ("bowline.arbitration_t", {"utime": 1763269856250000, "stopped": False, "curvature_per_m": -0.125, "speed_mps": 1.5,
                               "reason": "hazard limits the speed", "n_arcs": 2, "curvatures_per_m": [-0.125, 0.125],
                               "totals": [0.5, -1.0], "vetoed_by": ["", "hazard"], "n_voters": 2,
                               "voters": ["hazard", "waypoint"], "faults": ["", "its vote is 0.8 s old"]}),
    ("bowline.action_t", {"speed_mps": -0.5, "duration_s": 1.25, "turn_radps": 0.25}),
    ("bowline.plan_t", {"utime": 1763269856250000, "map_utime": 1763269856200000, "outcome": 1, "goal_m": [2.0, 0.0],
                        "length_m": 2.0, "n_expanded": 17, "n_actions": 1,
                        "actions": [{"speed_mps": 1.0, "duration_s": 2.0, "turn_radps": 0.0}], "n_states": 2,
                        "states": [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]}),
    ("bowline.imu_t", {"utime": 1763269856250000, "frame": "INS:SenseCenter", "rate_radps": [0.0, -0.25, 0.5],
                       "force_mps2": [0.125, 0.0, 9.75], "rate_sd_radps": 0.001953125, "force_sd_mps2": 0.015625}),
    ("bowline.gps_fix_t", {"utime": 1763269856250000, "frame": "GpsAntenna:PhaseCenter", "lat_deg": 50.28125,
                           "lon_deg": -111.25, "alt_m": 765.5, "horizontal_sd_m": 0.75, "vertical_sd_m": 1.5}),
    ("bowline.wheels_t", {"utime": 1763269856250000, "n_wheels": 2, "names": ["RearLeftWheel:Hub", "RearRightWheel:Hub"],
                          "ticks": [4096, -7], "ticks_per_turn": [4096, 4096], "rate_radps": [2.5, -0.125]}),
    ("bowline.heading_t", {"utime": 1763269856250000, "frame": "INS:SenseCenter", "heading_rad": -1.5, "sd_rad": 0.0625,
                           "field_tesla": [0.125, 0.0, -0.25]}),
    ("bowline.bumper_t", {"utime": 1763269856250000, "frame": "Bumper:Center", "pressed": True, "n_presses": 3}),
    ("bowline.map_error_t", {"utime": 1763269856250000, "plane": "height", "n_compared": 12000, "n_edges": 310,
                             "rms_m": 0.0125, "bias_m": -0.0025, "worst_m": 0.25, "boldness": 1.125}),
    ("bowline.contact_t", {"utime": 1763269856250000, "n_contacts": 1, "bodies": ["Bumper"], "others": ["wall_south"],
                           "since_utime": [1763269856000000], "force_n": [250.5], "n_begun": 2}),
    ("bowline.sim_control_t", {"action": 3, "n_steps": 10, "seed": -1}),
    ("bowline.sim_state_t", {"utime": 1763269856250000, "n_steps": 200, "step_ns": 5000000, "paused": True, "seed": 7,
                             "skipped_ns": 0, "n_bodies": 2, "bodies": ["ground", "trailer"], "n_faults": 1,
                             "faults": ["LeftLaser.Scanner is dead"]}),
    ("bowline.sim_place_t", {"action": 2, "name": "crate_3", "xyz_m": [10.0, -2.5, 0.5], "rpy_rad": [0.0, 0.0, 0.75],
                             "shape": 1, "size_m": [1.0, 1.0, 1.0], "mass_kg": 12.0}),
    ("bowline.sim_fault_t", {"kind": 3, "port": "LeftLaser.Scanner", "value": 4.0, "duration_us": 500000}),
    ("bowline.velocity_t", {"utime": 1763269856250000, "steering_rad": -0.25, "speed_mps": 1.5}),
    ("bowline.thrust_t", {"utime": 1763269856250000, "port_ratio": -0.25, "starboard_ratio": 1.0}),
    ("bowline.authority_t", BY),
    ("bowline.direct_command_t", {
        "utime": 1763269856250000, "by": BY, "actuation": "thrust", "n_axes": 2, "values": [0.5, 0.625]}),
    ("bowline.task_t", {"id": 7, "name": "basin", "kind": 3, "placing": 0, "heading_rad": "NaN", "speed_mps": 1.5,
                        "lane_spacing_m": 8.0, "n_points": 3, "points_m": [[0.0, 0.0], [60.0, 0.0], [60.0, -40.5]]}),
    ("bowline.task_command_t", {
        "utime": 1763269856250000, "by": BY,
        "task": {"id": 8, "name": "", "kind": 4, "placing": 1, "heading_rad": 1.5, "speed_mps": 0.75,
                 "lane_spacing_m": "NaN", "n_points": 0, "points_m": []}}),
    ("bowline.stop_command_t", {"utime": 1763269856250000, "by": BY, "ask": 1, "reason": "a swimmer"}),
    ("bowline.lease_request_t", {"utime": 1763269856250000, "by": BY, "ask": 6, "rank": 2}),
    ("bowline.gate_token_t", {"utime": 1763269856250000, "token": "-81985529216486896", "epoch": 3, "session": 17}),
    ("bowline.gate_t", {
        "utime": 1763269856250000, "name": "vessel", "state": 2, "level": 1, "since_utime": 1763269856000000,
        "until_utime": 1763269857500000, "in_control": "station bridge", "reason": "heading 090", "holder": "bridge",
        "session": "-81985529216486896", "rank": 2, "epoch": 3, "lease_until_utime": 1763269857250000, "asking": "pier",
        "asking_until_utime": 1763269866250000, "is_stopped": False, "stopped_by": "", "stop_reason": "",
        "contingency": "station", "heard_us": 33000, "n_accepted": 1041, "n_refused": 2, "n_reasons": 2,
        "reasons": ["late", "replayed"], "n_refusals": [2, 0]}),
    ("bowline.gate_axis_t", {"field": "steering_rad", "word": "steering", "unit": "rad", "min": -0.5, "max": 0.5,
                             "ahead": 0.0, "left": 1.0, "moves": False}),
    ("bowline.gate_rules_t", {
        "utime": 1763269856250000, "name": "vessel", "actuation": "thrust", "verb": "thrust", "setpoint": "thrust.command",
        "n_axes": 2, "axes": [
            {"field": "port_ratio", "word": "port", "unit": "ratio", "min": -1.0, "max": 1.0, "ahead": 1.0, "left": -0.5,
             "moves": True},
            {"field": "starboard_ratio", "word": "starboard", "unit": "ratio", "min": -0.5, "max": 0.75, "ahead": 1.0,
             "left": 0.5, "moves": True}],
        "direct_max_age_us": 250000, "task_max_age_us": 2000000, "setpoint_us": 1500000, "neutral_us": 300000,
        "lease_us": 1000000, "answer_us": 5000000, "grace_us": 5000000, "contingency": "station", "local_stop_us": 0,
        "pose_max_age_us": 2000000, "pose_sd_m": 5.0, "n_fence": 3, "fence_m": [[-5.0, -5.0], [5.0, -5.0], [5.0, 5.5]]}),
    ("bowline.refusal_t", {
        "utime": 1763269856250000, "name": "vessel", "by": BY, "command": "direct", "reason": "late",
        "text": "expected a token of at most 250 ms, found one of 412 ms", "age_us": 412000}),
    ("bowline.guidance_t", {"utime": 1763269856250000, "kind": 2, "heading_rad": 0.0, "speed_mps": 1.5,
                            "from_m": [0.0, -4.5], "to_m": [60.0, -4.5]}),
    ("bowline.helm_t", {
        "utime": 1763269856250000, "task": 7, "name": "basin", "kind": 3, "is_done": False, "is_paused": True,
        "text": "lane 2 of 6", "refused": "", "n_legs": 11, "n_done": 2, "left_m": 412.5, "cross_track_m": "NaN",
        "along_track_m": "NaN", "n_tasks": 2, "tasks": ["basin", "home"]}),
    ("bowline.multibeam_t", {"utime": 1763269856250000, "frame": "Sonar:Head", "first_rad": 0.5, "step_rad": 0.0078125,
                             "sound_speed_mps": 1500.0, "range_sd_m": 0.03125, "beam_width_rad": 0.0546875, "n_beams": 3,
                             "ranges_cm": [812, 0, 32767], "strengths": "AH//"}),
    ("bowline.sounding_t", {"utime": 1763269856250000, "frame": "Sounder:Face", "depth_m": 8.125, "sd_m": 0.0625}),
    ("bowline.spectrum_t", {"utime": 1763269856250000, "frame": "Spectrometer:Inlet", "n_masses": 2,
                            "names": ["water", "benzene"], "mass_da": [18.0, 78.0], "current_a": [1.5, 0.0009765625]}),
    ("bowline.sea_t", {"utime": 1763269856250000, "current_mps": [0.5, -0.125], "wind_mps": [-4.0, 1.5],
                       "surface_m": 0.0625, "depth_m": 8.5}),
    ("bowline.serial_t", {"utime": 1763269856250000, "n_bytes": 4, "bytes": "JEdQAA=="}),
    ("bowline.step_t", {"time_ns": "1763269856250000001", "reason": 2, "port": 1, "received_ns": "1763269856250000000",
                        "hash": "-81985529216486896", "n_sent": 2, "ports": [2, 3], "hashes": [5, -6]}),
    ("bowline.step_ready_t", {"version": 1, "name": "limiter.py", "period_ns": 50000000}),
    ("bowline.step_request_t", {"step": 3, "time_ns": "1763269856250000001", "reason": 2, "channel": "keeper.gap"}),
    ("bowline.step_done_t", {"step": 3, "wake_ns": "1763269856300000001", "error": "no gap for 2 s"}),
    ("bowline.steps_t", {
        "utime": 1763269856250000, "robot": "raptor", "component": "arbiter", "started_utime": 1763269850000000,
        "settings": "kind arbiter\ngain = 0.5\n", "first": 7, "n_steps": 2, "steps": [
            {"time_ns": 1, "reason": 3, "port": 0, "received_ns": 0, "hash": 0, "n_sent": 0, "ports": [], "hashes": []},
            {"time_ns": 2, "reason": 1, "port": 0, "received_ns": 0, "hash": 0, "n_sent": 1, "ports": [4], "hashes": [9]}]}),
    ("bowline.parameter_t", {"name": "gain", "value": "0.5", "default_value": "0.4", "kind": "number",
                             "limits": "0.0 to 2.0", "doc": "From the error to the speed, 1/s.", "is_live": True}),
    ("bowline.parameters_t", {"utime": 3, "component": "keeper", "n_parameters": 1, "parameters": [
        {"name": "mode", "value": "\"go\"", "default_value": "\"stop\"", "kind": "text", "limits": "", "doc": "",
         "is_live": False}]}),
    ("bowline.parameters_request_t", {"n_set": 2, "names": ["gain", "mode"], "values": ["0.5", "\"go\""]}),
    ("bowline.model_transform_request_t", {"foi": "Flea:ImagePlane", "reference": "Raptor:FrontBumperCenter", "utime": 0}),
    ("bowline.model_transform_t", {
        "utime": 4, "foi": "Flea:ImagePlane", "reference": "Raptor:FrontBumperCenter",
        "matrix": [1.0, 0.0, 0.0, -1.4, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.6, 0.0, 0.0, 0.0, 1.0],
        "xyz_m": [-1.4, 0.0, 1.6], "quat_wxyz": [1.0, 0.0, 0.0, 0.0], "rpy_rad": [0.0, 0.0, 0.0]}),
    ("bowline.model_list_request_t", {"body": "Raptor"}),
    ("bowline.model_list_t", {"n_names": 2, "names": ["Raptor", "Flea"]}),
    ("bowline.call_t", {
        "utime": 1763269856250000, "id": "-7046029254386353131", "caller": "planner.model", "incarnation": 1763269000000000,
        "number": 12, "service": "model.transform", "kind": 1, "attempt": 2, "timeout_us": 2000000, "elapsed_us": 150000,
        "server_instance": 1763268000000000, "n_bytes": 3, "body": "AQID"}),
    ("bowline.answer_t", {
        "utime": 1763269856251000, "id": "-7046029254386353131", "caller": "planner.model", "service": "model.transform",
        "server": "model", "server_instance": 1763268000000000, "attempt": 2, "kind": 3, "code": -1,
        "text": "64 calls are being worked on", "n_bytes": 0, "body": ""}),
    ("bowline.heartbeat_component_t", {"name": "planner", "health": 3, "text": "no pose for 2 s", "n_steps": 1, "n_late": 2,
                                       "n_dropped": 3, "n_errors": 4}),
    ("bowline.heartbeat_t", {
        "utime": 1763269856250000, "robot": "boat", "host": "vessel", "process": "planning", "pid": 4711,
        "instance": 1763269000000000, "clock_offset_us": -3600000000, "period_us": 200000, "is_leaving": False,
        "revision": 2, "n_components": 1, "components": [
            {"name": "planner", "health": 2, "text": "", "n_steps": 10, "n_late": 0, "n_dropped": 0, "n_errors": 0}]}),
    ("bowline.presence_port_t", {"name": "pose", "direction": 1, "channel": "vehicle.pose", "type_name": "bowline.pose_t",
                                 "fingerprint": "-4611686018427387904"}),
    ("bowline.presence_service_t", {
        "port": "model", "direction": 2, "name": "model.transform", "request_type": "bowline.waypoint_t",
        "request_fingerprint": 5, "reply_type": "bowline.pose_t", "reply_fingerprint": -6}),
    ("bowline.presence_component_t", {"name": "planner", "kind": "plan", "n_ports": 0, "ports": [], "n_services": 1,
                                      "services": [{
        "port": "model", "direction": 2, "name": "model.transform", "request_type": "bowline.waypoint_t",
        "request_fingerprint": 5, "reply_type": "bowline.pose_t", "reply_fingerprint": -6}]}),
    ("bowline.presence_t", {
        "utime": 1763269856250000, "robot": "boat", "host": "vessel", "process": "planning", "pid": 4711,
        "instance": 1763269000000000, "revision": 2, "n_components": 1, "components": [
            {"name": "planner", "kind": "plan", "n_ports": 1, "ports": [
                {"name": "pose", "direction": 1, "channel": "vehicle.pose", "type_name": "bowline.pose_t", "fingerprint": 7}],
             "n_services": 0, "services": []}]}),
    ("bowline.presence_request_t", {"utime": 1, "robot": "boat", "process": ""}),
]


def load(name):
    package, short = name.rsplit(".", 1)
    cls = getattr(importlib.import_module(package), short)
    if name in ENUMS:
        # The reference's structs call this without the argument that it wants.
        cls.__init__.__defaults__ = (0,)
    return cls


def element(typename, value):
    if typename in ("float", "double"):
        return float(value)
    if typename.startswith("int"):
        return int(value)
    if typename in ENUMS:
        return load(typename)(ENUMS[typename].get(value, value))
    if typename not in PRIMITIVES:
        return build(typename, value)
    return value


def array(typename, n_dims, value):
    if n_dims == 0:
        return element(typename, value)
    if n_dims == 1 and typename == "byte":
        return base64.b64decode(value)
    return [array(typename, n_dims - 1, item) for item in value]


def build(typename, value):
    cls = load(typename)
    for other in ENUMS:
        load(other)
    message = cls()
    for name, member_type, dims in zip(cls.__slots__, cls.__typenames__, cls.__dimensions__):
        setattr(message, name, array(member_type, len(dims or []), value[name]))
    return message


def main(path):
    rows = ["# Recorded from the lcm 1.5.3 wheel by scripts/record-golden. Do not edit."]
    for typename, value in MESSAGES:
        data = build(typename, value).encode()
        fingerprint = struct.unpack(">Q", data[:8])[0]
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        rows += ["", "[[message]]", f'type = "{typename}"', f'fingerprint = "0x{fingerprint:016x}"',
                 f"value = '''{text}'''", f'bytes = "{data.hex()}"']
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


main(sys.argv[1])
