import { build } from "esbuild";
import { expect, test } from "vitest";

test("the entry point of the client imports nothing that depends on Node", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${import.meta.dirname}/index.ts`],
    bundle: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
  });
  expect(Object.keys(metafile.inputs).filter((path) => !/^src\/(client|base|meta)\//.test(path))).toEqual([]);
  expect(outputFiles[0]!.text).not.toMatch(/\b(Buffer|process|require)\b/);
});
