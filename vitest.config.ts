import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests that start other programs or processes of their own; everything else runs inside the test process. */
const EXTERNAL = [
  "**/*.external.test.ts",
  "src/storage/kv-etcd/etcd*.test.ts",
  "src/storage/kv-sqlite/crash.test.ts",
  "test/cluster/**/*.test.ts",
  "test/real-peers/**/*.test.ts",
  "test/smoke/**/*.test.ts",
];

// Many tests start worker threads or processes that run from source. The cache saves each of them the removal of types
// from every file, which takes longer than most of these tests.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));

const shared = { pool: "threads", testTimeout: 60_000, hookTimeout: 60_000 } as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: EXTERNAL,
          // Modules keep no state (test/architecture.test.ts holds them to it), so files may share a worker.
          isolate: false,
          // Left alone it takes one core of two.
          maxWorkers: availableParallelism(),
        },
      },
      {
        test: {
          ...shared,
          name: "external",
          include: EXTERNAL,
          exclude: ["**/node_modules/**", "dist/**"],
          // Isolated (the default): these keep processes and signal handlers, which must end with their file.
          // They wait more than they work: for outages to pass, processes to start, watches to time out.
          maxWorkers: 4,
        },
      },
    ],
  },
});
