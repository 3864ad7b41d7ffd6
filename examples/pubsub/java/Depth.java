import java.io.IOException;
import lcm.lcm.LCM;
import lcm.lcm.LCMDataInputStream;
import lcm.lcm.LCMSubscriber;
import sonar.depth_t;

/** Publishes a depth five times a second, and prints the depths that all programs publish. */
public final class Depth implements LCMSubscriber {
    public static void main(String[] arguments) throws IOException, InterruptedException {
        LCM lcm = LCM.getSingleton();
        lcm.subscribe("sonar.depth", new Depth());
        while (true) {
            depth_t depth = new depth_t();
            depth.utime = System.currentTimeMillis() * 1000;
            depth.depth_m = 3.5;
            depth.sensor = "java";
            lcm.publish("sonar.depth", depth);
            Thread.sleep(200);
        }
    }

    @Override
    public void messageReceived(LCM lcm, String channel, LCMDataInputStream data) {
        try {
            depth_t depth = new depth_t(data);
            System.out.println(depth.sensor + " " + depth.depth_m + " m");
        } catch (IOException error) {
            System.err.println(error);
        }
    }
}
