/** `evenkeel certs`: creates the certificates that the servers of one cluster need to call each other. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../serving/http/node/certificate-authority.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import { ensureServiceAccountKey } from "./credential-flags.ts";
import { CLUSTER_NAMES } from "./data-directory.ts";
import { CommandFailure } from "./failure.ts";
import { commaList } from "./flags.ts";
import { asUsable } from "./read-file.ts";

interface CertsFlags {
  readonly out: string;
  readonly hosts: readonly string[];
  readonly name: string;
}

/** Common name of the front proxy's client certificate, to be set in --requestheader-allowed-names. */
const FRONT_PROXY_NAME = "front-proxy-client";
const PRIVATE = 0o600;

export function certsCommand(): Command {
  return new Command("certs")
    .summary("Create the certificates and keys of a cluster")
    .description(
      "Create the certificates and keys that the servers of a cluster need to call each other: CA and serving " +
        "certificate, front proxy CA and client certificate, and the key that signs service account tokens. " +
        "Existing files are kept.",
    )
    .requiredOption("--out <directory>", "output directory")
    .option(
      "--hosts <names>",
      "host names and IP addresses of the server, in addition to localhost and the names of the kubernetes Service",
      commaList,
      ["127.0.0.1"],
    )
    .option("--name <name>", "base name of the files of the serving certificate", "serving")
    .action((flags: CertsFlags) => certs(flags));
}

function certs({ out, hosts, name }: CertsFlags): void {
  if (!/^[\w.-]+$/.test(name)) throw new CommandFailure(`${JSON.stringify(name)} is not a valid file name`, 2);
  const directory = resolve(out);
  const nowMs = Date.now();
  asUsable(() => {
    makeDirectory(directory);
    const ca = kept(directory, "ca", () => createAuthority({ commonName: "evenkeel-ca", nowMs }));
    kept(directory, name, () => {
      const names = [...new Set([...CLUSTER_NAMES, ...hosts])];
      const leaf = issueCertificate({ ca, commonName: "kube-apiserver", hosts: names, usage: "serverAuth", nowMs });
      // The file also contains the CA, so that a kubeconfig made from this file alone works.
      return { ...leaf, certPem: leaf.certPem + ca.certPem };
    });
    const frontProxyCa = kept(directory, "front-proxy-ca", () =>
      createAuthority({ commonName: "evenkeel-front-proxy-ca", nowMs }),
    );
    kept(directory, FRONT_PROXY_NAME, () =>
      issueCertificate({ ca: frontProxyCa, commonName: FRONT_PROXY_NAME, usage: "clientAuth", nowMs }),
    );
    const isThere = existsSync(join(directory, "sa.key"));
    process.stdout.write(`${isThere ? "kept   " : "created"}  ${ensureServiceAccountKey(directory).file}\n`);
  }, `the certificates in ${directory} cannot be created`);
}

function kept(directory: string, name: string, create: () => KeyedCertificate): KeyedCertificate {
  const files = { cert: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  if (existsSync(files.cert) && existsSync(files.key)) {
    process.stdout.write(`kept     ${files.cert}\n`);
    return { certPem: readFileSync(files.cert, "utf8"), keyPem: readFileSync(files.key, "utf8") };
  }
  const made = create();
  writeFileSync(files.key, made.keyPem, { mode: PRIVATE });
  chmodSync(files.key, PRIVATE);
  writeFileSync(files.cert, made.certPem);
  process.stdout.write(`created  ${files.cert}\n`);
  return made;
}
