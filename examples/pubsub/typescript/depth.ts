/** Publishes a depth five times a second, and prints the depths that all programs publish: LCM's short messages, by UDP. */

import { createSocket } from "node:dgram";
import { sonar } from "./types/index.js";

const [GROUP, PORT, CHANNEL] = ["239.255.76.67", 7667, "sonar.depth"];

/** A datagram is this, a sequence number, the channel, a NUL and the message. */
const MAGIC = 0x4c433032;
const N_HEADER_BYTES = 8;

const socket = createSocket({ type: "udp4", reuseAddr: true });

socket.on("message", (datagram) => {
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    const end = datagram.indexOf(0, N_HEADER_BYTES);
    if (end < 0 || view.getUint32(0) !== MAGIC) return;
    if (new TextDecoder().decode(datagram.subarray(N_HEADER_BYTES, end)) !== CHANNEL) return;
    const depth = sonar.Depth.decode(datagram.subarray(end + 1));
    console.log(`${depth.sensor} ${depth.depth_m} m`);
});

let sequence = 0;

function publish(depth: sonar.Depth): void {
    const header = new DataView(new ArrayBuffer(N_HEADER_BYTES));
    header.setUint32(0, MAGIC);
    header.setUint32(4, sequence++);
    const channel = new TextEncoder().encode(`${CHANNEL}\0`);
    socket.send([new Uint8Array(header.buffer), channel, depth.encode()], PORT, GROUP);
}

socket.bind(PORT, () => {
    socket.addMembership(GROUP);
    socket.setMulticastTTL(0);
    setInterval(() => {
        publish(new sonar.Depth({ utime: BigInt(Date.now()) * 1000n, depth_m: 5.5, sensor: "typescript" }));
    }, 200);
});
