import java.io.*;
import java.lang.reflect.*;
import java.net.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.util.*;

/**
 * Answers questions with generated Java: Driver CLASSES CHARSET FOLDER.
 *
 * Reads FOLDER/questions, decodes and encodes each message, and writes FOLDER/answers and FOLDER/dumps. An empty message
 * asks for the fingerprint. The formats are in tests/src/cases.rs and tests/src/dump.rs. CHARSET says what the classes
 * take a string's bytes for: the reference takes them for ISO-8859-1.
 */
public final class Driver {
    private static Charset charset;

    public static void main(String[] args) throws Exception {
        URLClassLoader classes = new URLClassLoader(new URL[] {Paths.get(args[0]).toUri().toURL()});
        charset = Charset.forName(args[1]);
        Path folder = Paths.get(args[2]);
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(folder.resolve("questions"))));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(folder.resolve("answers"))));
                Writer dumps = Files.newBufferedWriter(folder.resolve("dumps"), StandardCharsets.UTF_8)) {
            while (true) {
                byte[] name = block(in);
                if (name == null) break;
                byte[] message = block(in);
                Class<?> type = Class.forName(new String(name, StandardCharsets.UTF_8), true, classes);
                StringBuilder dump = new StringBuilder();
                byte[] reply;
                int status = 0;
                try {
                    reply = answer(type, message, dump);
                } catch (Throwable error) {
                    status = 1;
                    Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
                    reply = cause.toString().getBytes(StandardCharsets.UTF_8);
                }
                out.writeByte(status);
                out.writeInt(reply.length);
                out.write(reply);
                dumps.write(dump + "\n");
            }
        }
    }

    private static byte[] block(DataInputStream in) throws IOException {
        int size;
        try {
            size = in.readInt();
        } catch (EOFException end) {
            return null;
        }
        byte[] bytes = new byte[size];
        in.readFully(bytes);
        return bytes;
    }

    private static byte[] answer(Class<?> type, byte[] message, StringBuilder dump) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        if (message.length == 0) {
            out.writeLong(type.getField("LCM_FINGERPRINT").getLong(null));
            return bytes.toByteArray();
        }
        Object value = type.getConstructor(byte[].class).newInstance((Object) message);
        dump(value, dump);
        Object copy = type.getMethod("copy").invoke(value);
        type.getMethod("encode", DataOutput.class).invoke(copy, out);
        return bytes.toByteArray();
    }

    private static void dump(Object value, StringBuilder text) throws Exception {
        if (value instanceof Float) {
            text.append(String.format("\"%08x\"", Float.floatToRawIntBits((Float) value)));
        } else if (value instanceof Double) {
            text.append(String.format("\"%016x\"", Double.doubleToRawLongBits((Double) value)));
        } else if (value instanceof Number || value instanceof Boolean) {
            text.append(value);
        } else if (value instanceof String) {
            text.append('"');
            for (byte b : ((String) value).getBytes(charset)) text.append(String.format("%02x", b));
            text.append('"');
        } else if (value.getClass().isArray()) {
            dumpArray(value, text);
        } else {
            dumpMembers(value, text);
        }
    }

    private static void dumpArray(Object array, StringBuilder text) throws Exception {
        text.append('[');
        for (int i = 0; i < Array.getLength(array); i++) {
            if (i > 0) text.append(',');
            Object item = Array.get(array, i);
            // The language's byte has no sign, Java's has; an int8_t and a byte look the same here.
            dump(item, text);
        }
        text.append(']');
    }

    private static void dumpMembers(Object value, StringBuilder text) throws Exception {
        List<Field> fields = new ArrayList<>();
        for (Field field : value.getClass().getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && Modifier.isPublic(field.getModifiers())) fields.add(field);
        }
        boolean isEnum = fields.size() == 1 && fields.get(0).getName().equals("value") && isEnum(value.getClass());
        if (isEnum) {
            text.append(fields.get(0).getInt(value));
            return;
        }
        text.append('{');
        for (int i = 0; i < fields.size(); i++) {
            if (i > 0) text.append(',');
            text.append('"').append(fields.get(i).getName()).append("\":");
            dump(fields.get(i).get(value), text);
        }
        text.append('}');
    }

    private static boolean isEnum(Class<?> type) {
        try {
            type.getMethod("getValue");
            return true;
        } catch (NoSuchMethodException none) {
            return false;
        }
    }
}
