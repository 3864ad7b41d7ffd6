/** The part of `@types/node` that depth.ts uses, so that nothing has to be installed. */

declare module "node:dgram" {
    interface Socket {
        on(event: "message", listener: (datagram: Uint8Array) => void): void;
        bind(port: number, done: () => void): void;
        addMembership(group: string): void;
        setMulticastTTL(ttl: number): void;
        send(parts: Uint8Array[], port: number, address: string): void;
    }
    export function createSocket(options: { type: "udp4"; reuseAddr: boolean }): Socket;
}
