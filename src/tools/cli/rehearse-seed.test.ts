import { expect, test } from "vitest";
import { readSeed } from "./rehearse-seed.ts";

test("a rehearsal without --kubeconfig rejects --context, which would be ignored", async () => {
  await expect(readSeed({ to: "1.34", context: "prod" })).rejects.toMatchObject({
    exitCode: 2,
    message: "--context: set --kubeconfig, too",
  });
});

test("a rehearsal rejects two clusters", async () => {
  await expect(readSeed({ to: "1.34", snapshot: "a.db", kubeconfig: "config" })).rejects.toMatchObject({
    exitCode: 2,
    message: "--snapshot and --kubeconfig cannot be used together",
  });
});
