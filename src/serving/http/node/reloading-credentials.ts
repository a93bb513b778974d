/**
 * Reloads the client certificate of the server when its files change, because it may be renewed while the server runs.
 */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { messageOf } from "../../../base/within.ts";
import type { UpstreamTls } from "./upstream/credentials.ts";
import { OptionError } from "../../../base/option-error.ts";

const LOOK_MS = 1_000;

/** The files of the client certificate with which this server proves its identity to other servers. */
export interface ClientCertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface PeerCredentials extends ClientCertificateFiles {
  /** The CA that signed the serving certificates of the peers. */
  readonly caFile: string;
}

interface ReloadingOptions<Files> {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Loads the certificate and the CA of peers. Throws an OptionError if the files cannot be used at startup. Later, the
 * last usable certificate stays in use.
 */
export function reloadingCredentials(options: ReloadingOptions<PeerCredentials>): () => UpstreamTls {
  const { caFile } = options.files;
  return reloading(options, [caFile], (certificate) => ({ ...certificate, ca: readFileSync(caFile, "utf8") }));
}

/** Loads the certificate alone, for targets that name their own CA. */
export function reloadingCertificate(options: ReloadingOptions<ClientCertificateFiles>): () => CertificateAndKey {
  return reloading(options, [], (certificate) => certificate);
}

type CertificateAndKey = Omit<UpstreamTls, "ca">;

function reloading<Tls extends CertificateAndKey>(
  { files, clock, log }: ReloadingOptions<ClientCertificateFiles>,
  others: readonly string[],
  complete: (certificate: CertificateAndKey) => Tls,
): () => Tls {
  const all = [...others, files.certFile, files.keyFile];
  let { seen, current } = firstOf(() => ({ seen: stampOf(all), current: read(files, complete) }));
  let lookedAtMs = clock.monotonic();
  return () => {
    if (clock.monotonic() - lookedAtMs < LOOK_MS) return current;
    lookedAtMs = clock.monotonic();
    try {
      const stamp = stampOf(all);
      if (stamp === seen) return current;
      current = read(files, complete);
      seen = stamp;
      log.info("reloaded client certificates", { file: files.certFile });
    } catch (thrown) {
      log.warn("reloading client certificates failed; the previous ones stay in use", {
        error: messageOf(thrown),
      });
    }
    return current;
  };
}

function firstOf<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw new OptionError(`the client certificate, its key or the CA cannot be used: ${messageOf(thrown)}`);
  }
}

/** Throws if the certificate does not match the key, which happens while the files are being replaced. */
function read<Tls extends CertificateAndKey>(
  { certFile, keyFile }: ClientCertificateFiles,
  complete: (certificate: CertificateAndKey) => Tls,
): Tls {
  const tls = complete({ cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") });
  createSecureContext(tls);
  return tls;
}

function stampOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const { mtimeMs, size, ino } = statSync(file);
      return `${mtimeMs} ${size} ${ino}`;
    })
    .join(" ");
}
