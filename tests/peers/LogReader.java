// Prints each event of a log as LCM's Java reader sees it: number, time, channel and payload in hex.

import java.io.EOFException;
import java.io.PrintStream;
import lcm.logging.Log;

class LogReader {
    public static void main(String[] args) throws Exception {
        Log log = new Log(args[0], "r");
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        while (true) {
            Log.Event event;
            try {
                event = log.readNext();
            } catch (EOFException end) {
                break;
            }
            StringBuilder hex = new StringBuilder();
            for (byte b : event.data) {
                hex.append(String.format("%02x", b));
            }
            out.println(event.eventNumber + " " + event.utime + " " + event.channel + " " + hex);
        }
        out.flush();
    }
}
