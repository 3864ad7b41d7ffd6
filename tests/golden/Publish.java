import lcm.lcm.LCM;

/** Publishes messages of given sizes with the reference's Java: URL, then CHANNEL SIZE pairs. Run by datagrams.py. */
public final class Publish {
    public static void main(String[] args) throws Exception {
        LCM lcm = new LCM(args[0]);
        for (int at = 1; at < args.length; at += 2) {
            byte[] message = new byte[Integer.parseInt(args[at + 1])];
            for (int i = 0; i < message.length; i++) {
                message[i] = (byte) (i * 31 + i / 251);
            }
            lcm.publish(args[at], message, 0, message.length);
        }
        lcm.close();
    }
}
