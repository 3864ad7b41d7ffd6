//! The simulator: a world, vehicles that move in it, and sensors that see it.
//!
//! In: a world file, a robot's model, commands. Out: the traffic that the real vehicle and its sensors would publish, and
//! the truth, apart. The same seed gives the same bytes.
