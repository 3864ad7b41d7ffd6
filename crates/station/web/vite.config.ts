import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The small first script asks for the large one; the browser learns of that before it has read the first. */
const preloadMain: Plugin = {
    name: "preload-main",
    transformIndexHtml: {
        order: "post",
        handler: (_, { bundle }) =>
            Object.values(bundle ?? {})
                .filter((it) => it.type === "chunk" && it.name === "main")
                .map(({ fileName }) => ({
                    tag: "link",
                    attrs: { rel: "modulepreload", crossorigin: true, href: `./${fileName}` },
                    injectTo: "head" as const,
                })),
    },
};

// The page is served from the binary: addresses are relative to it, names carry a hash of the content, and nothing in
// the output depends on when or where it was built.
export default defineConfig({
    base: "./",
    plugins: [preloadMain],
    build: {
        target: "es2022",
        sourcemap: false,
        // Fonts stay files: the page's policy for content allows fonts from its own origin only.
        assetsInlineLimit: 0,
        chunkSizeWarningLimit: 800,
        reportCompressedSize: true,
    },
    test: {
        include: ["tests/**/*.test.ts"],
        environment: "node",
    },
});
