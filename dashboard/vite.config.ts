// The build: Preact, one chunk per view, content-hashed names, and a Rust table of the files for the server.

import { defineConfig } from "vite";
import { writeRustTable } from "./scripts/rust-table.mjs";

const PAGE = "../src/dashboard/page";
const TABLE = "../src/dashboard/bundle.rs";

export default defineConfig({
  // Relative addresses also work behind a proxy that serves the page below a path.
  base: "./",
  build: {
    outDir: PAGE,
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The content security policy allows no data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The licences of the libraries in the bundle require their texts with every copy.
    license: { fileName: "licences.md" },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: (chunk) => `assets/${chunkName(chunk.facadeModuleId, chunk.name)}-[hash].js`,
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  plugins: [{ name: "rust-table", closeBundle: () => writeRustTable(PAGE, TABLE) }],
});

/** Names the chunk of a view after its folder. */
function chunkName(module: string | null | undefined, name: string): string {
  return /\/views\/([\w-]+)\/index\.tsx$/.exec(module ?? "")?.[1] ?? name;
}
