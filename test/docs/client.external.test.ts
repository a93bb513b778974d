/**
 * Runs the example of docs/client.md as a program that uses the packed package. The program starts before its server.
 */
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installPackage } from "../clients/client-package-tarball.ts";
import { NODE, ROOT } from "../smoke/built.ts";
import { disposableDirectory, runProgram, startEvenkeel } from "../smoke/start-evenkeel.ts";
import { missingLine } from "./blocks.ts";

const PATH = "docs/client.md";
const DOCUMENT = readFileSync(join(ROOT, PATH), "utf8");
const IF_READY = ["--controllers=", "--startup-send-retry-after-if-not-initialized"];

function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(DOCUMENT)![1]!;
}

test.each([
  ["1.x", "client-node-1"],
  ["2.x", "@kubernetes/client-node"],
])(`the program of ${PATH} runs with client-node %s, and prints the documented output`, async (_major, installed) => {
  using data = disposableDirectory();
  using directory = disposableDirectory();
  installPackage(directory.path);
  mkdirSync(join(directory.path, "node_modules/@kubernetes"));
  const clientNode = realpathSync(join(ROOT, "node_modules", installed));
  symlinkSync(clientNode, join(directory.path, "node_modules/@kubernetes/client-node"));
  writeFileSync(join(directory.path, "example.mjs"), block("js"));

  const first = await startEvenkeel({ dataDir: data.path, flags: IF_READY });
  await first.stop();
  const env = { ...process.env, KUBECONFIG: first.kubeconfig };
  await using program = runProgram(NODE, [join(directory.path, "example.mjs")], env);
  const flags = [...IF_READY, "--secure-port", String(first.port)];
  await using second = await startEvenkeel({ dataDir: data.path, flags });
  expect(second.port).toBe(first.port);
  expect(await program.exited, program.stderr).toMatchObject({ code: 0 });
  const prints = block("text")
    .split("\n")
    .filter((line) => line !== "");
  expect(prints).toHaveLength(3);
  expect(missingLine(prints, program.stdout), program.stdout).toBeUndefined();
});
