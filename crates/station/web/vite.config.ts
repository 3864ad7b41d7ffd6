import { defineConfig } from "vitest/config";

// The page is served from the binary: addresses are relative to it, names carry a hash of the content, and nothing in
// the output depends on when or where it was built.
export default defineConfig({
    base: "./",
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
