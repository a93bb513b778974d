/** Starts and kills the KMS plugin for tests, in a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("kms-plugin-process.ts", import.meta.url));

export interface KmsPluginProcess extends AsyncDisposable {
  /** Sends SIGKILL, and resolves when the process has ended. */
  kill(): Promise<void>;
}

export async function spawnKmsPlugin(
  socket: string,
  keyId: string,
  retired: readonly string[] = [],
): Promise<KmsPluginProcess> {
  // A killed plugin leaves its socket.
  rmSync(socket, { force: true });
  const child = spawn(process.execPath, [PROGRAM, socket, keyId, ...retired], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), exited]);
  if (child.exitCode !== null) throw new Error(`the KMS plugin exited with code ${child.exitCode}`);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  return { kill, [Symbol.asyncDispose]: kill };
}
