/** Turns the errors of a start into one sentence for the user that says what to do. */
import { OptionError } from "../../base/option-error.ts";
import type { ListeningServer } from "../../server/listener.ts";
import { StorageError } from "../../storage/kv.ts";
import { CommandFailure } from "./failure.ts";

export async function startWithClearErrors(
  start: () => Promise<ListeningServer>,
  flags: { readonly securePort: number; readonly bindAddress: string },
): Promise<ListeningServer> {
  try {
    return await start();
  } catch (thrown) {
    if (thrown instanceof StorageError || thrown instanceof OptionError) throw new CommandFailure(thrown.message, 1);
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE")
      throw new CommandFailure(
        `port ${flags.securePort} on ${flags.bindAddress} is already in use: choose another with --secure-port`,
        1,
      );
    if (code === "EACCES")
      throw new CommandFailure(
        `permission denied for port ${flags.securePort} on ${flags.bindAddress}: choose another with --secure-port`,
        1,
      );
    if (code === "EADDRNOTAVAIL")
      throw new CommandFailure(`this machine does not have the address ${flags.bindAddress}`, 1);
    if (code !== undefined && /^ERR_(OSSL|SSL|TLS|CRYPTO)/.test(code))
      throw new CommandFailure(`the serving certificate or its key cannot be used: ${(thrown as Error).message}`, 1);
    // The message already names what the operating system rejected, for example the path of the audit log.
    if (thrown instanceof Error && isSystemError(thrown.cause)) throw new CommandFailure(thrown.message, 1);
    throw thrown;
  }
}

function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && "syscall" in cause;
}
