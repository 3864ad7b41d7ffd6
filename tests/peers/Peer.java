import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.DatagramSocket;
import java.util.Arrays;
import java.util.zip.CRC32;
import lcm.lcm.LCM;
import lcm.lcm.LCMDataInputStream;

/** One end of a bus, on lcm.jar. The verbs and lines that all ends share are described in tests/src/bus_peers.rs. */
public final class Peer {
    /** As in tests/src/content.rs. */
    private static final int PERIOD_WORDS = 65521;

    private static long nMessages, nBytes;

    /** For our lines only: the library talks on System.out too, about connections. */
    private static final PrintStream OUT = System.out;

    private static synchronized void say(String line) {
        OUT.println(line);
        OUT.flush();
    }

    private static synchronized void summary() {
        say("done " + nMessages + " messages " + nBytes + " bytes");
    }

    private static synchronized void count(long size) {
        nMessages++;
        nBytes += size;
    }

    private static byte[] content(long seed, long index, int size) {
        byte[] bytes = new byte[size];
        int period = 8 * PERIOD_WORDS;
        long x = seed + index * 0x9e3779b97f4a7c15L;
        if (x == 0)
            x = 0x9e3779b97f4a7c15L;
        for (int at = 0; at < size && at < period; at += 8) {
            x ^= x >>> 12;
            x ^= x << 25;
            x ^= x >>> 27;
            long word = x * 0x2545f4914f6cdd1dL;
            for (int i = 0; i < 8 && at + i < size; i++)
                bytes[at + i] = (byte) (word >>> 8 * i);
        }
        for (int at = period; at < size; at += period)
            System.arraycopy(bytes, 0, bytes, at, Math.min(period, size - at));
        return bytes;
    }

    private static byte[] rest(LCMDataInputStream in) throws IOException {
        byte[] bytes = new byte[in.available()];
        in.readFully(bytes);
        return bytes;
    }

    /**
     * A bus whose socket has room for a large message. The library knows no `recv_buf_size`, and with what Linux gives
     * unasked, three fragments, a pause of the virtual machine loses the fourth; so the socket is taken from inside.
     */
    private static LCM open(String url) throws Exception {
        LCM bus = new LCM(url);
        if (!url.startsWith("udpm")) {
            return bus;
        }
        Field providers = LCM.class.getDeclaredField("providers");
        providers.setAccessible(true);
        for (Object provider : (Iterable<?>) providers.get(bus)) {
            Field socket = provider.getClass().getDeclaredField("sock");
            socket.setAccessible(true);
            ((DatagramSocket) socket.get(provider)).setReceiveBufferSize(4 << 20);
        }
        return bus;
    }

    /** Handles messages, in the library's thread, until there were `limit` (0: for ever), or stdin is closed. */
    private static void handle(String url, String pattern, long limit, String replyChannel) throws Exception {
        LCM bus = open(url);
        bus.subscribe(pattern, (lcm, channel, in) -> {
            try {
                byte[] bytes = rest(in);
                count(bytes.length);
                if (replyChannel != null) {
                    lcm.publish(replyChannel, bytes, 0, bytes.length);
                    return;
                }
                CRC32 crc = new CRC32();
                crc.update(bytes);
                say(String.format("%s %d %08x", channel, bytes.length, crc.getValue()));
            } catch (IOException error) {
                System.err.println("peer: " + error);
                System.exit(2);
            }
            if (limit > 0 && nMessages >= limit)
                end();
        });
        say("ready");
        while (System.in.read() >= 0) {}
        end();
    }

    private static synchronized void end() {
        summary();
        // The library's threads would go on for ever, and the main thread waits for stdin.
        Runtime.getRuntime().halt(0);
    }

    /** Waits for the library's thread to connect to a hub: until then the library drops what it is given to publish. */
    private static LCM connected(String url) throws Exception {
        LCM bus = new LCM(url);
        if (!url.startsWith("tcpq")) {
            return bus;
        }
        Field providers = LCM.class.getDeclaredField("providers");
        providers.setAccessible(true);
        for (Object provider : (Iterable<?>) providers.get(bus)) {
            Field field = provider.getClass().getDeclaredField("tcp");
            field.setAccessible(true);
            Object connection = field.get(provider);
            // It holds this lock while it shakes hands.
            Field version = connection.getClass().getDeclaredField("serverVersion");
            version.setAccessible(true);
            while (true) {
                synchronized (connection) {
                    if (version.getInt(connection) != 0)
                        break;
                }
                Thread.onSpinWait();
            }
        }
        return bus;
    }

    private static void send(String[] args) throws Exception {
        LCM bus = connected(args[1]);
        long nChannels = Long.parseLong(args[3]), seed = Long.parseLong(args[4]), limit = Long.parseLong(args[5]);
        int[] sizes = Arrays.stream(args, 7, args.length).mapToInt(Integer::parseInt).toArray();
        say("ready");
        if (args[6].equals("step")) {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            String line;
            while ((limit == 0 || nMessages < limit) && (line = in.readLine()) != null) {
                publish(bus, args[2], nChannels, seed, Long.parseLong(line), sizes);
                say("sent " + line);
            }
            end();
        }
        double perSecond = Double.parseDouble(args[6]);
        long due = System.nanoTime();
        for (long index = 0; index < limit; index++) {
            publish(bus, args[2], nChannels, seed, index, sizes);
            if (perSecond > 0) {
                due += (long) (1e9 / perSecond);
                long wait = Math.max(0, due - System.nanoTime());
                Thread.sleep(wait / 1000000, (int) (wait % 1000000));
            }
        }
        end();
    }

    private static void publish(LCM bus, String prefix, long nChannels, long seed, long index, int[] sizes)
            throws IOException {
        byte[] bytes = content(seed, index, sizes[(int) (index % sizes.length)]);
        bus.publish(nChannels > 1 ? prefix + index % nChannels : prefix, bytes, 0, bytes.length);
        count(bytes.length);
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err);
        switch (args[0]) {
            case "receive":
                handle(args[1], args[2], Long.parseLong(args[3]), null);
                break;
            case "echo":
                handle(args[1], args[2], 0, args[3]);
                break;
            case "send":
                send(args);
                break;
            default:
                throw new IllegalArgumentException("expected receive, send or echo; see tests/src/bus_peers.rs");
        }
    }
}
