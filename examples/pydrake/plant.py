"""A pendulum in Drake's simulator, on the time of the robot."""

from pendulum import pendulum_t, torque_t
from pydrake.examples import PendulumPlant
from pydrake.systems.analysis import Simulator
from steps import take_steps

plant = PendulumPlant()
simulator = Simulator(plant)
context = simulator.get_mutable_context()
context.SetContinuousState([0.1, 0.0])
plant.get_input_port().FixValue(context, [0.0])
began_ns, torque_nm = None, 0.0


def on_torque(channel, data):
    global torque_nm
    torque_nm = torque_t.decode(data).torque_nm


def step(bus, request):
    global began_ns
    if began_ns is None:
        began_ns = request.time_ns
        simulator.Initialize()
    simulator.AdvanceTo((request.time_ns - began_ns) * 1e-9)
    # Until this step the torque was the one before.
    plant.get_input_port().FixValue(context, [torque_nm])
    if request.reason == request.MESSAGE:
        return
    state = pendulum_t()
    state.utime = request.time_ns // 1000
    state.angle_rad, state.rate_rad_per_s = plant.get_state_output_port().Eval(context)
    bus.publish("plant.state", state.encode())


take_steps({"controller.torque": on_torque}, step, period=0.01)
