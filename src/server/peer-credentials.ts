/** Certificates that are renewed while the server runs: looked at now and then, read again when they have changed. */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { UpstreamTls } from "../http/node/upstream/credentials.ts";
import type { PeerCredentials } from "./peer-config.ts";

const LOOK_MS = 1_000;

export interface ReloadingOptions {
  readonly files: PeerCredentials;
  readonly clock: Clock;
  readonly log: Log;
}

/** Throws for files that cannot be read at first; later the last ones that could be stay in use. */
export function reloadingCredentials({ files, clock, log }: ReloadingOptions): () => UpstreamTls {
  let seen = stampOf(files);
  let current = read(files);
  let lookedAtMs = clock.monotonic();
  return () => {
    if (clock.monotonic() - lookedAtMs < LOOK_MS) return current;
    lookedAtMs = clock.monotonic();
    try {
      const stamp = stampOf(files);
      if (stamp === seen) return current;
      current = read(files);
      seen = stamp;
      log.info("the certificates for peers were read again", { file: files.certFile });
    } catch (thrown) {
      log.warn("the certificates for peers cannot be read; the last ones stay in use", {
        error: thrown instanceof Error ? thrown.message : String(thrown),
      });
    }
    return current;
  };
}

/** Files are replaced one by one: a certificate that does not go with the key yet is not taken. */
function read({ caFile, certFile, keyFile }: PeerCredentials): UpstreamTls {
  const tls = {
    ca: readFileSync(caFile, "utf8"),
    cert: readFileSync(certFile, "utf8"),
    key: readFileSync(keyFile, "utf8"),
  };
  createSecureContext(tls);
  return tls;
}

function stampOf({ caFile, certFile, keyFile }: PeerCredentials): string {
  return [caFile, certFile, keyFile]
    .map((file) => {
      const { mtimeMs, size, ino } = statSync(file);
      return `${mtimeMs} ${size} ${ino}`;
    })
    .join(" ");
}
