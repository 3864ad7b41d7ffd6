//! Components, robots and their hosts, through the public interface.

mod it {
    mod robots;
}
