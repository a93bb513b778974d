/** Certificates that are renewed while the server runs: looked at now and then, read again when they have changed. */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { messageOf } from "../base/within.ts";
import type { UpstreamTls } from "../http/node/upstream/credentials.ts";
import { OptionError } from "./option-error.ts";
import type { PeerCredentials } from "./peer-config.ts";

const LOOK_MS = 1_000;

export interface ReloadingOptions {
  readonly files: PeerCredentials;
  readonly clock: Clock;
  readonly log: Log;
}

/** Throws an OptionError for files that cannot be used at first; later the last ones that could be stay in use. */
export function reloadingCredentials({ files, clock, log }: ReloadingOptions): () => UpstreamTls {
  let { seen, current } = firstOf(files);
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
        error: messageOf(thrown),
      });
    }
    return current;
  };
}

function firstOf(files: PeerCredentials): { seen: string; current: UpstreamTls } {
  try {
    return { seen: stampOf(files), current: read(files) };
  } catch (thrown) {
    throw new OptionError(`the certificates for peers cannot be used: ${messageOf(thrown)}`);
  }
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
